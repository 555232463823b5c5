#include "ui/terminal/ground.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "ui/draw/theme.h"
#include "ui/terminal/term.h"

int64_t ground_ask(struct term *term, struct decoder *decoder, const char *theme, int64_t now_ns)
{
    if (!term_colours(term)) return 0;
    decoder_expect_string(decoder, now_ns + GROUND_EXPECT_NS);
    term_write(term, GROUND_QUERY, sizeof GROUND_QUERY - 1);
    bool depends = ground_theme(theme, GROUND_DARK) != ground_theme(theme, GROUND_LIGHT);
    return depends ? now_ns + GROUND_FIRST_NS : 0;
}

enum ground ground_from_event(const struct decoder_event *e)
{
    bool tells = e->kind == DECODER_ANSWER && e->answer == DECODER_OSC;
    return tells ? ground_from_answer(e->data, e->length) : GROUND_UNKNOWN;
}

/* Light is what black text has more contrast with than white. */
static enum ground of_rgb(const double rgb[3])
{
    double black = theme_contrast(rgb, (const double[3]){0, 0, 0});
    double white = theme_contrast(rgb, (const double[3]){1, 1, 1});
    return black > white ? GROUND_LIGHT : GROUND_DARK;
}

/* One to four hexadecimal digits as 0..1; returns how many, 0 for none. */
static size_t hex_share(const char *at, size_t n, double *share)
{
    unsigned value = 0, most = 0;
    size_t i = 0;
    for (; i < n && i < 4 && isxdigit((unsigned char)at[i]); i++) {
        unsigned digit = isdigit((unsigned char)at[i]) ? (unsigned)(at[i] - '0') : (unsigned)((at[i] | 32) - 'a' + 10);
        value = value * 16 + digit;
        most = most * 16 + 15;
    }
    *share = i ? (double)value / most : 0;
    return i;
}

enum ground ground_from_answer(const char *text, size_t n)
{
    double part[4];
    size_t at = n > 8 && !memcmp(text, "11;rgba:", 8) ? 8 : n > 7 && !memcmp(text, "11;rgb:", 7) ? 7 : 0;
    int parts = at == 8 ? 4 : 3;
    if (!at) return GROUND_UNKNOWN;
    for (int i = 0; i < parts; i++) {
        size_t digits = hex_share(text + at, n - at, &part[i]);
        at += digits;
        bool last = i + 1 == parts;
        if (!digits || (last ? at != n : at == n || text[at] != '/')) return GROUND_UNKNOWN;
        at++;
    }
    return of_rgb(part);
}

enum ground ground_from_environment(const char *colorfgbg)
{
    const char *last = colorfgbg ? strrchr(colorfgbg, ';') : NULL;
    if (!last || !isdigit((unsigned char)last[1])) return GROUND_UNKNOWN;
    char *end;
    long colour = strtol(last + 1, &end, 10);
    if (*end || colour > 15) return GROUND_UNKNOWN;
    return colour == 7 || colour > 8 ? GROUND_LIGHT : GROUND_DARK; /* 8, bright black, is a dark grey */
}

enum view_theme ground_theme(const char *name, enum ground ground)
{
    return theme_by_name(name ? name : "auto", ground == GROUND_LIGHT);
}
