#ifndef KF_BUFFER_H
#define KF_BUFFER_H

#include "kf_status.h"

/* A growing buffer for the encoders, of at most `limit` bytes. */
typedef struct {
    uint8_t *bytes;
    size_t length, capacity, limit;
} kf_buffer;

/* Makes room for `more` bytes; returns 0 and keeps the buffer when there is no memory. */
int kf_buffer_reserve(kf_buffer *buffer, size_t more);

#endif
