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

/* True for Q8_0, Q6_K, Q4_K, Q4_0, BF16 and F16. The K types are produced by type_narrow, which does not search for the
 * best scales: files of converters that do are more accurate. */
bool convert_makes(enum type type);

tdm_status convert_to_gguf(const struct source *s, const char *path, const struct convert_options *options,
                           tdm_error *err);

/* Adds the tokenizer's keys (tokenizer.ggml.*): from tokenizer.json and tokenizer_config.json of a directory, else from
 * the source's lists. What tokenizer_json.h refuses, and what has no form in GGUF, such as a splitting rule, are
 * errors. */
tdm_status convert_tokenizer(struct gguf_writer *w, const struct source *s, tdm_error *err);

/* Scores by which pieces are made as by their merges: scores[id], which are 0 before; 0 of what no merge makes.
 * Refused: merges that no scores stand for. */
tdm_status convert_scores(const struct tokenizer_parts *parts, float *scores, tdm_error *err);

#endif
