#ifndef KF_COLOR_H
#define KF_COLOR_H

#include "kf_status.h"

/* A conversion from an embedded profile to sRGB: a transform of lcms2, which is loaded for the first conversion. */
typedef struct kf_color_transform kf_color_transform;

/* 2140 for 2.14; 0 when lcms2 cannot be loaded. Loads it. */
int32_t kf_color_version(void);

typedef struct {
    uint32_t channels; /* in: 1 grey, 2 grey+alpha, 3 RGB, 4 RGBA or, with ink set, CMYK */
    uint32_t depth;    /* 8, or 16 in the machine's byte order */
    int32_t ink;       /* converts CMYK, 255 for no ink, to 8-bit RGB; otherwise the format stays */
} kf_color_pixels;

/* NULL when lcms2 cannot be loaded, or the profile is damaged or does not fit the pixels. */
kf_color_transform *kf_color_to_srgb(const uint8_t *profile, size_t length, const kf_color_pixels *pixels);
/* Input and output may be the same memory when they have one format. */
void kf_color_convert(kf_color_transform *transform, const void *input, void *output, uint32_t count);
void kf_color_destroy(kf_color_transform *transform);

/* The curve from encoded values to linear light. */
typedef int32_t kf_color_curve;
static const kf_color_curve KF_CURVE_GAMMA = 0; /* light = value ^ gamma */
static const kf_color_curve KF_CURVE_SRGB = 1;
static const kf_color_curve KF_CURVE_BT709 = 2;

typedef struct {
    int32_t is_gray; /* without chromaticities */
    kf_color_curve curve;
    double gamma;
    double chromaticities[8]; /* x and y of white, red, green and blue */
} kf_color_space;

/* Writes an ICC profile for the space, always with the same bytes, and returns its length. Returns 0 when lcms2 cannot
   be loaded, the space is invalid, or the profile exceeds the capacity. */
size_t kf_color_profile(const kf_color_space *space, uint8_t *bytes, size_t capacity);

#endif
