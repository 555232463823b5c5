/* Pictures of tests: one drawing, and files that have it in every form of PNG, which needs no library; JPEG and WebP
 * are files of the fuzz target's corpus (24 x 16, the same drawing), to which a camera's orientation can be added. */
#ifndef TANDEM_TESTS_DRAWN_H
#define TANDEM_TESTS_DRAWN_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { DRAWN_WIDTH = 24, DRAWN_HEIGHT = 16 };

/* The colour of a point: red grows to the right, green downwards, blue falls. */
void drawn_rgb(uint32_t x, uint32_t y, uint8_t out[3]);
/* Of pictures that have it: whole in the left half, in the right one growing downwards from 0 to 255. */
uint8_t drawn_alpha(uint32_t x, uint32_t y);

struct drawn {
    uint8_t *bytes; /* malloc'ed */
    size_t n;
};

/* colour: PNG's type, 0 grey, 2 RGB, 3 a palette, 4 grey and alpha, 6 RGBA; depth: bits. Grey is the red; a palette
 * has 2^depth entries, entry i being the colour of (i, i), and the point has entry (x + y) mod 2^depth, of which the
 * first is transparent. orientation 0: none is noted; below 0: it is noted behind the pixels. Adam7 where
 * interlaced. */
struct drawn drawn_png(int colour, int depth, bool interlaced, int orientation);
/* An RGB PNG with compressed texts of 7.9 million bytes each. */
struct drawn drawn_with_texts(int texts);
/* Puts the folder of tandem-image on PATH; program (may be NULL): its path. False: it was not built. */
bool drawn_find_program(char program[PATH_MAX]);
/* A black PNG of these sides. */
struct drawn drawn_black(uint32_t width, uint32_t height);
/* A PNG that is nothing but its head, with these sides. */
struct drawn drawn_head(uint32_t width, uint32_t height);
/* A golden file, with an orientation unless that is 0. */
struct drawn drawn_file(const char *name, int orientation);

#endif
