#include "kf_png.h"

#include <png.h>
#include <stdlib.h>
#include <string.h>

struct kf_png_reader {
    png_structp png;
    png_infop info;
    const uint8_t *data;
    size_t length, position;
    uint64_t rows_left; /* of all passes */
    int at_last_row, has_all_rows;
    size_t excess;
    int stopped; /* stopped after the last row, before the end of the image data */
    kf_status status;
    char message[KF_MESSAGE_LENGTH];
};

static void note(kf_png_reader *reader, const char *text) {
    strncpy(reader->message, text, sizeof reader->message - 1);
}

static void on_error(png_structp png, png_const_charp text) {
    kf_png_reader *reader = png_get_error_ptr(png);
    if (reader->status == KF_OK) {
        /* libpng distinguishes errors only by their text. */
        reader->status = strstr(text, "ut of memory") || strstr(text, "nsufficient memory") ? KF_NO_MEMORY : KF_CORRUPT;
        note(reader, text);
    }
    png_longjmp(png, 1);
}

static void on_warning(png_structp png, png_const_charp text) {
    (void)png;
    (void)text;
}

/* After the last row libpng inflates the rest of the image data to verify its end. That can be hundreds of megabytes
   from a few hundred kilobytes; a long rest is skipped. A file that ends there is accepted: no pixel is missing. */
enum { MOST_EXCESS = 1 << 16 };

static void on_read(png_structp png, png_bytep bytes, size_t count) {
    kf_png_reader *reader = png_get_io_ptr(png);
    if (reader->has_all_rows) {
        reader->excess += count;
        reader->stopped = reader->excess > MOST_EXCESS || count > reader->length - reader->position;
        if (reader->stopped) png_longjmp(png, 1);
    }
    if (count > reader->length - reader->position) {
        reader->status = KF_TRUNCATED;
        note(reader, "the file ends too early");
        png_error(png, "the file ends too early");
    }
    memcpy(bytes, reader->data + reader->position, count);
    reader->position += count;
}

/* libpng calls this when a row is decoded, before it reads more data. */
static void on_row(png_structp png, png_row_infop row, png_bytep bytes) {
    (void)row;
    (void)bytes;
    kf_png_reader *reader = png_get_io_ptr(png);
    reader->has_all_rows = reader->at_last_row;
}

kf_png_reader *kf_png_reader_create(const uint8_t *data, size_t length) {
    kf_png_reader *reader = calloc(1, sizeof *reader);
    if (reader == NULL) return NULL;
    reader->data = data;
    reader->length = length;
    reader->png = png_create_read_struct(PNG_LIBPNG_VER_STRING, reader, on_error, on_warning);
    if (reader->png != NULL) reader->info = png_create_info_struct(reader->png);
    if (reader->info == NULL) {
        kf_png_reader_destroy(reader);
        return NULL;
    }
    return reader;
}

kf_status kf_png_reader_header(kf_png_reader *reader, kf_png_header *header) {
    static const png_byte skipped[] = "tEXt\0zTXt\0iTXt\0eXIf\0sPLT\0hIST\0pCAL\0sCAL\0tIME\0bKGD\0pHYs\0oFFs";
    png_structp png = reader->png;
    png_infop info = reader->info;
    if (setjmp(png_jmpbuf(png))) return reader->status;

    png_set_read_fn(png, reader, on_read);
    /* Ancillary chunks with a wrong checksum are ignored. */
    png_set_crc_action(png, PNG_CRC_ERROR_QUIT, PNG_CRC_WARN_DISCARD);
    /* The caller checks its own limits; libpng's limit of the sides is set to its maximum. */
    png_set_user_limits(png, 0x7fffffff, 0x7fffffff);
    /* The limit for an ICC profile and other compressed chunks after inflation. */
    png_set_chunk_malloc_max(png, 8 << 20);
    png_set_chunk_cache_max(png, 128);
    png_set_keep_unknown_chunks(png, PNG_HANDLE_CHUNK_NEVER, skipped, (int)(sizeof skipped / 5));
    png_read_info(png, info);

    png_set_expand(png);
    png_set_read_user_transform_fn(png, on_row);
    if (png_get_bit_depth(png, info) == 16) png_set_swap(png);
    header->passes = (uint32_t)png_set_interlace_handling(png);
    png_read_update_info(png, info);

    reader->rows_left = (uint64_t)png_get_image_height(png, info) * header->passes;
    header->width = png_get_image_width(png, info);
    header->height = png_get_image_height(png, info);
    header->channels = png_get_channels(png, info);
    header->depth = png_get_bit_depth(png, info);
    header->icc = NULL;
    header->icc_length = 0;
    png_charp name;
    png_bytep profile;
    int compression;
    png_uint_32 length;
    if (png_get_iCCP(png, info, &name, &compression, &profile, &length) == PNG_INFO_iCCP) {
        header->icc = profile;
        header->icc_length = length;
    }
    return KF_OK;
}

kf_status kf_png_reader_rows(kf_png_reader *reader, uint8_t *rows, size_t stride, uint32_t count) {
    if (setjmp(png_jmpbuf(reader->png))) return reader->stopped ? KF_OK : reader->status;
    for (uint32_t row = 0; row < count && reader->rows_left > 0; row++) {
        reader->at_last_row = --reader->rows_left == 0;
        png_read_row(reader->png, rows + row * stride, NULL);
    }
    return KF_OK;
}

const char *kf_png_reader_message(const kf_png_reader *reader) { return reader->message; }

void kf_png_reader_destroy(kf_png_reader *reader) {
    if (reader == NULL) return;
    png_destroy_read_struct(&reader->png, &reader->info, NULL);
    free(reader);
}
