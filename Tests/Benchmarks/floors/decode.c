// What thumbnails cost at the least: libjpeg's scaled decode alone, on one thread, of every file in turn. The scale is
// the smallest of 1/8 to 8/8 that leaves at least 1.5 times the side asked for, as kf's goal for the quality needs.
//
// usage: decode SIDE FILE...

#include <stdio.h>
#include <stdlib.h>
#include <jpeglib.h>

static unsigned long long decode(const char *path, unsigned side) {
    FILE *file = fopen(path, "rb");
    if (!file) {
        perror(path);
        exit(1);
    }
    struct jpeg_decompress_struct jpeg;
    struct jpeg_error_mgr errors;
    jpeg.err = jpeg_std_error(&errors);
    jpeg_create_decompress(&jpeg);
    jpeg_stdio_src(&jpeg, file);
    jpeg_read_header(&jpeg, TRUE);
    const unsigned longest = jpeg.image_width > jpeg.image_height ? jpeg.image_width : jpeg.image_height;
    jpeg.scale_denom = 8;
    for (jpeg.scale_num = 1; jpeg.scale_num < 8 && longest * jpeg.scale_num < side * 12; jpeg.scale_num++) {}
    jpeg_start_decompress(&jpeg);
    JSAMPROW row = malloc((size_t)jpeg.output_width * jpeg.output_components);
    if (!row) exit(1);
    while (jpeg.output_scanline < jpeg.output_height) jpeg_read_scanlines(&jpeg, &row, 1);
    const unsigned long long pixels = (unsigned long long)jpeg.output_width * jpeg.output_height;
    jpeg_finish_decompress(&jpeg);
    jpeg_destroy_decompress(&jpeg);
    free(row);
    fclose(file);
    return pixels;
}

int main(int count, char **arguments) {
    if (count < 3) return 2;
    const unsigned side = (unsigned)atoi(arguments[1]);
    unsigned long long pixels = 0;
    for (int i = 2; i < count; i++) pixels += decode(arguments[i], side);
    printf("%d files, %llu pixels\n", count - 2, pixels);
    return 0;
}
