#ifndef KF_JPEG_H
#define KF_JPEG_H

#include "kf_status.h"

typedef struct kf_jpeg_reader kf_jpeg_reader;

typedef struct {
    uint32_t width, height;
    uint32_t channels;    /* of the output: 1 grey, 3 RGB, 4 CMYK with Adobe's polarity, 255 for no ink */
    uint32_t many_scans;  /* all scans must be absorbed before the rows are read */
} kf_jpeg_header;

/* The data must outlive the reader. A tolerant one decodes damaged data as libjpeg does, with grey where it is missing.
   NULL when there is no memory. */
kf_jpeg_reader *kf_jpeg_reader_create(const uint8_t *data, size_t length, int tolerant);
/* Replaces the data by a longer prefix of the file, which may be at another address. After the first call, the end of
   the data is KF_SUSPENDED and not an error, until a call states that the data is complete. */
void kf_jpeg_reader_supply(kf_jpeg_reader *reader, const uint8_t *data, size_t length, int32_t is_all);
/* The first fault that was tolerated; KF_OK without one. */
kf_status kf_jpeg_reader_damage(const kf_jpeg_reader *reader);
kf_status kf_jpeg_reader_header(kf_jpeg_reader *reader, kf_jpeg_header *header);
/* Sets the scale to numerator/8 and returns the resulting size. To be called after the header, before the start. */
kf_status kf_jpeg_reader_scale(kf_jpeg_reader *reader, uint32_t numerator, uint32_t *width, uint32_t *height);
kf_status kf_jpeg_reader_start(kf_jpeg_reader *reader);
/* Absorbs at most that many rows of blocks; only with many_scans. KF_MORE until the last scan is complete, KF_SCAN when
   a scan is complete and the next has begun. */
kf_status kf_jpeg_reader_absorb(kf_jpeg_reader *reader, uint32_t steps, uint32_t *scans);
/* Begins the output of the scans so far; only with many_scans. */
kf_status kf_jpeg_reader_begin_output(kf_jpeg_reader *reader);
kf_status kf_jpeg_reader_rows(kf_jpeg_reader *reader, uint8_t *rows, size_t stride, uint32_t count);
/* Ends an output that was begun before the last scan, so that more scans can be absorbed. */
kf_status kf_jpeg_reader_end_output(kf_jpeg_reader *reader);
/* Reads to the end marker. */
kf_status kf_jpeg_reader_finish(kf_jpeg_reader *reader);

typedef struct kf_jpeg_writer kf_jpeg_writer;

typedef struct {
    uint32_t width, height;
    uint32_t channels; /* 1 grey, 3 RGB */
    int32_t quality;   /* 1 to 100 */
    int32_t progressive;
    int32_t optimized;                       /* optimised Huffman tables; holds all coefficients */
    uint32_t horizontal_sampling, vertical_sampling; /* 2,2 is 4:2:0; 2,1 is 4:2:2; 1,1 is 4:4:4 */
} kf_jpeg_output;

kf_jpeg_writer *kf_jpeg_writer_create(kf_bounds bounds);
/* EXIF and XMP are the contents of their segments. One of more than 65,533 bytes is left out. */
kf_status kf_jpeg_writer_start(kf_jpeg_writer *writer, const kf_jpeg_output *output, const kf_blocks *blocks);
kf_status kf_jpeg_writer_rows(kf_jpeg_writer *writer, const uint8_t *rows, size_t stride, uint32_t count);
kf_status kf_jpeg_writer_finish(kf_jpeg_writer *writer, kf_bytes *bytes);

#endif
