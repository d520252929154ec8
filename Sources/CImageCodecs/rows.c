#include "kf_rows.h"

#define INLINE static inline __attribute__((always_inline))

INLINE void luma_row(const uint8_t *restrict pixels, uint8_t *restrict luma, size_t count) {
    for (size_t x = 0; x < count; x++) {
        const uint8_t *pixel = pixels + 3 * x;
        luma[x] = (uint8_t)((pixel[0] * 19595u + pixel[1] * 38470u + pixel[2] * 7471u + 32768) >> 16);
    }
}

INLINE uint64_t detail_row(
    const uint8_t *above, const uint8_t *row, const uint8_t *below, const size_t step, size_t count) {
    uint64_t total = 0;
    /* The squares of 4096 samples fit into 32 bits. */
    for (size_t x = 0, end = 0; x < count; x = end) {
        uint32_t sum = 0;
        end = count - x < 4096 ? count : x + 4096;
        for (size_t place = x; place < end; place++) {
            size_t index = place * step;
            int32_t twice = 2 * row[index], across = twice - row[index - step] - row[index + step];
            int32_t down = twice - above[index] - below[index];
            sum += (uint32_t)(across * across + down * down);
        }
        total += sum;
    }
    return total;
}

INLINE uint64_t detail_of_step(
    const uint8_t *above, const uint8_t *row, const uint8_t *below, size_t step, size_t count) {
    return step == 3 ? detail_row(above, row, below, 3, count) : detail_row(above, row, below, step, count);
}

/* What processors with AVX2 do, others do four bytes at a time. */
#if defined(__x86_64__)
__attribute__((target("avx2"))) static void luma_row_avx2(const uint8_t *pixels, uint8_t *luma, size_t count) {
    luma_row(pixels, luma, count);
}

__attribute__((target("avx2"))) static uint64_t detail_row_avx2(
    const uint8_t *above, const uint8_t *row, const uint8_t *below, size_t step, size_t count) {
    return detail_of_step(above, row, below, step, count);
}
#endif

void kf_luma_row(const uint8_t *pixels, uint8_t *luma, size_t count) {
#if defined(__x86_64__)
    if (__builtin_cpu_supports("avx2")) return luma_row_avx2(pixels, luma, count);
#endif
    luma_row(pixels, luma, count);
}

uint64_t kf_detail_row(const uint8_t *above, const uint8_t *row, const uint8_t *below, size_t step, size_t count) {
#if defined(__x86_64__)
    if (__builtin_cpu_supports("avx2")) return detail_row_avx2(above, row, below, step, count);
#endif
    return detail_of_step(above, row, below, step, count);
}
