/* Types whose quants are indices into a table of values: IQ4, MXFP4, and the codebook types IQ2 and IQ3.
 *
 * A block of a codebook type is 256 elements. For each 8 (IQ2) or 4 (IQ3) of them it stores the grid entry with their
 * magnitudes, their signs, and a scale of 4 bits for each sub-block. Decoded, it is 256 quants, each an index into a
 * table of 16 values, and the scales:
 *
 *   y = d unit (2 scale + 1) value[quant]      d: the float16 at the beginning of the block
 */
#ifndef TANDEM_MODEL_CODEBOOK_H
#define TANDEM_MODEL_CODEBOOK_H

#include <stdint.h>

#include "engine/model/type.h"

/* The values. IQ2 has three at 0-2, their negatives at 4-6 (3 bits); IQ3 has eight at 0-7, their negatives at 8-15. */
extern const int8_t codebook_iq4[16], codebook_mxfp4[16], codebook_iq2[16], codebook_iq3_xxs[16], codebook_iq3_s[16];

struct codebook {
    const int8_t *values;
    uint8_t sub; /* elements of a sub-block: 16 or 32 */
    float unit;
    /* Decodes a block into q[TYPE_MAX_BLOCK], s[TYPE_MAX_BLOCK / sub]. */
    void (*split)(const uint8_t *block, uint8_t *q, uint8_t *s);
};

/* NULL: not a codebook type. */
const struct codebook *codebook_of(enum type type);

#endif
