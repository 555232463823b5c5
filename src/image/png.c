#include <png.h>
#include <setjmp.h>
#include <stdlib.h>
#include <string.h>

#include "src/image/decode.h"
#include "src/image/exif.h"

/* Most memory for Exif. */
enum { CHUNK_BYTES = 8 << 20 };

typedef struct {
    const uint8_t *bytes;
    size_t n, at;
    char why[IMAGE_TEXT];
    uint8_t *rows; /* RGBA: one row, or all of an interlaced picture */
    bool whole;    /* all pixels are read: what is damaged behind them is not missed */
} source;

static void take(png_structp png, png_bytep to, size_t n)
{
    source *s = png_get_io_ptr(png);
    if (n > s->n - s->at) png_error(png, "the file ends too early");
    memcpy(to, s->bytes + s->at, n);
    s->at += n;
}

static void on_error(png_structp png, png_const_charp why)
{
    source *s = png_get_error_ptr(png);
    snprintf(s->why, sizeof s->why, "%s", why);
    png_longjmp(png, 1);
}

static void on_warning(png_structp png, png_const_charp why)
{
    (void)png;
    (void)why;
}

/* Of what is neither pixels nor their colours only Exif is read. The rest (texts, profiles) can be a thousand times as
 * long as it is in the file. */
static void leave_out_others(png_structp png)
{
    png_set_keep_unknown_chunks(png, PNG_HANDLE_CHUNK_NEVER, NULL, -1);
    png_set_keep_unknown_chunks(png, PNG_HANDLE_CHUNK_AS_DEFAULT, (png_const_bytep) "eXIf", 1);
    png_set_chunk_malloc_max(png, CHUNK_BYTES);
}

/* Everything becomes RGBA of 8 bits. */
static void ask_for_rgba(png_structp png, png_infop info)
{
    png_set_scale_16(png);
    png_set_expand(png);
    png_set_gray_to_rgb(png);
    png_set_add_alpha(png, 255, PNG_FILLER_AFTER);
    png_set_interlace_handling(png);
    png_read_update_info(png, info);
}

/* Exif is before the pixels or behind them. */
static void note_orientation(png_structp png, png_infop info, decoded *out)
{
    png_uint_32 n = 0;
    png_bytep bytes = NULL;
    if (png_get_eXIf_1(png, info, &n, &bytes)) out->orientation = exif_orientation(bytes, n);
}

/* Between png_create_read_struct and png_destroy_read_struct; false: out of bounds. Errors jump. */
static bool read_pixels(png_structp png, png_infop info, source *s, decoded *out, char line[IMAGE_TEXT])
{
    png_read_info(png, info);
    uint32_t width = png_get_image_width(png, info), height = png_get_image_height(png, info);
    if (!decode_room(out, width, height, line)) return false;
    note_orientation(png, info, out);
    ask_for_rgba(png, info);
    if (png_get_rowbytes(png, info) != (size_t)4 * width) png_error(png, "a form of pixels that is not known");
    bool whole = png_get_interlace_type(png, info) != PNG_INTERLACE_NONE;
    s->rows = calloc(whole ? height : 1, (size_t)4 * width);
    if (!s->rows) png_error(png, "no memory for its pixels");
    for (int pass = 0; pass < (whole ? 7 : 1); pass++)
        for (uint32_t y = 0; y < height; y++) {
            uint8_t *row = s->rows + (whole ? (size_t)y * 4 * width : 0);
            png_read_row(png, row, NULL);
            if (pass == (whole ? 6 : 0)) decode_over_white(out->rgb + (size_t)3 * width * y, row, width);
        }
    s->whole = true;
    png_read_end(png, info);
    note_orientation(png, info, out);
    return true;
}

bool decode_png(const uint8_t *bytes, size_t n, decoded *out, char line[IMAGE_TEXT])
{
    source s = {.bytes = bytes, .n = n};
    png_structp png = png_create_read_struct(PNG_LIBPNG_VER_STRING, &s, on_error, on_warning);
    png_infop info = png ? png_create_info_struct(png) : NULL;
    volatile bool read = false, in_bounds = true;
    if (!info) {
        png_destroy_read_struct(&png, NULL, NULL);
        return decode_failed(out, line, "no memory for a PNG");
    }
    if (!setjmp(png_jmpbuf(png))) {
        png_set_read_fn(png, &s, take);
        /* decode_room has limits of its own, and reports them. */
        png_set_user_limits(png, PNG_UINT_31_MAX, PNG_UINT_31_MAX);
        leave_out_others(png);
        in_bounds = read_pixels(png, info, &s, out, line);
        read = true;
    }
    png_destroy_read_struct(&png, &info, NULL);
    free(s.rows);
    if (read || s.whole) return in_bounds;
    return decode_failed(out, line, "a damaged PNG: %s", s.why);
}
