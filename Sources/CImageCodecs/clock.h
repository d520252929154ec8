#ifndef KF_CLOCK_H
#define KF_CLOCK_H

#include <stdint.h>

/* Returns the time of the monotonic clock after that interval, both in nanoseconds. */
int64_t kf_clock_after(int64_t nanoseconds);
int kf_clock_is_past(int64_t moment);

#endif
