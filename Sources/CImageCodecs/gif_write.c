#include "buffer.h"
#include "handle.h"
#include "kf_gif.h"

#include <gif_lib.h>
#include <stdlib.h>
#include <string.h>

struct kf_gif_writer {
    kf_handle handle;
    GifFileType *gif;
    kf_buffer buffer;
    GifPixelType *row; /* a row of the current frame */
    uint32_t width;
    int no_memory;
};

static int on_write(GifFileType *gif, const GifByteType *bytes, int count) {
    kf_gif_writer *writer = gif->UserData;
    if (count <= 0) return 0;
    if (!kf_buffer_reserve(&writer->buffer, (size_t)count)) {
        writer->no_memory = 1;
        return 0;
    }
    memcpy(writer->buffer.bytes + writer->buffer.length, bytes, (size_t)count);
    writer->buffer.length += (size_t)count;
    return count;
}

static kf_status fail(kf_gif_writer *writer, int code) {
    const char *text = GifErrorString(code);
    kf_status status = writer->no_memory || code == E_GIF_ERR_NOT_ENOUGH_MEM ? KF_NO_MEMORY : KF_CORRUPT;
    return kf_fail(&writer->handle, status, text != NULL ? text : "the writer failed");
}

static void release(void *handle) {
    kf_gif_writer *writer = handle;
    int code;
    if (writer->gif != NULL) EGifCloseFile(writer->gif, &code);
    free(writer->buffer.bytes);
    free(writer->row);
}

kf_gif_writer *kf_gif_writer_create(kf_bounds bounds) {
    kf_gif_writer *writer = kf_handle_create(sizeof *writer, release);
    if (writer != NULL) writer->buffer.limit = bounds.bytes;
    return writer;
}

kf_status kf_gif_writer_start(kf_gif_writer *writer, uint32_t width, uint32_t height, int32_t repetitions) {
    int code = 0;
    writer->gif = EGifOpen(writer, on_write, &code);
    if (writer->gif == NULL) return fail(writer, code);
    EGifSetGifVersion(writer->gif, true);
    if (EGifPutScreenDesc(writer->gif, (int)width, (int)height, 8, 0, NULL) == GIF_ERROR) {
        return fail(writer, writer->gif->Error);
    }
    if (repetitions < 0) return KF_OK;
    uint8_t loop[3] = {1, (uint8_t)(repetitions & 255), (uint8_t)(repetitions >> 8 & 255)};
    if (EGifPutExtensionLeader(writer->gif, APPLICATION_EXT_FUNC_CODE) == GIF_ERROR ||
        EGifPutExtensionBlock(writer->gif, 11, "NETSCAPE2.0") == GIF_ERROR ||
        EGifPutExtensionBlock(writer->gif, 3, loop) == GIF_ERROR ||
        EGifPutExtensionTrailer(writer->gif) == GIF_ERROR) {
        return fail(writer, writer->gif->Error);
    }
    return KF_OK;
}

static kf_status put_control(kf_gif_writer *writer, const kf_gif_frame *frame) {
    if (frame->delay == 0 && frame->disposal == 0 && frame->transparent < 0) return KF_OK;
    GraphicsControlBlock control = {
        .DisposalMode = (int)frame->disposal,
        .UserInputFlag = false,
        .DelayTime = (int)frame->delay,
        .TransparentColor = frame->transparent,
    };
    GifByteType bytes[4];
    EGifGCBToExtension(&control, bytes);
    if (EGifPutExtension(writer->gif, GRAPHICS_EXT_FUNC_CODE, sizeof bytes, bytes) == GIF_ERROR) {
        return fail(writer, writer->gif->Error);
    }
    return KF_OK;
}

kf_status kf_gif_writer_frame(kf_gif_writer *writer, const kf_gif_frame *frame) {
    kf_status status = put_control(writer, frame);
    if (status != KF_OK) return status;

    /* giflib requires palettes with a power of two of entries. */
    int count = 2;
    while (count < 256 && (uint32_t)count < frame->palette_count) count *= 2;
    GifColorType colors[256] = {{0, 0, 0}};
    for (uint32_t i = 0; i < frame->palette_count && i < 256; i++) {
        const uint8_t *entry = frame->palette + 3 * i;
        colors[i] = (GifColorType){entry[0], entry[1], entry[2]};
    }
    ColorMapObject *map = GifMakeMapObject(count, colors);
    if (map == NULL) return fail(writer, E_GIF_ERR_NOT_ENOUGH_MEM);
    int outcome = EGifPutImageDesc(
        writer->gif, (int)frame->left, (int)frame->top, (int)frame->width, (int)frame->height, false, map);
    GifFreeMapObject(map);
    if (outcome == GIF_ERROR) return fail(writer, writer->gif->Error);

    free(writer->row);
    writer->width = frame->width;
    writer->row = malloc(frame->width > 0 ? frame->width : 1);
    return writer->row != NULL ? KF_OK : fail(writer, E_GIF_ERR_NOT_ENOUGH_MEM);
}

kf_status kf_gif_writer_rows(kf_gif_writer *writer, const uint8_t *indexes, uint32_t count) {
    for (uint32_t y = 0; y < count; y++) {
        /* A copy, because giflib masks its argument in place. */
        memcpy(writer->row, indexes + (size_t)y * writer->width, writer->width);
        if (EGifPutLine(writer->gif, writer->row, (int)writer->width) == GIF_ERROR) {
            return fail(writer, writer->gif->Error);
        }
    }
    return KF_OK;
}

kf_status kf_gif_writer_finish(kf_gif_writer *writer, kf_bytes *bytes) {
    int code = 0;
    int outcome = EGifCloseFile(writer->gif, &code);
    writer->gif = NULL;
    /* giflib does not look at the result of its last write. */
    if (outcome == GIF_ERROR || writer->no_memory) return fail(writer, code);
    bytes->bytes = writer->buffer.bytes;
    bytes->length = writer->buffer.length;
    return KF_OK;
}
