/* The commands of TeX that stand for a character or a word, and the characters that have raised and lowered forms. */
#ifndef TANDEM_UI_FORMULA_NAMES_H
#define TANDEM_UI_FORMULA_NAMES_H

#include <stddef.h>
#include <stdint.h>

enum formula_kind {
    FORMULA_LETTER,   /* stands close to its neighbours */
    FORMULA_RELATION, /* and binary operators: with a blank on both sides */
    FORMULA_WORD,     /* a function's name: a blank before its argument */
    FORMULA_LARGE,    /* sums and integrals: a blank after them and their limits */
    FORMULA_SPACE,    /* one blank, or more, or nothing */
    FORMULA_ACCENT,   /* over its argument: a mark that combines with each of its characters */
    FORMULA_FONT,     /* its argument in another alphabet; `as`: none */
    FORMULA_TEXT,     /* its argument as it is */
    FORMULA_FRACTION,
    FORMULA_BINOMIAL,
    FORMULA_ROOT,
    FORMULA_OVER, /* its first argument above its second, or below it */
    FORMULA_UNDER,
    FORMULA_BRACE, /* only its argument is shown */
    FORMULA_BOX,
    FORMULA_SIZE, /* size of the following text: not shown */
    FORMULA_LEFT, /* \left and \right: not shown, nor is a dot after them */
    FORMULA_MOD,
    FORMULA_NOT,
    FORMULA_TAG,
    FORMULA_LABEL,
    FORMULA_BEGIN,
    FORMULA_END,
};

struct formula_name {
    const char *name;
    enum formula_kind kind;
    const char *as;
};

/* NULL: unknown. */
const struct formula_name *formula_name(const char *name, size_t n);

/* The raised or lowered form; 0: there is none. */
uint32_t formula_raised(uint32_t point);
uint32_t formula_lowered(uint32_t point);

/* A letter or digit in an alphabet, which `as` of FORMULA_FONT names: 'b' double-struck, 'c' script, 'f' Fraktur. The
 * letter itself if it has no such form. */
uint32_t formula_in_alphabet(uint32_t point, char alphabet);

#endif
