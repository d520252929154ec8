#ifndef KF_PNG_H
#define KF_PNG_H

#include "kf_status.h"

typedef struct kf_png_reader kf_png_reader;

typedef struct {
    uint32_t width, height;
    uint32_t channels; /* of the output: palettes and transparent colours are expanded */
    uint32_t depth;    /* of the output: 8, or 16 in the machine's byte order */
    uint32_t passes;   /* 1, or 7 for an interlaced picture, whose rows are all read seven times */
} kf_png_header;

/* One frame of an animated PNG. The positions are those of complete chunks in the file. */
typedef struct {
    uint32_t width, height;
    uint32_t has_own_data;        /* the data is in fdAT chunks, whose checksums are not verified; else in IDAT */
    size_t start, end;            /* the chunks that hold the data; others between them are skipped */
    size_t palette, transparency; /* the PLTE and the tRNS chunk; 0 when there is none */
} kf_png_frame;

/* Reads the whole file, or one of its frames, which is given out as RGBA of 8 bits. The data must outlive the reader.
   A tolerant reader uses image data whose checksum is wrong. NULL when there is no memory. */
kf_png_reader *kf_png_reader_create(const uint8_t *data, size_t length, const kf_png_frame *frame, int tolerant);
/* The fault behind the last row that was tolerated; KF_OK without one. */
kf_status kf_png_reader_damage(const kf_png_reader *reader);
kf_status kf_png_reader_header(kf_png_reader *reader, kf_png_header *header);
/* Reads the next rows of the current pass. Later passes need the rows as the earlier ones left them. */
kf_status kf_png_reader_rows(kf_png_reader *reader, uint8_t *rows, size_t stride, uint32_t count);

typedef struct kf_png_inflater kf_png_inflater;

/* Counts the bytes to which the image data inflates, and keeps none. NULL when there is no memory. */
kf_png_inflater *kf_png_inflater_create(void);
/* Inflates the data of the next chunk, up to `wanted` bytes in all. KF_OK when they are reached, KF_MORE when there are
   fewer so far, KF_CORRUPT when the stream has ended or is damaged. */
kf_status kf_png_inflater_feed(kf_png_inflater *inflater, const uint8_t *data, size_t length, uint64_t wanted);
void kf_png_inflater_destroy(kf_png_inflater *inflater);

typedef struct kf_png_writer kf_png_writer;

typedef struct {
    uint32_t width, height;
    uint32_t channels; /* 1 grey (or palette index), 2 grey+alpha, 3 RGB, 4 RGBA */
    uint32_t depth;    /* 8, or 16 in the machine's byte order */
    int32_t level;     /* zlib's 0 to 9 */
    const uint8_t *palette; /* RGBA entries, or NULL; channels is 1 then */
    uint32_t palette_count;
} kf_png_output;

kf_png_writer *kf_png_writer_create(kf_bounds bounds);
/* XMP ends in NUL. KF_UNSUPPORTED for a profile that libpng refuses; nothing else can be called then. */
kf_status kf_png_writer_start(kf_png_writer *writer, const kf_png_output *output, const kf_blocks *blocks);
kf_status kf_png_writer_rows(kf_png_writer *writer, const uint8_t *rows, size_t stride, uint32_t count);
kf_status kf_png_writer_finish(kf_png_writer *writer, kf_bytes *bytes);

#endif
