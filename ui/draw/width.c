#include "ui/draw/width.h"

#include <stdbool.h>
#include <utf8proc.h>

#include "engine/base/harmless.h"
#include "engine/base/utf8.h"

enum { ZWJ = 0x200D, REPLACEMENT = 0xFFFD };

static bool is_flag_letter(uint32_t p) { return p >= 0x1F1E6 && p <= 0x1F1FF; }

/* Parts of a cluster that its simpler form leaves out: variation selectors, skin tones, tags, keycap, joiners. */
static bool is_dropped(uint32_t p)
{
    return (p >= 0xFE00 && p <= 0xFE0F) || (p >= 0xE0100 && p <= 0xE01EF) || (p >= 0x1F3FB && p <= 0x1F3FF) ||
           (p >= 0xE0000 && p <= 0xE007F) || p == 0x20E3 || p == ZWJ || p == 0x200C;
}

static size_t decode(const char *text, size_t len, uint32_t *point)
{
    int32_t code;
    size_t n = utf8_decode(text, len, &code);
    *point = code < 0 ? REPLACEMENT : (uint32_t)code;
    return n;
}

/* Vowel signs that stand beside their letter (Hindi, Tamil ...) have a column, as the C library says; some versions of
 * utf8proc call them zero wide. */
static int columns_of(uint32_t p)
{
    int width = utf8proc_charwidth((utf8proc_int32_t)p);
    return width == 0 && utf8proc_category((utf8proc_int32_t)p) == UTF8PROC_CATEGORY_MC ? 1 : width;
}

size_t width_next(const char *text, size_t len, struct width_glyph *glyph)
{
    unsigned char c = (unsigned char)text[0];
    glyph->n = 1;
    glyph->width = 1;
    glyph->point[0] = c;
    if (c >= 0x20 && c < 0x7F && (len == 1 || (unsigned char)text[1] < 0x80)) return 1;
    if (c == '\t' || c == '\n') {
        glyph->width = 0;
        return 1;
    }
    if (c < 0x20 || c == 0x7F) {
        glyph->point[0] = c == 0x7F ? 0x2421 : 0x2400u + c;
        return 1;
    }
    uint32_t p;
    size_t used = decode(text, len, &p);
    if (!harmless_code((int32_t)p)) p = p < 0xA0 ? REPLACEMENT : 0x2426;
    if (is_flag_letter(p)) {
        glyph->point[0] = 'A' + (p - 0x1F1E6);
        return used;
    }
    int width = columns_of(p);
    utf8proc_category_t category = utf8proc_category((utf8proc_int32_t)p);
    if (category == UTF8PROC_CATEGORY_CN || category == UTF8PROC_CATEGORY_CS) {
        p = REPLACEMENT;
        width = 1;
    }
    glyph->point[0] = p;
    glyph->width = (uint8_t)(width > 2 ? 2 : width < 0 ? 0 : width);
    if (width <= 0) {
        bool mark = category == UTF8PROC_CATEGORY_MN || category == UTF8PROC_CATEGORY_ME;
        if (mark && !is_dropped(p)) { /* a mark without its base */
            glyph->point[0] = 0x25CC;
            glyph->point[1] = p;
            glyph->n = 2;
            glyph->width = 1;
        } else {
            glyph->n = 0;
        }
        return used;
    }
    /* The marks that belong to it; of an emoji sequence everything after its first emoji is passed over. */
    utf8proc_int32_t breaks = 0;
    bool joined = false;
    uint32_t last = p;
    while (used < len && (unsigned char)text[used] >= 0x80) {
        uint32_t q;
        size_t n = decode(text + used, len - used, &q);
        if (q == REPLACEMENT || !harmless_code((int32_t)q)) break;
        if (utf8proc_grapheme_break_stateful((utf8proc_int32_t)last, (utf8proc_int32_t)q, &breaks)) break;
        if (q == ZWJ) {
            joined = true;
        } else if (!is_dropped(q) && !joined) {
            if (columns_of(q) != 0) break; /* spacing marks have a cell of their own */
            if (glyph->n < WIDTH_POINTS) glyph->point[glyph->n++] = q;
        }
        last = q;
        used += n;
    }
    return used;
}

void width_ascii(struct width_glyph *glyph)
{
    static const struct {
        uint16_t from, to;
        char as;
    } likeness[] = {
        {0x00A0, 0x00A0, ' '},  {0x00AB, 0x00AB, '"'}, {0x00B7, 0x00B7, '.'},  {0x00BB, 0x00BB, '"'},
        {0x00D7, 0x00D7, 'x'},  {0x2000, 0x200A, ' '}, {0x2010, 0x2015, '-'},  {0x2018, 0x201B, '\''},
        {0x201C, 0x201F, '"'},  {0x2022, 0x2023, '*'}, {0x2024, 0x2026, '.'},  {0x202F, 0x202F, ' '},
        {0x2032, 0x2032, '\''}, {0x2033, 0x2033, '"'}, {0x2039, 0x2039, '<'},  {0x203A, 0x203A, '>'},
        {0x2190, 0x2190, '<'},  {0x2191, 0x2191, '^'}, {0x2192, 0x2192, '>'},  {0x2193, 0x2193, 'v'},
        {0x2212, 0x2212, '-'},  {0x2500, 0x2501, '-'}, {0x2502, 0x2503, '|'},  {0x250C, 0x254B, '+'},
        {0x2550, 0x2550, '-'},  {0x2551, 0x2551, '|'}, {0x2552, 0x256C, '+'},  {0x2588, 0x2588, '#'},
    };
    if (glyph->n == 0 || (glyph->n == 1 && glyph->point[0] < 0x80)) return;
    uint32_t p = glyph->point[0], as = p < 0x80 ? p : '?';
    for (size_t i = 0; i < sizeof likeness / sizeof *likeness; i++)
        if (p >= likeness[i].from && p <= likeness[i].to) as = (unsigned char)likeness[i].as;
    if (as == '?') { /* a letter with an accent: its base */
        utf8proc_int32_t parts[8];
        int boundary = 0;
        utf8proc_ssize_t n = utf8proc_decompose_char((utf8proc_int32_t)p, parts, 8, UTF8PROC_DECOMPOSE, &boundary);
        if (n >= 1 && n <= 8 && parts[0] >= 0x20 && parts[0] < 0x7F) as = (uint32_t)parts[0];
    }
    glyph->point[0] = as;
    glyph->n = 1; /* a wide one keeps its width: the second column is blank */
}

int width_text(const char *text, size_t len)
{
    int cols = 0;
    for (size_t at = 0; at < len;) {
        struct width_glyph glyph;
        at += width_next(text + at, len - at, &glyph);
        cols += glyph.width;
    }
    return cols;
}

size_t width_fit(const char *text, size_t len, int cols)
{
    size_t at = 0;
    while (at < len) {
        struct width_glyph glyph;
        size_t n = width_next(text + at, len - at, &glyph);
        if (glyph.width > cols) break;
        cols -= glyph.width;
        at += n;
    }
    return at;
}

bool width_sticks(uint32_t p)
{
    return p == 0x3001 || p == 0x3002 || p == 0x300D || p == 0x300F || p == 0x3011 || p == 0xFF01 || p == 0xFF09 ||
           p == 0xFF0C || p == 0xFF0E || p == 0xFF1A || p == 0xFF1B || p == 0xFF1F || p == 0x30FC;
}

int width_put(uint32_t point, char out[4])
{
    return point < 0x110000 ? (int)utf8_encode(point, out) : 0;
}
