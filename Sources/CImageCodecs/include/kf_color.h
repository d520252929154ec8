#ifndef KF_COLOR_H
#define KF_COLOR_H

#include "kf_status.h"

/* Conversion from an embedded profile to sRGB with lcms2, which is loaded when the first one is asked for. */
typedef struct kf_color_transform kf_color_transform;

typedef struct {
    uint32_t channels; /* in: 1 grey, 2 grey+alpha, 3 RGB, 4 RGBA or, with ink set, CMYK */
    uint32_t depth;    /* 8, or 16 in the machine's byte order */
    int32_t ink;       /* CMYK comes in and RGB of 8 bits goes out; otherwise the format stays */
    int32_t inverted;  /* CMYK in Adobe's sense: 255 is no ink */
} kf_color_pixels;

/* NULL when lcms2 is not there, or the profile is none, or none for such pixels. */
kf_color_transform *kf_color_to_srgb(const uint8_t *profile, size_t length, const kf_color_pixels *pixels);
/* In place where the format stays. */
void kf_color_convert(const kf_color_transform *transform, const void *input, void *output, uint32_t count);
void kf_color_destroy(kf_color_transform *transform);

#endif
