#include <stdlib.h>
#include <string.h>
#include <webp/decode.h>

#include "src/image/decode.h"
#include "src/image/exif.h"

enum { RIFF_HEAD = 12, CHUNK_HEAD = 8 };

/* The Exif data lies in a chunk of the file's container. */
static int orientation_of(const uint8_t *bytes, size_t n)
{
    for (size_t at = RIFF_HEAD; at <= n && n - at >= CHUNK_HEAD;) {
        const uint8_t *head = bytes + at;
        size_t length = head[4] | (size_t)head[5] << 8 | (size_t)head[6] << 16 | (size_t)head[7] << 24;
        size_t left = n - at - CHUNK_HEAD;
        if (length > left) break;
        if (!memcmp(head, "EXIF", 4)) return exif_orientation(head + CHUNK_HEAD, length);
        at += CHUNK_HEAD + length + length % 2;
    }
    return 1;
}

bool decode_webp(const uint8_t *bytes, size_t n, decoded *out, char line[IMAGE_TEXT])
{
    WebPBitstreamFeatures f;
    VP8StatusCode status = WebPGetFeatures(bytes, n, &f);
    if (status == VP8_STATUS_NOT_ENOUGH_DATA)
        return decode_failed(out, line, "a damaged WebP: the file ends too early");
    if (status != VP8_STATUS_OK) return decode_failed(out, line, "a damaged WebP");
    if (f.has_animation)
        return decode_failed(out, line, "an animated WebP: a picture of it is made by `magick FILE.webp[0] FILE.png`");
    if (!decode_room(out, (uint32_t)f.width, (uint32_t)f.height, line)) return false;
    out->orientation = orientation_of(bytes, n);
    size_t pixels = (size_t)out->width * out->height;
    uint8_t *rgba = f.has_alpha ? malloc(4 * pixels) : NULL, *read;
    if (f.has_alpha && !rgba) return decode_failed(out, line, "no memory for %u x %u pixels", out->width, out->height);
    if (rgba) {
        read = WebPDecodeRGBAInto(bytes, n, rgba, 4 * pixels, f.width * 4);
        if (read) decode_over_white(out->rgb, rgba, pixels);
    } else {
        read = WebPDecodeRGBInto(bytes, n, out->rgb, 3 * pixels, f.width * 3);
    }
    free(rgba);
    return read || decode_failed(out, line, "a damaged WebP");
}
