/* Sixel (DEC STD 070): bands of six rows, each colour of a band one after the other, runs of equal columns as counts.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/base/error.h"
#include "ui/preview/preview.h"

enum { LEVELS = 6, COLOURS = LEVELS * LEVELS * LEVELS, BAND = 6 };

/* Thresholds that spread what rounding to few levels takes away (Bayer's matrix), of 16. */
static const uint8_t thresholds[4][4] = {{0, 8, 2, 10}, {12, 4, 14, 6}, {3, 11, 1, 9}, {15, 7, 13, 5}};

static int level(uint8_t value, uint32_t x, uint32_t y)
{
    int sixteenths = value * (LEVELS - 1) * 16 / 255;
    return (sixteenths + thresholds[y % 4][x % 4]) / 16;
}

static int colour(const struct preview_picture *p, uint32_t x, uint32_t y)
{
    const uint8_t *rgb = p->rgb + 3 * ((size_t)y * p->width + x);
    return (level(rgb[0], x, y) * LEVELS + level(rgb[1], x, y)) * LEVELS + level(rgb[2], x, y);
}

/* How many times a column, as a character and a count where that is shorter. */
static tdm_status add_run(struct buffer *out, int column, uint32_t times, tdm_error *err)
{
    char text[32];
    int n = times > 3 ? snprintf(text, sizeof text, "!%u%c", times, '?' + column) : (int)times;
    if (times <= 3) memset(text, '?' + column, times);
    return buffer_append(out, text, (size_t)n, err);
}

/* One colour of a band; map: the band's colours, [BAND][width]. */
static tdm_status add_colour(struct buffer *out, const uint8_t *map, uint32_t width, uint32_t rows, int which,
                             tdm_error *err)
{
    char text[16];
    int n = snprintf(text, sizeof text, "#%d", which), last = 0;
    uint32_t times = 0;
    tdm_status status = buffer_append(out, text, (size_t)n, err);
    for (uint32_t x = 0; x < width && !status; x++) {
        int column = 0;
        for (uint32_t y = 0; y < rows; y++) column |= (map[y * width + x] == which) << y;
        if (times && column != last) {
            status = add_run(out, last, times, err);
            times = 0;
        }
        last = column;
        times++;
    }
    if (!status && last) status = add_run(out, last, times, err); /* what is empty at the end isn't said */
    return status;
}

static tdm_status add_band(struct buffer *out, const struct preview_picture *p, uint32_t y, uint8_t *map,
                           tdm_error *err)
{
    bool used[COLOURS] = {false}, first = true;
    uint32_t rows = p->height - y < BAND ? p->height - y : BAND;
    for (uint32_t r = 0; r < rows; r++)
        for (uint32_t x = 0; x < p->width; x++) used[map[r * p->width + x] = (uint8_t)colour(p, x, y + r)] = true;
    tdm_status status = TDM_OK;
    for (int c = 0; c < COLOURS && !status; c++) {
        if (!used[c]) continue;
        if (!first) status = buffer_append(out, "$", 1, err);
        first = false;
        if (!status) status = add_colour(out, map, p->width, rows, c, err);
    }
    return status ? status : buffer_append(out, "-", 1, err);
}

tdm_status preview_sixel(struct buffer *out, const struct preview_picture *p, tdm_error *err)
{
    char text[64];
    uint8_t *map = malloc((size_t)BAND * p->width);
    if (!map) return error_set(err, TDM_E_NOMEM, "no memory to show a picture");
    int n = snprintf(text, sizeof text, "\033P0;1;0q\"1;1;%u;%u", p->width, p->height);
    tdm_status status = buffer_append(out, text, (size_t)n, err);
    for (int c = 0; c < COLOURS && !status; c++) { /* in percent */
        n = snprintf(text, sizeof text, "#%d;2;%d;%d;%d", c, c / LEVELS / LEVELS * 20, c / LEVELS % LEVELS * 20,
                     c % LEVELS * 20);
        status = buffer_append(out, text, (size_t)n, err);
    }
    for (uint32_t y = 0; y < p->height && !status; y += BAND) status = add_band(out, p, y, map, err);
    if (!status) status = buffer_append(out, "\033\\", 2, err);
    free(map);
    return status;
}
