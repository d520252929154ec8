#include "jpeg_error.h"
#include "kf_jpeg.h"

#include <jerror.h>

struct kf_jpeg_reader {
    kf_handle handle;
    struct jpeg_decompress_struct info;
    kf_jpeg_error error;
    struct jpeg_source_mgr source;
    const uint8_t *data;
    size_t owed; /* bytes to skip that have not arrived yet */
    int buffered, growing;
    int whole_scans;
};

/* All data is in memory, so that there is no more to read. libjpeg's own source would insert an end marker. */
static boolean on_fill(j_decompress_ptr info) {
    const kf_jpeg_reader *reader = info->client_data;
    if (reader->growing) return FALSE;
    info->err->msg_code = JERR_INPUT_EOF;
    if (reader->error.tolerant) {
        static const JOCTET end[] = {0xFF, JPEG_EOI};
        kf_jpeg_error_note((j_common_ptr)info);
        info->src->next_input_byte = end;
        info->src->bytes_in_buffer = sizeof end;
        return TRUE;
    }
    info->err->error_exit((j_common_ptr)info);
    return FALSE;
}

static void on_skip(j_decompress_ptr info, long count) {
    if (count <= 0) return;
    size_t wanted = (size_t)count;
    if (wanted > info->src->bytes_in_buffer) {
        on_fill(info);
        kf_jpeg_reader *reader = info->client_data;
        reader->owed = wanted - info->src->bytes_in_buffer;
        wanted = info->src->bytes_in_buffer;
    }
    info->src->next_input_byte += wanted;
    info->src->bytes_in_buffer -= wanted;
}

static void on_source(j_decompress_ptr info) { (void)info; }

static void release(void *handle) {
    kf_jpeg_reader *reader = handle;
    if (setjmp(reader->error.escape) == 0) jpeg_destroy_decompress(&reader->info);
}

kf_jpeg_reader *kf_jpeg_reader_create(const uint8_t *data, size_t length, int tolerant) {
    kf_jpeg_reader *reader = kf_handle_create(sizeof *reader, release);
    if (reader == NULL) return NULL;
    reader->info.err = kf_jpeg_error_start(&reader->error, &reader->handle);
    if (setjmp(reader->error.escape)) {
        kf_handle_destroy(&reader->handle);
        return NULL;
    }
    jpeg_create_decompress(&reader->info);
    reader->info.client_data = reader;
    reader->error.tolerant = tolerant;
    reader->data = data;
    reader->source.init_source = on_source;
    reader->source.fill_input_buffer = on_fill;
    reader->source.skip_input_data = on_skip;
    reader->source.resync_to_restart = jpeg_resync_to_restart;
    reader->source.term_source = on_source;
    reader->source.next_input_byte = data;
    reader->source.bytes_in_buffer = length;
    reader->info.src = &reader->source;
    return reader;
}

kf_status kf_jpeg_reader_damage(const kf_jpeg_reader *reader) { return reader->error.damage; }

void kf_jpeg_reader_supply(kf_jpeg_reader *reader, const uint8_t *data, size_t length, int32_t is_all) {
    size_t used = (size_t)(reader->source.next_input_byte - reader->data);
    size_t skipped = reader->owed < length - used ? reader->owed : length - used;
    reader->owed -= skipped;
    reader->data = data;
    reader->source.next_input_byte = data + used + skipped;
    reader->source.bytes_in_buffer = length - used - skipped;
    reader->growing = !is_all;
}

kf_status kf_jpeg_reader_header(kf_jpeg_reader *reader, kf_jpeg_header *header) {
    struct jpeg_decompress_struct *info = &reader->info;
    if (setjmp(reader->error.escape)) return reader->error.status;
    if (jpeg_read_header(info, TRUE) == JPEG_SUSPENDED) return KF_SUSPENDED;
    switch (info->jpeg_color_space) {
    case JCS_GRAYSCALE: info->out_color_space = JCS_GRAYSCALE; break;
    case JCS_YCbCr:
    case JCS_RGB: info->out_color_space = JCS_RGB; break;
    case JCS_CMYK:
    case JCS_YCCK: info->out_color_space = JCS_CMYK; break;
    default:
        snprintf(reader->handle.message, sizeof reader->handle.message, "%d colour components", info->num_components);
        return KF_UNSUPPORTED;
    }
    reader->buffered = jpeg_has_multiple_scans(info);
    header->width = info->image_width;
    header->height = info->image_height;
    header->channels = info->out_color_space == JCS_GRAYSCALE ? 1 : info->out_color_space == JCS_RGB ? 3 : 4;
    header->many_scans = (uint32_t)reader->buffered;
    return KF_OK;
}

kf_status kf_jpeg_reader_scale(kf_jpeg_reader *reader, uint32_t numerator, uint32_t *width, uint32_t *height) {
    if (setjmp(reader->error.escape)) return reader->error.status;
    reader->info.scale_num = numerator;
    reader->info.scale_denom = 8;
    jpeg_calc_output_dimensions(&reader->info);
    *width = reader->info.output_width;
    *height = reader->info.output_height;
    return KF_OK;
}

kf_status kf_jpeg_reader_start(kf_jpeg_reader *reader) {
    if (setjmp(reader->error.escape)) return reader->error.status;
    /* In buffered mode the start returns at once; otherwise it absorbs every scan in one call. */
    reader->info.buffered_image = reader->buffered ? TRUE : FALSE;
    jpeg_start_decompress(&reader->info);
    return KF_OK;
}

kf_status kf_jpeg_reader_absorb(kf_jpeg_reader *reader, uint32_t steps, uint32_t *scans) {
    if (setjmp(reader->error.escape)) return reader->error.status;
    for (uint32_t step = 0; step < steps; step++) {
        int outcome = jpeg_consume_input(&reader->info);
        *scans = (uint32_t)reader->info.input_scan_number;
        if (outcome == JPEG_REACHED_EOI) {
            reader->whole_scans = reader->info.input_scan_number;
            return KF_OK;
        }
        if (outcome == JPEG_SUSPENDED) return KF_SUSPENDED;
        if (outcome == JPEG_SCAN_COMPLETED) return KF_MORE;
        if (outcome == JPEG_REACHED_SOS) {
            /* Block smoothing reads ahead: a scan can be output when the next one has begun. */
            reader->whole_scans = reader->info.input_scan_number - 1;
            return KF_SCAN;
        }
    }
    return KF_MORE;
}

kf_status kf_jpeg_reader_begin_output(kf_jpeg_reader *reader) {
    if (setjmp(reader->error.escape)) return reader->error.status;
    /* In a scan that is still arriving, smoothing would wait for the rows below. */
    jpeg_start_output(&reader->info, reader->whole_scans);
    return KF_OK;
}

kf_status kf_jpeg_reader_rows(kf_jpeg_reader *reader, uint8_t *rows, size_t stride, uint32_t count) {
    if (setjmp(reader->error.escape)) return reader->error.status;
    JSAMPROW pointers[16];
    while (count > 0) {
        uint32_t batch = count < 16 ? count : 16;
        for (uint32_t row = 0; row < batch; row++) pointers[row] = rows + row * stride;
        uint32_t got = jpeg_read_scanlines(&reader->info, pointers, batch);
        if (got == 0) return KF_TRUNCATED;
        rows += got * stride;
        count -= got;
    }
    return KF_OK;
}

kf_status kf_jpeg_reader_end_output(kf_jpeg_reader *reader) {
    if (setjmp(reader->error.escape)) return reader->error.status;
    return jpeg_finish_output(&reader->info) ? KF_OK : KF_SUSPENDED;
}

kf_status kf_jpeg_reader_finish(kf_jpeg_reader *reader) {
    if (setjmp(reader->error.escape)) return reader->error.status;
    if (reader->buffered) jpeg_finish_output(&reader->info);
    jpeg_finish_decompress(&reader->info);
    return KF_OK;
}
