#include "kf_gif.h"

#include <stdlib.h>

/* An own decoder, because giflib rejects code sizes above 8, which Pillow, libvips and ImageMagick read. */

enum { LARGEST_BITS = 12, CODES = 1 << LARGEST_BITS, NO_CODE = CODES };

struct kf_lzw {
    const uint8_t *data;
    size_t length, position;
    size_t block_left; /* bytes of the current sub-block */
    uint32_t buffer;   /* unused bits of the data, the next one lowest */
    uint32_t buffered;
    uint32_t code_size, bits;
    uint32_t next;     /* the code of the next string to be defined */
    uint32_t last;     /* the previous code, or NO_CODE */
    uint8_t first;     /* the first index of the last string */
    size_t pending;    /* indices on the stack that did not fit into the output, the next one on top */
    uint16_t prefix[CODES];
    uint8_t suffix[CODES];
    uint8_t stack[CODES];
};

static void clear(kf_lzw *lzw) {
    lzw->bits = lzw->code_size + 1;
    lzw->next = (1u << lzw->code_size) + 2;
    lzw->last = NO_CODE;
}

kf_lzw *kf_lzw_create(const uint8_t *data, size_t length, uint32_t code_size) {
    kf_lzw *lzw = calloc(1, sizeof *lzw);
    if (lzw == NULL) return NULL;
    lzw->data = data;
    lzw->length = length;
    lzw->code_size = code_size;
    clear(lzw);
    return lzw;
}

/* Reads one byte of the sub-blocks; 0 at their end. */
static int take_byte(kf_lzw *lzw) {
    if (lzw->block_left == 0) {
        if (lzw->position >= lzw->length || lzw->data[lzw->position] == 0) return 0;
        lzw->block_left = lzw->data[lzw->position++];
    }
    if (lzw->position >= lzw->length) return 0;
    lzw->buffer |= (uint32_t)lzw->data[lzw->position++] << lzw->buffered;
    lzw->buffered += 8;
    lzw->block_left--;
    return 1;
}

/* Pushes the indices of a string onto the stack, the first one on top. A string has at most one index for each code. */
static void unfold(kf_lzw *lzw, uint32_t code, uint32_t clear_code) {
    while (code > clear_code) {
        lzw->stack[lzw->pending++] = lzw->suffix[code];
        code = lzw->prefix[code];
    }
    lzw->first = (uint8_t)code;
    lzw->stack[lzw->pending++] = lzw->first;
}

/* Reads the next code and pushes its string onto the stack. */
static kf_status decode(kf_lzw *lzw) {
    while (lzw->buffered < lzw->bits) {
        if (!take_byte(lzw)) return KF_TRUNCATED;
    }
    uint32_t clear_code = 1u << lzw->code_size;
    uint32_t code = lzw->buffer & ((1u << lzw->bits) - 1);
    lzw->buffer >>= lzw->bits;
    lzw->buffered -= lzw->bits;
    if (code == clear_code) {
        clear(lzw);
        return KF_OK;
    }
    if (code == clear_code + 1) return KF_TRUNCATED;
    int starts_anew = lzw->last == NO_CODE;
    if (code > lzw->next || (starts_anew && code > clear_code)) return KF_CORRUPT;
    if (code == lzw->next) {
        /* The code that is being defined: the last string followed by its first index. */
        lzw->stack[lzw->pending++] = lzw->first;
        unfold(lzw, lzw->last, clear_code);
    } else {
        unfold(lzw, code, clear_code);
    }
    if (!starts_anew && lzw->next < CODES) {
        lzw->prefix[lzw->next] = (uint16_t)lzw->last;
        lzw->suffix[lzw->next] = lzw->first;
        lzw->next++;
    }
    if (lzw->next >= 1u << lzw->bits && lzw->bits < LARGEST_BITS) lzw->bits++;
    lzw->last = code;
    return KF_OK;
}

kf_status kf_lzw_read(kf_lzw *lzw, uint8_t *indexes, size_t count) {
    while (count > 0) {
        if (lzw->pending == 0) {
            kf_status status = decode(lzw);
            if (status != KF_OK) return status;
        }
        while (lzw->pending > 0 && count > 0) {
            *indexes++ = lzw->stack[--lzw->pending];
            count--;
        }
    }
    return KF_OK;
}

void kf_lzw_destroy(kf_lzw *lzw) { free(lzw); }
