#include "kf_jxl.h"

#include "handle.h"
#include "library.h"

#include <jxl/decode.h>
#include <jxl/version.h>
#include <stdlib.h>
#include <string.h>

#if JPEGXL_MAJOR_VERSION == 0 && JPEGXL_MINOR_VERSION < 7
#error "kf needs the headers of libjxl 0.7 or newer"
#endif

/* Before 1.0 the number of the library changes with every series. */
#if JPEGXL_MAJOR_VERSION == 0
#define LIBRARY "libjxl.so.0." KF_TEXT(JPEGXL_MINOR_VERSION)
#else
#define LIBRARY "libjxl.so." KF_TEXT(JPEGXL_MAJOR_VERSION)
#endif

#define KF_JXL_FUNCTIONS(X)                                                                                           \
    X(JxlDecoderVersion)                                                                                              \
    X(JxlDecoderCreate)                                                                                               \
    X(JxlDecoderDestroy)                                                                                              \
    X(JxlDecoderSetParallelRunner)                                                                                    \
    X(JxlDecoderSubscribeEvents)                                                                                      \
    X(JxlDecoderSetKeepOrientation)                                                                                   \
    X(JxlDecoderSetUnpremultiplyAlpha)                                                                                \
    X(JxlDecoderSetInput)                                                                                             \
    X(JxlDecoderProcessInput)                                                                                         \
    X(JxlDecoderGetBasicInfo)                                                                                         \
    X(JxlDecoderGetExtraChannelInfo)                                                                                  \
    X(JxlDecoderGetColorAsEncodedProfile)                                                                             \
    X(JxlDecoderGetICCProfileSize)                                                                                    \
    X(JxlDecoderGetColorAsICCProfile)                                                                                 \
    X(JxlDecoderGetFrameHeader)                                                                                       \
    X(JxlDecoderImageOutBufferSize)                                                                                   \
    X(JxlDecoderSetImageOutBuffer)                                                                                    \
    X(JxlDecoderFlushImage)                                                                                           \
    X(JxlDecoderSetDecompressBoxes)                                                                                   \
    X(JxlDecoderGetBoxType)                                                                                           \
    X(JxlDecoderSetBoxBuffer)                                                                                         \
    X(JxlDecoderReleaseBoxBuffer)                                                                                     \
    X(JxlDecoderExtraChannelBufferSize)                                                                               \
    X(JxlDecoderSetExtraChannelBuffer)

KF_DECLARE_FUNCTIONS(kf_jxl, KF_JXL_FUNCTIONS)
KF_DEFINE_LIBRARY(kf_jxl, KF_JXL_FUNCTIONS, LIBRARY, NULL)

/* 0.9 dropped an argument that was not used. */
#if JPEGXL_MAJOR_VERSION == 0 && JPEGXL_MINOR_VERSION < 9
#define KF_UNUSED_FORMAT NULL,
#else
#define KF_UNUSED_FORMAT
#endif

enum { MOST_PROFILE = 1 << 20 };

const char *kf_jxl_load(void) { return kf_library_load(&library); }

const char *kf_jxl_library(void) { return LIBRARY; }

uint32_t kf_jxl_version(void) { return kf_jxl.JxlDecoderVersion(); }

struct kf_jxl_reader {
    kf_handle handle;
    const uint8_t *data;
    size_t length;
    kf_meter *meter;
    JxlDecoder *decoder;
    JxlBasicInfo info;
    JxlPixelFormat format;
    uint32_t black; /* the index of the extra channel */
    kf_jxl_picture picture;
    uint8_t *icc;
    int is_late;
};

/* libjxl's loops over the parts of a picture, on the calling thread, which the meter ends. */
static JxlParallelRetCode run(void *opaque, void *jxl, JxlParallelRunInit init, JxlParallelRunFunction function,
    uint32_t start, uint32_t end) {
    kf_jxl_reader *reader = opaque;
    JxlParallelRetCode code = init(jxl, 1);
    for (uint32_t index = start; code == 0 && index < end; index++) {
        if (reader->is_late || kf_meter_is_over(reader->meter)) {
            reader->is_late = 1;
            return JXL_PARALLEL_RET_RUNNER_ERROR;
        }
        function(jxl, index, 0);
    }
    return code;
}

static void release(void *handle) {
    kf_jxl_reader *reader = handle;
    if (reader->decoder != NULL) kf_jxl.JxlDecoderDestroy(reader->decoder);
    free(reader->icc);
}

kf_jxl_reader *kf_jxl_reader_create(const uint8_t *data, size_t length, kf_meter *meter) {
    kf_jxl_reader *reader = kf_handle_create(sizeof *reader, release);
    if (reader == NULL) return NULL;
    reader->data = data;
    reader->length = length;
    reader->meter = meter;
    return reader;
}

static JxlDecoder *start(kf_jxl_reader *reader, int events) {
    JxlDecoder *decoder = kf_jxl.JxlDecoderCreate(NULL);
    if (decoder == NULL) return NULL;
    if (kf_jxl.JxlDecoderSetParallelRunner(decoder, run, reader) != JXL_DEC_SUCCESS ||
        kf_jxl.JxlDecoderSubscribeEvents(decoder, events) != JXL_DEC_SUCCESS ||
        kf_jxl.JxlDecoderSetKeepOrientation(decoder, JXL_TRUE) != JXL_DEC_SUCCESS ||
        kf_jxl.JxlDecoderSetUnpremultiplyAlpha(decoder, JXL_TRUE) != JXL_DEC_SUCCESS ||
        kf_jxl.JxlDecoderSetInput(decoder, reader->data, reader->length) != JXL_DEC_SUCCESS) {
        kf_jxl.JxlDecoderDestroy(decoder);
        return NULL;
    }
    /* The input stays open: libjxl tells an end that is missing from damage only then. */
    return decoder;
}

/* Any other status than the events that were asked for. */
static kf_status check(kf_jxl_reader *reader, JxlDecoderStatus status) {
    if (reader->is_late) return kf_fail(&reader->handle, KF_LATE, "");
    if (status == JXL_DEC_NEED_MORE_INPUT) return kf_fail(&reader->handle, KF_TRUNCATED, "the data ends too early");
    if (status == JXL_DEC_ERROR) return kf_fail(&reader->handle, KF_CORRUPT, "damaged picture data");
    return kf_fail(&reader->handle, KF_UNSUPPORTED, "a part that libjxl asks about");
}

/* Profiles that cannot be read must not fail the picture. */
static void read_color(kf_jxl_reader *reader) {
    JxlColorEncoding color;
    memset(&color, 0, sizeof color);
    const JxlColorProfileTarget target = JXL_COLOR_PROFILE_TARGET_DATA;
    if (kf_jxl.JxlDecoderGetColorAsEncodedProfile(reader->decoder, KF_UNUSED_FORMAT target, &color) ==
        JXL_DEC_SUCCESS) {
        int is_gray = color.color_space == JXL_COLOR_SPACE_GRAY;
        if (color.transfer_function == JXL_TRANSFER_FUNCTION_PQ ||
            color.transfer_function == JXL_TRANSFER_FUNCTION_HLG) {
            reader->picture.transfer = (uint32_t)color.transfer_function;
            reader->picture.primaries = is_gray || color.primaries == JXL_PRIMARIES_SRGB ? 1
                : color.primaries == JXL_PRIMARIES_P3                                   ? 12
                                                                                        : 9;
            return;
        }
        if (color.white_point == JXL_WHITE_POINT_D65 && (is_gray || color.primaries == JXL_PRIMARIES_SRGB) &&
            color.transfer_function == JXL_TRANSFER_FUNCTION_SRGB) {
            return;
        }
    }
    size_t length = 0;
    if (kf_jxl.JxlDecoderGetICCProfileSize(reader->decoder, KF_UNUSED_FORMAT target, &length) != JXL_DEC_SUCCESS ||
        length == 0 || length > MOST_PROFILE) {
        return;
    }
    reader->icc = malloc(length);
    if (reader->icc == NULL || kf_jxl.JxlDecoderGetColorAsICCProfile(reader->decoder, KF_UNUSED_FORMAT target,
                                   reader->icc, length) != JXL_DEC_SUCCESS) {
        return;
    }
    reader->picture.icc = reader->icc;
    reader->picture.icc_length = length;
}

static kf_status read_info(kf_jxl_reader *reader) {
    JxlBasicInfo *info = &reader->info;
    kf_jxl_picture *picture = &reader->picture;
    if (kf_jxl.JxlDecoderGetBasicInfo(reader->decoder, info) != JXL_DEC_SUCCESS) {
        return kf_fail(&reader->handle, KF_CORRUPT, "no header");
    }
    for (uint32_t index = 0; index < info->num_extra_channels; index++) {
        JxlExtraChannelInfo extra;
        if (kf_jxl.JxlDecoderGetExtraChannelInfo(reader->decoder, index, &extra) != JXL_DEC_SUCCESS) break;
        if (extra.type != JXL_CHANNEL_BLACK || picture->has_ink || info->num_color_channels != 3) continue;
        picture->has_ink = 1;
        reader->black = index;
    }
    int has_alpha = info->alpha_bits > 0 && !picture->has_ink;
    int is_deep = !picture->has_ink && (info->bits_per_sample > 8 || info->exponent_bits_per_sample > 0);
    picture->width = info->xsize;
    picture->height = info->ysize;
    picture->channels = info->num_color_channels + (has_alpha ? 1 : 0);
    picture->depth = is_deep ? 16 : 8;
    picture->orientation = (uint32_t)info->orientation;
    picture->is_animation = info->have_animation != 0;
    picture->loops = info->have_animation ? info->animation.num_loops : 0;
    reader->format.num_channels = picture->channels;
    reader->format.data_type = is_deep ? JXL_TYPE_UINT16 : JXL_TYPE_UINT8;
    reader->format.endianness = JXL_NATIVE_ENDIAN;
    reader->format.align = (uint64_t)info->xsize * picture->channels * (is_deep ? 2 : 1) < 64 ? 8 : 64;
    return KF_OK;
}

kf_status kf_jxl_reader_open(kf_jxl_reader *reader, int is_coarse, kf_jxl_picture *picture) {
    /* By default, progression is told when the averages of the blocks are there. */
    reader->decoder = start(reader, JXL_DEC_BASIC_INFO | JXL_DEC_COLOR_ENCODING | JXL_DEC_FRAME | JXL_DEC_FULL_IMAGE |
            (is_coarse ? JXL_DEC_FRAME_PROGRESSION : 0));
    if (reader->decoder == NULL) return kf_fail(&reader->handle, KF_NO_MEMORY, "");
    JxlDecoderStatus status = kf_jxl.JxlDecoderProcessInput(reader->decoder);
    if (status != JXL_DEC_BASIC_INFO) return check(reader, status);
    kf_status read = read_info(reader);
    if (read != KF_OK) return read;
    status = kf_jxl.JxlDecoderProcessInput(reader->decoder);
    if (status != JXL_DEC_COLOR_ENCODING) return check(reader, status);
    read_color(reader);
    *picture = reader->picture;
    return KF_OK;
}

kf_status kf_jxl_reader_count(kf_jxl_reader *reader, uint32_t most, uint32_t *frames) {
    *frames = 0;
    JxlDecoder *decoder = start(reader, JXL_DEC_FRAME);
    if (decoder == NULL) return kf_fail(&reader->handle, KF_NO_MEMORY, "");
    JxlDecoderStatus status = JXL_DEC_FRAME;
    while (*frames < most && (status = kf_jxl.JxlDecoderProcessInput(decoder)) == JXL_DEC_FRAME) {
        ++*frames;
        if (kf_meter_is_over(reader->meter)) reader->is_late = 1;
        if (reader->is_late) break;
    }
    kf_jxl.JxlDecoderDestroy(decoder);
    if (reader->is_late) return kf_fail(&reader->handle, KF_LATE, "");
    return status == JXL_DEC_FRAME || status == JXL_DEC_SUCCESS ? KF_OK : check(reader, status);
}

size_t kf_jxl_reader_box(kf_jxl_reader *reader, const char *kind, uint8_t *bytes, size_t capacity) {
    JxlDecoder *decoder = start(reader, JXL_DEC_BOX);
    if (decoder == NULL) return 0;
    size_t length = 0;
    JxlBoxType found = "";
    JxlDecoderStatus status = kf_jxl.JxlDecoderSetDecompressBoxes(decoder, JXL_TRUE);
    while (status == JXL_DEC_SUCCESS && memcmp(found, kind, sizeof found) != 0) {
        if (kf_jxl.JxlDecoderProcessInput(decoder) != JXL_DEC_BOX) break;
        status = kf_jxl.JxlDecoderGetBoxType(decoder, found, JXL_TRUE);
    }
    if (memcmp(found, kind, sizeof found) == 0 &&
        kf_jxl.JxlDecoderSetBoxBuffer(decoder, bytes, capacity) == JXL_DEC_SUCCESS) {
        status = kf_jxl.JxlDecoderProcessInput(decoder);
        size_t left = kf_jxl.JxlDecoderReleaseBoxBuffer(decoder);
        if (status != JXL_DEC_ERROR && status != JXL_DEC_BOX_NEED_MORE_OUTPUT) length = capacity - left;
    }
    kf_jxl.JxlDecoderDestroy(decoder);
    return length;
}

static kf_status set_target(kf_jxl_reader *reader, const kf_jxl_target *target) {
    size_t unit = reader->format.align, pixel = (size_t)reader->format.num_channels * reader->picture.depth / 8;
    size_t length = 0, stride = (reader->info.xsize * pixel + unit - 1) / unit * unit;
    if (stride != target->stride ||
        kf_jxl.JxlDecoderImageOutBufferSize(reader->decoder, &reader->format, &length) != JXL_DEC_SUCCESS ||
        length > target->length || kf_jxl.JxlDecoderSetImageOutBuffer(reader->decoder, &reader->format, target->rows,
                                       target->length) != JXL_DEC_SUCCESS) {
        return kf_fail(&reader->handle, KF_UNSUPPORTED, "rows that libjxl lays out in another way");
    }
    if (!reader->picture.has_ink) return KF_OK;
    JxlPixelFormat black = {1, JXL_TYPE_UINT8, JXL_NATIVE_ENDIAN, reader->info.xsize < 64 ? 8 : 64};
    if (kf_jxl.JxlDecoderExtraChannelBufferSize(reader->decoder, &black, &length, reader->black) != JXL_DEC_SUCCESS ||
        length > target->black_length || kf_jxl.JxlDecoderSetExtraChannelBuffer(reader->decoder, &black,
                                             target->black, target->black_length, reader->black) != JXL_DEC_SUCCESS) {
        return kf_fail(&reader->handle, KF_UNSUPPORTED, "black that libjxl lays out in another way");
    }
    return KF_OK;
}

kf_status kf_jxl_reader_next(kf_jxl_reader *reader, const kf_jxl_target *target, double *seconds) {
    for (;;) {
        JxlDecoderStatus status = kf_jxl.JxlDecoderProcessInput(reader->decoder);
        if (status == JXL_DEC_FRAME) {
            JxlFrameHeader header;
            int is_timed = reader->info.have_animation && reader->info.animation.tps_numerator > 0 &&
                kf_jxl.JxlDecoderGetFrameHeader(reader->decoder, &header) == JXL_DEC_SUCCESS;
            *seconds = is_timed ? (double)header.duration * reader->info.animation.tps_denominator /
                    reader->info.animation.tps_numerator
                                : 0;
        } else if (status == JXL_DEC_NEED_IMAGE_OUT_BUFFER) {
            kf_status set = set_target(reader, target);
            if (set != KF_OK) return set;
        } else if (status == JXL_DEC_FULL_IMAGE) {
            return KF_OK;
        } else if (status == JXL_DEC_FRAME_PROGRESSION) {
            /* When nothing can be shown yet, the whole frame is decoded. */
            if (kf_jxl.JxlDecoderFlushImage(reader->decoder) == JXL_DEC_SUCCESS) return KF_OK;
            if (reader->is_late) return kf_fail(&reader->handle, KF_LATE, "");
        } else if (status == JXL_DEC_SUCCESS) {
            return KF_MORE;
        } else {
            return check(reader, status);
        }
    }
}
