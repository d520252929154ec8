#include "kf_webp.h"

#include <stdlib.h>
#include <string.h>
#include <webp/decode.h>

struct kf_webp_reader {
    WebPDecoderConfig config;
    WebPIDecoder *decoder;
    const char *message;
};

kf_webp_reader *kf_webp_reader_create(
    uint8_t *rows, size_t stride, size_t length, uint32_t channels, uint32_t scaled_width, uint32_t scaled_height) {
    kf_webp_reader *reader = calloc(1, sizeof *reader);
    if (reader == NULL) return NULL;
    reader->message = "";
    if (!WebPInitDecoderConfig(&reader->config) || stride > INT32_MAX) {
        free(reader);
        return NULL;
    }
    reader->config.output.colorspace = channels == 4 ? MODE_RGBA : MODE_RGB;
    reader->config.output.is_external_memory = 1;
    reader->config.output.u.RGBA.rgba = rows;
    reader->config.output.u.RGBA.stride = (int)stride;
    reader->config.output.u.RGBA.size = length;
    if (scaled_width > 0 && scaled_height > 0) {
        reader->config.options.use_scaling = 1;
        reader->config.options.scaled_width = (int)scaled_width;
        reader->config.options.scaled_height = (int)scaled_height;
    }
    reader->decoder = WebPIDecode(NULL, 0, &reader->config);
    if (reader->decoder == NULL) {
        free(reader);
        return NULL;
    }
    return reader;
}

kf_status kf_webp_reader_feed(kf_webp_reader *reader, const uint8_t *data, size_t available) {
    switch (WebPIUpdate(reader->decoder, data, available)) {
    case VP8_STATUS_OK: return KF_OK;
    case VP8_STATUS_SUSPENDED: return KF_MORE;
    case VP8_STATUS_OUT_OF_MEMORY: reader->message = "out of memory"; return KF_NO_MEMORY;
    case VP8_STATUS_NOT_ENOUGH_DATA: reader->message = "the data ends too early"; return KF_TRUNCATED;
    case VP8_STATUS_UNSUPPORTED_FEATURE: reader->message = "a feature unknown to libwebp"; return KF_UNSUPPORTED;
    case VP8_STATUS_INVALID_PARAM: reader->message = "the picture does not fit its header"; return KF_CORRUPT;
    default: reader->message = "damaged picture data"; return KF_CORRUPT;
    }
}

const char *kf_webp_reader_message(const kf_webp_reader *reader) { return reader->message; }

void kf_webp_reader_destroy(kf_webp_reader *reader) {
    if (reader == NULL) return;
    WebPIDelete(reader->decoder);
    WebPFreeDecBuffer(&reader->config.output);
    free(reader);
}
