#ifndef KF_TIFF_H
#define KF_TIFF_H

#include "kf_status.h"

/* libtiff, opened with dlopen() on first use. */

/* Loads libtiff, once. Returns NULL, or the reason why it cannot be used. */
const char *kf_tiff_load(void);
/* "LIBTIFF, Version 4.5.0", and more lines. */
const char *kf_tiff_version(void);

typedef struct kf_tiff_reader kf_tiff_reader;

/* The first picture of a file. The pointers are valid as long as the reader. */
typedef struct {
    uint32_t width, height;
    uint32_t bits, samples; /* bits a sample, samples a pixel, as kf_tiff_reader_band writes them */
    uint32_t planes;        /* 1, or as many as samples, when each sample has rows of its own */
    uint32_t band_rows;     /* the rows of a band; the last band may have fewer */
    size_t row_bytes;       /* of one row of one plane */
    size_t plane_bytes;     /* of the band of one plane */
    size_t library_bytes;   /* that reader and library hold beside the band */
    const uint16_t *palette[3]; /* 1 << bits entries each; NULL without */
    const uint8_t *icc, *xmp;
    size_t icc_length, xmp_length;
} kf_tiff_picture;

/* NULL when there is no memory. kf_tiff_load must have succeeded. The data must outlive the reader. */
kf_tiff_reader *kf_tiff_reader_create(const uint8_t *data, size_t length);
/* Reads the first directory. No single allocation of libtiff is larger than `memory`. With `converts`, libtiff makes
   RGBA of 8 bits a sample of any colours. */
kf_status kf_tiff_reader_open(kf_tiff_reader *reader, size_t memory, int converts, kf_tiff_picture *picture);
/* Reads the band that begins at the row `top`, a multiple of band_rows: `planes` times `plane_bytes`. Rows of fewer
   than 8 bits a sample are packed from the highest bit on; 16 bits are in the machine's byte order. */
kf_status kf_tiff_reader_band(kf_tiff_reader *reader, uint32_t top, uint8_t *band);

#endif
