// What a whole-image filter costs at the least around the filter itself: decoding a JPEG and encoding it again, with
// libjpeg, row by row, on one thread.
//
// usage: recode QUALITY FILE OUTPUT

#include <stdio.h>
#include <stdlib.h>
#include <jpeglib.h>

int main(int count, char **arguments) {
    if (count != 4) return 2;
    FILE *input = fopen(arguments[2], "rb"), *output = fopen(arguments[3], "wb");
    if (!input || !output) {
        perror(arguments[input ? 3 : 2]);
        return 1;
    }
    struct jpeg_error_mgr errors;
    struct jpeg_decompress_struct in = {.err = jpeg_std_error(&errors)};
    struct jpeg_compress_struct out = {.err = &errors};
    jpeg_create_decompress(&in);
    jpeg_create_compress(&out);
    jpeg_stdio_src(&in, input);
    jpeg_stdio_dest(&out, output);
    jpeg_read_header(&in, TRUE);
    jpeg_start_decompress(&in);
    out.image_width = in.output_width;
    out.image_height = in.output_height;
    out.input_components = in.output_components;
    out.in_color_space = in.out_color_space;
    jpeg_set_defaults(&out);
    jpeg_set_quality(&out, atoi(arguments[1]), TRUE);
    jpeg_start_compress(&out, TRUE);
    JSAMPROW row = malloc((size_t)in.output_width * in.output_components);
    if (!row) return 1;
    while (in.output_scanline < in.output_height) {
        jpeg_read_scanlines(&in, &row, 1);
        jpeg_write_scanlines(&out, &row, 1);
    }
    jpeg_finish_compress(&out);
    jpeg_finish_decompress(&in);
    return fclose(output) == 0 ? 0 : 1;
}
