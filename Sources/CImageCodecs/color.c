#include "kf_color.h"

#include <dlfcn.h>
#include <lcms2.h>
#include <pthread.h>
#include <stdlib.h>

struct kf_color_transform {
    cmsHTRANSFORM transform;
};

/* Linked, lcms2 would cost every start of the program its loading, and few images need it. */
static struct {
    int there;
    cmsHPROFILE (*open_memory)(const void *, cmsUInt32Number);
    cmsHPROFILE (*create_srgb)(void);
    cmsHPROFILE (*create_gray)(const cmsCIExyY *, const cmsToneCurve *);
    cmsToneCurve *(*build_curve)(cmsContext, cmsInt32Number, const cmsFloat64Number *);
    void (*free_curve)(cmsToneCurve *);
    const cmsCIExyY *(*d50)(void);
    cmsColorSpaceSignature (*color_space)(cmsHPROFILE);
    cmsHTRANSFORM (*create_transform)(
        cmsHPROFILE, cmsUInt32Number, cmsHPROFILE, cmsUInt32Number, cmsUInt32Number, cmsUInt32Number);
    void (*do_transform)(cmsHTRANSFORM, const void *, void *, cmsUInt32Number);
    void (*delete_transform)(cmsHTRANSFORM);
    cmsBool (*close_profile)(cmsHPROFILE);
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
        {"cmsFreeToneCurve", &lcms.free_curve},         {"cmsD50_xyY", &lcms.d50},
        {"cmsGetColorSpace", &lcms.color_space},        {"cmsCreateTransform", &lcms.create_transform},
        {"cmsDoTransform", &lcms.do_transform},         {"cmsDeleteTransform", &lcms.delete_transform},
        {"cmsCloseProfile", &lcms.close_profile},
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

/* Grey with sRGB's curve. */
static cmsHPROFILE create_srgb_gray(void) {
    const cmsFloat64Number curve[5] = {2.4, 1 / 1.055, 0.055 / 1.055, 1 / 12.92, 0.04045};
    cmsToneCurve *tone = lcms.build_curve(NULL, 4, curve);
    if (tone == NULL) return NULL;
    cmsHPROFILE profile = lcms.create_gray(lcms.d50(), tone);
    lcms.free_curve(tone);
    return profile;
}

static int is_gray(const kf_color_pixels *pixels) { return pixels->channels <= 2; }

static cmsUInt32Number input_format(const kf_color_pixels *pixels) {
    if (pixels->ink) return pixels->inverted ? TYPE_CMYK_8_REV : TYPE_CMYK_8;
    cmsUInt32Number depth = BYTES_SH(pixels->depth == 16 ? 2 : 1);
    cmsUInt32Number alpha = EXTRA_SH(pixels->channels % 2 == 0 ? 1 : 0);
    return depth | alpha | (is_gray(pixels) ? COLORSPACE_SH(PT_GRAY) | CHANNELS_SH(1)
                                            : COLORSPACE_SH(PT_RGB) | CHANNELS_SH(3));
}

static cmsHTRANSFORM create(cmsHPROFILE source, cmsHPROFILE target, const kf_color_pixels *pixels) {
    cmsUInt32Number input = input_format(pixels);
    cmsUInt32Number output = pixels->ink ? TYPE_RGB_8 : input;
    cmsUInt32Number alpha = pixels->channels % 2 == 0 && !pixels->ink ? cmsFLAGS_COPY_ALPHA : 0;
    return lcms.create_transform(source, input, target, output, INTENT_PERCEPTUAL, alpha);
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
