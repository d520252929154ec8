// Preloaded into a program that runs under callgrind, so that it does what it does without.
//
// Callgrind slows a program down about 50 times. Bounds of wall time (10 ms of a transaction, 2 ms of a held delivery, a
// heartbeat) would end 50 times as often, and their work would be counted as if images caused it. So the clock runs 50
// times slower here, and waits last 50 times longer. The wall clock stays: it is compared with dates of files and of
// servers. Only functions that kf, libcurl and the floors call are replaced; libc's calls within itself are not.
//
// Valgrind 3.19 does not know openat2, for which kf would open each folder of a path. It becomes a plain openat.

#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/futex.h>
#include <linux/openat2.h>
#include <poll.h>
#include <semaphore.h>
#include <stdarg.h>
#include <stdint.h>
#include <sys/epoll.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

enum { FACTOR = 50, CLOCKS = 16, TIMERS = 1024 };
static const int64_t SECOND = 1000000000;

static int64_t start[CLOCKS];    // Nanoseconds at the program's start.
static char timer_clock[TIMERS]; // The clock of each timerfd.

static int64_t nanoseconds(const struct timespec *time) { return time->tv_sec * SECOND + time->tv_nsec; }

static struct timespec timespec(int64_t nanoseconds) {
    return (struct timespec){nanoseconds / SECOND, nanoseconds % SECOND};
}

// Defines `next`, the function of libc that this library replaces.
#define NEXT(result, name, ...) \
    static result (*next)(__VA_ARGS__); \
    if (!next) next = (result(*)(__VA_ARGS__))dlsym(RTLD_NEXT, #name)

static int tell(clockid_t clock, struct timespec *time) {
    NEXT(int, clock_gettime, clockid_t, struct timespec *);
    return next(clock, time);
}

static int64_t now(clockid_t clock) {
    struct timespec time = {0};
    tell(clock, &time);
    return nanoseconds(&time);
}

__attribute__((constructor)) static void remember_start(void) {
    for (clockid_t clock = 0; clock < CLOCKS; clock++) start[clock] = now(clock);
}

// The real moment at which the program's clock shows `time`.
static int64_t real(clockid_t clock, int64_t time) {
    const int64_t since = clock == CLOCK_REALTIME ? now(clock) : start[clock];
    return time > since ? since + (time - since) * FACTOR : time;
}

static int stretched(int milliseconds) {
    return milliseconds > INT_MAX / FACTOR ? INT_MAX : milliseconds > 0 ? milliseconds * FACTOR : milliseconds;
}

int clock_gettime(clockid_t clock, struct timespec *time) {
    const int result = tell(clock, time);
    if (result != 0 || clock <= CLOCK_REALTIME || clock >= CLOCKS || clock == CLOCK_REALTIME_COARSE) return result;
    *time = timespec(start[clock] + (nanoseconds(time) - start[clock]) / FACTOR);
    return 0;
}

int nanosleep(const struct timespec *span, struct timespec *rest) {
    const struct timespec longer = timespec(nanoseconds(span) * FACTOR);
    NEXT(int, nanosleep, const struct timespec *, struct timespec *);
    return next(&longer, rest);
}

int usleep(useconds_t microseconds) {
    const struct timespec span = timespec((int64_t)microseconds * 1000);
    return nanosleep(&span, NULL);
}

unsigned sleep(unsigned seconds) {
    const struct timespec span = {seconds, 0};
    nanosleep(&span, NULL);
    return 0;
}

int poll(struct pollfd *files, nfds_t count, int milliseconds) {
    NEXT(int, poll, struct pollfd *, nfds_t, int);
    return next(files, count, stretched(milliseconds));
}

int epoll_wait(int file, struct epoll_event *events, int count, int milliseconds) {
    NEXT(int, epoll_wait, int, struct epoll_event *, int, int);
    return next(file, events, count, stretched(milliseconds));
}

int timerfd_create(clockid_t clock, int flags) {
    NEXT(int, timerfd_create, clockid_t, int);
    const int file = next(clock, flags);
    if (file >= 0 && file < TIMERS) timer_clock[file] = (char)clock;
    return file;
}

int timerfd_settime(int file, int flags, const struct itimerspec *new, struct itimerspec *old) {
    NEXT(int, timerfd_settime, int, int, const struct itimerspec *, struct itimerspec *);
    const int64_t value = nanoseconds(&new->it_value);
    const int is_absolute = flags & TFD_TIMER_ABSTIME && file < TIMERS;
    const struct itimerspec longer = {
        timespec(nanoseconds(&new->it_interval) * FACTOR),
        timespec(is_absolute ? real(timer_clock[file], value) : value * FACTOR),
    };
    return next(file, flags, &longer, old);
}

int sem_timedwait(sem_t *semaphore, const struct timespec *end) {
    NEXT(int, sem_timedwait, sem_t *, const struct timespec *);
    const struct timespec later = timespec(real(CLOCK_REALTIME, nanoseconds(end)));
    return next(semaphore, &later);
}

// Swift's runtime and libdispatch wait for futexes without libc.
long syscall(long number, ...) {
    NEXT(long, syscall, long, ...);
    long words[6];
    va_list list;
    va_start(list, number);
    for (int i = 0; i < 6; i++) words[i] = va_arg(list, long);
    va_end(list);
    if (number == SYS_openat2) {
        const struct open_how *how = (const struct open_how *)words[2];
        return openat((int)words[0], (const char *)words[1], (int)how->flags, (mode_t)how->mode);
    }
    struct timespec longer;
    if (number == SYS_futex && (words[1] & FUTEX_CMD_MASK) == FUTEX_WAIT && words[3]) {
        longer = timespec(nanoseconds((const struct timespec *)words[3]) * FACTOR);
        words[3] = (long)&longer;
    }
    return next(number, words[0], words[1], words[2], words[3], words[4], words[5]);
}
