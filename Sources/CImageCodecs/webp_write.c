#include "buffer.h"
#include "handle.h"
#include "kf_webp.h"

#include <stdlib.h>
#include <string.h>
#include <webp/encode.h>
#include <webp/mux.h>

struct kf_webp_writer {
    kf_handle handle;
    WebPConfig config;
    uint32_t width, height;
    WebPAnimEncoder *animation; /* NULL for a still picture */
    kf_buffer buffer;           /* the still picture */
    kf_meter *meter;
    WebPData result;
};

static kf_status fail(kf_webp_writer *writer, const char *message) {
    return kf_fail(&writer->handle, KF_CORRUPT, message);
}

static kf_status no_memory(kf_webp_writer *writer) {
    return kf_fail(&writer->handle, KF_NO_MEMORY, "out of memory");
}

static void release(void *handle) {
    kf_webp_writer *writer = handle;
    WebPAnimEncoderDelete(writer->animation);
    free(writer->buffer.bytes);
    WebPDataClear(&writer->result);
}

kf_webp_writer *kf_webp_writer_create(kf_bounds bounds) {
    kf_webp_writer *writer = kf_handle_create(sizeof *writer, release);
    if (writer == NULL) return NULL;
    writer->buffer.limit = bounds.bytes;
    writer->meter = bounds.meter;
    WebPDataInit(&writer->result);
    return writer;
}

static int on_write(const uint8_t *bytes, size_t length, const WebPPicture *picture) {
    kf_webp_writer *writer = picture->custom_ptr;
    if (!kf_buffer_reserve(&writer->buffer, length)) return 0;
    memcpy(writer->buffer.bytes + writer->buffer.length, bytes, length);
    writer->buffer.length += length;
    return 1;
}

static int on_progress(int percent, const WebPPicture *picture) {
    (void)percent;
    const kf_webp_writer *writer = picture->user_data;
    return !kf_meter_is_over(writer->meter);
}

static kf_status start_animation(kf_webp_writer *writer, const kf_webp_output *output) {
    WebPAnimEncoderOptions options;
    if (!WebPAnimEncoderOptionsInit(&options)) return fail(writer, "libwebpmux of another version");
    options.anim_params.loop_count = output->plays;
    options.anim_params.bgcolor = 0;
    writer->animation = WebPAnimEncoderNew((int)output->width, (int)output->height, &options);
    return writer->animation != NULL ? KF_OK : no_memory(writer);
}

kf_status kf_webp_writer_start(kf_webp_writer *writer, const kf_webp_output *output) {
    if (!WebPConfigInit(&writer->config)) return fail(writer, "libwebp of another version");
    writer->config.lossless = output->lossless ? 1 : 0;
    /* In lossless mode libwebp reads the quality as the effort. */
    writer->config.quality = output->lossless ? 75.0f : (float)output->quality;
    writer->config.method = output->effort;
    if (!WebPValidateConfig(&writer->config)) return fail(writer, "libwebp rejects the settings");
    writer->width = output->width;
    writer->height = output->height;
    return output->animated ? start_animation(writer, output) : KF_OK;
}

kf_status kf_webp_writer_picture(kf_webp_writer *writer, const kf_webp_picture *picture) {
    WebPPicture target;
    if (!WebPPictureInit(&target)) return fail(writer, "libwebp of another version");
    if (picture->stride > INT32_MAX) return fail(writer, "the rows are too long");
    target.use_argb = writer->config.lossless || writer->animation != NULL;
    target.width = (int)writer->width;
    target.height = (int)writer->height;
    int stride = (int)picture->stride;
    int taken = picture->channels == 4 ? WebPPictureImportRGBA(&target, picture->rows, stride)
                                       : WebPPictureImportRGB(&target, picture->rows, stride);
    if (!taken) {
        WebPPictureFree(&target);
        return no_memory(writer);
    }
    target.progress_hook = on_progress;
    target.user_data = writer;
    int done;
    if (writer->animation != NULL) {
        done = WebPAnimEncoderAdd(writer->animation, &target, picture->start, &writer->config);
    } else {
        target.writer = on_write;
        target.custom_ptr = writer;
        done = WebPEncode(&writer->config, &target);
    }
    WebPEncodingError error = target.error_code;
    WebPPictureFree(&target);
    if (done) return KF_OK;
    if (error == VP8_ENC_ERROR_USER_ABORT || kf_meter_is_over(writer->meter)) return KF_LATE;
    if (error == VP8_ENC_ERROR_OUT_OF_MEMORY || error == VP8_ENC_ERROR_BITSTREAM_OUT_OF_MEMORY ||
        error == VP8_ENC_ERROR_BAD_WRITE) {
        return no_memory(writer);
    }
    return fail(writer, "libwebp could not encode the picture");
}

/* Assembles the picture or animation and its chunks. */
static kf_status add_chunks(kf_webp_writer *writer, WebPData written, const kf_blocks *blocks) {
    static const char *const names[] = {"ICCP", "EXIF", "XMP "};
    const kf_bytes chunks[] = {blocks->profile, blocks->exif, blocks->xmp};
    WebPMux *mux = WebPMuxCreate(&written, 0);
    if (mux == NULL) return no_memory(writer);
    WebPMuxError outcome = WEBP_MUX_OK;
    for (int i = 0; i < 3 && outcome == WEBP_MUX_OK; i++) {
        WebPData chunk = {chunks[i].bytes, chunks[i].length};
        if (chunk.size > 0) outcome = WebPMuxSetChunk(mux, names[i], &chunk, 0);
    }
    WebPData whole;
    WebPDataInit(&whole);
    if (outcome == WEBP_MUX_OK) outcome = WebPMuxAssemble(mux, &whole);
    WebPMuxDelete(mux);
    if (outcome != WEBP_MUX_OK) {
        return outcome == WEBP_MUX_MEMORY_ERROR ? no_memory(writer) : fail(writer, "libwebpmux rejects a chunk");
    }
    WebPDataClear(&writer->result);
    writer->result = whole;
    return KF_OK;
}

kf_status kf_webp_writer_finish(kf_webp_writer *writer, int32_t end, const kf_blocks *blocks, kf_bytes *bytes) {
    WebPData written = {writer->buffer.bytes, writer->buffer.length};
    if (writer->animation != NULL) {
        if (!WebPAnimEncoderAdd(writer->animation, NULL, end, NULL) ||
            !WebPAnimEncoderAssemble(writer->animation, &writer->result)) {
            return fail(writer, WebPAnimEncoderGetError(writer->animation));
        }
        written = writer->result;
    }
    if (blocks->profile.length + blocks->exif.length + blocks->xmp.length > 0) {
        kf_status status = add_chunks(writer, written, blocks);
        if (status != KF_OK) return status;
        written = writer->result;
    }
    /* libwebpmux knows no bound. */
    if (written.size > writer->buffer.limit) return no_memory(writer);
    bytes->bytes = written.bytes;
    bytes->length = written.size;
    return KF_OK;
}
