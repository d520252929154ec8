#ifndef KF_VERSIONS_H
#define KF_VERSIONS_H

#include <stdint.h>

/* The versions of the libraries that are linked. libavif has kf_avif_version, lcms2 kf_color_version. */
const char *kf_png_version(void);
const char *kf_jpeg_version(void);
const char *kf_gif_version(void);
const char *kf_zlib_version(void);
uint32_t kf_webp_version(void); /* a byte each for major, minor and patch */

#endif
