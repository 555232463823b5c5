#include "tests/src/image/drawn.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/check.h"

void drawn_rgb(uint32_t x, uint32_t y, uint8_t out[3])
{
    out[0] = (uint8_t)(x * 10);
    out[1] = (uint8_t)(y * 15);
    out[2] = (uint8_t)(255 - x * 5 - y * 5);
}

uint8_t drawn_alpha(uint32_t x, uint32_t y)
{
    return x < DRAWN_WIDTH / 2 ? 255 : (uint8_t)(y * 17);
}

static void put(struct drawn *d, const void *bytes, size_t n)
{
    d->bytes = realloc(d->bytes, d->n + n + 1);
    if (!d->bytes) abort();
    memcpy(d->bytes + d->n, bytes, n);
    d->n += n;
}

static void put_number(struct drawn *d, uint32_t v, int bytes, bool little)
{
    for (int i = 0; i < bytes; i++) {
        uint8_t b = (uint8_t)(v >> 8 * (little ? i : bytes - 1 - i));
        put(d, &b, 1);
    }
}

/* Exif's structure with nothing but an orientation. */
static struct drawn exif(int orientation, bool little)
{
    struct drawn d = {0};
    put(&d, little ? "II" : "MM", 2);
    put_number(&d, 42, 2, little);
    put_number(&d, 8, 4, little);
    put_number(&d, 1, 2, little);
    put_number(&d, 0x112, 2, little);
    put_number(&d, 3, 2, little);
    put_number(&d, 1, 4, little);
    put_number(&d, (uint32_t)orientation, 2, little);
    put_number(&d, 0, 2, little);
    put_number(&d, 0, 4, little);
    return d;
}

/* ---- PNG --------------------------------------------------------------------------------------------------------- */

static uint32_t crc(const uint8_t *bytes, size_t n)
{
    uint32_t c = ~0u;
    for (size_t i = 0; i < n; i++) {
        c ^= bytes[i];
        for (int k = 0; k < 8; k++) c = c & 1 ? c >> 1 ^ 0xedb88320 : c >> 1;
    }
    return ~c;
}

static void put_chunk(struct drawn *d, const char *name, const struct drawn *data)
{
    put_number(d, (uint32_t)data->n, 4, false);
    size_t from = d->n;
    put(d, name, 4);
    if (data->n) put(d, data->bytes, data->n);
    put_number(d, crc(d->bytes + from, d->n - from), 4, false);
}

/* zlib's form without compressing: blocks that are stored. */
static struct drawn stored(const struct drawn *data)
{
    struct drawn d = {0};
    uint32_t a = 1, b = 0;
    put(&d, "\x78\x01", 2);
    for (size_t at = 0, n; at < data->n; at += n) {
        n = data->n - at < 65535 ? data->n - at : 65535;
        put(&d, at + n == data->n ? "\1" : "\0", 1);
        put_number(&d, (uint32_t)n, 2, true);
        put_number(&d, ~(uint32_t)n & 0xffff, 2, true);
        put(&d, data->bytes + at, n);
    }
    for (size_t i = 0; i < data->n; i++) {
        a = (a + data->bytes[i]) % 65521;
        b = (b + a) % 65521;
    }
    put_number(&d, b << 16 | a, 4, false);
    return d;
}

/* The samples of a point, each of `depth` bits; returns how many. */
static int samples(int colour, int depth, uint32_t x, uint32_t y, uint32_t out[4])
{
    uint8_t rgb[3];
    drawn_rgb(x, y, rgb);
    if (colour == 3) {
        out[0] = (x + y) & ((1u << depth) - 1);
        return 1;
    }
    int n = colour & 2 ? 3 : 1;
    for (int c = 0; c < n; c++) out[c] = rgb[c];
    if (colour & 4) out[n++] = drawn_alpha(x, y);
    for (int c = 0; c < n; c++) out[c] = depth == 16 ? out[c] * 257 : out[c] >> (8 - depth);
    return n;
}

/* Every step-th point from (x0, y0) on, as rows without a filter. */
static void put_rows(struct drawn *d, int colour, int depth, uint32_t x0, uint32_t y0, uint32_t dx, uint32_t dy)
{
    if (x0 >= DRAWN_WIDTH) return;
    for (uint32_t y = y0; y < DRAWN_HEIGHT; y += dy) {
        uint32_t held = 0, out[4];
        int bits = 0;
        put(d, "", 1);
        for (uint32_t x = x0; x < DRAWN_WIDTH; x += dx)
            for (int c = 0, n = samples(colour, depth, x, y, out); c < n; c++) {
                held = held << depth | out[c];
                for (bits += depth; bits >= 8; bits -= 8) put_number(d, held >> (bits - 8) & 255, 1, false);
            }
        if (bits) put_number(d, held << (8 - bits) & 255, 1, false);
    }
}

static struct drawn head(uint32_t width, uint32_t height, int colour, int depth, bool interlaced)
{
    struct drawn d = {0}, data = {0};
    put(&d, "\x89PNG\r\n\x1a\n", 8);
    put_number(&data, width, 4, false);
    put_number(&data, height, 4, false);
    put_number(&data, (uint32_t)depth << 24 | (uint32_t)colour << 16, 4, false);
    put_number(&data, interlaced, 1, false);
    put_chunk(&d, "IHDR", &data);
    free(data.bytes);
    return d;
}

static void put_palette(struct drawn *d, int depth)
{
    struct drawn colours = {0}, clear = {0};
    uint8_t rgb[3];
    for (uint32_t i = 0; i < 1u << depth; i++) {
        drawn_rgb(i, i, rgb);
        put(&colours, rgb, 3);
    }
    put_chunk(d, "PLTE", &colours);
    put(&clear, "", 1);
    put_chunk(d, "tRNS", &clear);
    free(colours.bytes);
    free(clear.bytes);
}

static void put_exif(struct drawn *d, int orientation)
{
    struct drawn noted = exif(orientation, false);
    put_chunk(d, "eXIf", &noted);
    free(noted.bytes);
}

struct drawn drawn_png(int colour, int depth, bool interlaced, int orientation)
{
    static const uint32_t adam7[7][4] = {{0, 0, 8, 8}, {4, 0, 8, 8}, {0, 4, 4, 8}, {2, 0, 4, 4},
                                         {0, 2, 2, 4}, {1, 0, 2, 2}, {0, 1, 1, 2}};
    struct drawn d = head(DRAWN_WIDTH, DRAWN_HEIGHT, colour, depth, interlaced), rows = {0}, none = {0};
    if (colour == 3) put_palette(&d, depth);
    if (orientation > 0) put_exif(&d, orientation);
    for (int pass = 0; pass < (interlaced ? 7 : 1); pass++)
        if (interlaced)
            put_rows(&rows, colour, depth, adam7[pass][0], adam7[pass][1], adam7[pass][2], adam7[pass][3]);
        else
            put_rows(&rows, colour, depth, 0, 0, 1, 1);
    struct drawn data = stored(&rows);
    put_chunk(&d, "IDAT", &data);
    if (orientation < 0) put_exif(&d, -orientation);
    put_chunk(&d, "IEND", &none);
    free(rows.bytes);
    free(data.bytes);
    return d;
}

struct drawn drawn_black(uint32_t width, uint32_t height)
{
    struct drawn d = head(width, height, 0, 8, false), none = {0};
    struct drawn rows = {.bytes = calloc(height, width + 1), .n = (size_t)height * (width + 1)};
    if (!rows.bytes) abort();
    struct drawn data = stored(&rows);
    put_chunk(&d, "IDAT", &data);
    put_chunk(&d, "IEND", &none);
    free(rows.bytes);
    free(data.bytes);
    return d;
}

/* `runs` times 258 and one letters a, compressed: one block of zlib's fixed codes. */
static struct drawn letters(uint32_t runs)
{
    struct drawn d = {0};
    uint32_t held = 0;
    uint64_t n = 1 + 258 * (uint64_t)runs, a = (1 + 'a' * n) % 65521, b = (n + 'a' * (n * (n + 1) / 2)) % 65521;
    int bits = 0;
    put(&d, "\x78\x01", 2);
    for (uint32_t i = 0; i <= runs + 1; i++) {
        /* The last bits come first: the block's head and the letter; the length 258 at the distance 1; the end. */
        static const struct {
            uint32_t code;
            int bits;
        } begin = {3 | 0x89 << 3, 11}, run = {0xa3, 13}, end = {0, 7};
        held |= (!i ? begin.code : i <= runs ? run.code : end.code) << bits;
        bits += !i ? begin.bits : i <= runs ? run.bits : end.bits;
        for (; bits >= 8; bits -= 8, held >>= 8) put_number(&d, held & 255, 1, false);
    }
    put_number(&d, held & 255, bits ? 1 : 0, false);
    put_number(&d, (uint32_t)(b << 16 | a), 4, false);
    return d;
}

struct drawn drawn_with_texts(int texts)
{
    struct drawn whole = drawn_png(2, 8, false, 0), text = {0}, packed = letters(7900000 / 258), d = {0};
    size_t front = 8 + 12 + 13; /* the signature and IHDR */
    put(&text, "k\0", 3);
    put(&text, packed.bytes, packed.n);
    put(&d, whole.bytes, front);
    for (int i = 0; i < texts; i++) put_chunk(&d, "zTXt", &text);
    put(&d, whole.bytes + front, whole.n - front);
    free(whole.bytes);
    free(packed.bytes);
    free(text.bytes);
    return d;
}

struct drawn drawn_head(uint32_t width, uint32_t height)
{
    struct drawn d = head(width, height, 2, 8, false), none = {0};
    put_chunk(&d, "IDAT", &none);
    return d;
}

/* ---- Others ------------------------------------------------------------------------------------------------------ */

static struct drawn read_golden(const char *name)
{
    char path[256];
    struct drawn d = {0};
    uint8_t part[4096];
    snprintf(path, sizeof path, "src/image/corpus/decode/%s", name);
    FILE *f = fopen(check_data(path), "rb");
    if (!f) abort();
    for (size_t n; (n = fread(part, 1, sizeof part, f));) put(&d, part, n);
    fclose(f);
    return d;
}

/* Behind the first two bytes. */
static void note_in_jpeg(struct drawn *out, const struct drawn *in, const struct drawn *noted)
{
    put(out, in->bytes, 2);
    put(out, "\xff\xe1", 2);
    put_number(out, (uint32_t)noted->n + 8, 2, false);
    put(out, "Exif\0", 6);
    put(out, noted->bytes, noted->n);
    put(out, in->bytes + 2, in->n - 2);
}

/* In a container of the extended form, which tells what is in it. */
static void note_in_webp(struct drawn *out, const struct drawn *in, const struct drawn *noted)
{
    struct drawn all = {0};
    put(&all, "WEBPVP8X", 8);
    put_number(&all, 10, 4, true);
    put_number(&all, 8, 4, true); /* there is Exif */
    put_number(&all, DRAWN_WIDTH - 1, 3, true);
    put_number(&all, DRAWN_HEIGHT - 1, 3, true);
    put(&all, in->bytes + 12, in->n - 12);
    put(&all, "EXIF", 4);
    put_number(&all, (uint32_t)noted->n, 4, true);
    put(&all, noted->bytes, noted->n);
    put(out, "RIFF", 4);
    put_number(out, (uint32_t)all.n, 4, true);
    put(out, all.bytes, all.n);
    free(all.bytes);
}

struct drawn drawn_file(const char *name, int orientation)
{
    struct drawn in = read_golden(name), out = {0};
    if (!orientation) return in;
    struct drawn noted = exif(orientation, true);
    if (strstr(name, ".jpg"))
        note_in_jpeg(&out, &in, &noted);
    else
        note_in_webp(&out, &in, &noted);
    free(noted.bytes);
    free(in.bytes);
    return out;
}

bool drawn_find_program(char program[PATH_MAX])
{
    const char *tandem = getenv("TANDEM");
    char path[2 * PATH_MAX], found[PATH_MAX];
    snprintf(path, sizeof path, "%s-image", tandem ? tandem : "build/tandem");
    if (!realpath(path, found) || access(found, X_OK)) return false;
    snprintf(path, sizeof path, "%.*s:%s", (int)(strrchr(found, '/') - found), found, getenv("PATH"));
    setenv("PATH", path, 1);
    if (program) strcpy(program, found);
    return true;
}
