#ifndef KF_AVIF_H
#define KF_AVIF_H

#include "kf_status.h"

/* libavif with dav1d and libaom, opened with dlopen() on first use. */

/* Loads libavif, once. Returns NULL, or the reason why it cannot be used. */
const char *kf_avif_load(void);
/* The file name of the library that kf was built for, such as "libavif.so.15". */
const char *kf_avif_library(void);
/* The version of the loaded library, and the names and versions of its coders of AV1. */
const char *kf_avif_version(void);
void kf_avif_coders(char text[256]);

#endif
