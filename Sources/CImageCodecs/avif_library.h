#ifndef KF_AVIF_LIBRARY_H
#define KF_AVIF_LIBRARY_H

#include <avif/avif.h>

/* libavif is not linked, because loading it and the coders of AV1 takes 3 ms, and few images need it. */
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

#define KF_MEMBER(name) __typeof__(&name) name;
/* The functions of libavif; only to be used after kf_avif_load has succeeded. */
extern struct kf_avif_functions {
    KF_AVIF_FUNCTIONS(KF_MEMBER)
} kf_avif;
#undef KF_MEMBER

#endif
