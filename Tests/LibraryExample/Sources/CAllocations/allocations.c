// Counts allocations: the executable's functions take the place of the C library's, which are called by their other names.

#include "allocations.h"

#include <errno.h>
#include <stdatomic.h>
#include <stddef.h>

extern void *__libc_malloc(size_t size);
extern void *__libc_calloc(size_t count, size_t size);
extern void *__libc_realloc(void *old, size_t size);
extern void *__libc_memalign(size_t alignment, size_t size);

static atomic_long count;

static void note(void) { atomic_fetch_add_explicit(&count, 1, memory_order_relaxed); }

long allocations(void) { return atomic_load_explicit(&count, memory_order_relaxed); }

void *malloc(size_t size) {
    note();
    return __libc_malloc(size);
}

void *calloc(size_t number, size_t size) {
    note();
    return __libc_calloc(number, size);
}

void *realloc(void *old, size_t size) {
    note();
    return __libc_realloc(old, size);
}

void *aligned_alloc(size_t alignment, size_t size) {
    note();
    return __libc_memalign(alignment, size);
}

int posix_memalign(void **out, size_t alignment, size_t size) {
    note();
    *out = __libc_memalign(alignment, size);
    return *out ? 0 : ENOMEM;
}
