/* Conversion of a model to a GGUF file that other engines can load.
 *
 * The contents are those of the public converters: matrices in the requested type if their row length is a multiple of
 * its block (otherwise float16), with Q4_K embeddings and LM head in Q6_K; norms, ssm_a, dt_bias and conv1d as float32;
 * norms with their 1 added, ssm_a = -exp(A_log), value heads reordered so that head g uses key head g % key heads; the
 * MTP head is the last block. Vision towers are left out. The file is replaced atomically.
 */
#ifndef TANDEM_MODEL_CONVERT_H
#define TANDEM_MODEL_CONVERT_H

#include "engine/model/source.h"
#include "engine/text/tokenizer.h"

struct convert_options {
    enum type type; /* one for which convert_makes is true */
    /* Called repeatedly with the bytes written; a non-zero result cancels (TDM_E_CANCELLED). May be NULL. */
    int (*progress)(void *context, uint64_t done, uint64_t total);
    void *context;
};

/* True for Q8_0, Q6_K, Q4_K, Q4_0, BF16 and F16. type_narrow produces the K types and does not search for the best
 * scales: files of converters that search are more accurate. */
bool convert_makes(enum type type);

tdm_status convert_to_gguf(const struct source *s, const char *path, const struct convert_options *options,
                           tdm_error *err);

/* Adds the tokenizer's keys (tokenizer.ggml.*): from tokenizer.json and tokenizer_config.json of a directory, else from
 * the source's lists. A setting that tokenizer_json.h refuses is an error, and so is one that GGUF can't express, such
 * as an unknown splitting rule. */
tdm_status convert_tokenizer(struct gguf_writer *w, const struct source *s, tdm_error *err);

/* Computes scores[id], which are 0 at first, by which pieces are merged in the same order as by their merges; a piece
 * that no merge makes keeps 0. Merges that no scores can express are refused. */
tdm_status convert_scores(const struct tokenizer_parts *parts, float *scores, tdm_error *err);

#endif
