#ifndef KF_CODECS_H
#define KF_CODECS_H

/* The interface to libpng, libjpeg-turbo, libwebp, giflib, libavif, libheif, libjxl, libtiff and lcms2. The caller pulls
   from a reader: create, header, rows, destroy. Each call sets its own jump buffer, so that the caller can check the clock between calls. */

#include "kf_avif.h"
#include "kf_avif_read.h"
#include "kf_avif_write.h"
#include "kf_color.h"
#include "kf_gif.h"
#include "kf_heif.h"
#include "kf_jpeg.h"
#include "kf_jxl.h"
#include "kf_meter.h"
#include "kf_png.h"
#include "kf_status.h"
#include "kf_tiff.h"
#include "kf_versions.h"
#include "kf_webp.h"

#endif
