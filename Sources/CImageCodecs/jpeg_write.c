#include "buffer.h"
#include "jpeg_error.h"
#include "kf_jpeg.h"

#include <stdlib.h>

#include <jerror.h>

/* The largest content of a segment. */
enum { MOST_OF_SEGMENT = 65533 };

struct kf_jpeg_writer {
    kf_handle handle;
    struct jpeg_compress_struct info;
    kf_jpeg_error error;
    struct jpeg_destination_mgr destination;
    struct jpeg_progress_mgr progress;
    kf_meter *meter;
    kf_buffer buffer;
};

static void make_room(j_compress_ptr info) {
    kf_jpeg_writer *writer = info->client_data;
    if (!kf_buffer_reserve(&writer->buffer, 16384)) {
        info->err->msg_code = JERR_OUT_OF_MEMORY;
        info->err->msg_parm.i[0] = 0;
        info->err->error_exit((j_common_ptr)info);
    }
    writer->destination.next_output_byte = writer->buffer.bytes + writer->buffer.length;
    writer->destination.free_in_buffer = writer->buffer.capacity - writer->buffer.length;
}

/* libjpeg calls this when the buffer is full, whatever the value of free_in_buffer. */
static boolean on_empty(j_compress_ptr info) {
    kf_jpeg_writer *writer = info->client_data;
    writer->buffer.length = writer->buffer.capacity;
    make_room(info);
    return TRUE;
}

static void on_term(j_compress_ptr info) {
    kf_jpeg_writer *writer = info->client_data;
    writer->buffer.length = writer->buffer.capacity - writer->destination.free_in_buffer;
}

/* The last call writes every scan of a progressive picture. */
static void on_progress(j_common_ptr info) {
    kf_jpeg_writer *writer = info->client_data;
    if (!kf_meter_is_over(writer->meter)) return;
    writer->error.status = KF_LATE;
    longjmp(writer->error.escape, 1);
}

static void release(void *handle) {
    kf_jpeg_writer *writer = handle;
    if (setjmp(writer->error.escape) == 0) jpeg_destroy_compress(&writer->info);
    free(writer->buffer.bytes);
}

kf_jpeg_writer *kf_jpeg_writer_create(kf_bounds bounds) {
    kf_jpeg_writer *writer = kf_handle_create(sizeof *writer, release);
    if (writer == NULL) return NULL;
    writer->buffer.limit = bounds.bytes;
    writer->info.err = kf_jpeg_error_start(&writer->error, &writer->handle);
    if (setjmp(writer->error.escape)) {
        kf_handle_destroy(&writer->handle);
        return NULL;
    }
    jpeg_create_compress(&writer->info);
    writer->info.client_data = writer;
    writer->meter = bounds.meter;
    writer->progress.progress_monitor = on_progress;
    writer->info.progress = &writer->progress;
    writer->destination.init_destination = make_room;
    writer->destination.empty_output_buffer = on_empty;
    writer->destination.term_destination = on_term;
    writer->info.dest = &writer->destination;
    return writer;
}

/* Writes a segment of metadata. */
static void write_app1(struct jpeg_compress_struct *info, kf_bytes block) {
    if (block.length == 0 || block.length > MOST_OF_SEGMENT) return;
    jpeg_write_marker(info, JPEG_APP0 + 1, block.bytes, (unsigned)block.length);
}

kf_status kf_jpeg_writer_start(kf_jpeg_writer *writer, const kf_jpeg_output *output, const kf_blocks *blocks) {
    struct jpeg_compress_struct *info = &writer->info;
    if (setjmp(writer->error.escape)) return writer->error.status;
    info->image_width = output->width;
    info->image_height = output->height;
    info->input_components = (int)output->channels;
    info->in_color_space = output->channels == 1 ? JCS_GRAYSCALE : JCS_RGB;
    jpeg_set_defaults(info);
    jpeg_set_quality(info, output->quality, TRUE);
    if (output->channels == 3) {
        info->comp_info[0].h_samp_factor = (int)output->horizontal_sampling;
        info->comp_info[0].v_samp_factor = (int)output->vertical_sampling;
    }
    info->optimize_coding = output->optimized ? TRUE : FALSE;
    if (output->progressive) jpeg_simple_progression(info);
    jpeg_start_compress(info, TRUE);
    kf_bytes profile = blocks->profile;
    if (profile.length > 0) jpeg_write_icc_profile(info, profile.bytes, (unsigned)profile.length);
    write_app1(info, blocks->exif);
    write_app1(info, blocks->xmp);
    return KF_OK;
}

kf_status kf_jpeg_writer_rows(kf_jpeg_writer *writer, const uint8_t *rows, size_t stride, uint32_t count) {
    if (setjmp(writer->error.escape)) return writer->error.status;
    JSAMPROW pointers[16];
    while (count > 0) {
        uint32_t batch = count < 16 ? count : 16;
        for (uint32_t row = 0; row < batch; row++) pointers[row] = (JSAMPROW)(uintptr_t)(rows + row * stride);
        uint32_t done = jpeg_write_scanlines(&writer->info, pointers, batch);
        rows += done * stride;
        count -= done;
    }
    return KF_OK;
}

kf_status kf_jpeg_writer_finish(kf_jpeg_writer *writer, kf_bytes *bytes) {
    if (setjmp(writer->error.escape)) return writer->error.status;
    jpeg_finish_compress(&writer->info);
    bytes->bytes = writer->buffer.bytes;
    bytes->length = writer->buffer.length;
    return KF_OK;
}
