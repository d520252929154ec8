#ifndef KF_HEIF_LIBRARY_H
#define KF_HEIF_LIBRARY_H

#include "library.h"

#include <libheif/heif.h>

#define KF_HEIF_FUNCTIONS(X)                                                                                          \
    X(heif_get_version)                                                                                               \
    X(heif_context_alloc)                                                                                             \
    X(heif_context_free)                                                                                              \
    X(heif_context_read_from_memory_without_copy)                                                                     \
    X(heif_context_set_maximum_image_size_limit)                                                                      \
    X(heif_context_set_max_decoding_threads)                                                                          \
    X(heif_context_get_primary_image_handle)                                                                          \
    X(heif_image_handle_release)                                                                                      \
    X(heif_image_handle_get_list_of_metadata_block_IDs)                                                               \
    X(heif_image_handle_get_metadata_type)                                                                            \
    X(heif_image_handle_get_metadata_content_type)                                                                    \
    X(heif_image_handle_get_metadata_size)                                                                            \
    X(heif_image_handle_get_metadata)                                                                                 \
    X(heif_image_handle_get_raw_color_profile_size)                                                                   \
    X(heif_image_handle_get_raw_color_profile)                                                                        \
    X(heif_image_handle_is_premultiplied_alpha)                                                                       \
    X(heif_image_get_nclx_color_profile)                                                                              \
    X(heif_nclx_color_profile_free)                                                                                   \
    X(heif_decoding_options_alloc)                                                                                    \
    X(heif_decoding_options_free)                                                                                     \
    X(heif_decode_image)                                                                                              \
    X(heif_image_release)                                                                                             \
    X(heif_image_get_colorspace)                                                                                      \
    X(heif_image_get_chroma_format)                                                                                   \
    X(heif_image_get_width)                                                                                           \
    X(heif_image_get_height)                                                                                          \
    X(heif_image_get_bits_per_pixel_range)                                                                            \
    X(heif_image_get_plane_readonly)

KF_DECLARE_FUNCTIONS(kf_heif, KF_HEIF_FUNCTIONS)

#endif
