#ifndef KF_WEBP_H
#define KF_WEBP_H

#include "kf_status.h"

typedef struct kf_webp_reader kf_webp_reader;

/* Decodes one still picture into the caller's rows: 3 channels RGB, 4 straight RGBA. A scaled size of 0 × 0 means
   the picture's own. NULL when there is no memory. The rows must outlive the reader. */
kf_webp_reader *kf_webp_reader_create(
    uint8_t *rows, size_t stride, size_t length, uint32_t channels, uint32_t scaled_width, uint32_t scaled_height);
/* Decodes as far as the first `available` bytes of data reach. KF_MORE until the picture is complete. The data must
   stay where it is between the calls. */
kf_status kf_webp_reader_feed(kf_webp_reader *reader, const uint8_t *data, size_t available);
const char *kf_webp_reader_message(const kf_webp_reader *reader);
void kf_webp_reader_destroy(kf_webp_reader *reader);

#endif
