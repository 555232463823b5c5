/* Widths, simpler forms, and that nothing of a text can steer a terminal. */
#include "tests/check.h"
#include "tests/ui/dump.h"

#include "ui/draw/canvas.h"
#include "ui/draw/width.h"

static int width(const char *text) { return width_text(text, strlen(text)); }

TEST(plain_and_wide)
{
    CHECK_INT(5, width("hello"));
    CHECK_INT(4, width("caf\xc3\xa9"));
    CHECK_INT(4, width("cafe\xcc\x81"));                 /* combining accent */
    CHECK_INT(4, width("\xe6\xbc\xa2\xe5\xad\x97"));     /* two ideographs */
    CHECK_INT(2, width("\xed\x95\x9c"));                 /* a Hangul syllable */
    CHECK_INT(1, width("\xc2\xa7"));                     /* ambiguous: one */
    CHECK_INT(1, width("\xcc\x81"));                     /* a mark on its own gets a base */
    CHECK_INT(0, width("\xe2\x80\x8b"));                 /* zero width space */
}

TEST(simpler_forms)
{
    CHECK_INT(2, width("\xf0\x9f\x98\x80"));                                                 /* one emoji */
    CHECK_INT(2, width("\xf0\x9f\x91\xa9\xe2\x80\x8d\xf0\x9f\x92\xbb"));                     /* joined: the first */
    CHECK_INT(2, width("\xf0\x9f\x91\x8d\xf0\x9f\x8f\xbd"));                                 /* skin tone dropped */
    CHECK_INT(2, width("\xf0\x9f\x87\xa9\xf0\x9f\x87\xaa"));                                 /* a flag: two letters */
    CHECK_INT(1, width("1\xef\xb8\x8f\xe2\x83\xa3"));                                        /* a keycap: its digit */
    struct width_glyph g;
    CHECK_INT(4, width_next("\xf0\x9f\x87\xa9\xf0\x9f\x87\xaa", 8, &g));
    CHECK_INT('D', g.point[0]);
    const char *zalgo = "a\xcc\x81\xcc\x82\xcc\x83\xcc\x84\xcc\x85\xcc\x86\xcc\x87";
    CHECK_INT(strlen(zalgo), width_next(zalgo, strlen(zalgo), &g));
    CHECK_INT(5, g.n);
    CHECK_INT(1, g.width);
}

/* Signs that stand beside their letter have a column; those above and below share it. */
TEST(vowel_signs)
{
    const char *hindi =
        "\xe0\xa4\xb9\xe0\xa4\xbf\xe0\xa4\xa8\xe0\xa5\x8d\xe0\xa4\xa6\xe0\xa5\x80"; /* ha+i, na+virama, da+ii */
    struct width_glyph g;
    CHECK_INT(5, width(hindi));
    CHECK_INT(3, width_next(hindi, strlen(hindi), &g));
    CHECK_INT(3, width_next(hindi + 3, strlen(hindi + 3), &g));
    CHECK_INT(0x093F, g.point[0]);
    CHECK_INT(1, g.width);
    CHECK_INT(6, width_next(hindi + 6, strlen(hindi + 6), &g));
    CHECK_INT(2, g.n);
}

TEST(harmless)
{
    struct width_glyph g;
    width_next("\x1b[31m", 5, &g);
    CHECK_INT(0x241B, g.point[0]);
    width_next("\x7f", 1, &g);
    CHECK_INT(0x2421, g.point[0]);
    CHECK_INT(2, width_next("\xc2\x9b", 2, &g)); /* the one-byte CSI */
    CHECK_INT(0xFFFD, g.point[0]);
    CHECK_INT(1, width_next("\xff\xfe", 2, &g));
    CHECK_INT(0xFFFD, g.point[0]);
    CHECK_INT(3, width_next("\xe2\x80\xae", 3, &g)); /* right-to-left override */
    CHECK_INT(0x2426, g.point[0]);
    for (uint32_t p = 0; p <= 0x10FFFF; p += p < 0x30000 ? 1 : 17) {
        char s[4];
        int n = width_put(p, s);
        if (n == 0 || (p >= 0xD800 && p <= 0xDFFF)) continue;
        CHECK_INT(n, width_next(s, (size_t)n, &g));
        for (int i = 0; i < g.n && p != '\t' && p != '\n'; i++)
            CHECK(g.point[i] >= 0x20 && !(g.point[i] >= 0x7F && g.point[i] < 0xA0));
        CHECK(g.width <= 2);
        width_ascii(&g);
        for (int i = 0; i < g.n; i++) CHECK(g.point[i] < 0x80);
    }
}

TEST(canvas_keeps_halves_together)
{
    struct canvas *c = canvas_new(1, 6);
    canvas_puts(c, 0, 0, 6, "\xe6\xbc\xa2\xe5\xad\x97" "ab", STYLE_TEXT);
    canvas_puts(c, 0, 1, 6, "x", STYLE_TEXT);
    char *s = dump_canvas(c);
    CHECK_STR(" x\xe5\xad\x97" "ab\n", s);
    free(s);
    canvas_puts(c, 0, 2, 6, "y", STYLE_TEXT);
    s = dump_canvas(c);
    CHECK_STR(" xy ab\n", s);
    free(s);
    canvas_puts(c, 0, 5, 6, "\xe6\xbc\xa2", STYLE_TEXT); /* no room for the second half */
    s = dump_canvas(c);
    CHECK_STR(" xy a\n", s);
    free(s);
    c->ascii = true;
    canvas_clear(c);
    canvas_puts(c, 0, 0, 6, "\xe6\xbc\xa2\xc3\xa9\t\xe2\x80\xa6", STYLE_TEXT);
    s = dump_canvas(c);
    CHECK_STR("? e\n", s);
    free(s);
    c->ascii = false;
    canvas_clear(c);
    canvas_puts(c, 0, 0, 6, "a\nb\n", STYLE_TEXT); /* a name with lines stays a name */
    s = dump_canvas(c);
    CHECK_STR("a\xe2\x90\x8a" "b\xe2\x90\x8a\n", s);
    free(s);
    canvas_free(c);
}

TEST_MAIN(T(plain_and_wide), T(simpler_forms), T(vowel_signs), T(harmless), T(canvas_keeps_halves_together))
