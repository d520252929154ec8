#include "avif_library.h"

#include "kf_avif.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

/* The structs of libavif are read by field, and their layout changes with the number of the library. Only the library
   of the headers that were compiled is opened. */
#if AVIF_VERSION_MAJOR >= 1
#define LIBRARY "libavif.so.16"
#elif AVIF_VERSION_MINOR == 11
#define LIBRARY "libavif.so.15"
#else
#error "kf needs the headers of libavif 0.11 or newer"
#endif

struct kf_avif_functions kf_avif;

static char load_error[256];
static int is_loaded;

static void set_load_error(const char *text) {
    strncpy(load_error, text ? text : "unknown error", sizeof load_error - 1);
}

/* Whether a version is of the series of the headers, in which the layout is the same. */
static int is_of_series(const char *version) {
    int major = -1, minor = -1;
    if (sscanf(version, "%d.%d", &major, &minor) != 2 || major != AVIF_VERSION_MAJOR) return 0;
    return major > 0 ? minor >= AVIF_VERSION_MINOR : minor == AVIF_VERSION_MINOR;
}

static void load(void) {
    void *library = dlopen(LIBRARY, RTLD_NOW | RTLD_LOCAL);
    if (library == NULL) {
        set_load_error(dlerror());
        return;
    }
#define KF_LOOK_UP(name)                                                                                              \
    kf_avif.name = (__typeof__(kf_avif.name))dlsym(library, #name);                                                   \
    if (kf_avif.name == NULL) {                                                                                       \
        set_load_error(dlerror());                                                                                    \
        return;                                                                                                       \
    }
    KF_AVIF_FUNCTIONS(KF_LOOK_UP)
#undef KF_LOOK_UP
    const char *version = kf_avif.avifVersion();
    if (!is_of_series(version)) {
        snprintf(load_error, sizeof load_error, LIBRARY " is version %.32s, kf was built for %d.%d", version,
            AVIF_VERSION_MAJOR, AVIF_VERSION_MINOR);
        return;
    }
    is_loaded = 1;
}

const char *kf_avif_load(void) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, load);
    return is_loaded ? NULL : load_error;
}

const char *kf_avif_library(void) { return LIBRARY; }

const char *kf_avif_version(void) { return kf_avif.avifVersion(); }

void kf_avif_coders(char text[256]) { kf_avif.avifCodecVersions(text); }
