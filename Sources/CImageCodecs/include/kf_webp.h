#ifndef KF_WEBP_H
#define KF_WEBP_H

#include "kf_status.h"

typedef struct kf_webp_reader kf_webp_reader;

/* Decodes one still picture into the caller's rows: 3 channels RGB, 4 straight RGBA. A scaled size of 0 × 0 keeps
   the picture's size. NULL when there is no memory. The rows must outlive the reader. */
kf_webp_reader *kf_webp_reader_create(
    uint8_t *rows, size_t stride, size_t length, uint32_t channels, uint32_t scaled_width, uint32_t scaled_height);
/* Decodes the first `available` bytes of data. KF_MORE until the picture is complete. The data must stay in place
   between the calls. */
kf_status kf_webp_reader_feed(kf_webp_reader *reader, const uint8_t *data, size_t available);

typedef struct kf_webp_writer kf_webp_writer;

typedef struct {
    uint32_t width, height;
    int32_t lossless;
    int32_t quality; /* 1 to 100; ignored when lossless */
    int32_t effort;  /* 0 fast to 6 small */
    int32_t animated;
    int32_t plays;   /* 0 is forever */
} kf_webp_output;

/* Rows of pixels: 3 channels RGB, 4 straight RGBA. */
typedef struct {
    const uint8_t *rows;
    size_t stride;
    uint32_t channels;
    int32_t start; /* in milliseconds from the start of the animation */
} kf_webp_picture;

kf_webp_writer *kf_webp_writer_create(kf_bounds bounds);
kf_status kf_webp_writer_start(kf_webp_writer *writer, const kf_webp_output *output);
/* Encodes the still picture, or the next frame of the animation. */
kf_status kf_webp_writer_picture(kf_webp_writer *writer, const kf_webp_picture *picture);
/* `end` is the end of the last frame, in milliseconds. */
kf_status kf_webp_writer_finish(kf_webp_writer *writer, int32_t end, const kf_blocks *blocks, kf_bytes *bytes);

#endif
