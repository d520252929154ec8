#ifndef KF_BUFFER_H
#define KF_BUFFER_H

#include "kf_status.h"

/* A growing run of bytes for the writers, never of more than `limit`. */
typedef struct {
    uint8_t *bytes;
    size_t length, capacity, limit;
} kf_buffer;

/* Room for `more` bytes behind the length; 0 when there is no memory, and the buffer is as it was. */
int kf_buffer_reserve(kf_buffer *buffer, size_t more);
void kf_buffer_free(kf_buffer *buffer);

#endif
