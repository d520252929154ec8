#ifndef KF_RESAMPLE_H
#define KF_RESAMPLE_H

#include <stddef.h>
#include <stdint.h>

/* Resampling in two passes: columns of some source rows at a time, then rows of the target one by one. Every processor
   gives the same bits: a sum is added up tap by tap, in floats, and nothing is fused. */

enum { KF_RESAMPLE_ROWS = 8 }; /* the rows that the first pass takes at a time */

typedef struct {
    size_t target;            /* the width of the result in pixels */
    uint32_t channels, depth; /* 1 grey, 2 grey+alpha, 3 RGB, 4 RGBA, with straight alpha; 8 or 16 */
    const int32_t *starts;    /* the first source column of each target column */
    const float *weights;     /* `taps` for each target column */
    size_t taps;
    float *work;              /* kf_resample_work() floats */
    float *ring;              /* `slots` rows of kf_resample_row() floats; source row y is in slot y % slots */
    size_t slots;
} kf_resample;

/* The floats of a row in the ring. */
size_t kf_resample_row(const kf_resample *plan);
/* The floats that the passes work in. */
size_t kf_resample_work(const kf_resample *plan);
/* Resamples the columns of 1 to KF_RESAMPLE_ROWS source rows, the first of which has the index `y`. */
void kf_resample_columns(const kf_resample *plan, const void *rows, size_t stride, size_t count, size_t y);
/* Adds up `taps` rows of the ring from source row `y` on, and writes a row of the result. */
void kf_resample_rows(const kf_resample *plan, size_t y, const float *weights, size_t taps, void *row);

#endif
