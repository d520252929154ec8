#include "kf_color.h"

#include "library.h"

#include <lcms2.h>
#include <string.h>

#define KF_LCMS_FUNCTIONS(X)                                                                                          \
    X(cmsOpenProfileFromMem)                                                                                          \
    X(cmsCreate_sRGBProfile)                                                                                          \
    X(cmsCreateGrayProfile)                                                                                           \
    X(cmsCreateRGBProfile)                                                                                            \
    X(cmsSaveProfileToMem)                                                                                            \
    X(cmsBuildParametricToneCurve)                                                                                    \
    X(cmsFreeToneCurve)                                                                                               \
    X(cmsD50_xyY)                                                                                                     \
    X(cmsGetColorSpace)                                                                                               \
    X(cmsCreateTransform)                                                                                             \
    X(cmsDoTransform)                                                                                                 \
    X(cmsDeleteTransform)                                                                                             \
    X(cmsCloseProfile)                                                                                                \
    X(cmsGetEncodedCMMversion)

KF_DECLARE_FUNCTIONS(kf_lcms, KF_LCMS_FUNCTIONS)
KF_DEFINE_LIBRARY(kf_lcms, KF_LCMS_FUNCTIONS, "liblcms2.so.2", NULL)

static int is_there(void) { return kf_library_load(&library) == NULL; }

int32_t kf_color_version(void) { return is_there() ? kf_lcms.cmsGetEncodedCMMversion() : 0; }

/* The curve from encoded values to linear light: a power, or ICC's type 4, which begins with a line. */
static cmsToneCurve *build_curve(kf_color_curve curve, double gamma) {
    const cmsFloat64Number srgb[5] = {2.4, 1 / 1.055, 0.055 / 1.055, 1 / 12.92, 0.04045};
    const cmsFloat64Number video[5] = {1 / 0.45, 1 / 1.099, 0.099 / 1.099, 1 / 4.5, 0.081};
    switch (curve) {
    case KF_CURVE_SRGB: return kf_lcms.cmsBuildParametricToneCurve(NULL, 4, srgb);
    case KF_CURVE_BT709: return kf_lcms.cmsBuildParametricToneCurve(NULL, 4, video);
    default: return kf_lcms.cmsBuildParametricToneCurve(NULL, 1, &gamma);
    }
}

/* The profile of grey with sRGB's curve. */
static cmsHPROFILE create_srgb_gray(void) {
    cmsToneCurve *tone = build_curve(KF_CURVE_SRGB, 0);
    if (tone == NULL) return NULL;
    cmsHPROFILE profile = kf_lcms.cmsCreateGrayProfile(kf_lcms.cmsD50_xyY(), tone);
    kf_lcms.cmsFreeToneCurve(tone);
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
    return kf_lcms.cmsCreateTransform(source, input, target, output, INTENT_PERCEPTUAL, flags);
}

kf_color_transform *kf_color_to_srgb(const uint8_t *profile, size_t length, const kf_color_pixels *pixels) {
    if (length > UINT32_MAX || !is_there()) return NULL;
    cmsHPROFILE source = kf_lcms.cmsOpenProfileFromMem(profile, (cmsUInt32Number)length);
    if (source == NULL) return NULL;
    cmsColorSpaceSignature wanted = pixels->ink ? cmsSigCmykData : is_gray(pixels) ? cmsSigGrayData : cmsSigRgbData;
    cmsHPROFILE target = is_gray(pixels) ? create_srgb_gray() : kf_lcms.cmsCreate_sRGBProfile();
    kf_color_transform *transform = NULL;
    if (target != NULL && kf_lcms.cmsGetColorSpace(source) == wanted) transform = create(source, target, pixels);
    if (target != NULL) kf_lcms.cmsCloseProfile(target);
    kf_lcms.cmsCloseProfile(source);
    return transform;
}

void kf_color_convert(kf_color_transform *transform, const void *input, void *output, uint32_t count) {
    kf_lcms.cmsDoTransform(transform, input, output, count);
}

void kf_color_destroy(kf_color_transform *transform) { kf_lcms.cmsDeleteTransform(transform); }

static cmsHPROFILE create_profile(const kf_color_space *space) {
    cmsToneCurve *tone = build_curve(space->curve, space->gamma);
    if (tone == NULL) return NULL;
    const double *xy = space->chromaticities;
    cmsHPROFILE profile;
    if (space->is_gray) {
        profile = kf_lcms.cmsCreateGrayProfile(kf_lcms.cmsD50_xyY(), tone);
    } else {
        const cmsCIExyY white = {xy[0], xy[1], 1};
        const cmsCIExyYTRIPLE primaries = {{xy[2], xy[3], 1}, {xy[4], xy[5], 1}, {xy[6], xy[7], 1}};
        cmsToneCurve *const tones[3] = {tone, tone, tone};
        profile = kf_lcms.cmsCreateRGBProfile(&white, &primaries, tones);
    }
    kf_lcms.cmsFreeToneCurve(tone);
    return profile;
}

size_t kf_color_profile(const kf_color_space *space, uint8_t *bytes, size_t capacity) {
    if (!is_there()) return 0;
    cmsHPROFILE profile = create_profile(space);
    if (profile == NULL) return 0;
    cmsUInt32Number length = 0;
    cmsBool fits = kf_lcms.cmsSaveProfileToMem(profile, NULL, &length) && length > 36 && length <= capacity;
    if (!fits || !kf_lcms.cmsSaveProfileToMem(profile, bytes, &length)) length = 0;
    kf_lcms.cmsCloseProfile(profile);
    /* Without the creation time, which would make equal images different bytes. */
    if (length > 36) memset(bytes + 24, 0, 12);
    return length;
}
