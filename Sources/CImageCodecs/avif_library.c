#include "avif_library.h"

#include "kf_avif.h"

#include <stdio.h>

/* The structs of libavif are read by field, and their layout changes with the number of the library. Only the library
   of the headers that were compiled is opened. */
#if AVIF_VERSION_MAJOR >= 1
#define LIBRARY "libavif.so.16"
#elif AVIF_VERSION_MINOR == 11
#define LIBRARY "libavif.so.15"
#else
#error "kf needs the headers of libavif 0.11 or newer"
#endif

/* Whether a version is of the series of the headers, in which the layout is the same. */
static int is_of_series(const char *version) {
    int major = -1, minor = -1;
    if (sscanf(version, "%d.%d", &major, &minor) != 2 || major != AVIF_VERSION_MAJOR) return 0;
    return major > 0 ? minor >= AVIF_VERSION_MINOR : minor == AVIF_VERSION_MINOR;
}

static const char *refuse(void) {
    static char reason[128];
    const char *version = kf_avif.avifVersion();
    if (is_of_series(version)) return NULL;
    snprintf(reason, sizeof reason, LIBRARY " is version %.32s, kf was built for %d.%d", version, AVIF_VERSION_MAJOR,
        AVIF_VERSION_MINOR);
    return reason;
}

KF_DEFINE_LIBRARY(kf_avif, KF_AVIF_FUNCTIONS, LIBRARY, refuse)

const char *kf_avif_load(void) { return kf_library_load(&library); }

const char *kf_avif_library(void) { return LIBRARY; }

const char *kf_avif_version(void) { return kf_avif.avifVersion(); }

void kf_avif_coders(char text[256]) { kf_avif.avifCodecVersions(text); }
