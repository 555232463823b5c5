/* Previews of pictures, read back as a terminal would: cells, kitty's pieces, sixel. */
#include "tests/check.h"

#include "ui/preview/preview.h"

enum { WIDTH = 50, HEIGHT = 40 };

static uint8_t rgb[3 * WIDTH * HEIGHT];

static struct preview_picture drawn(void)
{
    for (int y = 0; y < HEIGHT; y++)
        for (int x = 0; x < WIDTH; x++) {
            uint8_t *to = rgb + 3 * (y * WIDTH + x);
            to[0] = (uint8_t)(x * 5);
            to[1] = (uint8_t)(y * 6);
            to[2] = (uint8_t)(255 - x * 5);
        }
    return (struct preview_picture){WIDTH, HEIGHT, rgb};
}

static void fits(uint32_t width, uint32_t height, int cell_width, int cell_height, int want_cols, int want_rows)
{
    int cols = 0, rows = 0;
    preview_fit(&(struct preview_picture){width, height, rgb}, 40, 6, cell_width, cell_height, &cols, &rows);
    if (cols != want_cols || rows != want_rows)
        CHECK_FAIL("%u x %u: expected %d x %d cells, found %d x %d", width, height, want_cols, want_rows, cols, rows);
}

TEST(as_large_as_fits)
{
    fits(640, 480, 0, 0, 16, 6);
    fits(640, 480, 10, 20, 16, 6);
    fits(640, 480, 10, 10, 8, 6);
    fits(480, 640, 0, 0, 9, 6);
    fits(4000, 100, 0, 0, 40, 1);
    fits(100, 4000, 0, 0, 1, 6);
    fits(1, 1, 0, 0, 12, 6);
}

TEST(new_pixels_are_means_of_what_they_cover)
{
    static const uint8_t in[] = {0, 0, 0, 100, 100, 100, 200, 200, 200, 40, 40, 40};
    struct preview_picture p = {4, 1, in};
    uint8_t out[3 * 8];
    preview_resize(&p, 2, 1, out);
    CHECK_INT(50, out[0]);
    CHECK_INT(120, out[3]);
    preview_resize(&p, 1, 2, out);
    CHECK_INT(85, out[0]);
    CHECK_INT(85, out[3]);
    preview_resize(&p, 3, 1, out); /* thirds */
    CHECK_INT(25, out[0]);
    CHECK_INT(150, out[3]);
    preview_resize(&p, 8, 1, out);
    for (int i = 0; i < 8; i++) CHECK_INT(in[3 * (i / 2)], out[3 * i]);
}

TEST(half_blocks_have_two_pixels)
{
    struct preview_picture p = drawn();
    struct preview_cell cells[WIDTH * HEIGHT / 2];
    REQUIRE(preview_cells(&p, WIDTH, HEIGHT / 2, cells));
    for (int y = 0; y < HEIGHT; y++)
        for (int x = 0; x < WIDTH; x++) {
            const struct preview_cell *cell = &cells[y / 2 * WIDTH + x];
            CHECK(!memcmp(y % 2 ? cell->lower : cell->upper, rgb + 3 * (y * WIDTH + x), 3));
        }
}

static int base64_value(char c)
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    const char *at = c ? strchr(digits, c) : NULL;
    return at ? (int)(at - digits) : -1;
}

/* Every piece is of at most 4,096 characters, all but the last say that there is more; together they are the picture.
 */
TEST(kitty_is_given_the_pixels_in_pieces)
{
    struct preview_picture p = drawn();
    struct buffer out = {0};
    REQUIRE(!preview_kitty_send(&out, &p, 7, NULL));
    static const char begin[] = "\033_Ga=t,f=24,t=d,q=2,i=7,s=50,v=40,m=1;";
    CHECK(!strncmp(out.bytes, begin, sizeof begin - 1));
    uint32_t held = 0;
    int bits = 0;
    size_t n = 0, wrong = 0;
    bool more = true;
    for (const char *at = out.bytes; *at;) {
        REQUIRE(more && !strncmp(at, "\033_G", 3));
        const char *text = strchr(at, ';') + 1, *end = strstr(text, "\033\\");
        REQUIRE(end && end - text <= 4096);
        more = text[-2] == '1';
        CHECK(!more || (end - text) % 4 == 0);
        for (; text < end; text++) {
            if (base64_value(*text) < 0) continue;
            held = held << 6 | (uint32_t)base64_value(*text);
            if ((bits += 6) >= 8) wrong += (uint8_t)(held >> (bits -= 8)) != rgb[n++ % sizeof rgb];
        }
        at = end + 2;
    }
    CHECK(!more);
    CHECK_INT(sizeof rgb, n);
    CHECK_INT(0, wrong);
    buffer_clear(&out);
    REQUIRE(!preview_kitty_place(&out, 7, &(struct preview_part){8, 50, 16}, 12, 2, NULL));
    CHECK_STR("\033_Ga=p,C=1,q=2,i=7,x=0,y=8,w=50,h=16,c=12,r=2\033\\", out.bytes);
    buffer_clear(&out);
    REQUIRE(!preview_kitty_remove(&out, 7, true, NULL) && !preview_kitty_remove(&out, 7, false, NULL));
    CHECK_STR("\033_Ga=d,d=I,q=2,i=7\033\\\033_Ga=d,d=i,q=2,i=7\033\\", out.bytes);
    buffer_free(&out);
}

/* Draws sixels. */
static void draw(const char *text, uint8_t out[3 * WIDTH * HEIGHT])
{
    int colours[256][3] = {{0}}, x = 0, y = 0, which = 0, times = 1;
    const char *at = strstr(text, "q\"1;1;50;40");
    REQUIRE(at);
    for (at += 11; *at && *at != '\033';) {
        char *end = (char *)at + 1;
        if (*at == '#') {
            which = (int)strtol(at + 1, &end, 10);
            if (*end == ';') {
                REQUIRE(strtol(end + 1, &end, 10) == 2);
                for (int c = 0; c < 3; c++) colours[which][c] = (int)strtol(end + 1, &end, 10);
            }
        } else if (*at == '!') {
            times = (int)strtol(at + 1, &end, 10);
        } else if (*at == '$') {
            x = 0;
        } else if (*at == '-') {
            x = 0;
            y += 6;
        } else {
            for (; times; times--, x++)
                for (int row = 0; row < 6; row++) {
                    if (!((*at - '?') >> row & 1)) continue;
                    REQUIRE(x < WIDTH && y + row < HEIGHT);
                    for (int c = 0; c < 3; c++)
                        out[3 * ((y + row) * WIDTH + x) + c] = (uint8_t)(colours[which][c] * 255 / 100);
                }
            times = 1;
        }
        at = end;
    }
}

/* No pixel is a step of the levels away from its own, and on the whole they are equal. */
TEST(sixels_draw_the_picture)
{
    struct preview_picture p = drawn();
    struct buffer out = {0};
    static uint8_t got[3 * WIDTH * HEIGHT];
    REQUIRE(!preview_sixel(&out, &p, NULL));
    CHECK(!strncmp(out.bytes, "\033P0;1;0q", 8) && !strcmp(out.bytes + out.n - 2, "\033\\"));
    memset(got, 1, sizeof got);
    draw(out.bytes, got);
    double sum = 0;
    for (size_t i = 0; i < sizeof got; i++) {
        CHECK(abs(got[i] - rgb[i]) <= 52);
        sum += got[i] - rgb[i];
    }
    CHECK_NEAR(0, sum / sizeof got, 4);
    buffer_free(&out);
}

TEST_MAIN(T(as_large_as_fits), T(new_pixels_are_means_of_what_they_cover), T(half_blocks_have_two_pixels),
          T(kitty_is_given_the_pixels_in_pieces), T(sixels_draw_the_picture))
