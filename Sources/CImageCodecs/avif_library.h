#ifndef KF_AVIF_LIBRARY_H
#define KF_AVIF_LIBRARY_H

#include "library.h"

#include <avif/avif.h>

/* Loading libavif and the coders of AV1 takes 3 ms. */
#define KF_AVIF_FUNCTIONS(X)                                                                                          \
    X(avifVersion)                                                                                                    \
    X(avifCodecVersions)                                                                                              \
    X(avifCodecName)                                                                                                  \
    X(avifResultToString)                                                                                             \
    X(avifDecoderCreate)                                                                                              \
    X(avifDecoderDestroy)                                                                                             \
    X(avifDecoderSetIOMemory)                                                                                         \
    X(avifDecoderParse)                                                                                               \
    X(avifDecoderReset)                                                                                               \
    X(avifDecoderNextImage)                                                                                           \
    X(avifImageCreate)                                                                                                \
    X(avifImageCreateEmpty)                                                                                           \
    X(avifImageDestroy)                                                                                               \
    X(avifImageAllocatePlanes)                                                                                        \
    X(avifImageFreePlanes)                                                                                            \
    X(avifImageSetViewRect)                                                                                           \
    X(avifImageSetProfileICC)                                                                                         \
    X(avifImageSetMetadataExif)                                                                                       \
    X(avifImageSetMetadataXMP)                                                                                        \
    X(avifImageYUVToRGB)                                                                                              \
    X(avifImageRGBToYUV)                                                                                              \
    X(avifRGBImageSetDefaults)                                                                                        \
    X(avifEncoderCreate)                                                                                              \
    X(avifEncoderDestroy)                                                                                             \
    X(avifEncoderAddImage)                                                                                            \
    X(avifEncoderFinish)                                                                                              \
    X(avifEncoderSetCodecSpecificOption)                                                                              \
    X(avifRWDataFree)

KF_DECLARE_FUNCTIONS(kf_avif, KF_AVIF_FUNCTIONS)

#endif
