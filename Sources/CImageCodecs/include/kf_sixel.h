#pragma once
#include <stddef.h>
#include <stdint.h>

/// Whether libsixel is on this machine; looks for it once.
int kf_sixel_is_available(void);

/// Draws `width` x `height` pixels of 8-bit RGB as sixels. Returns 0 and a buffer to be given to free(), or -1.
int kf_sixel_encode(const uint8_t *pixels, int width, int height, char **text, size_t *length);
