#ifndef KF_CODECS_H
#define KF_CODECS_H

/* The only door to libpng, libjpeg-turbo, libwebp, giflib and lcms2. Every reader is pulled: create, header, rows,
   destroy. Each call sets its own jump buffer, so the caller may look at the clock between any two of them. */

#include "kf_color.h"
#include "kf_gif.h"
#include "kf_jpeg.h"
#include "kf_png.h"
#include "kf_sixel.h"
#include "kf_status.h"
#include "kf_webp.h"

#endif
