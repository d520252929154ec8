#ifndef KF_AVIF_WRITE_H
#define KF_AVIF_WRITE_H

#include "kf_avif.h"

/* Only to be used after kf_avif_load has succeeded. */
typedef struct kf_avif_writer kf_avif_writer;

typedef struct {
    uint32_t width, height;
    uint32_t depth;       /* of the coded samples: 8, 10 or 12 */
    int32_t gray;         /* only luma is coded */
    int32_t alpha;        /* the alpha of the pixels is coded, without loss */
    int32_t full_chroma;  /* 4:4:4, otherwise 4:2:0 */
    int32_t lossless;     /* implies 4:4:4 */
    int32_t quality;      /* 1 to 100; ignored when lossless */
    int32_t speed;        /* 0 small to 10 fast */
    int32_t threads;
    int32_t animated;
    int32_t plays;        /* 0 is forever; libavif before 1.0 cannot write it */
    uint16_t primaries, transfer; /* ITU-T H.273's code points of HDR; a transfer of 0 is sRGB */
} kf_avif_output;

/* Rows of 1 to 4 channels: grey, grey and alpha, RGB, RGBA, with straight alpha. */
typedef struct {
    const uint8_t *rows;
    size_t stride;
    uint32_t channels;
    uint32_t depth;    /* 8 or 16 */
    uint32_t duration; /* in milliseconds; 0 for a still picture */
} kf_avif_input;

kf_avif_writer *kf_avif_writer_create(kf_bounds bounds);
kf_status kf_avif_writer_start(kf_avif_writer *writer, const kf_avif_output *output, const kf_blocks *blocks);
/* Encodes the still picture, or the next frame of the animation. libaom cannot be interrupted, so that the time limit
   is only checked before the picture: to discard one that is complete would save nothing. Of an animation it encodes
   most frames in kf_avif_writer_finish. */
kf_status kf_avif_writer_picture(kf_avif_writer *writer, const kf_avif_input *picture);
kf_status kf_avif_writer_finish(kf_avif_writer *writer, kf_bytes *bytes);

#endif
