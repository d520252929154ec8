#ifndef KF_JXL_H
#define KF_JXL_H

#include "kf_status.h"

/* libjxl, opened with dlopen() on first use. */

/* Loads libjxl, once. Returns NULL, or the reason why it cannot be used. */
const char *kf_jxl_load(void);
/* The file name of the library that kf was built for, such as "libjxl.so.0.7". */
const char *kf_jxl_library(void);
/* A number such as 7000 for 0.7.0. */
uint32_t kf_jxl_version(void);

typedef struct kf_jxl_reader kf_jxl_reader;

/* The image as it is coded: not turned. The pointers are valid as long as the reader. */
typedef struct {
    uint32_t width, height;
    uint32_t channels;    /* of the output: 1 grey, 2 grey+alpha, 3 RGB or three inks, 4 RGBA, with straight alpha */
    uint32_t depth;       /* of the output: 8, or 16 in the machine's byte order */
    uint32_t orientation; /* as in EXIF */
    uint32_t has_ink;     /* the three colours are inks, and black is apart; 255 is no ink */
    uint32_t is_animation, loops; /* 0 loops is forever */
    uint32_t primaries, transfer; /* the code points of ITU-T H.273 for PQ and HLG; 0 for any other */
    const uint8_t *icc;           /* NULL for sRGB */
    size_t icc_length;
} kf_jxl_picture;

/* NULL when there is no memory. kf_jxl_load must have succeeded. The data must outlive the reader. A call that would
   exceed the limits of the meter, which may be NULL, returns KF_LATE. */
kf_jxl_reader *kf_jxl_reader_create(const uint8_t *data, size_t length, kf_meter *meter);
/* Reads the header. With `is_coarse`, kf_jxl_reader_next makes a still picture of the averages of its blocks of 8 by 8
   pixels, if it is coded in blocks. */
kf_status kf_jxl_reader_open(kf_jxl_reader *reader, int is_coarse, kf_jxl_picture *picture);
/* Counts the frames that are shown, `most` at most, without decoding them. */
kf_status kf_jxl_reader_count(kf_jxl_reader *reader, uint32_t most, uint32_t *frames);
/* Copies the first box of a kind, such as "Exif", decompressed if it is compressed. Returns its length; 0 for none, one that
   is damaged, and one longer than the capacity. */
size_t kf_jxl_reader_box(kf_jxl_reader *reader, const char *kind, uint8_t *bytes, size_t capacity);
/* Where a frame is written: rows begin at a multiple of 64 bytes, or of 8 where a row has fewer than 64. */
typedef struct {
    uint8_t *rows;
    size_t stride, length;
    uint8_t *black; /* of 8 bits, for a picture with has_ink; its rows begin likewise */
    size_t black_length;
} kf_jxl_target;
/* Decodes the next frame. KF_MORE when there is none. */
kf_status kf_jxl_reader_next(kf_jxl_reader *reader, const kf_jxl_target *target, double *seconds);

#endif
