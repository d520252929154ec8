#define _GNU_SOURCE  // for the standard size of stacks
#include "kf_command.h"

#include <dlfcn.h>
#include <errno.h>
#include <malloc.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

// libdispatch waits for ever, asleep in the thread that queues work, when it cannot create a thread: signals, deadlines and
// the run itself then never come to their turn. The program's own definition precedes that of libc in every library, so
// that a failure ends the process. Sanitizers define the function themselves.

typedef int create_fn(pthread_t *restrict, const pthread_attr_t *restrict, void *(*)(void *), void *restrict);

// The last is `ExitStatus.cacheFailed`.
enum { PAUSE_MS = 10, PATIENCE_MS = 1000, CACHE_FAILED = 3 };

// The run has not ended yet for a signal that waits for its thread.
static void heed_signals(void) {
    static const int ends[] = {SIGINT, SIGTERM};
    sigset_t waiting;
    if (sigpending(&waiting) != 0) return;
    for (size_t index = 0; index < sizeof ends / sizeof *ends; index++) {
        if (sigismember(&waiting, ends[index]) == 1) _exit(128 + ends[index]);
    }
}

// Without access, only the limit on addresses counts; with it, that on data too.
static bool can_map(size_t size, int access) {
    void *room = mmap(NULL, size, access, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (room == MAP_FAILED) return false;
    munmap(room, size);
    return true;
}

static void give_up(int code) {
    const char *const parts[] = {
        "kf: cannot start a thread: ", strerror(code),
        "; raise the limit on processes (ulimit -u, or the container's) or on memory (ulimit -v, ulimit -d)\n"};
    char text[512];
    size_t length = 0;
    for (size_t index = 0; index < sizeof parts / sizeof *parts; index++) {
        size_t size = strnlen(parts[index], sizeof text - length);
        memcpy(text + length, parts[index], size);
        length += size;
    }
    // A failure to write cannot be told any more.
    (void)!write(STDERR_FILENO, text, length);
    _exit(CACHE_FAILED);
}

// Before the first thread. libcurl's forty libraries and some stacks take 96 MiB, and a run needs 48 MiB of data; a library
// without memory may crash in its initialiser, and the Swift runtime at any allocation. malloc reserves up to 128 MiB for
// each thread, unless the threads share one arena. Stacks count as data, 8 MiB each.
static void prepare_memory(void) {
    if (!can_map((size_t)96 << 20, PROT_NONE) || !can_map((size_t)48 << 20, PROT_READ | PROT_WRITE)) give_up(ENOMEM);
    if (!can_map((size_t)512 << 20, PROT_READ | PROT_WRITE)) {
        pthread_attr_t small;
        if (pthread_attr_init(&small) == 0) {
            if (pthread_attr_setstacksize(&small, (size_t)1 << 20) == 0) (void)pthread_setattr_default_np(&small);
            pthread_attr_destroy(&small);
        }
    }
    if (!can_map((size_t)2 << 30, PROT_NONE)) mallopt(M_ARENA_MAX, 1);
}

// Whether there is memory for the stack of a thread. Without it, an allocation of another thread fails next, and the Swift
// runtime crashes on that.
static bool has_stack(const pthread_attr_t *attributes) {
    size_t size = 0;
    if (attributes != NULL) (void)pthread_attr_getstacksize(attributes, &size);
    pthread_attr_t standard;
    if (size == 0 && pthread_getattr_default_np(&standard) == 0) {
        (void)pthread_attr_getstacksize(&standard, &size);
        pthread_attr_destroy(&standard);
    }
    return can_map(size, PROT_READ | PROT_WRITE);
}

#if defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define KF_SANITIZED
#endif
#endif

#ifndef KF_SANITIZED
__attribute__((visibility("default"))) int pthread_create(pthread_t *restrict thread,
                                                          const pthread_attr_t *restrict attributes,
                                                          void *(*body)(void *), void *restrict context) {
    static atomic_flag has_started = ATOMIC_FLAG_INIT;
    if (!atomic_flag_test_and_set(&has_started)) prepare_memory();
    create_fn *create = (create_fn *)dlsym(RTLD_NEXT, "pthread_create");
    int code = create(thread, attributes, body, context);
    // Threads of this process, or of its container, may end meanwhile.
    for (int waited = 0; code == EAGAIN && waited < PATIENCE_MS; waited += PAUSE_MS) {
        if (!has_stack(attributes)) give_up(ENOMEM);
        const struct timespec pause = {.tv_nsec = PAUSE_MS * 1000000L};
        nanosleep(&pause, NULL);
        heed_signals();
        code = create(thread, attributes, body, context);
    }
    if (code == EAGAIN) give_up(code);
    return code;
}
#endif
