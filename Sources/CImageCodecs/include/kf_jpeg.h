#ifndef KF_JPEG_H
#define KF_JPEG_H

#include "kf_status.h"

typedef struct kf_jpeg_reader kf_jpeg_reader;

typedef struct {
    uint32_t width, height;
    uint32_t channels;    /* as delivered: 1 grey, 3 RGB, 4 CMYK in Adobe's sense, 255 for no ink */
    uint32_t many_scans;  /* the scans are absorbed first, then the rows come */
} kf_jpeg_header;

/* The data must outlive the reader. NULL when there is no memory. */
kf_jpeg_reader *kf_jpeg_reader_create(const uint8_t *data, size_t length);
/* Says that the data goes on behind what was given so far, and may have moved: the same bytes from the start, and
   more. Once called, running out is KF_SUSPENDED instead of an error until the data is said to be all. */
void kf_jpeg_reader_supply(kf_jpeg_reader *reader, const uint8_t *data, size_t length, int32_t is_all);
kf_status kf_jpeg_reader_header(kf_jpeg_reader *reader, kf_jpeg_header *header);
/* Asks for numerator/8 of the size; says what that comes to. After the header, before the start. */
kf_status kf_jpeg_reader_scale(kf_jpeg_reader *reader, uint32_t numerator, uint32_t *width, uint32_t *height);
kf_status kf_jpeg_reader_start(kf_jpeg_reader *reader);
/* Reads at most that many rows of blocks. KF_MORE until the last scan is in, KF_SCAN where one has begun behind a
   whole one; only where many_scans is set. */
kf_status kf_jpeg_reader_absorb(kf_jpeg_reader *reader, uint32_t steps, uint32_t *scans);
/* Begins to deliver what the scans so far have brought; only where many_scans is set. */
kf_status kf_jpeg_reader_begin_output(kf_jpeg_reader *reader);
kf_status kf_jpeg_reader_rows(kf_jpeg_reader *reader, uint8_t *rows, size_t stride, uint32_t count);
/* Ends a delivery begun before the last scan, so that more scans can be absorbed. */
kf_status kf_jpeg_reader_end_output(kf_jpeg_reader *reader);
/* Reads on to the end marker. */
kf_status kf_jpeg_reader_finish(kf_jpeg_reader *reader);
const char *kf_jpeg_reader_message(const kf_jpeg_reader *reader);
void kf_jpeg_reader_destroy(kf_jpeg_reader *reader);

typedef struct kf_jpeg_writer kf_jpeg_writer;

typedef struct {
    uint32_t width, height;
    uint32_t channels; /* 1 grey, 3 RGB */
    int32_t quality;   /* 1 to 100 */
    int32_t progressive;
    int32_t optimized;                       /* Huffman tables made for this picture; holds all coefficients */
    uint32_t horizontal_sampling, vertical_sampling; /* 2,2 is 4:2:0; 2,1 is 4:2:2; 1,1 is 4:4:4 */
    const uint8_t *icc;
    uint32_t icc_length;
} kf_jpeg_output;

/* What a segment can hold behind its length. */
static const uint32_t KF_JPEG_SEGMENT = 65533;

kf_jpeg_writer *kf_jpeg_writer_create(kf_bounds bounds);
kf_status kf_jpeg_writer_start(kf_jpeg_writer *writer, const kf_jpeg_output *output);
/* An APP1 segment, after the start and before the first row. */
kf_status kf_jpeg_writer_app1(kf_jpeg_writer *writer, const uint8_t *bytes, uint32_t length);
kf_status kf_jpeg_writer_rows(kf_jpeg_writer *writer, const uint8_t *rows, size_t stride, uint32_t count);
kf_status kf_jpeg_writer_finish(kf_jpeg_writer *writer, kf_bytes *bytes);
const char *kf_jpeg_writer_message(const kf_jpeg_writer *writer);
void kf_jpeg_writer_destroy(kf_jpeg_writer *writer);

#endif
