#include "kf_png.h"

#include <limits.h>
#include <stdlib.h>
#define ZLIB_CONST
#include <zlib.h>

enum { ROOM = 1 << 16 };

struct kf_png_inflater {
    z_stream stream;
    uint64_t inflated;
    int is_done;
    uint8_t room[ROOM];
};

kf_png_inflater *kf_png_inflater_create(void) {
    kf_png_inflater *inflater = calloc(1, sizeof *inflater);
    if (inflater == NULL) return NULL;
    if (inflateInit(&inflater->stream) != Z_OK) {
        free(inflater);
        return NULL;
    }
    return inflater;
}

kf_status kf_png_inflater_feed(kf_png_inflater *inflater, const uint8_t *data, size_t length, uint64_t wanted) {
    z_stream *stream = &inflater->stream;
    while (inflater->inflated < wanted) {
        if (inflater->is_done) return KF_CORRUPT;
        if (stream->avail_in == 0) {
            if (length == 0) return KF_MORE;
            size_t part = length < UINT_MAX ? length : UINT_MAX;
            stream->next_in = data;
            stream->avail_in = (uInt)part;
            data += part;
            length -= part;
        }
        stream->next_out = inflater->room;
        stream->avail_out = ROOM;
        int outcome = inflate(stream, Z_NO_FLUSH);
        inflater->inflated += ROOM - stream->avail_out;
        if (outcome == Z_STREAM_END) inflater->is_done = 1;
        else if (outcome != Z_OK && outcome != Z_BUF_ERROR) return KF_CORRUPT;
    }
    return KF_OK;
}

void kf_png_inflater_destroy(kf_png_inflater *inflater) {
    if (inflater == NULL) return;
    inflateEnd(&inflater->stream);
    free(inflater);
}
