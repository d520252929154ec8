#include "kf_avif_read.h"

#include "avif_library.h"
#include "handle.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A band of converted rows has about this many bytes: it stays in a processor's cache. */
enum { BAND_BYTES = 1 << 20, MOST_BAND_ROWS = 64, LEAST_BAND_ROWS = 16 };
/* The rows above and below a band that its chroma is interpolated from. Chroma demands that a band begin
   at an even row. */
enum { MARGIN = 2 };

struct kf_avif_reader {
    kf_handle handle;
    avifDecoder *decoder;
    avifDecoder *alpha_decoder; /* of a file that holds the alpha; NULL for none */
    avifImage *view;
    uint32_t channels, depth;
    uint16_t luma[4096], alpha[4096]; /* of a grey picture: from coded samples, of 12 bits at most, to the output */
    uint8_t *band;
    size_t band_capacity;
    uint32_t band_top, band_count; /* the rows of the picture that the band holds */
    uint32_t band_skip;            /* the rows of its margin above */
};

static kf_status fail_of(kf_avif_reader *reader, const avifDecoder *decoder, avifResult result) {
    const char *reason = kf_avif.avifResultToString(result), *detail = decoder->diag.error;
    char *message = reader->handle.message;
    snprintf(message, sizeof reader->handle.message, "%s%s%.150s", reason, *detail ? ": " : "", detail);
    switch (result) {
    case AVIF_RESULT_OK: return KF_OK;
    case AVIF_RESULT_TRUNCATED_DATA: return KF_TRUNCATED;
    case AVIF_RESULT_OUT_OF_MEMORY: return KF_NO_MEMORY;
    case AVIF_RESULT_NO_CODEC_AVAILABLE:
    case AVIF_RESULT_NOT_IMPLEMENTED:
    case AVIF_RESULT_UNSUPPORTED_DEPTH: return KF_UNSUPPORTED;
    default: return KF_CORRUPT;
    }
}

static kf_status fail(kf_avif_reader *reader, avifResult result) { return fail_of(reader, reader->decoder, result); }

static void release(void *handle) {
    kf_avif_reader *reader = handle;
    if (reader->view != NULL) kf_avif.avifImageDestroy(reader->view);
    if (reader->decoder != NULL) kf_avif.avifDecoderDestroy(reader->decoder);
    if (reader->alpha_decoder != NULL) kf_avif.avifDecoderDestroy(reader->alpha_decoder);
    free(reader->band);
}

kf_avif_reader *kf_avif_reader_create(void) {
    kf_avif_reader *reader = kf_handle_create(sizeof *reader, release);
    if (reader == NULL) return NULL;
    reader->decoder = kf_avif.avifDecoderCreate();
    reader->view = kf_avif.avifImageCreateEmpty();
    if (reader->decoder == NULL || reader->view == NULL) {
        kf_handle_destroy(&reader->handle);
        return NULL;
    }
    return reader;
}

kf_status kf_avif_reader_open(
    kf_avif_reader *reader, const uint8_t *data, size_t length, const kf_avif_bounds *bounds, int is_alpha) {
    if (is_alpha) reader->alpha_decoder = kf_avif.avifDecoderCreate();
    avifDecoder *decoder = is_alpha ? reader->alpha_decoder : reader->decoder;
    if (decoder == NULL) return KF_NO_MEMORY;
    if (kf_avif.avifCodecName(AVIF_CODEC_CHOICE_DAV1D, AVIF_CODEC_FLAG_CAN_DECODE) == NULL) {
        return kf_fail(&reader->handle, KF_UNSUPPORTED, "a libavif without dav1d");
    }
    /* The other decoders that libavif may choose have no limit of the picture's size. */
    decoder->codecChoice = AVIF_CODEC_CHOICE_DAV1D;
    decoder->maxThreads = (int)bounds->threads;
    decoder->imageCountLimit = bounds->frames;
    /* The strict checks refuse files of older encoders, which lack properties that no pixel depends on. */
    decoder->strictFlags = AVIF_STRICT_DISABLED;
    avifResult result = kf_avif.avifDecoderSetIOMemory(decoder, data, length);
    /* The limits of sizes hold for every item while libavif reads the boxes, also for a gain map that is larger than the
       picture and is not decoded. From then on they hold for what is decoded. */
    decoder->imageDimensionLimit = 0;
    if (result == AVIF_RESULT_OK) result = kf_avif.avifDecoderParse(decoder);
    decoder->imageSizeLimit = bounds->pixels;
    decoder->imageDimensionLimit = bounds->side;
    if (result == AVIF_RESULT_OK) result = kf_avif.avifDecoderReset(decoder);
    return result == AVIF_RESULT_OK ? KF_OK : fail_of(reader, decoder, result);
}

/* Lends the luma of the file that holds the alpha to the picture, which does not own it. */
static kf_status lend_alpha(kf_avif_reader *reader) {
    avifResult result = kf_avif.avifDecoderNextImage(reader->alpha_decoder);
    if (result != AVIF_RESULT_OK) return fail_of(reader, reader->alpha_decoder, result);
    const avifImage *alpha = reader->alpha_decoder->image;
    avifImage *image = reader->decoder->image;
    if (alpha->yuvPlanes[AVIF_CHAN_Y] == NULL) return fail(reader, AVIF_RESULT_NO_CONTENT);
    if (alpha->width != image->width || alpha->height != image->height || alpha->depth != image->depth) {
        return fail(reader, AVIF_RESULT_DECODE_ALPHA_FAILED);
    }
    if (alpha->yuvRange == AVIF_RANGE_LIMITED) {
        return kf_fail(&reader->handle, KF_UNSUPPORTED, "cells with alpha of a limited range");
    }
    image->alphaPlane = alpha->yuvPlanes[AVIF_CHAN_Y];
    image->alphaRowBytes = alpha->yuvRowBytes[AVIF_CHAN_Y];
    return KF_OK;
}

/* Fills the tables from coded samples to those of the output. Limited range leaves levels at both ends unused. */
static void fill_tables(kf_avif_reader *reader, const avifImage *image) {
    uint32_t shift = image->depth - 8, most = (1u << image->depth) - 1;
    int is_limited = image->yuvRange == AVIF_RANGE_LIMITED;
    float low = is_limited ? (float)(16u << shift) : 0, range = is_limited ? (float)(219u << shift) : (float)most;
    float scale = reader->depth > 8 ? 65535 : 255;
    for (uint32_t sample = 0; sample <= most; sample++) {
        float level = ((float)sample - low) / range;
        level = level < 0 ? 0 : level > 1 ? 1 : level;
        reader->luma[sample] = (uint16_t)(level * scale + 0.5f);
        reader->alpha[sample] = (uint16_t)((float)sample / (float)most * scale + 0.5f);
    }
}

kf_status kf_avif_reader_next(kf_avif_reader *reader, kf_picture *picture) {
    reader->band_count = 0;
    avifResult result = kf_avif.avifDecoderNextImage(reader->decoder);
    if (result != AVIF_RESULT_OK) return fail(reader, result);
    const avifImage *image = reader->decoder->image;
    if (reader->alpha_decoder != NULL && image->alphaPlane == NULL) {
        kf_status status = lend_alpha(reader);
        if (status != KF_OK) return status;
    }
    int is_gray = image->yuvFormat == AVIF_PIXEL_FORMAT_YUV400, has_alpha = image->alphaPlane != NULL;
    if (image->yuvPlanes[AVIF_CHAN_Y] == NULL) return fail(reader, AVIF_RESULT_NO_CONTENT);
    if (image->depth < 8 || image->depth > 12) return fail(reader, AVIF_RESULT_UNSUPPORTED_DEPTH);
    reader->channels = (is_gray ? 1 : 3) + (has_alpha ? 1 : 0);
    reader->depth = image->depth > 8 ? 16 : 8;
    if (is_gray) fill_tables(reader, image);

    memset(picture, 0, sizeof *picture);
    picture->width = image->width;
    picture->height = image->height;
    picture->channels = reader->channels;
    picture->depth = reader->depth;
    picture->primaries = image->colorPrimaries;
    picture->transfer = image->transferCharacteristics;
    picture->seconds = reader->decoder->imageTiming.duration;
    picture->blocks.profile = (kf_bytes){image->icc.data, image->icc.size};
    picture->blocks.exif = (kf_bytes){image->exif.data, image->exif.size};
    picture->blocks.xmp = (kf_bytes){image->xmp.data, image->xmp.size};
    return KF_OK;
}

static uint32_t sample_at(const uint8_t *row, uint32_t x, uint32_t depth) {
    return depth > 8 ? ((const uint16_t *)(const void *)row)[x] & ((1u << depth) - 1) : row[x];
}

/* libavif has no conversion to grey. */
static void convert_gray(const kf_avif_reader *reader, uint32_t y, uint32_t left, uint32_t width, uint8_t *output) {
    const avifImage *image = reader->decoder->image;
    const uint8_t *luma = image->yuvPlanes[AVIF_CHAN_Y] + (size_t)y * image->yuvRowBytes[AVIF_CHAN_Y];
    const uint8_t *alpha = reader->channels == 2 ? image->alphaPlane + (size_t)y * image->alphaRowBytes : NULL;
    const uint32_t most = reader->depth > 8 ? 65535 : 255;
    uint16_t *words = (uint16_t *)(void *)output;
    for (uint32_t x = left, out = 0; x < left + width; x++) {
        uint32_t samples[2] = {reader->luma[sample_at(luma, x, image->depth)], 0};
        if (alpha != NULL) {
            samples[1] = reader->alpha[sample_at(alpha, x, image->depth)];
            if (image->alphaPremultiplied && samples[1] < most) {
                uint32_t straight = samples[1] == 0 ? 0 : (samples[0] * most + samples[1] / 2) / samples[1];
                samples[0] = straight > most ? most : straight;
            }
        }
        for (uint32_t channel = 0; channel < reader->channels; channel++, out++) {
            if (reader->depth > 8) {
                words[out] = (uint16_t)samples[channel];
            } else {
                output[out] = (uint8_t)samples[channel];
            }
        }
    }
}

/* Converts a band of rows that contains the row `top`, with its margins. */
static kf_status convert_band(kf_avif_reader *reader, uint32_t top) {
    const avifImage *image = reader->decoder->image;
    size_t stride = (size_t)image->width * reader->channels * (reader->depth / 8);
    size_t fitting = BAND_BYTES / stride / 2 * 2;
    uint32_t rows = MOST_BAND_ROWS;
    if (fitting < rows) rows = fitting < LEAST_BAND_ROWS ? LEAST_BAND_ROWS : (uint32_t)fitting;
    uint32_t begin = top / 2 * 2;
    uint32_t end = image->height - begin > rows ? begin + rows : image->height;
    uint32_t first = begin > MARGIN ? begin - MARGIN : 0;
    uint32_t last = image->height - end > MARGIN ? end + MARGIN : image->height;
    if (stride > UINT32_MAX) return fail(reader, AVIF_RESULT_OUT_OF_MEMORY);
    size_t needed = stride * (rows + 2 * MARGIN);
    if (needed > reader->band_capacity) {
        free(reader->band);
        reader->band = malloc(needed);
        reader->band_capacity = reader->band ? needed : 0;
        if (reader->band == NULL) return fail(reader, AVIF_RESULT_OUT_OF_MEMORY);
    }

    const avifCropRect rectangle = {0, first, image->width, last - first};
    avifResult result = kf_avif.avifImageSetViewRect(reader->view, image, &rectangle);
    if (result != AVIF_RESULT_OK) return fail(reader, result);
    avifRGBImage target;
    kf_avif.avifRGBImageSetDefaults(&target, reader->view);
    target.depth = reader->depth;
    target.format = reader->channels == 3 ? AVIF_RGB_FORMAT_RGB : AVIF_RGB_FORMAT_RGBA;
    target.pixels = reader->band;
    target.rowBytes = (uint32_t)stride;
    result = kf_avif.avifImageYUVToRGB(reader->view, &target);
    if (result == AVIF_RESULT_REFORMAT_FAILED) {
        int matrix = (int)image->matrixCoefficients;
        snprintf(reader->handle.message, sizeof reader->handle.message, "matrix coefficients %d", matrix);
        return KF_UNSUPPORTED;
    }
    if (result != AVIF_RESULT_OK) return fail(reader, result);
    reader->band_top = begin;
    reader->band_count = end - begin;
    reader->band_skip = begin - first;
    return KF_OK;
}

kf_status kf_avif_reader_rows(
    kf_avif_reader *reader, uint8_t *rows, size_t stride, uint32_t left, uint32_t width, uint32_t top, uint32_t count) {
    const avifImage *image = reader->decoder->image;
    size_t pixel = reader->channels * (reader->depth / 8);
    for (uint32_t y = top; y < top + count; y++, rows += stride) {
        if (reader->channels <= 2) {
            convert_gray(reader, y, left, width, rows);
            continue;
        }
        if (reader->band_count == 0 || y < reader->band_top || y - reader->band_top >= reader->band_count) {
            kf_status status = convert_band(reader, y);
            if (status != KF_OK) return status;
        }
        size_t row = y - reader->band_top + reader->band_skip;
        memcpy(rows, reader->band + row * image->width * pixel + left * pixel, width * pixel);
    }
    return KF_OK;
}
