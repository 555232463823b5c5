/* Macros for the rows of the tables beside this file: one for each use of a key and each form of a row. */
#ifndef TANDEM_MODEL_SCHEMA_ROWS_H
#define TANDEM_MODEL_SCHEMA_ROWS_H

#include "engine/model/config.h"
#include "engine/model/schema/schema.h"

#define FIELD(name) offsetof(struct config, name)

/* ---- Keys: the name in GGUF, the name in config.json, the field of the configuration ----------------------------- */

#define NUMBER(in_gguf, in_json, name, least, most)                                                                    \
    {.gguf = in_gguf, .json = in_json, .use = SCHEMA_NUMBER, .field = FIELD(name), .low = least, .high = most}
/* If the key is an array with a number for each layer, layers of other kinds may have 0. */
#define NUMBER_OF_FULL(in_gguf, in_json, name, least, most)                                                            \
    {.gguf = in_gguf,                                                                                                  \
     .json = in_json,                                                                                                  \
     .use = SCHEMA_NUMBER,                                                                                             \
     .layers = SCHEMA_FULL,                                                                                            \
     .field = FIELD(name),                                                                                             \
     .low = least,                                                                                                     \
     .high = most}
#define NUMBER_OR(in_gguf, in_json, name, least, most, absent)                                                         \
    {                                                                                                                  \
        .gguf = in_gguf, .json = in_json, .use = SCHEMA_NUMBER, .field = FIELD(name), .low = least, .high = most,      \
        .optional = true, .otherwise = absent                                                                          \
    }
#define REAL(in_gguf, in_json, name) {.gguf = in_gguf, .json = in_json, .use = SCHEMA_REAL, .field = FIELD(name)}
#define REAL_OR(in_gguf, in_json, name, absent)                                                                        \
    {.gguf = in_gguf, .json = in_json, .use = SCHEMA_REAL, .field = FIELD(name), .optional = true, .otherwise = absent}
#define FLAG(in_gguf, in_json, name, absent)                                                                           \
    {                                                                                                                  \
        .gguf = in_gguf, .json = in_json, .use = SCHEMA_FLAG, .field = FIELD(name), .otherwise = absent                \
    }
#define EQUAL(in_gguf, in_json, name) {.gguf = in_gguf, .json = in_json, .use = SCHEMA_EQUAL, .field = FIELD(name)}
#define ONLY(in_gguf, in_json, values) {.gguf = in_gguf, .json = in_json, .use = SCHEMA_ONLY, .text = values}
#define SPECIAL(in_gguf, in_json) {.gguf = in_gguf, .json = in_json, .use = SCHEMA_SPECIAL}
#define HARMLESS(in_gguf, in_json, why) {.gguf = in_gguf, .json = in_json, .use = SCHEMA_HARMLESS, .text = why}

/* The first keys of Gemma models. Checkpoints may leave out the context, and a vocabulary of size `absent`.
 */
#define GEMMA_OPENING(absent)                                                                                          \
    NUMBER(".embedding_length", "hidden_size", hidden, 1, CONFIG_MAX_WIDTH),                                           \
        NUMBER(".context_length", NULL, context_length, 1, CONFIG_MAX_CONTEXT),                                        \
        NUMBER_OR(NULL, "max_position_embeddings", context_length, 1, CONFIG_MAX_CONTEXT, 131072),                     \
        NUMBER_OR(NULL, "vocab_size", vocab, 1, INT32_MAX, absent)

/* ---- Tensors ----------------------------------------------------------------------------------------------------- */

#define TENSOR_AS(what, in_gguf, in_hf, where, height, width, how, heads)                                              \
    {.role = what,                                                                                                     \
     .gguf = in_gguf,                                                                                                  \
     .hf = in_hf,                                                                                                      \
     .scope = where,                                                                                                   \
     .rows = height,                                                                                                   \
     .cols = width,                                                                                                    \
     .form = how,                                                                                                      \
     .order = heads}
#define TENSOR(what, in_gguf, in_hf, where, height, width)                                                             \
    TENSOR_AS(what, in_gguf, in_hf, where, height, width, FORM_SAME, ORDER_SAME)
#define VECTOR(what, in_gguf, in_hf, where, width) TENSOR(what, in_gguf, in_hf, where, SIZE_ONE, width)
/* A norm whose checkpoints store w for the multiplier 1 + w; GGUF has 1 + w. */
#define NORM(what, in_gguf, in_hf, where, width)                                                                       \
    TENSOR_AS(what, in_gguf, in_hf, where, SIZE_ONE, width, FORM_ADD_ONE, ORDER_SAME)

/* Embeddings, LM head and the norms around both sublayers, each in the form ROW: NORM or VECTOR. */
#define FOUR_NORMS(ROW)                                                                                                \
    TENSOR(ROLE_EMBED, "token_embd.weight", "embed_tokens.weight", SCOPE_ONCE, SIZE_VOCAB, SIZE_HIDDEN),               \
        TENSOR(ROLE_LM_HEAD, "output.weight", "lm_head.weight", SCOPE_ONCE, SIZE_VOCAB, SIZE_HIDDEN),                  \
        ROW(ROLE_FINAL_NORM, "output_norm.weight", "norm.weight", SCOPE_ONCE, SIZE_HIDDEN),                            \
        ROW(ROLE_INPUT_NORM, "attn_norm.weight", "input_layernorm.weight", SCOPE_EVERY, SIZE_HIDDEN),                  \
        ROW(ROLE_ATTENTION_NORM, "post_attention_norm.weight", "post_attention_layernorm.weight", SCOPE_EVERY,         \
            SIZE_HIDDEN),                                                                                              \
        ROW(ROLE_POST_NORM, "ffn_norm.weight", "pre_feedforward_layernorm.weight", SCOPE_EVERY, SIZE_HIDDEN),          \
        ROW(ROLE_FEED_NORM, "post_ffw_norm.weight", "post_feedforward_layernorm.weight", SCOPE_EVERY, SIZE_HIDDEN)

/* A bias, which is added to a projection's outputs. */
#define BIAS(what, in_gguf, in_hf, where, height) TENSOR(what, in_gguf, in_hf, where, height, SIZE_ONE)
#define OPTIONAL_BIAS(what, in_gguf, in_hf, where, height, how)                                                        \
    {                                                                                                                  \
        .role = what, .gguf = in_gguf, .hf = in_hf, .scope = where, .rows = height, .cols = SIZE_ONE, .order = how,    \
        .optional = true                                                                                               \
    }

#define SEVERAL(in_gguf, in_hf, where, in_groups, count, ...)                                                          \
    {.gguf = in_gguf, .hf = in_hf, .scope = where, .groups = in_groups, .parts = {__VA_ARGS__}, .n_parts = count}
/* Several roles that GGUF files hold in one tensor. */
#define JOINED(in_gguf, in_hf, where, in_groups, count, ...)                                                           \
    {                                                                                                                  \
        .gguf = in_gguf, .hf = in_hf, .scope = where, .groups = in_groups, .parts = {__VA_ARGS__}, .n_parts = count,   \
        .joined = true                                                                                                 \
    }
/* The part that begins after `times` times `other` rows. */
#define PART(in_gguf, in_hf, where, whole, height, times, other)                                                       \
    {.gguf = in_gguf,                                                                                                  \
     .hf = in_hf,                                                                                                      \
     .scope = where,                                                                                                   \
     .groups = SIZE_ONE,                                                                                               \
     .parts = {whole},                                                                                                 \
     .n_parts = 1,                                                                                                     \
     .rows = height,                                                                                                   \
     .before = other,                                                                                                  \
     .before_times = times}
/* One of `count` parts, whose number is the "#" in its name. */
#define NUMBERED_PART(in_gguf, in_hf, where, whole, height, count)                                                     \
    {.gguf = in_gguf, .hf = in_hf, .scope = where, .groups = count, .parts = {whole}, .n_parts = 1, .rows = height}

/* The last row of every list. */
#define END_OF_ROWS {.gguf = NULL}

#endif
