#include "clock.h"

#include <time.h>

static int64_t now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (int64_t)time.tv_sec * 1000000000 + time.tv_nsec;
}

int64_t kf_clock_after(int64_t nanoseconds) {
    int64_t moment;
    return __builtin_add_overflow(now(), nanoseconds, &moment) ? INT64_MAX : moment;
}

int kf_clock_is_past(int64_t moment) { return moment != INT64_MAX && now() > moment; }
