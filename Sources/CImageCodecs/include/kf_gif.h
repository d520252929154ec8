#ifndef KF_GIF_H
#define KF_GIF_H

#include "kf_status.h"

typedef struct kf_lzw kf_lzw;

/* The largest code size that leaves room for codes of at most 12 bits. */
static const uint32_t KF_LZW_LARGEST_SIZE = 11;

/* Unpacks the picture data of one GIF frame: sub-blocks, each behind its length, up to an empty one. The data must
   outlive it. NULL when there is no memory. */
kf_lzw *kf_lzw_create(const uint8_t *data, size_t length, uint32_t code_size);
/* The next palette indexes, one byte each. KF_TRUNCATED when the codes end before, KF_CORRUPT for an impossible one. */
kf_status kf_lzw_read(kf_lzw *lzw, uint8_t *indexes, size_t count);
void kf_lzw_destroy(kf_lzw *lzw);

typedef struct kf_gif_writer kf_gif_writer;

typedef struct {
    uint32_t left, top, width, height;
    uint32_t disposal;           /* 0 to 7, as in the file */
    int32_t transparent;         /* palette index, or -1 */
    uint32_t delay;              /* hundredths of a second */
    const uint8_t *palette;      /* RGB entries */
    uint32_t palette_count;
} kf_gif_frame;

kf_gif_writer *kf_gif_writer_create(kf_bounds bounds);
/* The number of repetitions is written when it is not negative; 0 is for ever. */
kf_status kf_gif_writer_start(kf_gif_writer *writer, uint32_t width, uint32_t height, int32_t repetitions);
/* Begins a frame with a palette of its own, which has 2 to 256 entries. All its rows must follow. */
kf_status kf_gif_writer_frame(kf_gif_writer *writer, const kf_gif_frame *frame);
/* The frame's next rows, indexes without a gap. */
kf_status kf_gif_writer_rows(kf_gif_writer *writer, const uint8_t *indexes, uint32_t count);
kf_status kf_gif_writer_finish(kf_gif_writer *writer, kf_bytes *bytes);
const char *kf_gif_writer_message(const kf_gif_writer *writer);
void kf_gif_writer_destroy(kf_gif_writer *writer);

#endif
