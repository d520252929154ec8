#pragma once
#include <stddef.h>
#include <stdint.h>

/// Whether libsixel can be loaded; it is searched once.
int kf_sixel_is_available(void);

/// Encodes `width` × `height` pixels of 8-bit RGB as sixels. Returns 0 and a buffer to release with free(), or -1.
int kf_sixel_encode(const uint8_t *pixels, int width, int height, char **text, size_t *length);
