#include "heif_reader.h"

#include <stdlib.h>
#include <string.h>

/* The code point of RGB puts green in the place of luma, blue and red in those of chroma. */
static const int rgb_places[2][3] = {{0, 1, 2}, {2, 0, 1}};

static int64_t sample(const kf_heif_plane *plane, uint32_t x, uint32_t y) {
    const uint8_t *row = plane->samples + y * plane->stride;
    return plane->depth > 8 ? ((const uint16_t *)(const void *)row)[x] : row[x];
}

static uint32_t clamp(int64_t value, uint32_t most) {
    int64_t rounded = (value + 32768) >> 16;
    return rounded < 0 ? 0 : rounded > most ? most : (uint32_t)rounded;
}

static void add_chroma(const kf_heif_reader *reader, int64_t cb, int64_t cr, int64_t sums[3]) {
    sums[0] += reader->matrix.red * cr;
    sums[1] += reader->matrix.green_b * cb + reader->matrix.green_r * cr;
    sums[2] += reader->matrix.blue * cb;
}

static void put(uint8_t *row, uint32_t place, uint32_t value, uint32_t most) {
    if (most > 255) ((uint16_t *)(void *)row)[place] = (uint16_t)value;
    else row[place] = (uint8_t)value;
}

/* The colours of one pixel. Chroma is repeated, as libheif does. */
static void convert(const kf_heif_reader *reader, uint32_t x, uint32_t y, uint32_t most, uint32_t colors[3]) {
    int64_t luma = reader->matrix.scale * sample(&reader->planes[0], x, y) + reader->matrix.offset;
    if (reader->picture.channels <= 2) {
        colors[0] = clamp(luma, most);
        return;
    }
    if (reader->is_rgb) {
        for (int index = 0; index < 3; index++) {
            const kf_heif_plane *plane = &reader->planes[rgb_places[reader->is_rgb - 1][index]];
            colors[index] = clamp(reader->matrix.scale * sample(plane, x, y) + reader->matrix.offset, most);
        }
        return;
    }
    uint32_t column = x >> reader->shift_x, row = y >> reader->shift_y;
    int64_t sums[3] = {luma, luma, luma}, middle = reader->matrix.middle;
    int64_t cb = sample(&reader->planes[1], column, row), cr = sample(&reader->planes[2], column, row);
    add_chroma(reader, cb - middle, cr - middle, sums);
    for (int index = 0; index < 3; index++) colors[index] = clamp(sums[index], most);
}

static void convert_row(const kf_heif_reader *reader, uint8_t *output, uint32_t left, uint32_t width, uint32_t y) {
    uint32_t channels = reader->picture.channels, count = channels <= 2 ? 1 : 3, colors[3];
    uint32_t most = reader->picture.depth > 8 ? 65535 : 255;
    for (uint32_t x = 0; x < width; x++) {
        convert(reader, left + x, y, most, colors);
        uint32_t alpha = most;
        if (reader->alpha.samples != NULL) {
            uint64_t own = (1u << reader->alpha.depth) - 1;
            alpha = (uint32_t)(((uint64_t)sample(&reader->alpha, left + x, y) * most + own / 2) / own);
            if (alpha > most) alpha = most;
            for (uint32_t index = 0; index < count && reader->is_premultiplied && alpha < most; index++) {
                uint32_t straight = alpha == 0 ? 0 : (colors[index] * most + alpha / 2) / alpha;
                colors[index] = straight > most ? most : straight;
            }
        }
        for (uint32_t index = 0; index < channels; index++) {
            put(output, x * channels + index, index < count ? colors[index] : alpha, most);
        }
    }
}

/* Most pictures: opaque, with chroma for two columns and 8 bits a sample. */
static void convert_usual_row(const kf_heif_reader *reader, uint8_t *output, uint32_t left, uint32_t width, uint32_t y) {
    const uint8_t *luma = reader->planes[0].samples + y * reader->planes[0].stride;
    const uint8_t *cb_row = reader->planes[1].samples + (y >> reader->shift_y) * reader->planes[1].stride;
    const uint8_t *cr_row = reader->planes[2].samples + (y >> reader->shift_y) * reader->planes[2].stride;
    int32_t scale = (int32_t)reader->matrix.scale, offset = (int32_t)reader->matrix.offset + 32768;
    int32_t red = (int32_t)reader->matrix.red, blue = (int32_t)reader->matrix.blue;
    int32_t green_b = (int32_t)reader->matrix.green_b, green_r = (int32_t)reader->matrix.green_r;
    uint32_t shift = reader->shift_x;
    for (uint32_t x = left; x < left + width; x++, output += 3) {
        int32_t cb = cb_row[x >> shift] - 128, cr = cr_row[x >> shift] - 128, base = scale * luma[x] + offset;
        int32_t r = (base + red * cr) >> 16, g = (base + green_b * cb + green_r * cr) >> 16, b = (base + blue * cb) >> 16;
        output[0] = (uint8_t)(r < 0 ? 0 : r > 255 ? 255 : r);
        output[1] = (uint8_t)(g < 0 ? 0 : g > 255 ? 255 : g);
        output[2] = (uint8_t)(b < 0 ? 0 : b > 255 ? 255 : b);
    }
}

static void copy_row(const kf_heif_reader *reader, uint8_t *output, uint32_t left, uint32_t width, uint32_t y) {
    const kf_heif_plane *planes = reader->planes;
    const uint8_t *red = planes[0].samples + y * planes[0].stride + left;
    const uint8_t *green = planes[1].samples + y * planes[1].stride + left;
    const uint8_t *blue = planes[2].samples + y * planes[2].stride + left;
    for (uint32_t x = 0; x < width; x++, output += 3) {
        output[0] = red[x];
        output[1] = green[x];
        output[2] = blue[x];
    }
}

kf_status kf_heif_reader_rows(
    kf_heif_reader *reader, uint8_t *rows, size_t stride, uint32_t left, uint32_t width, uint32_t top, uint32_t count) {
    const kf_picture *picture = &reader->picture;
    if (left > picture->width || width > picture->width - left || top > picture->height ||
        count > picture->height - top) {
        return kf_fail(&reader->handle, KF_CORRUPT, "a part outside of the picture");
    }
    int is_usual = picture->channels == 3 && picture->depth == 8;
    int is_copied = is_usual && reader->is_rgb == 1 && reader->matrix.scale == 65536 && reader->matrix.offset == 0;
    for (uint32_t y = top; y < top + count; y++, rows += stride) {
        if (is_copied) copy_row(reader, rows, left, width, y);
        else if (is_usual && !reader->is_rgb) convert_usual_row(reader, rows, left, width, y);
        else convert_row(reader, rows, left, width, y);
    }
    return KF_OK;
}

/* Averages in 256ths, of the boxes that begin in a row of the picture. */
static void average(
    kf_heif_reader *reader, const kf_heif_boxes *boxes, int index, uint32_t top, uint32_t bottom, uint32_t *output) {
    const kf_heif_plane *plane = &reader->planes[index];
    uint32_t shift_x = index > 0 ? reader->shift_x : 0, shift_y = index > 0 ? reader->shift_y : 0;
    uint32_t left = boxes->left >> shift_x, end = (boxes->left + boxes->width + shift_x) >> shift_x;
    uint32_t first = top >> shift_y, last = (bottom + shift_y) >> shift_y, *sums = reader->sums;
    memset(sums, 0, (end - left) * sizeof *sums);
    for (uint32_t y = first; y < last; y++) {
        const uint8_t *row = plane->samples + y * plane->stride;
        const uint16_t *words = (const uint16_t *)(const void *)row;
        if (plane->depth > 8) {
            for (uint32_t x = 0; x < end - left; x++) sums[x] += words[left + x];
        } else {
            for (uint32_t x = 0; x < end - left; x++) sums[x] += row[left + x];
        }
    }
    for (uint32_t x = boxes->left, right = boxes->left + boxes->width; x < right; x += boxes->box) {
        uint32_t behind = right - x < boxes->box ? right : x + boxes->box;
        uint32_t column = (x >> shift_x) - left, stop = ((behind + shift_x) >> shift_x) - left;
        uint64_t sum = 0, count = (uint64_t)(last - first) * (stop - column);
        for (; column < stop; column++) sum += sums[column];
        *output++ = (uint32_t)((sum * 256 + count / 2) / count);
    }
}

kf_status kf_heif_reader_averages(kf_heif_reader *reader, const kf_heif_boxes *boxes, uint8_t *rows, size_t stride,
    uint32_t first, uint32_t count) {
    const kf_picture *picture = &reader->picture;
    uint32_t columns = (boxes->width - 1) / boxes->box + 1, most = picture->depth > 8 ? 65535 : 255;
    if (boxes->left > picture->width || boxes->width > picture->width - boxes->left || boxes->top > picture->height ||
        boxes->height > picture->height - boxes->top) {
        return kf_fail(&reader->handle, KF_CORRUPT, "a part outside of the picture");
    }
    /* Enough for boxes of any size. */
    if (reader->sums == NULL) reader->sums = malloc((size_t)boxes->width * 4 * sizeof *reader->sums);
    if (reader->sums == NULL) return kf_fail(&reader->handle, KF_NO_MEMORY, "");
    uint32_t *averages = reader->sums + boxes->width;
    int64_t offset = reader->matrix.offset * 256, middle = (int64_t)reader->matrix.middle * 256;
    for (uint32_t line = first; line < first + count; line++, rows += stride) {
        uint32_t top = line * boxes->box, rest = boxes->height - top, height = rest < boxes->box ? rest : boxes->box;
        for (uint32_t index = 0; index < picture->channels; index++) {
            average(reader, boxes, (int)index, boxes->top + top, boxes->top + top + height, averages + index * (size_t)columns);
        }
        for (uint32_t x = 0; x < columns; x++) {
            int64_t luma = reader->matrix.scale * averages[x] + offset, sums[3] = {luma, luma, luma};
            const uint32_t *chroma = averages + columns + x;
            if (reader->is_rgb) {
                for (int index = 0; index < 3; index++) {
                    const uint32_t *plane = averages + rgb_places[reader->is_rgb - 1][index] * (size_t)columns;
                    sums[index] = reader->matrix.scale * plane[x] + offset;
                }
            } else if (picture->channels > 1) {
                add_chroma(reader, chroma[0] - middle, chroma[columns] - middle, sums);
            }
            for (uint32_t channel = 0; channel < picture->channels; channel++) {
                put(rows, x * picture->channels + channel, clamp(sums[channel] / 256, most), most);
            }
        }
    }
    return KF_OK;
}
