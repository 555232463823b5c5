#include "src/image/format.h"

#include <stdbool.h>
#include <string.h>

enum { XML_BEGINNING = 512 };

static bool has(const uint8_t *bytes, size_t n, size_t at, const char *what, size_t length)
{
    return n >= at + length && !memcmp(bytes + at, what, length);
}

/* An SVG is a text that names its element early. */
static bool is_svg(const uint8_t *bytes, size_t n)
{
    size_t some = n < XML_BEGINNING ? n : XML_BEGINNING;
    return some && (bytes[0] == '<' || bytes[0] == 0xef || bytes[0] == ' ' || bytes[0] == '\n') &&
           memmem(bytes, some, "<svg", 4);
}

const char *format_other(const uint8_t *bytes, size_t n)
{
    static const struct {
        size_t at;
        const char *magic;
        size_t length;
        const char *line;
    } others[] = {
        {0, "GIF8", 4, "a GIF: a picture of it is made by `magick FILE.gif[0] FILE.png`"},
        {4, "ftypavif", 8, "an AVIF: `avifdec FILE.avif FILE.png` makes a PNG of it"},
        {4, "ftypavis", 8, "an AVIF: `avifdec FILE.avif FILE.png` makes a PNG of it"},
        {4, "ftyphe", 6, "a HEIC: `heif-convert FILE.heic FILE.png` makes a PNG of it"},
        {4, "ftypmif1", 8, "a HEIF: `heif-convert FILE.heic FILE.png` makes a PNG of it"},
        {4, "ftypmsf1", 8, "a HEIF: `heif-convert FILE.heic FILE.png` makes a PNG of it"},
        {0, "%PDF-", 5, "a PDF: `pdftoppm -png -r 100 FILE.pdf page` makes a PNG of each page"},
        {0, "BM", 2, "a BMP: `magick FILE.bmp FILE.png` makes a PNG of it"},
        {0, "II*\0", 4, "a TIFF: `magick FILE.tif FILE.png` makes a PNG of it"},
        {0, "MM\0*", 4, "a TIFF: `magick FILE.tif FILE.png` makes a PNG of it"},
        {0, "\0\0\1\0", 4, "an icon: `magick FILE.ico[0] FILE.png` makes a PNG of it"},
        {0, "\xff\x0a", 2, "a JPEG XL: `djxl FILE.jxl FILE.png` makes a PNG of it"},
        {4, "JXL ", 4, "a JPEG XL: `djxl FILE.jxl FILE.png` makes a PNG of it"},
        {4, "jP  ", 4, "a JPEG 2000: `opj_decompress -i FILE.jp2 -o FILE.png` makes a PNG of it"},
    };
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        if (has(bytes, n, others[i].at, others[i].magic, others[i].length)) return others[i].line;
    return is_svg(bytes, n) ? "an SVG: `rsvg-convert -o FILE.png FILE.svg` makes a PNG of it" : NULL;
}

image_format format_of(const uint8_t *bytes, size_t n, const char **line)
{
    *line = NULL;
    if (has(bytes, n, 0, "\x89PNG\r\n\x1a\n", 8)) return FORMAT_PNG;
    if (has(bytes, n, 0, "\xff\xd8\xff", 3)) return FORMAT_JPEG;
    if (has(bytes, n, 0, "RIFF", 4) && has(bytes, n, 8, "WEBP", 4)) return FORMAT_WEBP;
    *line = format_other(bytes, n);
    if (!*line) *line = n ? "expected a picture (PNG, JPEG or WebP)" : "an empty file: expected a picture";
    return FORMAT_OTHER;
}
