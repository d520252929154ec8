#ifndef GIF_REFERENCE_H
#define GIF_REFERENCE_H

#include <stddef.h>
#include <stdint.h>

/* Unpacks sub-blocks of GIF picture data, none of them cut, with giflib: one byte a pixel. Returns 1 when all pixels
   are there. */
int gif_reference_unpack(
    const uint8_t *data, size_t length, uint8_t code_size, uint16_t width, uint16_t height, uint8_t *pixels);

#endif
