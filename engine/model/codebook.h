/* Types whose quants stand for values of a table: IQ4, MXFP4, and the codebook types IQ2 and IQ3.
 *
 * A block of a codebook type is 256 elements. It stores, for each 8 (IQ2) or 4 (IQ3) of them, which entry of a grid has
 * their magnitudes, besides their signs and a scale of 4 bits for each sub-block. Taken apart it is 256 quants, each
 * the place of a value in a table of 16, and the scales:
 *
 *   y = d unit (2 scale + 1) value[quant]      d: the float16 that the block begins with
 */
#ifndef TANDEM_MODEL_CODEBOOK_H
#define TANDEM_MODEL_CODEBOOK_H

#include <stdint.h>

#include "engine/model/type.h"

/* The values. Of IQ2 there are three, in places 0-2, negated in 4-6 (3 bits); of IQ3 eight, negated in 8-15. */
extern const int8_t codebook_iq4[16], codebook_mxfp4[16], codebook_iq2[16], codebook_iq3_xxs[16], codebook_iq3_s[16];

struct codebook {
    const int8_t *values;
    uint8_t sub; /* elements of a sub-block: 16 or 32 */
    float unit;
    /* Takes a block apart: q[TYPE_MAX_BLOCK], s[TYPE_MAX_BLOCK / sub]. */
    void (*split)(const uint8_t *block, uint8_t *q, uint8_t *s);
};

/* NULL for a type that is none. */
const struct codebook *codebook_of(enum type type);

#endif
