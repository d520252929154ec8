#ifndef KF_GIF_H
#define KF_GIF_H

#include "kf_status.h"

typedef struct kf_lzw kf_lzw;

/* The largest code size: codes have one bit more at first, and at most 12 bits. */
static const uint32_t KF_LZW_LARGEST_SIZE = 11;

/* Decodes the picture data of one GIF frame: sub-blocks, each preceded by its length, up to an empty one. The data must
   outlive the decoder. NULL when there is no memory. */
kf_lzw *kf_lzw_create(const uint8_t *data, size_t length, uint32_t code_size);
/* Reads the next palette indices, one byte each. KF_TRUNCATED when the codes end early, KF_CORRUPT for an undefined
   code. */
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
/* Writes the number of repetitions unless it is negative; 0 is forever. */
kf_status kf_gif_writer_start(kf_gif_writer *writer, uint32_t width, uint32_t height, int32_t repetitions);
/* Begins a frame with its own palette of 2 to 256 entries. All its rows must follow. */
kf_status kf_gif_writer_frame(kf_gif_writer *writer, const kf_gif_frame *frame);
/* Writes the next rows of the frame, indices without padding. */
kf_status kf_gif_writer_rows(kf_gif_writer *writer, const uint8_t *indexes, uint32_t count);
kf_status kf_gif_writer_finish(kf_gif_writer *writer, kf_bytes *bytes);

#endif
