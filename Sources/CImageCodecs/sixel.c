#include "kf_sixel.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

// The part of libsixel 1.10's interface that is used. libsixel is optional and loaded for the first picture.
enum { RGB888 = 3, AUTOMATIC = 0, COLORS = 256 };

typedef int (*write_function)(char *, int, void *);

static struct {
    int (*output_new)(void **, write_function, void *, void *);
    void (*output_unref)(void *);
    int (*dither_new)(void **, int, void *);
    void (*dither_unref)(void *);
    int (*dither_initialize)(void *, unsigned char *, int, int, int, int, int, int);
    int (*encode)(unsigned char *, int, int, int, void *, void *);
} sixel;

static int is_available;

static void load(void) {
    void *library = dlopen("libsixel.so.1", RTLD_LAZY | RTLD_LOCAL);
    if (library == NULL) return;
    sixel.output_new = dlsym(library, "sixel_output_new");
    sixel.output_unref = dlsym(library, "sixel_output_unref");
    sixel.dither_new = dlsym(library, "sixel_dither_new");
    sixel.dither_unref = dlsym(library, "sixel_dither_unref");
    sixel.dither_initialize = dlsym(library, "sixel_dither_initialize");
    sixel.encode = dlsym(library, "sixel_encode");
    is_available = sixel.output_new && sixel.output_unref && sixel.dither_new && sixel.dither_unref &&
                   sixel.dither_initialize && sixel.encode;
}

int kf_sixel_is_available(void) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, load);
    return is_available;
}

struct text {
    char *bytes;
    size_t length, capacity;
    int has_failed;
};

static int append(char *bytes, int count, void *context) {
    struct text *text = context;
    if (text->has_failed || count < 0) return -1;
    if (text->length + (size_t)count > text->capacity) {
        size_t larger = (text->length + (size_t)count) * 2;
        char *moved = realloc(text->bytes, larger);
        if (moved == NULL) {
            text->has_failed = 1;
            return -1;
        }
        text->bytes = moved;
        text->capacity = larger;
    }
    memcpy(text->bytes + text->length, bytes, (size_t)count);
    text->length += (size_t)count;
    return 0;
}

int kf_sixel_encode(const uint8_t *pixels, int width, int height, char **result, size_t *length) {
    if (!kf_sixel_is_available()) return -1;
    void *output = NULL, *dither = NULL;
    struct text text = {0};
    unsigned char *data = (unsigned char *)pixels;
    int status = sixel.output_new(&output, append, &text, NULL);
    if (status == 0) status = sixel.dither_new(&dither, COLORS, NULL);
    if (status == 0)
        status = sixel.dither_initialize(dither, data, width, height, RGB888, AUTOMATIC, AUTOMATIC, AUTOMATIC);
    if (status == 0) status = sixel.encode(data, width, height, 3, dither, output);
    if (dither) sixel.dither_unref(dither);
    if (output) sixel.output_unref(output);
    if (status != 0 || text.has_failed || text.length == 0) {
        free(text.bytes);
        return -1;
    }
    *result = text.bytes;
    *length = text.length;
    return 0;
}
