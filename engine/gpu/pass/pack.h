/* Private to engine/gpu: the layout of weights in device memory (shaders/products/weights.glsl has the picture).
 *
 * A matrix is divided into tiles of 32 rows, a tile into chunks of 128 columns; the last ones are padded with zeros. A
 * chunk's form, its kind, follows from the type in the file:
 *
 *   as they are    F32, F16, BF16, Q8_0, Q4_K, Q6_K, MXFP4
 *   as Q8_0        Q4_0, Q5_0, IQ4_NL, whose values int8 and a float16 scale hold exactly
 *   as F16         all others, rounded to float16; they take more memory than on the cores
 */
#ifndef TANDEM_GPU_PACK_H
#define TANDEM_GPU_PACK_H

#include <stddef.h>
#include <stdint.h>

#include "engine/model/type.h"

enum weight_kind { KIND_F32, KIND_F16, KIND_BF16, KIND_Q8, KIND_Q4K, KIND_Q6K, KIND_MXFP4, WEIGHT_KINDS };
enum { PACK_ROWS = 32, PACK_COLS = 128 };

enum weight_kind pack_kind(enum type type);
/* Whether products take float activations, or records of int8. */
static inline int pack_takes_floats(enum weight_kind kind)
{
    return kind <= KIND_BF16;
}
size_t pack_chunk_bytes(enum weight_kind kind);
static inline uint32_t pack_chunks(uint32_t cols)
{
    return (cols + PACK_COLS - 1) / PACK_COLS;
}
/* Bytes of a tile of a matrix with this many columns. */
size_t pack_tile_bytes(enum weight_kind kind, uint32_t cols);

/* Packs n <= 32 rows (type_row_bytes apart) of one tile. */
void pack_tile(enum type type, uint32_t cols, void *out, const void *rows, uint32_t n);

#endif
