#ifndef KF_AVIF_READ_H
#define KF_AVIF_READ_H

#include "kf_avif.h"

typedef struct kf_avif_reader kf_avif_reader;

/* What the file may demand of libavif and dav1d. */
typedef struct {
    uint32_t pixels;  /* of a coded picture */
    uint32_t side;    /* of a coded picture */
    uint32_t frames;
    uint32_t threads; /* of dav1d */
} kf_avif_bounds;

/* NULL when there is no memory. kf_avif_load must have succeeded. */
kf_avif_reader *kf_avif_reader_create(void);
/* Reads the boxes. The data must outlive the reader. With `is_alpha`, the luma of a second file is the alpha of the
   first, a still picture, if libavif finds no alpha there. */
kf_status kf_avif_reader_open(
    kf_avif_reader *reader, const uint8_t *data, size_t length, const kf_avif_bounds *bounds, int is_alpha);
/* Decodes the still picture, or the next frame. No call of libavif decodes a part of a frame, so that the time of one
   has no bound but the number of its pixels. The blocks are valid until the next picture. */
kf_status kf_avif_reader_next(kf_avif_reader *reader, kf_picture *picture);
/* Converts `count` rows from `top` on, and of each `width` pixels from `left` on. The pixels do not depend on how the
   picture is divided into calls. */
kf_status kf_avif_reader_rows(
    kf_avif_reader *reader, uint8_t *rows, size_t stride, uint32_t left, uint32_t width, uint32_t top, uint32_t count);

#endif
