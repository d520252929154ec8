#ifndef KF_ROWS_H
#define KF_ROWS_H

#include <stddef.h>
#include <stdint.h>

/* Writes the luma of Rec. 601, rounded, of pixels of RGB with 8 bits a sample. */
void kf_luma_row(const uint8_t *pixels, uint8_t *luma, size_t count);
/* Adds up the squares of a high-pass filter (-1, 2, -1), across and down, at one sample in `step` of a row. */
uint64_t kf_detail_row(const uint8_t *above, const uint8_t *row, const uint8_t *below, size_t step, size_t count);

#endif
