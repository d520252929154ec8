#ifndef KF_GIF_H
#define KF_GIF_H

#include "kf_status.h"

typedef struct kf_gif_reader kf_gif_reader;

typedef struct {
    uint32_t left, top, width, height;
    uint32_t interlaced;
    uint32_t disposal;           /* 0 to 7, as in the file */
    int32_t transparent;         /* palette index, or -1 */
    uint32_t delay;              /* hundredths of a second */
    const uint8_t *palette;      /* RGB entries; NULL when there is none */
    uint32_t palette_count;
} kf_gif_frame;

/* The data must outlive the reader. NULL when there is no memory. */
kf_gif_reader *kf_gif_reader_create(const uint8_t *data, size_t length);
kf_status kf_gif_reader_screen(kf_gif_reader *reader, uint32_t *width, uint32_t *height);
/* KF_MORE when another frame follows, KF_OK at the trailer. The palette lives until the next call. */
kf_status kf_gif_reader_next(kf_gif_reader *reader, kf_gif_frame *frame);
/* Palette indexes, one byte each, row after row without a gap, in the file's order. */
kf_status kf_gif_reader_rows(kf_gif_reader *reader, uint8_t *rows, uint32_t count);
const char *kf_gif_reader_message(const kf_gif_reader *reader);
void kf_gif_reader_destroy(kf_gif_reader *reader);

#endif
