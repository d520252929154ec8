#ifndef KF_CLOCK_H
#define KF_CLOCK_H

#include <stdint.h>

/* The moment that is so far ahead, in nanoseconds of the monotonic clock. */
int64_t kf_clock_after(int64_t nanoseconds);
int kf_clock_is_past(int64_t moment);

#endif
