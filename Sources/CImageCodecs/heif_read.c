#include "heif_reader.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#if LIBHEIF_NUMERIC_VERSION < 0x010d0000
#error "kf needs the headers of libheif 1.13 or newer"
#endif

KF_DEFINE_LIBRARY(kf_heif, KF_HEIF_FUNCTIONS, "libheif.so.1", NULL)

const char *kf_heif_load(void) { return kf_library_load(&library); }

const char *kf_heif_version(void) { return kf_heif.heif_get_version(); }

enum { MOST_METADATA = 1 << 20 };

static kf_status check(kf_heif_reader *reader, struct heif_error error) {
    if (error.code == heif_error_Ok) return KF_OK;
    kf_fail(&reader->handle, KF_CORRUPT, error.message ? error.message : "unknown error");
    if (error.subcode == heif_suberror_End_of_data) return KF_TRUNCATED;
    /* The sizes have been compared with kf's limits before; this is one of libheif's own. */
    if (error.subcode == heif_suberror_Security_limit_exceeded) return KF_UNSUPPORTED;
    switch (error.code) {
    case heif_error_Unsupported_filetype:
    case heif_error_Unsupported_feature:
    case heif_error_Plugin_loading_error: return KF_UNSUPPORTED;
    case heif_error_Memory_allocation_error: return KF_NO_MEMORY;
    default: return KF_CORRUPT;
    }
}

static void release(void *handle) {
    kf_heif_reader *reader = handle;
    if (reader->image != NULL) kf_heif.heif_image_release(reader->image);
    if (reader->primary != NULL) kf_heif.heif_image_handle_release(reader->primary);
    if (reader->context != NULL) kf_heif.heif_context_free(reader->context);
    free(reader->profile);
    free(reader->exif);
    free(reader->xmp);
    free(reader->sums);
}

kf_heif_reader *kf_heif_reader_create(void) {
    kf_heif_reader *reader = kf_handle_create(sizeof *reader, release);
    if (reader == NULL) return NULL;
    reader->context = kf_heif.heif_context_alloc();
    if (reader->context == NULL) {
        kf_handle_destroy(&reader->handle);
        return NULL;
    }
    return reader;
}

/* Metadata that cannot be read must not fail the picture. Exif begins with the distance to its TIFF header. */
static void read_block(kf_heif_reader *reader, heif_item_id item) {
    const char *type = kf_heif.heif_image_handle_get_metadata_type(reader->primary, item);
    const char *content = kf_heif.heif_image_handle_get_metadata_content_type(reader->primary, item);
    int is_exif = type != NULL && strcmp(type, "Exif") == 0;
    int is_xmp = content != NULL && strcmp(content, "application/rdf+xml") == 0;
    size_t length = kf_heif.heif_image_handle_get_metadata_size(reader->primary, item);
    if ((!is_exif && !is_xmp) || (is_exif ? reader->exif : reader->xmp) != NULL) return;
    if (length <= 4 || length > MOST_METADATA) return;
    uint8_t *bytes = malloc(length);
    if (bytes == NULL || kf_heif.heif_image_handle_get_metadata(reader->primary, item, bytes).code != heif_error_Ok) {
        free(bytes);
        return;
    }
    if (is_xmp) {
        reader->xmp = bytes;
        reader->picture.blocks.xmp = (kf_bytes){bytes, length};
        return;
    }
    reader->exif = bytes;
    size_t skip = (size_t)bytes[0] << 24 | (size_t)bytes[1] << 16 | (size_t)bytes[2] << 8 | bytes[3];
    if (skip < length - 4) reader->picture.blocks.exif = (kf_bytes){bytes + 4 + skip, length - 4 - skip};
}

static void read_blocks(kf_heif_reader *reader) {
    heif_item_id items[64];
    int count = kf_heif.heif_image_handle_get_list_of_metadata_block_IDs(reader->primary, NULL, items, 64);
    for (int index = 0; index < count && index < 64; index++) read_block(reader, items[index]);
    size_t length = kf_heif.heif_image_handle_get_raw_color_profile_size(reader->primary);
    if (length == 0 || length > MOST_METADATA) return;
    reader->profile = malloc(length);
    if (reader->profile == NULL) return;
    if (kf_heif.heif_image_handle_get_raw_color_profile(reader->primary, reader->profile).code != heif_error_Ok) return;
    reader->picture.blocks.profile = (kf_bytes){reader->profile, length};
}

static int read_plane(kf_heif_reader *reader, enum heif_channel channel, uint32_t width, uint32_t height, kf_heif_plane *plane) {
    int stride = 0;
    const uint8_t *samples = kf_heif.heif_image_get_plane_readonly(reader->image, channel, &stride);
    int own_width = kf_heif.heif_image_get_width(reader->image, channel);
    int own_height = kf_heif.heif_image_get_height(reader->image, channel);
    int depth = kf_heif.heif_image_get_bits_per_pixel_range(reader->image, channel);
    if (samples == NULL || own_width < 0 || own_height < 0 || depth < 8 || depth > 16 || stride <= 0) return 0;
    if ((uint32_t)own_width < width || (uint32_t)own_height < height) return 0;
    plane->samples = samples;
    plane->stride = (size_t)stride;
    plane->depth = (uint32_t)depth;
    return plane->stride >= (size_t)width * (depth > 8 ? 2 : 1);
}

/* The weights of red and blue in luma, by the matrix coefficients; 0 when kf has none. */
static int weights(uint32_t coefficients, double *red, double *blue) {
    static const double table[][3] = {{1, .2126, .0722}, {2, .299, .114}, {4, .3, .11}, {5, .299, .114},
        {6, .299, .114}, {7, .212, .087}, {9, .2627, .0593}, {10, .2627, .0593}};
    for (size_t index = 0; index < sizeof table / sizeof *table; index++) {
        if (table[index][0] != coefficients) continue;
        *red = table[index][1];
        *blue = table[index][2];
        return 1;
    }
    return 0;
}

static int64_t fixed(double value) { return (int64_t)(value * 65536 + (value < 0 ? -.5 : .5)); }

/* Without a box, libheif takes what the stream of the picture says; without that, BT.601 in full range. */
static kf_status read_matrix(kf_heif_reader *reader) {
    uint32_t coefficients = 6, is_full = 1;
    reader->picture.primaries = reader->picture.transfer = 2;
    struct heif_color_profile_nclx *nclx = NULL;
    if (kf_heif.heif_image_get_nclx_color_profile(reader->image, &nclx).code == heif_error_Ok && nclx != NULL) {
        coefficients = (uint32_t)nclx->matrix_coefficients;
        is_full = nclx->full_range_flag;
        reader->picture.primaries = (uint32_t)nclx->color_primaries;
        reader->picture.transfer = (uint32_t)nclx->transfer_characteristics;
        kf_heif.heif_nclx_color_profile_free(nclx);
    }
    uint32_t depth = reader->planes[0].depth;
    double most = (1u << depth) - 1, output = reader->picture.depth > 8 ? 65535 : 255;
    double unit = 1u << (depth - 8), luma = is_full ? most : 219 * unit, chroma = is_full ? most : 224 * unit;
    double scale = output / luma, low = is_full ? 0 : 16 * unit, red = 0, blue = 0;
    reader->matrix.scale = fixed(scale);
    reader->matrix.offset = fixed(-low * scale);
    reader->matrix.middle = 1 << (depth - 1);
    if (reader->is_rgb || reader->picture.channels <= 2) return KF_OK;
    if (coefficients == 0) {
        reader->is_rgb = 2;
        if (reader->shift_x != 0 || reader->shift_y != 0) return kf_fail(&reader->handle, KF_UNSUPPORTED, "subsampled RGB");
        return KF_OK;
    }
    if (!weights(coefficients, &red, &blue)) {
        snprintf(reader->handle.message, sizeof reader->handle.message, "matrix coefficients %u", coefficients);
        return KF_UNSUPPORTED;
    }
    double green = 1 - red - blue, step = output / chroma;
    reader->matrix.red = fixed(2 * (1 - red) * step);
    reader->matrix.blue = fixed(2 * (1 - blue) * step);
    reader->matrix.green_r = fixed(-2 * red * (1 - red) / green * step);
    reader->matrix.green_b = fixed(-2 * blue * (1 - blue) / green * step);
    return KF_OK;
}

static kf_status read_planes(kf_heif_reader *reader) {
    kf_picture *picture = &reader->picture;
    enum heif_colorspace space = kf_heif.heif_image_get_colorspace(reader->image);
    enum heif_chroma chroma = kf_heif.heif_image_get_chroma_format(reader->image);
    int is_gray = space == heif_colorspace_monochrome || chroma == heif_chroma_monochrome;
    reader->is_rgb = space == heif_colorspace_RGB;
    enum heif_channel first = reader->is_rgb ? heif_channel_R : heif_channel_Y;
    int width = kf_heif.heif_image_get_width(reader->image, first);
    int height = kf_heif.heif_image_get_height(reader->image, first);
    if (width <= 0 || height <= 0 || chroma > heif_chroma_444) {
        return kf_fail(&reader->handle, KF_UNSUPPORTED, "samples that libheif lays out in another way");
    }
    picture->width = (uint32_t)width;
    picture->height = (uint32_t)height;
    reader->shift_x = !is_gray && !reader->is_rgb && chroma != heif_chroma_444;
    reader->shift_y = !is_gray && !reader->is_rgb && chroma == heif_chroma_420;
    for (int index = 0; index < (is_gray ? 1 : 3); index++) {
        uint32_t shift_x = index > 0 ? reader->shift_x : 0, shift_y = index > 0 ? reader->shift_y : 0;
        uint32_t columns = (picture->width + shift_x) >> shift_x, rows = (picture->height + shift_y) >> shift_y;
        enum heif_channel channel = (enum heif_channel)((int)first + index);
        if (!read_plane(reader, channel, columns, rows, &reader->planes[index]) ||
            reader->planes[index].depth != reader->planes[0].depth) {
            return kf_fail(&reader->handle, KF_UNSUPPORTED, "planes of different kinds");
        }
    }
    picture->channels = is_gray ? 1 : 3;
    if (read_plane(reader, heif_channel_Alpha, picture->width, picture->height, &reader->alpha)) {
        picture->channels++;
        reader->is_premultiplied = kf_heif.heif_image_handle_is_premultiplied_alpha(reader->primary);
    } else {
        reader->alpha.samples = NULL;
    }
    picture->depth = reader->planes[0].depth > 8 ? 16 : 8;
    return read_matrix(reader);
}

kf_status kf_heif_reader_open(kf_heif_reader *reader, const uint8_t *data, size_t length, uint32_t side,
    uint32_t threads, kf_picture *picture) {
    /* The limit, below which both sides must be, holds for items that are not decoded, too. libheif's own is 32768. */
    int most = side < 32768 ? 32768 : side < INT32_MAX ? (int)side + 1 : INT32_MAX;
    kf_heif.heif_context_set_maximum_image_size_limit(reader->context, most);
    /* Without threads, the cells of a grid are decoded by the caller. */
    kf_heif.heif_context_set_max_decoding_threads(reader->context, threads > 1 ? (int)threads : 0);
    kf_status status =
        check(reader, kf_heif.heif_context_read_from_memory_without_copy(reader->context, data, length, NULL));
    if (status != KF_OK) return status;
    status = check(reader, kf_heif.heif_context_get_primary_image_handle(reader->context, &reader->primary));
    if (status != KF_OK) return status;
    struct heif_decoding_options *options = kf_heif.heif_decoding_options_alloc();
    if (options == NULL) return kf_fail(&reader->handle, KF_NO_MEMORY, "");
    options->ignore_transformations = 1;
    /* libheif 1.15 converts to RGB here, and would convert back if asked for the planes as they are coded. */
    status = check(reader, kf_heif.heif_decode_image(reader->primary, &reader->image, heif_colorspace_undefined,
                               heif_chroma_undefined, options));
    kf_heif.heif_decoding_options_free(options);
    if (status != KF_OK) return status;
    if (reader->image == NULL) return kf_fail(&reader->handle, KF_CORRUPT, "no picture");
    read_blocks(reader);
    status = read_planes(reader);
    *picture = reader->picture;
    return status;
}
