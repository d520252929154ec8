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

/* A decoded picture as it is coded: neither cropped nor turned. The pointers are valid until the next picture. */
typedef struct {
    uint32_t width, height;
    uint32_t channels; /* of the output: 1 grey, 2 grey+alpha, 3 RGB, 4 RGBA, with straight alpha */
    uint32_t depth;    /* of the output: 8, or 16 in the machine's byte order */
    uint32_t primaries, transfer; /* the code points of ITU-T H.273 */
    double seconds;               /* for which a frame is shown; 0 for a still picture */
    const uint8_t *icc, *exif, *xmp;
    size_t icc_length, exif_length, xmp_length;
} kf_avif_picture;

/* NULL when there is no memory. kf_avif_load must have succeeded. */
kf_avif_reader *kf_avif_reader_create(void);
/* Reads the boxes. The data must outlive the reader. */
kf_status kf_avif_reader_open(
    kf_avif_reader *reader, const uint8_t *data, size_t length, const kf_avif_bounds *bounds);
/* The same for a file whose luma is the alpha of the first, if libavif finds no alpha there. For a still picture. */
kf_status kf_avif_reader_open_alpha(
    kf_avif_reader *reader, const uint8_t *data, size_t length, const kf_avif_bounds *bounds);
/* Decodes the still picture, or the next frame. No call of libavif decodes a part of a frame, so that the time of one
   has no bound but the number of its pixels. */
kf_status kf_avif_reader_next(kf_avif_reader *reader, kf_avif_picture *picture);
/* Converts `count` rows from `top` on, and of each `width` pixels from `left` on. The pixels do not depend on how the
   picture is divided into calls. */
kf_status kf_avif_reader_rows(
    kf_avif_reader *reader, uint8_t *rows, size_t stride, uint32_t left, uint32_t width, uint32_t top, uint32_t count);

#endif
