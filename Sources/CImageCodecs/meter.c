#include "kf_meter.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/* The clock of a thread takes a system call, and that of the system none: the former is read this often. */
enum { LOOK = 10000000 };

struct kf_meter {
    uint64_t number; /* of no other meter, not even of one that was destroyed */
    int64_t limit, end;
    _Atomic int64_t spent;
};

/* The number of the meter that the calling thread works for, and the times up to which its work is counted. */
static _Thread_local struct {
    uint64_t meter;
    int64_t processor, clock;
} counted;

static int64_t now(clockid_t clock) {
    struct timespec time;
    if (clock_gettime(clock, &time) != 0) return 0;
    return (int64_t)time.tv_sec * 1000000000 + time.tv_nsec;
}

/* Returns the thread's time that was not counted yet. */
static int64_t take(void) {
    int64_t processor = now(CLOCK_THREAD_CPUTIME_ID), time = processor - counted.processor;
    counted.processor = processor;
    counted.clock = now(CLOCK_MONOTONIC);
    return time;
}

kf_meter *kf_meter_create(int64_t spent, int64_t limit, int64_t elapsed) {
    kf_meter *meter = malloc(sizeof *meter);
    if (meter == NULL) return NULL;
    static _Atomic uint64_t number;
    meter->number = atomic_fetch_add_explicit(&number, 1, memory_order_relaxed) + 1;
    atomic_init(&meter->spent, spent);
    meter->limit = limit;
    if (__builtin_add_overflow(now(CLOCK_MONOTONIC), elapsed, &meter->end)) meter->end = INT64_MAX;
    return meter;
}

void kf_meter_destroy(kf_meter *meter) { free(meter); }

void kf_meter_begin(const kf_meter *meter) {
    (void)take();
    counted.meter = meter != NULL ? meter->number : 0;
}

int64_t kf_meter_spent(const kf_meter *meter) {
    return atomic_load_explicit(&meter->spent, memory_order_relaxed);
}

void kf_meter_add(kf_meter *meter, int64_t time) {
    atomic_fetch_add_explicit(&meter->spent, time, memory_order_relaxed);
}

int64_t kf_meter_count(kf_meter *meter) {
    if (counted.meter != meter->number) kf_meter_begin(meter);
    int64_t time = take();
    return atomic_fetch_add_explicit(&meter->spent, time, memory_order_relaxed) + time;
}

int kf_meter_is_over(kf_meter *meter) {
    if (meter == NULL || meter->limit == INT64_MAX) return 0;
    if (counted.meter != meter->number) kf_meter_begin(meter);
    /* A thread has taken no more processor time than the clock has advanced. */
    int64_t most = now(CLOCK_MONOTONIC) - counted.clock;
    if (most < LOOK && kf_meter_spent(meter) + most < meter->limit) return 0;
    return kf_meter_count(meter) >= meter->limit || counted.clock >= meter->end;
}

static int is_coder(int tasks, const char *thread) {
    char path[32], name[16] = "";
    if (snprintf(path, sizeof path, "%.15s/comm", thread) < 0) return 0;
    int file = openat(tasks, path, O_RDONLY | O_CLOEXEC);
    if (file < 0) return 0;
    ssize_t length = read(file, name, sizeof name - 1);
    close(file);
    return length > 0 && (strncmp(name, "dav1d-", 6) == 0 || strncmp(name, "aom ", 4) == 0);
}

/* The kernel's number of the clock of a thread (posix-timers.h): CPUCLOCK_SCHED for one thread. */
static clockid_t clock_of(int32_t thread) { return (clockid_t)(~(uint32_t)thread << 3 | 6); }

int64_t kf_ended_time(void) {
    DIR *tasks = opendir("/proc/self/task");
    if (tasks == NULL) return 0;
    int64_t time = now(CLOCK_PROCESS_CPUTIME_ID);
    for (struct dirent *task; (task = readdir(tasks)) != NULL;) {
        int32_t thread = (int32_t)strtol(task->d_name, NULL, 10);
        if (thread > 0) time -= now(clock_of(thread));
    }
    closedir(tasks);
    return time;
}

size_t kf_coder_threads(kf_coder_thread *threads, size_t capacity) {
    DIR *tasks = opendir("/proc/self/task");
    if (tasks == NULL) return 0;
    size_t count = 0;
    for (struct dirent *task; count < capacity && (task = readdir(tasks)) != NULL;) {
        int32_t thread = (int32_t)strtol(task->d_name, NULL, 10);
        if (thread <= 0 || !is_coder(dirfd(tasks), task->d_name)) continue;
        threads[count].thread = thread;
        threads[count].time = now(clock_of(thread));
        count++;
    }
    closedir(tasks);
    return count;
}
