#ifndef KF_STATUS_H
#define KF_STATUS_H

#include "kf_meter.h"

#include <stddef.h>
#include <stdint.h>

/* The result of a call. */
typedef int32_t kf_status;
static const kf_status KF_OK = 0;
static const kf_status KF_TRUNCATED = 1;
static const kf_status KF_CORRUPT = 2;
static const kf_status KF_UNSUPPORTED = 3;
static const kf_status KF_NO_MEMORY = 4;
static const kf_status KF_MORE = 5;
static const kf_status KF_SCAN = 6;
static const kf_status KF_SUSPENDED = 7;
static const kf_status KF_LATE = 8;

/* Readers and writers begin with a handle: a pointer to one of them is a pointer to its handle. */
typedef struct kf_handle kf_handle;
/* Why the last call has failed; empty when none has. */
const char *kf_handle_message(const kf_handle *handle);
void kf_handle_destroy(kf_handle *handle);

/* The limits of a writer. */
typedef struct {
    size_t bytes;    /* of the file */
    kf_meter *meter; /* NULL without a limit of time; a call that would exceed it returns KF_LATE */
} kf_bounds;

/* The output of a writer, valid until the writer is destroyed. */
typedef struct {
    const uint8_t *bytes;
    size_t length;
} kf_bytes;

/* The profile and the metadata of a file; of length 0 where there is none. */
typedef struct {
    kf_bytes profile, exif, xmp;
} kf_blocks;

/* A decoded picture as it is coded: neither cropped nor turned. */
typedef struct {
    uint32_t width, height;
    uint32_t channels; /* of the output: 1 grey, 2 grey+alpha, 3 RGB, 4 RGBA, with straight alpha */
    uint32_t depth;    /* of the output: 8, or 16 in the machine's byte order */
    uint32_t primaries, transfer; /* the code points of ITU-T H.273; 2 is unspecified */
    double seconds;               /* for which a frame is shown; 0 for a still picture */
    kf_blocks blocks;
} kf_picture;

/* Inflates a whole zlib stream. KF_CORRUPT when it is damaged or exceeds the capacity. */
kf_status kf_inflate(const uint8_t *bytes, size_t length, uint8_t *output, size_t capacity, size_t *written);

/* The CRC-32 of zlib and PNG, continued from `crc`, which is 0 at the beginning. */
uint32_t kf_crc32(uint32_t crc, const uint8_t *bytes, size_t length);

#endif
