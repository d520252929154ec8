#include "kf_resample.h"

#pragma STDC FP_CONTRACT OFF

#define INLINE static inline __attribute__((always_inline))
#define EACH(index, count) for (size_t index = 0; index < (count); index++)

/* A float of each row that the first pass takes at a time. Where the processor has AVX2, it is one register. */
enum { LANES = KF_RESAMPLE_ROWS };
typedef float lanes __attribute__((vector_size(4 * LANES), aligned(4)));
typedef uint8_t bytes8 __attribute__((vector_size(8), aligned(1)));
typedef uint8_t bytes16 __attribute__((vector_size(16)));

#define LOW_BYTES(a, b) __builtin_shufflevector(a, b, 0, 8, 1, 9, 2, 10, 3, 11, 4, 12, 5, 13, 6, 14, 7, 15)
#define LOW_PAIRS(a, b) __builtin_shufflevector(a, b, 0, 1, 16, 17, 2, 3, 18, 19, 4, 5, 20, 21, 6, 7, 22, 23)
#define HIGH_PAIRS(a, b) __builtin_shufflevector(a, b, 8, 9, 24, 25, 10, 11, 26, 27, 12, 13, 28, 29, 14, 15, 30, 31)
#define LOW_QUADS(a, b) __builtin_shufflevector(a, b, 0, 1, 2, 3, 16, 17, 18, 19, 4, 5, 6, 7, 20, 21, 22, 23)
#define HIGH_QUADS(a, b) __builtin_shufflevector(a, b, 8, 9, 10, 11, 24, 25, 26, 27, 12, 13, 14, 15, 28, 29, 30, 31)
#define LOW_HALF(a) __builtin_shufflevector(a, a, 0, 1, 2, 3, 4, 5, 6, 7)
#define HIGH_HALF(a) __builtin_shufflevector(a, a, 8, 9, 10, 11, 12, 13, 14, 15)

/* Columns are resampled in tiles, whose lanes stay in a cache and need no memory of the picture's width. */
enum { TILE_SOURCES = 512, TILE_TARGETS = 512 };

static size_t tile_sources(const kf_resample *plan) {
    return plan->taps * 4 > TILE_SOURCES ? plan->taps * 4 : TILE_SOURCES;
}

size_t kf_resample_row(const kf_resample *plan) {
    return (plan->target * plan->channels + 2 * LANES - 1) / LANES * LANES;
}

size_t kf_resample_work(const kf_resample *plan) {
    size_t tiles = (tile_sources(plan) + TILE_TARGETS) * plan->channels * LANES + LANES * LANES;
    size_t row = kf_resample_row(plan);
    return tiles > row ? tiles : row;
}

/* Samples of eight rows become lanes. */
INLINE void load_bytes(const uint8_t *const rows[LANES], size_t first, size_t count, float *output) {
    size_t x = first, end = first + count;
    for (; x + 8 <= end; x += 8) {
        bytes8 r[LANES];
        EACH(row, LANES) r[row] = *(const bytes8 *)(rows[row] + x);
        bytes16 a = LOW_BYTES(r[0], r[1]), b = LOW_BYTES(r[2], r[3]);
        bytes16 c = LOW_BYTES(r[4], r[5]), d = LOW_BYTES(r[6], r[7]);
        bytes16 e = LOW_PAIRS(a, b), f = HIGH_PAIRS(a, b), g = LOW_PAIRS(c, d), h = HIGH_PAIRS(c, d);
        bytes16 samples[4] = {LOW_QUADS(e, g), HIGH_QUADS(e, g), LOW_QUADS(f, h), HIGH_QUADS(f, h)};
        EACH(pair, 4) {
            *(lanes *)output = __builtin_convertvector(LOW_HALF(samples[pair]), lanes);
            *(lanes *)(output + LANES) = __builtin_convertvector(HIGH_HALF(samples[pair]), lanes);
            output += 2 * LANES;
        }
    }
    for (; x < end; x++, output += LANES) EACH(row, LANES) output[row] = rows[row][x];
}

INLINE void load_words(const uint8_t *const rows[LANES], size_t first, size_t count, float *output) {
    EACH(x, count) EACH(row, LANES) output[x * LANES + row] = ((const uint16_t *)(const void *)rows[row])[first + x];
}

/* Transparent pixels then add nothing to their neighbours. */
INLINE void premultiply(float *pixels, size_t count, size_t channels, float per_unit) {
    EACH(x, count) {
        lanes *pixel = (lanes *)(pixels + x * channels * LANES);
        lanes share = pixel[channels - 1] * per_unit;
        EACH(channel, channels - 1) pixel[channel] *= share;
    }
}

/* Adds up the columns from `x` to `end`, `group` at a time: their sums do not wait for each other. */
INLINE size_t add_columns(const kf_resample *plan, const float *sources, int32_t left, size_t x, size_t end, float *sums,
    const size_t channels, const size_t group) {
    size_t taps = plan->taps;
    for (; x + group <= end; x += group) {
        lanes sum[8] = {0};
        const float *run[4], *weights = plan->weights + x * taps;
        EACH(index, group) run[index] = sources + (size_t)(plan->starts[x + index] - left) * channels * LANES;
        EACH(tap, taps) {
            EACH(index, group) {
                const lanes *pixel = (const lanes *)(run[index] + tap * channels * LANES);
                EACH(channel, channels) sum[index * channels + channel] += pixel[channel] * weights[index * taps + tap];
            }
        }
        EACH(index, group * channels) ((lanes *)sums)[index] = sum[index];
        sums += group * channels * LANES;
    }
    return x;
}

/* Lanes become rows again, eight floats of each at a time. */
INLINE void turn(const float *sums, size_t count, float *const rows[LANES], size_t first) {
#define TURN(a, b, ...) __builtin_shufflevector(a, b, __VA_ARGS__)
    for (size_t x = 0; x < count; x += LANES) {
        const lanes *in = (const lanes *)(sums + x * LANES);
        lanes pairs[8], quads[8];
        EACH(half, 4) {
            pairs[2 * half] = TURN(in[2 * half], in[2 * half + 1], 0, 8, 1, 9, 4, 12, 5, 13);
            pairs[2 * half + 1] = TURN(in[2 * half], in[2 * half + 1], 2, 10, 3, 11, 6, 14, 7, 15);
        }
        EACH(half, 2) EACH(low, 2) {
            lanes a = pairs[4 * half + low], b = pairs[4 * half + low + 2];
            quads[4 * half + 2 * low] = TURN(a, b, 0, 1, 8, 9, 4, 5, 12, 13);
            quads[4 * half + 2 * low + 1] = TURN(a, b, 2, 3, 10, 11, 6, 7, 14, 15);
        }
        EACH(row, 4) {
            *(lanes *)(rows[row] + first + x) = TURN(quads[row], quads[row + 4], 0, 1, 2, 3, 8, 9, 10, 11);
            *(lanes *)(rows[row + 4] + first + x) = TURN(quads[row], quads[row + 4], 4, 5, 6, 7, 12, 13, 14, 15);
        }
    }
#undef TURN
}

INLINE void add_columns_of_kind(
    const kf_resample *plan, const float *sources, int32_t left, size_t x, size_t end, float *sums) {
#define ADD(channels, group)                                                                                          \
    {                                                                                                                 \
        size_t done = add_columns(plan, sources, left, x, end, sums, channels, group);                                \
        add_columns(plan, sources, left, done, end, sums + (done - x) * channels * LANES, channels, 1);               \
    }
    switch (plan->channels) {
    case 1: ADD(1, 4) break;
    case 2: ADD(2, 2) break;
    case 3: ADD(3, 2) break;
    default: ADD(4, 2) break;
    }
#undef ADD
}

INLINE void columns(const kf_resample *plan, const uint8_t *const rows[LANES], float *const slots[LANES]) {
    size_t channels = plan->channels, end = 0;
    float *sources = plan->work, *sums = sources + tile_sources(plan) * channels * LANES;
    for (size_t x = 0; x < plan->target; x = end) {
        int32_t left = plan->starts[x];
        for (end = x + 1; end < plan->target && end - x < TILE_TARGETS; end++) {
            if ((size_t)(plan->starts[end] - left) + plan->taps > tile_sources(plan)) break;
        }
        size_t width = (size_t)(plan->starts[end - 1] - left) + plan->taps, first = (size_t)left * channels;
        if (plan->depth > 8) load_words(rows, first, width * channels, sources);
        else load_bytes(rows, first, width * channels, sources);
        if (channels % 2 == 0) premultiply(sources, width, channels, plan->depth > 8 ? 1.f / 65535 : 1.f / 255);
        add_columns_of_kind(plan, sources, left, x, end, sums);
        turn(sums, (end - x) * channels, slots, x * channels);
    }
}

/* Adds up rows of the ring, `block` vectors at a time, which stay in registers. */
INLINE size_t add_block(
    const kf_resample *plan, size_t y, const float *weights, size_t taps, size_t x, const size_t block) {
    size_t length = kf_resample_row(plan), slot = y % plan->slots;
    for (; x + block * LANES <= length; x += block * LANES) {
        lanes sum[8] = {0};
        const float *row = plan->ring + slot * length + x, *last = plan->ring + (plan->slots - 1) * length + x;
        EACH(tap, taps) {
            EACH(index, block) sum[index] += ((const lanes *)row)[index] * weights[tap];
            row = row == last ? plan->ring + x : row + length;
        }
        EACH(index, block) ((lanes *)(plan->work + x))[index] = sum[index];
    }
    return x;
}

/* An alpha below 0.5 is rounded to 0, and the colours must not be divided by it. */
INLINE void unpremultiply(float *pixels, size_t count, size_t channels, float top) {
    EACH(x, count) {
        float *pixel = pixels + x * channels, alpha = pixel[channels - 1];
        float factor = alpha < .5f ? 0 : top / (alpha > top ? top : alpha);
        EACH(channel, channels - 1) pixel[channel] *= factor;
    }
}

INLINE int32_t rounded(float value, float top) {
    float least = value < 0 ? 0 : value;
    return (int32_t)((least > top ? top : least) + .5f);
}

INLINE void add_rows(const kf_resample *plan, size_t y, const float *weights, size_t taps, void *row) {
    size_t x = add_block(plan, y, weights, taps, 0, 4), count = plan->target * plan->channels;
    add_block(plan, y, weights, taps, x, 1);
    float top = plan->depth > 8 ? 65535 : 255;
    if (plan->channels % 2 == 0) unpremultiply(plan->work, plan->target, plan->channels, top);
    if (plan->depth > 8) {
        EACH(index, count) ((uint16_t *)row)[index] = (uint16_t)rounded(plan->work[index], top);
    } else {
        EACH(index, count) ((uint8_t *)row)[index] = (uint8_t)rounded(plan->work[index], top);
    }
}

#if defined(__x86_64__)
__attribute__((target("avx2"))) static void columns_avx2(
    const kf_resample *plan, const uint8_t *const rows[LANES], float *const slots[LANES]) {
    columns(plan, rows, slots);
}

__attribute__((target("avx2"))) static void rows_avx2(
    const kf_resample *plan, size_t y, const float *weights, size_t taps, void *row) {
    add_rows(plan, y, weights, taps, row);
}
#endif

void kf_resample_columns(const kf_resample *plan, const void *rows, size_t stride, size_t count, size_t y) {
    const uint8_t *sources[LANES];
    float *slots[LANES];
    /* Lanes without a row repeat the last one, into a slot that holds no row yet. */
    EACH(row, LANES) {
        sources[row] = (const uint8_t *)rows + (row < count ? row : count - 1) * stride;
        slots[row] = plan->ring + (y + row) % plan->slots * kf_resample_row(plan);
    }
#if defined(__x86_64__)
    if (__builtin_cpu_supports("avx2")) return columns_avx2(plan, sources, slots);
#endif
    columns(plan, sources, slots);
}

void kf_resample_rows(const kf_resample *plan, size_t y, const float *weights, size_t taps, void *row) {
#if defined(__x86_64__)
    if (__builtin_cpu_supports("avx2")) return rows_avx2(plan, y, weights, taps, row);
#endif
    add_rows(plan, y, weights, taps, row);
}
