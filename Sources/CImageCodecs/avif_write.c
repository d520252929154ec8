#include "avif_library.h"
#include "handle.h"
#include "kf_avif_write.h"

#include <stdio.h>
#include <string.h>

struct kf_avif_writer {
    kf_handle handle;
    avifEncoder *encoder;
    avifImage *image; /* without planes between the pictures */
    kf_avif_output output;
    avifRWData result;
    size_t limit;
    kf_meter *meter;
};

static kf_status fail(kf_avif_writer *writer, const char *message) {
    return kf_fail(&writer->handle, KF_CORRUPT, message);
}

static kf_status no_memory(kf_avif_writer *writer) {
    return kf_fail(&writer->handle, KF_NO_MEMORY, "out of memory");
}

/* The status of a call to libavif, whose diagnostics say more than its result. */
static kf_status check(kf_avif_writer *writer, avifResult result) {
    if (result == AVIF_RESULT_OK) return KF_OK;
    if (result == AVIF_RESULT_OUT_OF_MEMORY) return no_memory(writer);
    const char *detail = writer->encoder->diag.error;
    snprintf(writer->handle.message, sizeof writer->handle.message, "libavif: %.60s%s%.140s",
        kf_avif.avifResultToString(result), detail[0] != 0 ? ": " : "", detail);
    return KF_CORRUPT;
}

static void release(void *handle) {
    kf_avif_writer *writer = handle;
    if (writer->image != NULL) kf_avif.avifImageDestroy(writer->image);
    if (writer->encoder != NULL) kf_avif.avifEncoderDestroy(writer->encoder);
    if (writer->result.data != NULL) kf_avif.avifRWDataFree(&writer->result);
}

kf_avif_writer *kf_avif_writer_create(kf_bounds bounds) {
    kf_avif_writer *writer = kf_handle_create(sizeof *writer, release);
    if (writer == NULL) return NULL;
    writer->limit = bounds.bytes;
    writer->meter = bounds.meter;
    return writer;
}

/* The binary logarithm of the number of tiles along a side. Each tile of AV1 starts a new context, which costs bytes,
   and tiles are what several threads encode and decode. The number depends on the size alone, so that the bytes do. */
static int tiles_log2(uint32_t side) { return side >= 4096 ? 2 : side >= 2048 ? 1 : 0; }

static void set_quality(avifEncoder *encoder, const kf_avif_output *output) {
#if AVIF_VERSION_MAJOR >= 1
    encoder->quality = output->lossless ? AVIF_QUALITY_LOSSLESS : output->quality;
    encoder->qualityAlpha = AVIF_QUALITY_LOSSLESS;
    encoder->repetitionCount = output->plays == 0 ? AVIF_REPETITION_COUNT_INFINITE : output->plays - 1;
#else
    /* libavif 1.0 computes the quantizer so, and lets libaom vary it around this level. */
    int quantizer = output->lossless ? AVIF_QUANTIZER_LOSSLESS : ((100 - output->quality) * 63 + 50) / 100;
    char level[4];
    snprintf(level, sizeof level, "%d", quantizer);
    encoder->minQuantizer = AVIF_QUANTIZER_BEST_QUALITY;
    encoder->maxQuantizer = quantizer == AVIF_QUANTIZER_LOSSLESS ? quantizer : AVIF_QUANTIZER_WORST_QUALITY;
    encoder->minQuantizerAlpha = AVIF_QUANTIZER_LOSSLESS;
    encoder->maxQuantizerAlpha = AVIF_QUANTIZER_LOSSLESS;
    kf_avif.avifEncoderSetCodecSpecificOption(encoder, "color:end-usage", "q");
    kf_avif.avifEncoderSetCodecSpecificOption(encoder, "color:cq-level", level);
#endif
}

static kf_status set_encoder(kf_avif_writer *writer) {
    const kf_avif_output *output = &writer->output;
    if (kf_avif.avifCodecName(AVIF_CODEC_CHOICE_AOM, AVIF_CODEC_FLAG_CAN_ENCODE) == NULL) {
        return fail(writer, "this libavif was built without libaom");
    }
    avifEncoder *encoder = writer->encoder = kf_avif.avifEncoderCreate();
    if (encoder == NULL) return no_memory(writer);
    encoder->codecChoice = AVIF_CODEC_CHOICE_AOM;
    encoder->maxThreads = output->threads;
    encoder->speed = output->speed;
    encoder->tileColsLog2 = tiles_log2(output->width);
    encoder->tileRowsLog2 = tiles_log2(output->height);
    encoder->timescale = 1000;
    /* A player that seeks decodes from the last key frame. */
    encoder->keyframeInterval = 60;
    set_quality(encoder, output);
    /* The search for copies within the picture takes 4 times the time and 3 times the memory of a screenshot of 2 MP,
       92 bytes for each pixel, and saves 10 % of its file. */
    kf_avif.avifEncoderSetCodecSpecificOption(encoder, "enable-intrabc", "0");
    return KF_OK;
}

/* Sets the blocks. An orientation in EXIF would make libavif add a rotation, and the pixels are upright. */
static kf_status set_blocks(kf_avif_writer *writer, const kf_blocks *blocks) {
    avifImage *image = writer->image;
    if (blocks->profile.length > 0) {
        kf_avif.avifImageSetProfileICC(image, blocks->profile.bytes, blocks->profile.length);
    }
    if (blocks->exif.length > 0) {
        kf_avif.avifImageSetMetadataExif(image, blocks->exif.bytes, blocks->exif.length);
        image->transformFlags = AVIF_TRANSFORM_NONE;
    }
    if (blocks->xmp.length > 0) kf_avif.avifImageSetMetadataXMP(image, blocks->xmp.bytes, blocks->xmp.length);
    int has_all = image->icc.size == blocks->profile.length && image->exif.size == blocks->exif.length &&
                  image->xmp.size == blocks->xmp.length;
    return has_all ? KF_OK : no_memory(writer);
}

kf_status kf_avif_writer_start(kf_avif_writer *writer, const kf_avif_output *output, const kf_blocks *blocks) {
    writer->output = *output;
    kf_status status = set_encoder(writer);
    if (status != KF_OK) return status;
    avifPixelFormat format = output->gray                              ? AVIF_PIXEL_FORMAT_YUV400
                             : output->lossless || output->full_chroma ? AVIF_PIXEL_FORMAT_YUV444
                                                                       : AVIF_PIXEL_FORMAT_YUV420;
    avifImage *image = writer->image = kf_avif.avifImageCreate(output->width, output->height, output->depth, format);
    if (image == NULL) return no_memory(writer);
    int is_described = blocks->profile.length > 0;
    image->yuvRange = AVIF_RANGE_FULL;
    image->colorPrimaries = is_described ? AVIF_COLOR_PRIMARIES_UNSPECIFIED : AVIF_COLOR_PRIMARIES_BT709;
    image->transferCharacteristics =
        is_described ? AVIF_TRANSFER_CHARACTERISTICS_UNSPECIFIED : AVIF_TRANSFER_CHARACTERISTICS_SRGB;
    image->matrixCoefficients =
        output->lossless && !output->gray ? AVIF_MATRIX_COEFFICIENTS_IDENTITY : AVIF_MATRIX_COEFFICIENTS_BT601;
    if (output->transfer != 0) {
        image->colorPrimaries = output->primaries;
        image->transferCharacteristics = output->transfer;
    }
    return set_blocks(writer, blocks);
}

/* Copies one channel of the pixels into a plane, with the samples reduced to the plane's depth. */
static void copy_plane(
    const kf_avif_writer *writer, const kf_avif_input *picture, uint32_t channel, uint8_t *plane, size_t stride) {
    const uint32_t most = (1u << writer->output.depth) - 1;
    for (uint32_t y = 0; y < writer->output.height; y++) {
        const uint8_t *input = picture->rows + y * picture->stride;
        uint8_t *output = plane + y * stride;
        for (uint32_t x = 0; x < writer->output.width; x++) {
            size_t at = (size_t)x * picture->channels + channel;
            if (picture->depth == 8) {
                output[x] = input[at];
            } else {
                ((uint16_t *)output)[x] = (uint16_t)((((const uint16_t *)input)[at] * most + 32767) / 65535);
            }
        }
    }
}

static avifResult convert_gray(kf_avif_writer *writer, const kf_avif_input *picture) {
    avifImage *image = writer->image;
    avifPlanesFlags planes = AVIF_PLANES_YUV | (writer->output.alpha ? AVIF_PLANES_A : 0);
    /* In libavif 0.11 this function has no result. */
    (void)kf_avif.avifImageAllocatePlanes(image, planes);
    if (image->yuvPlanes[AVIF_CHAN_Y] == NULL) return AVIF_RESULT_OUT_OF_MEMORY;
    copy_plane(writer, picture, 0, image->yuvPlanes[AVIF_CHAN_Y], image->yuvRowBytes[AVIF_CHAN_Y]);
    if (!writer->output.alpha) return AVIF_RESULT_OK;
    if (image->alphaPlane == NULL) return AVIF_RESULT_OUT_OF_MEMORY;
    copy_plane(writer, picture, 1, image->alphaPlane, image->alphaRowBytes);
    return AVIF_RESULT_OK;
}

static avifResult convert_color(kf_avif_writer *writer, const kf_avif_input *picture) {
    avifRGBImage pixels;
    kf_avif.avifRGBImageSetDefaults(&pixels, writer->image);
    pixels.depth = picture->depth;
    pixels.format = picture->channels == 4 ? AVIF_RGB_FORMAT_RGBA : AVIF_RGB_FORMAT_RGB;
    pixels.ignoreAlpha = !writer->output.alpha;
    /* libyuv rounds to 7 bits, and differently on each processor. */
    pixels.avoidLibYUV = AVIF_TRUE;
    pixels.pixels = (uint8_t *)(uintptr_t)picture->rows;
    pixels.rowBytes = (uint32_t)picture->stride;
    return kf_avif.avifImageRGBToYUV(writer->image, &pixels);
}

kf_status kf_avif_writer_picture(kf_avif_writer *writer, const kf_avif_input *picture) {
    if (kf_meter_is_over(writer->meter)) return KF_LATE;
    if (picture->stride > UINT32_MAX) return fail(writer, "the rows are too long");
    int is_gray = writer->output.gray;
    avifResult result = is_gray ? convert_gray(writer, picture) : convert_color(writer, picture);
    if (result == AVIF_RESULT_OK) {
        avifAddImageFlags flags = writer->output.animated ? AVIF_ADD_IMAGE_FLAG_NONE : AVIF_ADD_IMAGE_FLAG_SINGLE;
        result = kf_avif.avifEncoderAddImage(writer->encoder, writer->image, picture->duration, flags);
    }
    kf_avif.avifImageFreePlanes(writer->image, AVIF_PLANES_ALL);
    return check(writer, result);
}

static uint32_t big_endian(const uint8_t *bytes) {
    return (uint32_t)bytes[0] << 24 | (uint32_t)bytes[1] << 16 | (uint32_t)bytes[2] << 8 | bytes[3];
}

/* Clears the times of creation and change in the headers of an animation, for which libavif takes the clock. The
   boxes are walked within `length` bytes; the depth is that of moov, trak and mdia. */
static void clear_times(uint8_t *bytes, size_t length, int depth) {
    for (size_t at = 0; length - at >= 8;) {
        uint8_t *box = bytes + at;
        size_t size = big_endian(box);
        if (size < 8 || size > length - at) return;
        const char *name = (const char *)box + 4;
        if (memcmp(name, "moov", 4) == 0 || memcmp(name, "trak", 4) == 0 || memcmp(name, "mdia", 4) == 0) {
            if (depth < 3) clear_times(box + 8, size - 8, depth + 1);
        } else if (memcmp(name, "mvhd", 4) == 0 || memcmp(name, "tkhd", 4) == 0 || memcmp(name, "mdhd", 4) == 0) {
            size_t times = size > 8 && box[8] == 1 ? 16 : 8;
            if (size >= 12 + times) memset(box + 12, 0, times);
        }
        at += size;
    }
}

kf_status kf_avif_writer_finish(kf_avif_writer *writer, kf_bytes *bytes) {
    kf_status status = check(writer, kf_avif.avifEncoderFinish(writer->encoder, &writer->result));
    if (status != KF_OK) return status;
    if (writer->result.size > writer->limit) return no_memory(writer);
    if (writer->output.animated) clear_times(writer->result.data, writer->result.size, 0);
    bytes->bytes = writer->result.data;
    bytes->length = writer->result.size;
    return KF_OK;
}
