#include "kf_gif.h"

#include <gif_lib.h>
#include <stdlib.h>
#include <string.h>

struct kf_gif_reader {
    GifFileType *gif;
    const uint8_t *data;
    size_t length, position;
    int opened, ran_out;
    uint8_t palette[256 * 3];
    char message[KF_MESSAGE_LENGTH];
};

static int on_read(GifFileType *gif, GifByteType *bytes, int count) {
    kf_gif_reader *reader = gif->UserData;
    size_t left = reader->length - reader->position;
    size_t wanted = count < 0 ? 0 : (size_t)count;
    if (wanted > left) {
        reader->ran_out = 1;
        wanted = left;
    }
    memcpy(bytes, reader->data + reader->position, wanted);
    reader->position += wanted;
    return (int)wanted;
}

static kf_status fail(kf_gif_reader *reader, int code) {
    const char *text = GifErrorString(code);
    strncpy(reader->message, text != NULL ? text : "damaged data", sizeof reader->message - 1);
    if (code == D_GIF_ERR_NOT_ENOUGH_MEM) return KF_NO_MEMORY;
    return reader->ran_out ? KF_TRUNCATED : KF_CORRUPT;
}

kf_gif_reader *kf_gif_reader_create(const uint8_t *data, size_t length) {
    kf_gif_reader *reader = calloc(1, sizeof *reader);
    if (reader == NULL) return NULL;
    reader->data = data;
    reader->length = length;
    return reader;
}

kf_status kf_gif_reader_screen(kf_gif_reader *reader, uint32_t *width, uint32_t *height) {
    int code = 0;
    reader->gif = DGifOpen(reader, on_read, &code);
    if (reader->gif == NULL) return fail(reader, code);
    *width = (uint32_t)reader->gif->SWidth;
    *height = (uint32_t)reader->gif->SHeight;
    return KF_OK;
}

static kf_status read_extension(kf_gif_reader *reader, kf_gif_frame *frame) {
    int kind;
    GifByteType *block;
    if (DGifGetExtension(reader->gif, &kind, &block) == GIF_ERROR) return fail(reader, reader->gif->Error);
    if (kind == GRAPHICS_EXT_FUNC_CODE && block != NULL && block[0] >= 4) {
        frame->disposal = (block[1] >> 2) & 7;
        frame->delay = (uint32_t)block[2] | (uint32_t)block[3] << 8;
        frame->transparent = block[1] & 1 ? block[4] : -1;
    }
    while (block != NULL) {
        if (DGifGetExtensionNext(reader->gif, &block) == GIF_ERROR) return fail(reader, reader->gif->Error);
    }
    return KF_OK;
}

static kf_status read_descriptor(kf_gif_reader *reader, kf_gif_frame *frame) {
    if (DGifGetImageDesc(reader->gif) == GIF_ERROR) {
        /* The description ends in the size of the codes; giflib refuses more than 8 bits under another name. */
        int is_wide = reader->gif->Error == D_GIF_ERR_READ_FAILED && !reader->ran_out;
        kf_status status = fail(reader, reader->gif->Error);
        if (is_wide) strcpy(reader->message, "codes of a size that the format does not have");
        return status;
    }
    const GifImageDesc *image = &reader->gif->Image;
    frame->left = (uint32_t)image->Left;
    frame->top = (uint32_t)image->Top;
    frame->width = (uint32_t)image->Width;
    frame->height = (uint32_t)image->Height;
    frame->interlaced = image->Interlace ? 1 : 0;
    const ColorMapObject *map = image->ColorMap != NULL ? image->ColorMap : reader->gif->SColorMap;
    frame->palette = NULL;
    frame->palette_count = 0;
    if (map != NULL && map->ColorCount > 0 && map->ColorCount <= 256) {
        for (int i = 0; i < map->ColorCount; i++) {
            reader->palette[3 * i] = map->Colors[i].Red;
            reader->palette[3 * i + 1] = map->Colors[i].Green;
            reader->palette[3 * i + 2] = map->Colors[i].Blue;
        }
        frame->palette = reader->palette;
        frame->palette_count = (uint32_t)map->ColorCount;
    }
    return KF_MORE;
}

kf_status kf_gif_reader_next(kf_gif_reader *reader, kf_gif_frame *frame) {
    memset(frame, 0, sizeof *frame);
    frame->transparent = -1;
    for (;;) {
        /* Empty blocks between the others: some writers leave them, and they mean nothing. giflib refuses them. */
        while (reader->position < reader->length && reader->data[reader->position] == 0) reader->position++;
        GifRecordType kind;
        if (DGifGetRecordType(reader->gif, &kind) == GIF_ERROR) return fail(reader, reader->gif->Error);
        switch (kind) {
        case EXTENSION_RECORD_TYPE: {
            kf_status status = read_extension(reader, frame);
            if (status != KF_OK) return status;
            break;
        }
        case IMAGE_DESC_RECORD_TYPE: return read_descriptor(reader, frame);
        case TERMINATE_RECORD_TYPE: return KF_OK;
        default: return fail(reader, D_GIF_ERR_WRONG_RECORD);
        }
    }
}

kf_status kf_gif_reader_rows(kf_gif_reader *reader, uint8_t *rows, uint32_t count) {
    int width = (int)reader->gif->Image.Width;
    for (uint32_t row = 0; row < count; row++) {
        if (DGifGetLine(reader->gif, rows + (size_t)row * (size_t)width, width) == GIF_ERROR) {
            return fail(reader, reader->gif->Error);
        }
    }
    return KF_OK;
}

const char *kf_gif_reader_message(const kf_gif_reader *reader) { return reader->message; }

void kf_gif_reader_destroy(kf_gif_reader *reader) {
    if (reader == NULL) return;
    int code;
    if (reader->gif != NULL) DGifCloseFile(reader->gif, &code);
    free(reader);
}
