/* Lists of rows that several families share. */
#ifndef TANDEM_MODEL_SCHEMA_PARTS_H
#define TANDEM_MODEL_SCHEMA_PARTS_H

#include "engine/model/schema/schema.h"

/* Keys. */
extern const struct schema_key parts_text_keys[];    /* widths, heads, layers */
extern const struct schema_key parts_rms_keys[];     /* of RMS norms, and keys that always accompany these */
extern const struct schema_key parts_dense_keys[];   /* a dense feed-forward network */
extern const struct schema_key parts_mixture_keys[]; /* a mixture of experts */
extern const struct schema_key parts_scaled_keys[];  /* rotated positions, which may be scaled */
extern const struct schema_key parts_delta_keys[];   /* DeltaNets */

/* Tensors. */
extern const struct schema_tensor parts_norm_tensors[];      /* RMS norms as GGUF has them; embeddings, LM head */
extern const struct schema_tensor parts_head_norm_tensors[]; /* RMS norms of queries and keys */
extern const struct schema_tensor parts_attention_tensors[]; /* without gate */
extern const struct schema_tensor parts_paired_tensors[];    /* the same; GGUF stores rotated pairs side by side
                                                                (ORDER_PAIRS) */
extern const struct schema_tensor parts_bias_tensors[];      /* of queries, keys and values; required */
extern const struct schema_tensor parts_optional_tensors[];  /* biases of all projections; optional */
extern const struct schema_tensor parts_dense_tensors[];
extern const struct schema_tensor parts_mixture_tensors[]; /* experts */
extern const struct schema_tensor parts_shared_tensors[];  /* the expert that all tokens share */

/* Tensors of files that hold several roles. */
extern const struct schema_pieces parts_dense_pieces[];
extern const struct schema_pieces parts_mixture_pieces[];

#endif
