#include "buffer.h"

#include <stdlib.h>
#include <zlib.h>

int kf_buffer_reserve(kf_buffer *buffer, size_t more) {
    if (buffer->capacity - buffer->length >= more) return 1;
    if (more > SIZE_MAX / 4 || buffer->capacity > SIZE_MAX / 4) return 0;
    size_t needed = buffer->length + more;
    if (needed > buffer->limit) return 0;
    size_t capacity = buffer->capacity < 16384 ? 16384 : buffer->capacity * 2;
    if (capacity > buffer->limit) capacity = buffer->limit;
    if (capacity < needed) capacity = needed;
    uint8_t *bytes = realloc(buffer->bytes, capacity);
    if (bytes == NULL) return 0;
    buffer->bytes = bytes;
    buffer->capacity = capacity;
    return 1;
}

kf_status kf_inflate(const uint8_t *bytes, size_t length, uint8_t *output, size_t capacity, size_t *written) {
    uLongf count = (uLongf)capacity;
    int outcome = uncompress(output, &count, bytes, (uLong)length);
    *written = outcome == Z_OK ? count : 0;
    return outcome == Z_OK ? KF_OK : outcome == Z_MEM_ERROR ? KF_NO_MEMORY : KF_CORRUPT;
}
