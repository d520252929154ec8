#include "kf_command.h"

#include <math.h>

// glibc 2.35 gave hypotf another version. Swift's module Glibc calls it, and nothing else of the program needs a glibc newer
// than 2.34. Like libc's, it cannot overflow on the way.
float hypotf(float x, float y) { return (float)sqrt((double)x * x + (double)y * y); }

// Takes the place of the standard library's table of names, which has 0.5 MB (see the Makefile). The length of a name is 0
// for a character without one.
long kf_scalar_name(unsigned scalar, unsigned char *buffer, long capacity) {
    (void)scalar, (void)buffer, (void)capacity;
    return 0;
}

// Takes the place of the runtime's search for swift-backtrace, which looks at eight paths beside the program at every start
// and would run what it finds there when the program crashes.
char *kf_no_program(const char *name) {
    (void)name;
    return 0;
}

// Takes the place of libc's _dl_find_object, which is new in glibc 2.35: libgcc's archive asks it for the tables for
// unwinding, of which the program has none (sections.ld).
int kf_no_tables(void *address, void *result) {
    (void)address, (void)result;
    return -1;
}
