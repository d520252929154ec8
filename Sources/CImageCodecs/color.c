#include "kf_color.h"

#include <dlfcn.h>
#include <lcms2.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

struct kf_color_transform {
    cmsHTRANSFORM transform;
};

/* lcms2 is not linked, because that would cost every start of the program its loading, and few images need it. */
static struct {
    int there;
    cmsHPROFILE (*open_memory)(const void *, cmsUInt32Number);
    cmsHPROFILE (*create_srgb)(void);
    cmsHPROFILE (*create_gray)(const cmsCIExyY *, const cmsToneCurve *);
    cmsHPROFILE (*create_rgb)(const cmsCIExyY *, const cmsCIExyYTRIPLE *, cmsToneCurve *const[3]);
    cmsBool (*save_memory)(cmsHPROFILE, void *, cmsUInt32Number *);
    cmsToneCurve *(*build_curve)(cmsContext, cmsInt32Number, const cmsFloat64Number *);
    void (*free_curve)(cmsToneCurve *);
    const cmsCIExyY *(*d50)(void);
    cmsColorSpaceSignature (*color_space)(cmsHPROFILE);
    cmsHTRANSFORM (*create_transform)(
        cmsHPROFILE, cmsUInt32Number, cmsHPROFILE, cmsUInt32Number, cmsUInt32Number, cmsUInt32Number);
    void (*do_transform)(cmsHTRANSFORM, const void *, void *, cmsUInt32Number);
    void (*delete_transform)(cmsHTRANSFORM);
    cmsBool (*close_profile)(cmsHPROFILE);
    int (*version)(void);
} lcms;

static void load(void) {
    void *library = dlopen("liblcms2.so.2", RTLD_NOW | RTLD_LOCAL);
    if (library == NULL) return;
    const struct {
        const char *name;
        void *place;
    } entries[] = {
        {"cmsOpenProfileFromMem", &lcms.open_memory},   {"cmsCreate_sRGBProfile", &lcms.create_srgb},
        {"cmsCreateGrayProfile", &lcms.create_gray},    {"cmsBuildParametricToneCurve", &lcms.build_curve},
        {"cmsCreateRGBProfile", &lcms.create_rgb},      {"cmsSaveProfileToMem", &lcms.save_memory},
        {"cmsFreeToneCurve", &lcms.free_curve},         {"cmsD50_xyY", &lcms.d50},
        {"cmsGetColorSpace", &lcms.color_space},        {"cmsCreateTransform", &lcms.create_transform},
        {"cmsDoTransform", &lcms.do_transform},         {"cmsDeleteTransform", &lcms.delete_transform},
        {"cmsCloseProfile", &lcms.close_profile},       {"cmsGetEncodedCMMversion", &lcms.version},
    };
    for (size_t i = 0; i < sizeof entries / sizeof *entries; i++) {
        void *symbol = dlsym(library, entries[i].name);
        if (symbol == NULL) return;
        *(void **)entries[i].place = symbol;
    }
    lcms.there = 1;
}

static int is_there(void) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, load);
    return lcms.there;
}

int32_t kf_color_version(void) { return is_there() ? lcms.version() : 0; }

/* The curve from encoded values to linear light: a power, or ICC's type 4, which begins with a line. */
static cmsToneCurve *build_curve(kf_color_curve curve, double gamma) {
    const cmsFloat64Number srgb[5] = {2.4, 1 / 1.055, 0.055 / 1.055, 1 / 12.92, 0.04045};
    const cmsFloat64Number video[5] = {1 / 0.45, 1 / 1.099, 0.099 / 1.099, 1 / 4.5, 0.081};
    switch (curve) {
    case KF_CURVE_SRGB: return lcms.build_curve(NULL, 4, srgb);
    case KF_CURVE_BT709: return lcms.build_curve(NULL, 4, video);
    default: return lcms.build_curve(NULL, 1, &gamma);
    }
}

/* The profile of grey with sRGB's curve. */
static cmsHPROFILE create_srgb_gray(void) {
    cmsToneCurve *tone = build_curve(KF_CURVE_SRGB, 0);
    if (tone == NULL) return NULL;
    cmsHPROFILE profile = lcms.create_gray(lcms.d50(), tone);
    lcms.free_curve(tone);
    return profile;
}

static int is_gray(const kf_color_pixels *pixels) { return pixels->channels <= 2; }

static cmsUInt32Number input_format(const kf_color_pixels *pixels) {
    if (pixels->ink) return TYPE_CMYK_8_REV;
    cmsUInt32Number depth = BYTES_SH(pixels->depth == 16 ? 2 : 1);
    cmsUInt32Number alpha = EXTRA_SH(pixels->channels % 2 == 0 ? 1 : 0);
    return depth | alpha | (is_gray(pixels) ? COLORSPACE_SH(PT_GRAY) | CHANNELS_SH(1)
                                            : COLORSPACE_SH(PT_RGB) | CHANNELS_SH(3));
}

static cmsHTRANSFORM create(cmsHPROFILE source, cmsHPROFILE target, const kf_color_pixels *pixels) {
    cmsUInt32Number input = input_format(pixels);
    cmsUInt32Number output = pixels->ink ? TYPE_RGB_8 : input;
    cmsUInt32Number flags = pixels->channels % 2 == 0 && !pixels->ink ? cmsFLAGS_COPY_ALPHA : 0;
    /* For grey, lcms2 would replace the two curves by a table of 33 entries, with errors of up to 7 of 255 levels. */
    if (is_gray(pixels)) flags |= cmsFLAGS_NOOPTIMIZE;
    return lcms.create_transform(source, input, target, output, INTENT_PERCEPTUAL, flags);
}

kf_color_transform *kf_color_to_srgb(const uint8_t *profile, size_t length, const kf_color_pixels *pixels) {
    if (length > UINT32_MAX || !is_there()) return NULL;
    cmsHPROFILE source = lcms.open_memory(profile, (cmsUInt32Number)length);
    if (source == NULL) return NULL;
    cmsColorSpaceSignature wanted = pixels->ink ? cmsSigCmykData : is_gray(pixels) ? cmsSigGrayData : cmsSigRgbData;
    cmsHPROFILE target = is_gray(pixels) ? create_srgb_gray() : lcms.create_srgb();
    kf_color_transform *result = NULL;
    if (target != NULL && lcms.color_space(source) == wanted) {
        cmsHTRANSFORM transform = create(source, target, pixels);
        if (transform != NULL) result = calloc(1, sizeof *result);
        if (result != NULL) {
            result->transform = transform;
        } else if (transform != NULL) {
            lcms.delete_transform(transform);
        }
    }
    if (target != NULL) lcms.close_profile(target);
    lcms.close_profile(source);
    return result;
}

void kf_color_convert(const kf_color_transform *transform, const void *input, void *output, uint32_t count) {
    lcms.do_transform(transform->transform, input, output, count);
}

void kf_color_destroy(kf_color_transform *transform) {
    if (transform == NULL) return;
    lcms.delete_transform(transform->transform);
    free(transform);
}

static cmsHPROFILE create_profile(const kf_color_space *space) {
    cmsToneCurve *tone = build_curve(space->curve, space->gamma);
    if (tone == NULL) return NULL;
    const double *xy = space->chromaticities;
    cmsHPROFILE profile;
    if (space->is_gray) {
        profile = lcms.create_gray(lcms.d50(), tone);
    } else {
        const cmsCIExyY white = {xy[0], xy[1], 1};
        const cmsCIExyYTRIPLE primaries = {{xy[2], xy[3], 1}, {xy[4], xy[5], 1}, {xy[6], xy[7], 1}};
        cmsToneCurve *const tones[3] = {tone, tone, tone};
        profile = lcms.create_rgb(&white, &primaries, tones);
    }
    lcms.free_curve(tone);
    return profile;
}

size_t kf_color_profile(const kf_color_space *space, uint8_t *bytes, size_t capacity) {
    if (!is_there()) return 0;
    cmsHPROFILE profile = create_profile(space);
    if (profile == NULL) return 0;
    cmsUInt32Number length = 0;
    cmsBool fits = lcms.save_memory(profile, NULL, &length) && length > 36 && length <= capacity;
    if (!fits || !lcms.save_memory(profile, bytes, &length)) length = 0;
    lcms.close_profile(profile);
    /* Without the creation time, which would make equal images different bytes. */
    if (length > 36) memset(bytes + 24, 0, 12);
    return length;
}
