#ifndef KF_HEIF_READER_H
#define KF_HEIF_READER_H

#include "handle.h"
#include "heif_library.h"
#include "kf_heif.h"

typedef struct {
    const uint8_t *samples; /* NULL for none */
    size_t stride;
    uint32_t depth;
} kf_heif_plane;

struct kf_heif_reader {
    kf_handle handle;
    struct heif_context *context;
    struct heif_image_handle *primary;
    struct heif_image *image;
    kf_picture picture;
    kf_heif_plane planes[3], alpha; /* Y, Cb, Cr or R, G, B; the first alone for grey */
    uint32_t shift_x, shift_y; /* of chroma */
    int is_rgb, is_premultiplied;
    /* In 65536ths: luma and chroma to their part of each colour. */
    struct {
        int64_t scale, offset;       /* of luma */
        int64_t red, green_b, green_r, blue; /* of chroma */
        int32_t middle;              /* of chroma */
    } matrix;
    uint8_t *profile, *exif, *xmp;
    uint32_t *sums; /* of the columns of a row of boxes, and behind them the averages of three planes */
};

#endif
