// Reads and writes of regular files that do less than they were asked to, as the kernel may at any time.
// Loaded with LD_PRELOAD; SHORT_SEED seeds the chance.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

static atomic_uint state;

__attribute__((constructor)) static void begin(void) {
    const char *seed = getenv("SHORT_SEED");
    state = seed ? (unsigned)strtoul(seed, NULL, 10) : 1;
}

// Half of the calls on regular files get less than they asked for, but at least one byte.
static size_t shortened(int file, size_t count) {
    struct stat status;
    if (count < 2 || fstat(file, &status) != 0 || !S_ISREG(status.st_mode)) return count;
    unsigned number = (atomic_fetch_add(&state, 0x9e3779b9u) * 2654435761u) >> 8;
    return number & 1 ? 1 + number / 2 % count : count;
}

#define REAL(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))

ssize_t read(int file, void *bytes, size_t count) { return REAL(read)(file, bytes, shortened(file, count)); }

ssize_t write(int file, const void *bytes, size_t count) {
    return REAL(write)(file, bytes, shortened(file, count));
}

ssize_t pread64(int file, void *bytes, size_t count, off64_t at) {
    return REAL(pread64)(file, bytes, shortened(file, count), at);
}

ssize_t pwrite64(int file, const void *bytes, size_t count, off64_t at) {
    return REAL(pwrite64)(file, bytes, shortened(file, count), at);
}

ssize_t pread(int file, void *bytes, size_t count, off_t at) {
    return REAL(pread)(file, bytes, shortened(file, count), at);
}

ssize_t pwrite(int file, const void *bytes, size_t count, off_t at) {
    return REAL(pwrite)(file, bytes, shortened(file, count), at);
}
