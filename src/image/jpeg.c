#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <jpeglib.h>

#include <jerror.h>

#include "src/image/decode.h"
#include "src/image/exif.h"

/* A progressive file of a few bytes can ask for any number of passes over all pixels. */
enum { MAX_SCANS = 100, MAX_EXIF = 1 << 16 };

typedef struct {
    struct jpeg_error_mgr manager; /* the first member: libjpeg knows no other */
    struct jpeg_progress_mgr progress;
    jmp_buf back;
    char why[JMSG_LENGTH_MAX];
    uint8_t *row;
} failure;

static void on_error(j_common_ptr j)
{
    failure *f = (failure *)j->err;
    j->err->format_message(j, f->why);
    longjmp(f->back, 1);
}

/* A file that is damaged in the middle is still a picture; a file that ends too early is refused. */
static void on_message(j_common_ptr j, int level)
{
    if (level < 0 && (j->err->msg_code == JWRN_JPEG_EOF || j->err->msg_code == JWRN_HIT_MARKER)) {
        failure *f = (failure *)j->err;
        snprintf(f->why, sizeof f->why, "the file ends too early");
        longjmp(f->back, 1);
    }
}

static void on_progress(j_common_ptr j)
{
    failure *f = (failure *)j->err;
    if (((j_decompress_ptr)j)->input_scan_number <= MAX_SCANS) return;
    snprintf(f->why, sizeof f->why, "more than %d passes over the picture", MAX_SCANS);
    longjmp(f->back, 1);
}

/* Adobe's programs, which are the ones that write CMYK, write it inverted. */
static void from_cmyk(uint8_t *rgb, const uint8_t *cmyk, uint32_t n, bool inverted)
{
    for (uint32_t i = 0; i < n; i++, rgb += 3, cmyk += 4)
        for (int c = 0; c < 3; c++) {
            int ink = inverted ? 255 - cmyk[c] : cmyk[c], black = inverted ? 255 - cmyk[3] : cmyk[3];
            rgb[c] = (uint8_t)(((255 - ink) * (255 - black) + 127) / 255);
        }
}

static int orientation_of(const struct jpeg_decompress_struct *j)
{
    for (jpeg_saved_marker_ptr m = j->marker_list; m; m = m->next)
        if (m->marker == JPEG_APP0 + 1 && m->data_length > 6 && !memcmp(m->data, "Exif\0", 6))
            return exif_orientation(m->data, m->data_length);
    return 1;
}

/* False: out of bounds. Errors jump. */
static bool read_pixels(struct jpeg_decompress_struct *j, failure *f, decoded *out, char line[IMAGE_TEXT])
{
    jpeg_save_markers(j, JPEG_APP0 + 1, MAX_EXIF);
    jpeg_read_header(j, TRUE);
    if (!decode_room(out, j->image_width, j->image_height, line)) return false;
    out->orientation = orientation_of(j);
    bool cmyk = j->num_components == 4;
    j->out_color_space = cmyk ? JCS_CMYK : JCS_RGB;
    jpeg_start_decompress(j);
    if (!(f->row = malloc((size_t)4 * out->width))) ERREXIT1(j, JERR_OUT_OF_MEMORY, 0);
    while (j->output_scanline < j->output_height) {
        uint8_t *to = out->rgb + (size_t)3 * out->width * j->output_scanline;
        JSAMPROW row = cmyk ? f->row : to;
        jpeg_read_scanlines(j, &row, 1);
        if (cmyk) from_cmyk(to, f->row, out->width, j->saw_Adobe_marker);
    }
    jpeg_finish_decompress(j);
    return true;
}

bool decode_jpeg(const uint8_t *bytes, size_t n, decoded *out, char line[IMAGE_TEXT])
{
    struct jpeg_decompress_struct j = {0};
    failure f = {.progress.progress_monitor = on_progress};
    volatile bool read = false, in_bounds = true;
    j.err = jpeg_std_error(&f.manager);
    f.manager.error_exit = on_error;
    f.manager.emit_message = on_message;
    if (!setjmp(f.back)) {
        jpeg_create_decompress(&j);
        j.progress = &f.progress;
        jpeg_mem_src(&j, bytes, n);
        in_bounds = read_pixels(&j, &f, out, line);
        read = true;
    }
    jpeg_destroy_decompress(&j);
    free(f.row);
    if (read) return in_bounds;
    return decode_failed(out, line, "a damaged JPEG: %s", f.why);
}
