#include "buffer.h"
#include "handle.h"
#include "kf_png.h"

#include <png.h>
#include <stdlib.h>
#include <string.h>

struct kf_png_writer {
    kf_handle handle;
    png_structp png;
    png_infop info;
    kf_buffer buffer;
    kf_status status;
};

static void on_error(png_structp png, png_const_charp text) {
    kf_png_writer *writer = png_get_error_ptr(png);
    if (writer->status == KF_OK) {
        int is_memory = strstr(text, "ut of memory") || strstr(text, "nsufficient memory");
        writer->status = kf_fail(&writer->handle, is_memory ? KF_NO_MEMORY : KF_CORRUPT, text);
    }
    png_longjmp(png, 1);
}

static void on_warning(png_structp png, png_const_charp text) {
    (void)png;
    (void)text;
}

static void on_write(png_structp png, png_bytep bytes, size_t count) {
    kf_png_writer *writer = png_get_io_ptr(png);
    if (!kf_buffer_reserve(&writer->buffer, count)) png_error(png, "out of memory");
    memcpy(writer->buffer.bytes + writer->buffer.length, bytes, count);
    writer->buffer.length += count;
}

static void on_flush(png_structp png) { (void)png; }

static void release(void *handle) {
    kf_png_writer *writer = handle;
    png_destroy_write_struct(&writer->png, &writer->info);
    free(writer->buffer.bytes);
}

kf_png_writer *kf_png_writer_create(kf_bounds bounds) {
    kf_png_writer *writer = kf_handle_create(sizeof *writer, release);
    if (writer == NULL) return NULL;
    writer->buffer.limit = bounds.bytes;
    writer->png = png_create_write_struct(PNG_LIBPNG_VER_STRING, writer, on_error, on_warning);
    if (writer->png != NULL) writer->info = png_create_info_struct(writer->png);
    if (writer->info == NULL) {
        kf_handle_destroy(&writer->handle);
        return NULL;
    }
    return writer;
}

static void set_palette(kf_png_writer *writer, const kf_png_output *output) {
    png_color colors[256];
    png_byte alphas[256];
    int transparent = 0;
    for (uint32_t i = 0; i < output->palette_count && i < 256; i++) {
        const uint8_t *entry = output->palette + 4 * i;
        colors[i] = (png_color){entry[0], entry[1], entry[2]};
        alphas[i] = entry[3];
        if (entry[3] != 255) transparent = (int)i + 1;
    }
    png_set_PLTE(writer->png, writer->info, colors, (int)output->palette_count);
    if (transparent > 0) png_set_tRNS(writer->png, writer->info, alphas, transparent, NULL);
}

static void set_metadata(kf_png_writer *writer, const kf_blocks *blocks) {
    kf_bytes exif = blocks->exif;
    if (exif.length > 0) {
        png_set_eXIf_1(writer->png, writer->info, (png_uint_32)exif.length, (png_bytep)(uintptr_t)exif.bytes);
    }
    if (blocks->xmp.length > 0) {
        png_text text = {0};
        text.compression = PNG_ITXT_COMPRESSION_NONE;
        text.key = (png_charp)(uintptr_t)"XML:com.adobe.xmp";
        text.text = (png_charp)(uintptr_t)blocks->xmp.bytes;
        png_set_text(writer->png, writer->info, &text, 1);
    }
}

kf_status kf_png_writer_start(kf_png_writer *writer, const kf_png_output *output, const kf_blocks *blocks) {
    static const int types[] = {
        PNG_COLOR_TYPE_GRAY, PNG_COLOR_TYPE_GRAY_ALPHA, PNG_COLOR_TYPE_RGB, PNG_COLOR_TYPE_RGB_ALPHA};
    png_structp png = writer->png;
    png_infop info = writer->info;
    if (setjmp(png_jmpbuf(png))) return writer->status;

    png_set_write_fn(png, writer, on_write, on_flush);
    png_set_user_limits(png, 0x7fffffff, 0x7fffffff);
    int type = output->palette != NULL ? PNG_COLOR_TYPE_PALETTE : types[(output->channels - 1) & 3];
    int depth = (int)output->depth;
    if (output->palette != NULL) {
        depth = output->palette_count <= 2 ? 1 : output->palette_count <= 4 ? 2 : output->palette_count <= 16 ? 4 : 8;
    }
    png_set_IHDR(
        png, info, output->width, output->height, depth, type, PNG_INTERLACE_NONE, PNG_COMPRESSION_TYPE_DEFAULT,
        PNG_FILTER_TYPE_DEFAULT);
    png_set_compression_level(png, output->level);
    if (output->palette != NULL) set_palette(writer, output);
    kf_bytes profile = blocks->profile;
    if (profile.length > 0) {
        /* A profile that libpng refuses is a warning, and then missing. */
        png_set_benign_errors(png, 1);
        png_set_iCCP(png, info, "icc", PNG_COMPRESSION_TYPE_BASE, profile.bytes, (png_uint_32)profile.length);
        if (!png_get_valid(png, info, PNG_INFO_iCCP)) return KF_UNSUPPORTED;
    }
    set_metadata(writer, blocks);
    png_write_info(png, info);
    if (depth == 16) png_set_swap(png);
    if (depth < 8) png_set_packing(png);
    return KF_OK;
}

kf_status kf_png_writer_rows(kf_png_writer *writer, const uint8_t *rows, size_t stride, uint32_t count) {
    if (setjmp(png_jmpbuf(writer->png))) return writer->status;
    for (uint32_t row = 0; row < count; row++) png_write_row(writer->png, rows + row * stride);
    return KF_OK;
}

kf_status kf_png_writer_finish(kf_png_writer *writer, kf_bytes *bytes) {
    if (setjmp(png_jmpbuf(writer->png))) return writer->status;
    /* Without the facts, of which it would write some again. */
    png_write_end(writer->png, NULL);
    bytes->bytes = writer->buffer.bytes;
    bytes->length = writer->buffer.length;
    return KF_OK;
}
