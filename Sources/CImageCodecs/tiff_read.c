#include "kf_tiff.h"

#include "handle.h"
#include "library.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <tiffio.h>

#if TIFFLIB_VERSION < 20221213
#error "kf needs the headers of libtiff 4.5 or newer, which has handlers for the errors of one file"
#endif

#define KF_TIFF_FUNCTIONS(X)                                                                                          \
    X(TIFFGetVersion)                                                                                                 \
    X(TIFFOpenOptionsAlloc)                                                                                           \
    X(TIFFOpenOptionsFree)                                                                                            \
    X(TIFFOpenOptionsSetMaxSingleMemAlloc)                                                                            \
    X(TIFFOpenOptionsSetErrorHandlerExtR)                                                                             \
    X(TIFFOpenOptionsSetWarningHandlerExtR)                                                                           \
    X(TIFFClientOpenExt)                                                                                              \
    X(TIFFClose)                                                                                                      \
    X(TIFFGetField)                                                                                                   \
    X(TIFFGetFieldDefaulted)                                                                                          \
    X(TIFFSetField)                                                                                                   \
    X(TIFFIsTiled)                                                                                                    \
    X(TIFFScanlineSize)                                                                                               \
    X(TIFFTileSize)                                                                                                   \
    X(TIFFTileRowSize)                                                                                                \
    X(TIFFComputeStrip)                                                                                               \
    X(TIFFComputeTile)                                                                                                \
    X(TIFFReadScanline)                                                                                               \
    X(TIFFReadEncodedStrip)                                                                                           \
    X(TIFFReadEncodedTile)                                                                                            \
    X(TIFFRGBAImageOK)                                                                                                \
    X(TIFFReadRGBAStripExt)                                                                                           \
    X(TIFFReadRGBATileExt)

KF_DECLARE_FUNCTIONS(kf_tiff, KF_TIFF_FUNCTIONS)
KF_DEFINE_LIBRARY(kf_tiff, KF_TIFF_FUNCTIONS, "libtiff.so.6", NULL)

const char *kf_tiff_load(void) { return kf_library_load(&library); }

const char *kf_tiff_version(void) { return kf_tiff.TIFFGetVersion(); }

/* Rows are read one by one where libtiff can; a band of them has about this many bytes. */
enum { BAND_BYTES = 1 << 16 };

struct kf_tiff_reader {
    kf_handle handle;
    TIFF *tiff;
    const uint8_t *data;
    size_t length, position;
    kf_tiff_picture picture;
    int converts, is_tiled, is_contiguous;
    uint32_t tile_width;
    uint8_t *tile; /* one tile of a tiled picture, or a strip as libtiff converts it */
    size_t tile_bytes;
};

/* The first message is the cause of those behind it. Returning 1 keeps the handlers of the process out of it. */
static int keep_error(TIFF *tiff, void *user, const char *module, const char *format, va_list arguments) {
    (void)tiff;
    (void)module;
    kf_handle *handle = user;
    if (*handle->message == 0) vsnprintf(handle->message, sizeof handle->message, format, arguments);
    return 1;
}

static int ignore_warning(TIFF *tiff, void *user, const char *module, const char *format, va_list arguments) {
    (void)tiff, (void)user, (void)module, (void)format, (void)arguments;
    return 1;
}

static kf_status fail(kf_tiff_reader *reader, kf_status status, const char *reason) {
    return *reader->handle.message == 0 ? kf_fail(&reader->handle, status, reason) : status;
}

static tmsize_t read_data(thandle_t handle, void *buffer, tmsize_t size) {
    kf_tiff_reader *reader = handle;
    if (size < 0 || reader->position >= reader->length) return 0;
    size_t left = reader->length - reader->position, count = (size_t)size < left ? (size_t)size : left;
    memcpy(buffer, reader->data + reader->position, count);
    reader->position += count;
    return (tmsize_t)count;
}

static tmsize_t write_nothing(thandle_t handle, void *buffer, tmsize_t size) {
    (void)handle, (void)buffer, (void)size;
    return -1;
}

static toff_t seek(thandle_t handle, toff_t offset, int whence) {
    kf_tiff_reader *reader = handle;
    toff_t base = whence == SEEK_SET ? 0 : whence == SEEK_CUR ? reader->position : reader->length;
    if (__builtin_add_overflow(base, offset, &reader->position)) reader->position = SIZE_MAX;
    return reader->position;
}

static int close_nothing(thandle_t handle) {
    (void)handle;
    return 0;
}

static toff_t size_of(thandle_t handle) { return ((kf_tiff_reader *)handle)->length; }

/* The bytes are in memory already; libtiff only reads them. */
static int map(thandle_t handle, void **base, toff_t *size) {
    kf_tiff_reader *reader = handle;
    *base = (void *)(uintptr_t)reader->data;
    *size = reader->length;
    return 1;
}

static void unmap(thandle_t handle, void *base, toff_t size) { (void)handle, (void)base, (void)size; }

static void release(void *handle) {
    kf_tiff_reader *reader = handle;
    if (reader->tiff != NULL) kf_tiff.TIFFClose(reader->tiff);
    free(reader->tile);
}

kf_tiff_reader *kf_tiff_reader_create(const uint8_t *data, size_t length) {
    kf_tiff_reader *reader = kf_handle_create(sizeof *reader, release);
    if (reader == NULL) return NULL;
    reader->data = data;
    reader->length = length;
    return reader;
}

static TIFF *open_file(kf_tiff_reader *reader, size_t memory) {
    TIFFOpenOptions *options = kf_tiff.TIFFOpenOptionsAlloc();
    if (options == NULL) return NULL;
    kf_tiff.TIFFOpenOptionsSetMaxSingleMemAlloc(options, memory < PTRDIFF_MAX ? (tmsize_t)memory : PTRDIFF_MAX);
    kf_tiff.TIFFOpenOptionsSetErrorHandlerExtR(options, keep_error, reader);
    kf_tiff.TIFFOpenOptionsSetWarningHandlerExtR(options, ignore_warning, NULL);
    TIFF *tiff = kf_tiff.TIFFClientOpenExt(
        "", "r", reader, read_data, write_nothing, seek, close_nothing, size_of, map, unmap, options);
    kf_tiff.TIFFOpenOptionsFree(options);
    return tiff;
}

static uint16_t short_field(kf_tiff_reader *reader, uint32_t tag) {
    uint16_t value = 0;
    kf_tiff.TIFFGetFieldDefaulted(reader->tiff, tag, &value);
    return value;
}

static uint32_t long_field(kf_tiff_reader *reader, uint32_t tag) {
    uint32_t value = 0;
    kf_tiff.TIFFGetFieldDefaulted(reader->tiff, tag, &value);
    return value;
}

static void read_blocks(kf_tiff_reader *reader) {
    kf_tiff_picture *picture = &reader->picture;
    uint32_t length = 0;
    void *bytes = NULL;
    if (kf_tiff.TIFFGetField(reader->tiff, TIFFTAG_ICCPROFILE, &length, &bytes)) {
        picture->icc = bytes;
        picture->icc_length = length;
    }
    if (kf_tiff.TIFFGetField(reader->tiff, TIFFTAG_XMLPACKET, &length, &bytes)) {
        picture->xmp = bytes;
        picture->xmp_length = length;
    }
    uint16_t *red = NULL, *green = NULL, *blue = NULL;
    if (picture->bits <= 16 && kf_tiff.TIFFGetField(reader->tiff, TIFFTAG_COLORMAP, &red, &green, &blue)) {
        picture->palette[0] = red;
        picture->palette[1] = green;
        picture->palette[2] = blue;
    }
}

/* Bytes of `count` pixels in a row of one plane; no side of a picture has more than 32 bits, and no sample more than 32. */
static size_t bytes_of(const kf_tiff_reader *reader, uint32_t count) {
    uint64_t samples = reader->is_contiguous ? reader->picture.samples : 1;
    return (size_t)(((uint64_t)count * samples * reader->picture.bits + 7) / 8);
}

static kf_status plan_bands(kf_tiff_reader *reader) {
    kf_tiff_picture *picture = &reader->picture;
    uint32_t rows_per_strip = long_field(reader, TIFFTAG_ROWSPERSTRIP);
    if (rows_per_strip == 0 || rows_per_strip > picture->height) rows_per_strip = picture->height;
    if (reader->converts) {
        reader->is_contiguous = 1;
        picture->bits = 8;
        picture->samples = 4;
    }
    picture->planes = reader->is_contiguous ? 1 : picture->samples;
    picture->row_bytes = bytes_of(reader, picture->width);
    if (reader->is_tiled) {
        uint32_t height = long_field(reader, TIFFTAG_TILELENGTH);
        reader->tile_width = long_field(reader, TIFFTAG_TILEWIDTH);
        if (reader->tile_width == 0 || height == 0) return fail(reader, KF_CORRUPT, "tiles without a size");
        if (reader->tile_width % 8 != 0) return fail(reader, KF_UNSUPPORTED, "tiles of an odd width");
        picture->band_rows = height;
        size_t row = bytes_of(reader, reader->tile_width);
        tmsize_t said = reader->converts ? (tmsize_t)row : kf_tiff.TIFFTileRowSize(reader->tiff);
        if (said < 0 || (size_t)said != row) return fail(reader, KF_UNSUPPORTED, "tiles of unusual rows");
        if (__builtin_mul_overflow(row, height, &reader->tile_bytes)) return fail(reader, KF_NO_MEMORY, "");
        if (!reader->converts && kf_tiff.TIFFTileSize(reader->tiff) != (tmsize_t)reader->tile_bytes) {
            return fail(reader, KF_UNSUPPORTED, "tiles of an unusual size");
        }
    } else if (reader->converts) {
        picture->band_rows = rows_per_strip;
        if (__builtin_mul_overflow(picture->row_bytes, rows_per_strip, &reader->tile_bytes)) {
            return fail(reader, KF_NO_MEMORY, "");
        }
    } else {
        tmsize_t row = kf_tiff.TIFFScanlineSize(reader->tiff);
        if (row < 0 || (size_t)row != picture->row_bytes) return fail(reader, KF_UNSUPPORTED, "rows of an unusual size");
        uint32_t most = (uint32_t)(BAND_BYTES / picture->row_bytes) + 1;
        picture->band_rows = !reader->is_contiguous ? rows_per_strip : most < picture->height ? most : picture->height;
    }
    if (__builtin_mul_overflow(picture->row_bytes, picture->band_rows, &picture->plane_bytes)) {
        return fail(reader, KF_NO_MEMORY, "");
    }
    /* libtiff decodes into the memory of the caller, but for RGBA holds the strip or tile itself. */
    picture->library_bytes = reader->tile_bytes * (reader->converts ? 2 : 1) + (1 << 20);
    return KF_OK;
}

kf_status kf_tiff_reader_open(kf_tiff_reader *reader, size_t memory, int converts, kf_tiff_picture *picture) {
    reader->tiff = open_file(reader, memory);
    if (reader->tiff == NULL) return fail(reader, KF_CORRUPT, "no directory");
    reader->converts = converts;
    kf_tiff_picture *own = &reader->picture;
    own->width = long_field(reader, TIFFTAG_IMAGEWIDTH);
    own->height = long_field(reader, TIFFTAG_IMAGELENGTH);
    own->bits = short_field(reader, TIFFTAG_BITSPERSAMPLE);
    own->samples = short_field(reader, TIFFTAG_SAMPLESPERPIXEL);
    if (own->width == 0 || own->height == 0 || own->bits == 0 || own->bits > 32 || own->samples == 0) {
        return fail(reader, KF_CORRUPT, "no size");
    }
    reader->is_tiled = kf_tiff.TIFFIsTiled(reader->tiff);
    reader->is_contiguous = own->samples == 1 || short_field(reader, TIFFTAG_PLANARCONFIG) != PLANARCONFIG_SEPARATE;
    read_blocks(reader);
    if (converts) {
        char reason[1024] = "";
        if (!kf_tiff.TIFFRGBAImageOK(reader->tiff, reason)) return fail(reader, KF_UNSUPPORTED, reason);
        /* libtiff would turn the picture; the caller does. */
        kf_tiff.TIFFSetField(reader->tiff, TIFFTAG_ORIENTATION, ORIENTATION_TOPLEFT);
    } else if (short_field(reader, TIFFTAG_COMPRESSION) == COMPRESSION_JPEG &&
        short_field(reader, TIFFTAG_PHOTOMETRIC) == PHOTOMETRIC_YCBCR) {
        kf_tiff.TIFFSetField(reader->tiff, TIFFTAG_JPEGCOLORMODE, JPEGCOLORMODE_RGB);
    }
    kf_status status = plan_bands(reader);
    *picture = *own;
    return status;
}

static kf_status damaged(kf_tiff_reader *reader) { return fail(reader, KF_CORRUPT, "damaged picture data"); }

/* libtiff converts from the bottom up. */
static void copy_converted(
    const kf_tiff_reader *reader, uint32_t tile_width, uint32_t tile_rows, uint32_t rows, uint32_t width, uint8_t *target) {
    for (uint32_t row = 0; row < rows; row++) {
        const uint8_t *source = reader->tile + (size_t)(tile_rows - 1 - row) * tile_width * 4;
        memcpy(target + row * reader->picture.row_bytes, source, (size_t)width * 4);
    }
}

static kf_status read_tiles(kf_tiff_reader *reader, uint32_t top, uint32_t rows, uint8_t *band) {
    const kf_tiff_picture *picture = &reader->picture;
    size_t tile_row = bytes_of(reader, reader->tile_width);
    for (uint32_t plane = 0; plane < picture->planes; plane++, band += picture->plane_bytes) {
        for (uint32_t left = 0; left < picture->width; left += reader->tile_width) {
            uint32_t rest = picture->width - left, width = rest < reader->tile_width ? rest : reader->tile_width;
            uint8_t *target = band + bytes_of(reader, left);
            if (reader->converts) {
                uint32_t *raster = (uint32_t *)(void *)reader->tile;
                if (!kf_tiff.TIFFReadRGBATileExt(reader->tiff, left, top, raster, 1)) return damaged(reader);
                copy_converted(reader, reader->tile_width, picture->band_rows, rows, width, target);
            } else {
                uint32_t tile = kf_tiff.TIFFComputeTile(reader->tiff, left, top, 0, (uint16_t)plane);
                tmsize_t size = (tmsize_t)reader->tile_bytes;
                if (kf_tiff.TIFFReadEncodedTile(reader->tiff, tile, reader->tile, size) != size) return damaged(reader);
                for (uint32_t row = 0; row < rows; row++) {
                    memcpy(target + row * picture->row_bytes, reader->tile + row * tile_row, bytes_of(reader, width));
                }
            }
            if (rest <= reader->tile_width) break;
        }
    }
    return KF_OK;
}

kf_status kf_tiff_reader_band(kf_tiff_reader *reader, uint32_t top, uint8_t *band) {
    const kf_tiff_picture *picture = &reader->picture;
    uint32_t left = picture->height - top, rows = left < picture->band_rows ? left : picture->band_rows;
    if (reader->tile == NULL && reader->tile_bytes > 0) {
        reader->tile = calloc(1, reader->tile_bytes);
        if (reader->tile == NULL) return fail(reader, KF_NO_MEMORY, "");
    }
    if (reader->is_tiled) return read_tiles(reader, top, rows, band);
    if (reader->converts) {
        uint32_t *raster = (uint32_t *)(void *)reader->tile;
        if (!kf_tiff.TIFFReadRGBAStripExt(reader->tiff, top, raster, 1)) return damaged(reader);
        copy_converted(reader, picture->width, rows, rows, picture->width, band);
        return KF_OK;
    }
    for (uint32_t plane = 0; plane < picture->planes && !reader->is_contiguous; plane++) {
        uint32_t strip = kf_tiff.TIFFComputeStrip(reader->tiff, top, (uint16_t)plane);
        tmsize_t size = (tmsize_t)(rows * picture->row_bytes);
        uint8_t *target = band + plane * picture->plane_bytes;
        if (kf_tiff.TIFFReadEncodedStrip(reader->tiff, strip, target, size) != size) return damaged(reader);
    }
    for (uint32_t row = 0; row < rows && reader->is_contiguous; row++) {
        if (kf_tiff.TIFFReadScanline(reader->tiff, band + row * picture->row_bytes, top + row, 0) != 1) {
            return damaged(reader);
        }
    }
    return KF_OK;
}
