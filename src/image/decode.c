#include "src/image/decode.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "src/image/format.h"

bool decode_failed(decoded *out, char line[IMAGE_TEXT], const char *format, ...)
{
    va_list args;
    va_start(args, format);
    vsnprintf(line, IMAGE_TEXT, format, args);
    va_end(args);
    free(out->rgb);
    out->rgb = NULL;
    return false;
}

bool decode_room(decoded *out, uint32_t width, uint32_t height, char line[IMAGE_TEXT])
{
    if (!width || !height) return decode_failed(out, line, "a picture of %u x %u pixels", width, height);
    if (width > IMAGE_SIDE || height > IMAGE_SIDE || (uint64_t)width * height > IMAGE_PIXELS)
        return decode_failed(out, line, "a picture of %u x %u pixels: at most %d million are read, and sides of %d",
                             width, height, IMAGE_PIXELS / 1000000, IMAGE_SIDE);
    out->width = width;
    out->height = height;
    out->orientation = 1;
    out->rgb = malloc((size_t)3 * width * height);
    return out->rgb || decode_failed(out, line, "no memory for %u x %u pixels", width, height);
}

void decode_over_white(uint8_t *rgb, const uint8_t *rgba, size_t n)
{
    for (size_t i = 0; i < n; i++, rgb += 3, rgba += 4)
        for (int c = 0; c < 3; c++) rgb[c] = (uint8_t)((rgba[c] * rgba[3] + 255 * (255 - rgba[3]) + 127) / 255);
}

bool decode(const uint8_t *bytes, size_t n, decoded *out, char line[IMAGE_TEXT])
{
    const char *other;
    *out = (decoded){.orientation = 1};
    switch (format_of(bytes, n, &other)) {
    case FORMAT_PNG:
        return decode_png(bytes, n, out, line);
    case FORMAT_JPEG:
        return decode_jpeg(bytes, n, out, line);
    case FORMAT_WEBP:
        return decode_webp(bytes, n, out, line);
    case FORMAT_OTHER:
        break;
    }
    return decode_failed(out, line, "%s", other);
}
