#include "gif_reference.h"

#include <gif_lib.h>
#include <string.h>

struct file {
    uint8_t head[13 + 10 + 1];
    const uint8_t *data;
    size_t length, position;
};

static int on_read(GifFileType *gif, GifByteType *bytes, int count) {
    struct file *file = gif->UserData;
    for (int i = 0; i < count; i++, file->position++) {
        if (file->position < sizeof file->head) {
            bytes[i] = file->head[file->position];
        } else if (file->position - sizeof file->head < file->length) {
            bytes[i] = file->data[file->position - sizeof file->head];
        } else {
            bytes[i] = 0; /* the empty sub-block, where the data has none */
        }
    }
    return count;
}

int gif_reference_unpack(
    const uint8_t *data, size_t length, uint8_t code_size, uint16_t width, uint16_t height, uint8_t *pixels) {
    struct file file = {.data = data, .length = length};
    uint8_t low = width & 255, high = width >> 8, lower = height & 255, higher = height >> 8;
    const uint8_t head[] = {'G', 'I', 'F', '8', '9', 'a', low, high, lower, higher, 0, 0, 0,
                            0x2C, 0, 0, 0, 0, low, high, lower, higher, 0, code_size};
    memcpy(file.head, head, sizeof head);
    int code = 0;
    GifFileType *gif = DGifOpen(&file, on_read, &code);
    if (gif == NULL) return 0;
    GifRecordType kind;
    int done = DGifGetRecordType(gif, &kind) == GIF_OK && kind == IMAGE_DESC_RECORD_TYPE &&
               DGifGetImageDesc(gif) == GIF_OK;
    for (uint16_t y = 0; done && y < height; y++) {
        done = DGifGetLine(gif, pixels + (size_t)y * width, width) == GIF_OK;
    }
    DGifCloseFile(gif, &code);
    return done;
}
