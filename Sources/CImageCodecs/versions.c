#include "kf_versions.h"

#include "library.h"

/* jpeglib.h uses FILE and does not declare it. */
#include <stdio.h>

#include <gif_lib.h>
#include <jpeglib.h>
#include <png.h>
#include <webp/decode.h>
#include <zlib.h>

const char *kf_png_version(void) { return png_get_libpng_ver(NULL); }

const char *kf_jpeg_version(void) {
#ifdef LIBJPEG_TURBO_VERSION
    return KF_TEXT(LIBJPEG_TURBO_VERSION);
#else
    return KF_TEXT(JPEG_LIB_VERSION);
#endif
}

const char *kf_gif_version(void) {
    return KF_TEXT(GIFLIB_MAJOR) "." KF_TEXT(GIFLIB_MINOR) "." KF_TEXT(GIFLIB_RELEASE);
}

const char *kf_zlib_version(void) { return zlibVersion(); }

uint32_t kf_webp_version(void) { return (uint32_t)WebPGetDecoderVersion(); }
