#include "handle.h"
#include "kf_png.h"

#include <png.h>
#include <string.h>

typedef struct {
    const uint8_t *bytes;
    size_t length;
} span;

struct kf_png_reader {
    kf_handle handle;
    png_structp png;
    png_infop info;
    /* The bytes that libpng reads next; then those of `next`, then those of the frame's chunks. */
    span current, next[4];
    uint32_t next_count;
    kf_png_frame frame;
    const uint8_t *data;
    uint8_t head[33]; /* the signature and the header of a frame */
    uint8_t name[8];  /* the length and name of a chunk that libpng reads as image data */
    uint64_t rows_left; /* of all passes */
    int at_last_row, has_all_rows, tolerant;
    size_t excess;
    int stopped; /* stopped after the last row, before the end of the image data */
    kf_status status;
};

static void on_error(png_structp png, png_const_charp text) {
    kf_png_reader *reader = png_get_error_ptr(png);
    if (reader->status == KF_OK) {
        /* libpng distinguishes errors only by their text. */
        int is_memory = strstr(text, "ut of memory") || strstr(text, "nsufficient memory");
        reader->status = kf_fail(&reader->handle, is_memory ? KF_NO_MEMORY : KF_CORRUPT, text);
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

static const uint8_t image_data[] = {'I', 'D', 'A', 'T'};
static const uint8_t frame_data[] = {'f', 'd', 'A', 'T'};
/* The sequence number before the image data of a fdAT chunk. */
enum { SEQUENCE = 4 };

/* Whether there are more bytes. The data of a frame's fdAT chunks is presented as that of IDAT chunks. */
static int advance(kf_png_reader *reader) {
    if (reader->next_count > 0) {
        reader->current = reader->next[--reader->next_count];
        return 1;
    }
    kf_png_frame *frame = &reader->frame;
    const uint8_t *kind = frame->has_own_data ? frame_data : image_data;
    size_t skipped = frame->has_own_data ? SEQUENCE : 0;
    while (frame->end - frame->start >= 12) {
        const uint8_t *chunk = reader->data + frame->start;
        size_t length = png_get_uint_32(chunk);
        if (length > frame->end - frame->start - 12) return 0;
        frame->start += length + 12;
        if (memcmp(chunk + 4, kind, 4) != 0 || length < skipped) continue;
        png_save_uint_32(reader->name, (png_uint_32)(length - skipped));
        memcpy(reader->name + 4, image_data, 4);
        reader->next[reader->next_count++] = (span){chunk + 8 + skipped, length - skipped + 4};
        reader->current = (span){reader->name, sizeof reader->name};
        return 1;
    }
    return 0;
}

static void on_read(png_structp png, png_bytep bytes, size_t count) {
    kf_png_reader *reader = png_get_io_ptr(png);
    if (reader->has_all_rows) {
        reader->excess += count;
        reader->stopped = reader->excess > MOST_EXCESS;
        if (reader->stopped) png_longjmp(png, 1);
    }
    while (count > reader->current.length) {
        memcpy(bytes, reader->current.bytes, reader->current.length);
        bytes += reader->current.length;
        count -= reader->current.length;
        if (advance(reader)) continue;
        reader->current.length = 0;
        reader->stopped = reader->has_all_rows;
        if (reader->stopped) png_longjmp(png, 1);
        reader->status = kf_fail(&reader->handle, KF_TRUNCATED, "the file ends too early");
        png_error(png, reader->handle.message);
    }
    memcpy(bytes, reader->current.bytes, count);
    reader->current.bytes += count;
    reader->current.length -= count;
}

/* libpng calls this when a row is decoded, before it reads more data. */
static void on_row(png_structp png, png_row_infop row, png_bytep bytes) {
    (void)row;
    (void)bytes;
    kf_png_reader *reader = png_get_io_ptr(png);
    reader->has_all_rows = reader->at_last_row;
}

/* Queues a whole chunk of the file; `start` is 0 for none. */
static void queue_chunk(kf_png_reader *reader, size_t start) {
    if (start == 0) return;
    const uint8_t *chunk = reader->data + start;
    reader->next[reader->next_count++] = (span){chunk, (size_t)png_get_uint_32(chunk) + 12};
}

/* A frame is read as a file of its own: a header with its size, the palette, the transparency and its data. */
static void queue_frame(kf_png_reader *reader, const kf_png_frame *frame) {
    enum { IHDR = 8, WIDTH = 16, HEIGHT = 20, CHECKSUM = 29 };
    reader->frame = *frame;
    memcpy(reader->head, reader->data, sizeof reader->head);
    png_save_uint_32(reader->head + WIDTH, frame->width);
    png_save_uint_32(reader->head + HEIGHT, frame->height);
    png_save_uint_32(reader->head + CHECKSUM, kf_crc32(0, reader->head + IHDR + 4, CHECKSUM - IHDR - 4));
    queue_chunk(reader, frame->transparency);
    queue_chunk(reader, frame->palette);
    reader->current = (span){reader->head, sizeof reader->head};
}

static void release(void *handle) {
    kf_png_reader *reader = handle;
    png_destroy_read_struct(&reader->png, &reader->info, NULL);
}

kf_png_reader *kf_png_reader_create(const uint8_t *data, size_t length, const kf_png_frame *frame, int tolerant) {
    kf_png_reader *reader = kf_handle_create(sizeof *reader, release);
    if (reader == NULL) return NULL;
    reader->data = data;
    reader->tolerant = tolerant;
    if (frame != NULL) queue_frame(reader, frame);
    else reader->current = (span){data, length};
    reader->png = png_create_read_struct(PNG_LIBPNG_VER_STRING, reader, on_error, on_warning);
    if (reader->png != NULL) reader->info = png_create_info_struct(reader->png);
    if (reader->info == NULL) {
        kf_handle_destroy(&reader->handle);
        return NULL;
    }
    return reader;
}

kf_status kf_png_reader_damage(const kf_png_reader *reader) {
    return reader->tolerant && reader->has_all_rows ? reader->status : KF_OK;
}

kf_status kf_png_reader_header(kf_png_reader *reader, kf_png_header *header) {
    static const png_byte skipped[] = "tEXt\0zTXt\0iTXt\0eXIf\0sPLT\0hIST\0pCAL\0sCAL\0tIME\0bKGD\0pHYs\0oFFs\0iCCP";
    png_structp png = reader->png;
    png_infop info = reader->info;
    if (setjmp(png_jmpbuf(png))) return reader->status;

    png_set_read_fn(png, reader, on_read);
    /* Ancillary chunks with a wrong checksum are ignored. */
    png_set_crc_action(png, reader->tolerant ? PNG_CRC_QUIET_USE : PNG_CRC_ERROR_QUIT, PNG_CRC_WARN_DISCARD);
    /* The caller checks its own limits; libpng's limit of the sides is set to its maximum. */
    png_set_user_limits(png, 0x7fffffff, 0x7fffffff);
    /* The limit for compressed chunks after inflation. */
    png_set_chunk_malloc_max(png, 8 << 20);
    png_set_chunk_cache_max(png, 128);
    png_set_keep_unknown_chunks(png, PNG_HANDLE_CHUNK_NEVER, skipped, (int)(sizeof skipped / 5));
    png_read_info(png, info);

    /* The checksum of a fdAT chunk covers its name and number too. The caller has verified it. */
    if (reader->frame.has_own_data) png_set_crc_action(png, PNG_CRC_QUIET_USE, PNG_CRC_WARN_DISCARD);

    png_set_expand(png);
    if (reader->frame.end > 0) {
        png_set_scale_16(png);
        png_set_gray_to_rgb(png);
        png_set_add_alpha(png, 0xff, PNG_FILLER_AFTER);
    } else if (png_get_bit_depth(png, info) == 16) {
        png_set_swap(png);
    }
    png_set_read_user_transform_fn(png, on_row);
    header->passes = (uint32_t)png_set_interlace_handling(png);
    png_read_update_info(png, info);

    reader->rows_left = (uint64_t)png_get_image_height(png, info) * header->passes;
    header->width = png_get_image_width(png, info);
    header->height = png_get_image_height(png, info);
    header->channels = png_get_channels(png, info);
    header->depth = png_get_bit_depth(png, info);
    return KF_OK;
}

kf_status kf_png_reader_rows(kf_png_reader *reader, uint8_t *rows, size_t stride, uint32_t count) {
    if (setjmp(png_jmpbuf(reader->png))) {
        int is_whole = reader->stopped || (reader->tolerant && reader->has_all_rows);
        return is_whole ? KF_OK : reader->status;
    }
    for (uint32_t row = 0; row < count && reader->rows_left > 0; row++) {
        reader->at_last_row = --reader->rows_left == 0;
        png_read_row(reader->png, rows + row * stride, NULL);
    }
    return KF_OK;
}
