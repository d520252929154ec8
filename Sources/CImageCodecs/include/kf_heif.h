#ifndef KF_HEIF_H
#define KF_HEIF_H

#include "kf_status.h"

/* libheif with libde265, opened with dlopen() on first use. */

/* Loads libheif, once. Returns NULL, or the reason why it cannot be used. */
const char *kf_heif_load(void);
/* Such as "1.15.1". */
const char *kf_heif_version(void);

typedef struct kf_heif_reader kf_heif_reader;

/* NULL when there is no memory. kf_heif_load must have succeeded. */
kf_heif_reader *kf_heif_reader_create(void);
/* Reads the boxes and decodes the primary picture, of sides of at most `side`, with some threads for the cells of a
   grid. The data must outlive the reader, and the blocks are valid as long as the reader. The call cannot be
   interrupted: its time has no bound but the number of pixels. */
kf_status kf_heif_reader_open(kf_heif_reader *reader, const uint8_t *data, size_t length, uint32_t side,
    uint32_t threads, kf_picture *picture);
/* Converts `count` rows from `top` on, and of each `width` pixels from `left` on. */
kf_status kf_heif_reader_rows(
    kf_heif_reader *reader, uint8_t *rows, size_t stride, uint32_t left, uint32_t width, uint32_t top, uint32_t count);
/* The same part of an opaque picture in averages of boxes of `box` by `box` pixels; those at the right and lower edge are
   smaller. */
typedef struct {
    uint32_t left, top, width, height, box;
} kf_heif_boxes;
/* Writes `count` rows of averages from row `first` on. */
kf_status kf_heif_reader_averages(kf_heif_reader *reader, const kf_heif_boxes *boxes, uint8_t *rows, size_t stride,
    uint32_t first, uint32_t count);

#endif
