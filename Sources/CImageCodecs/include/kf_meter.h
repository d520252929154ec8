#ifndef KF_METER_H
#define KF_METER_H

#include <stddef.h>
#include <stdint.h>

/* The processor time of the work on one image, which its threads add as they go, and its limit. All times are in
   nanoseconds, and INT64_MAX is no limit. Threads may use a meter at the same time. */
typedef struct kf_meter kf_meter;

/* `spent` is the time of earlier work; `elapsed` limits the time of the clock from now on, whatever the processors did.
   NULL without memory. */
kf_meter *kf_meter_create(int64_t spent, int64_t limit, int64_t elapsed);
void kf_meter_destroy(kf_meter *meter);

/* From now on the calling thread works for this meter, or for none with NULL. Its time so far is not added. */
void kf_meter_begin(const kf_meter *meter);
/* Adds the calling thread's time since it began to work for the meter, or since the last call; a thread that works for
   another meter begins. Returns the sum. */
int64_t kf_meter_count(kf_meter *meter);
/* Returns the sum of the times that were added. */
int64_t kf_meter_spent(const kf_meter *meter);
/* Adds time of other threads. */
void kf_meter_add(kf_meter *meter, int64_t time);
/* Whether a limit is exceeded. NULL has none. */
int kf_meter_is_over(kf_meter *meter);

/* A thread that dav1d or libaom has started, and its processor time so far. */
typedef struct {
    int32_t thread;
    int64_t time;
} kf_coder_thread;

/* Lists these threads of the process, and returns their number, `capacity` at most. */
size_t kf_coder_threads(kf_coder_thread *threads, size_t capacity);
/* The processor time of all threads of the process that have ended: its own less that of the living. */
int64_t kf_ended_time(void);

#endif
