#include "handle.h"
#include "kf_webp.h"

#include <webp/decode.h>

struct kf_webp_reader {
    kf_handle handle;
    WebPDecoderConfig config;
    WebPIDecoder *decoder;
};

static void release(void *handle) {
    kf_webp_reader *reader = handle;
    WebPIDelete(reader->decoder);
    WebPFreeDecBuffer(&reader->config.output);
}

kf_webp_reader *kf_webp_reader_create(
    uint8_t *rows, size_t stride, size_t length, uint32_t channels, uint32_t scaled_width, uint32_t scaled_height) {
    kf_webp_reader *reader = kf_handle_create(sizeof *reader, release);
    if (reader == NULL) return NULL;
    if (!WebPInitDecoderConfig(&reader->config) || stride > INT32_MAX) {
        kf_handle_destroy(&reader->handle);
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
        kf_handle_destroy(&reader->handle);
        return NULL;
    }
    return reader;
}

kf_status kf_webp_reader_feed(kf_webp_reader *reader, const uint8_t *data, size_t available) {
    kf_handle *handle = &reader->handle;
    switch (WebPIUpdate(reader->decoder, data, available)) {
    case VP8_STATUS_OK: return KF_OK;
    case VP8_STATUS_SUSPENDED: return KF_MORE;
    case VP8_STATUS_OUT_OF_MEMORY: return kf_fail(handle, KF_NO_MEMORY, "out of memory");
    case VP8_STATUS_NOT_ENOUGH_DATA: return kf_fail(handle, KF_TRUNCATED, "the data ends too early");
    case VP8_STATUS_UNSUPPORTED_FEATURE: return kf_fail(handle, KF_UNSUPPORTED, "a feature unknown to libwebp");
    case VP8_STATUS_INVALID_PARAM: return kf_fail(handle, KF_CORRUPT, "the picture does not fit its header");
    default: return kf_fail(handle, KF_CORRUPT, "damaged picture data");
    }
}
