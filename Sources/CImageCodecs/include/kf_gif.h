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

typedef struct kf_gif_writer kf_gif_writer;

kf_gif_writer *kf_gif_writer_create(void);
/* The number of repetitions is written when it is not negative; 0 is for ever. */
kf_status kf_gif_writer_start(kf_gif_writer *writer, uint32_t width, uint32_t height, int32_t repetitions);
/* One frame with a palette of its own, which has 2 to 256 entries. Its indexes are rows without a gap. */
kf_status kf_gif_writer_frame(kf_gif_writer *writer, const kf_gif_frame *frame, const uint8_t *indexes);
kf_status kf_gif_writer_finish(kf_gif_writer *writer, kf_bytes *bytes);
const char *kf_gif_writer_message(const kf_gif_writer *writer);
void kf_gif_writer_destroy(kf_gif_writer *writer);

#endif
