/* The texts that benches read: prompts and messages of an exact number of tokens, cut from assets/bench.txt. */
#ifndef TANDEM_SRC_BENCH_PROMPT_H
#define TANDEM_SRC_BENCH_PROMPT_H

#include "engine/tandem.h"

typedef struct {
    char *text; /* the file's words, one blank between them */
    char **words;
    int n;
} bench_prompt;

/* Reads the file, which is looked for beside the built-in model. */
tdm_status bench_prompt_open(bench_prompt *p, tdm_error *err);
void bench_prompt_close(bench_prompt *p);

/* Appends the first n ids of a rendered prompt whose message is the text, from word `from` on, as long as needed. */
tdm_status bench_prompt_ids(const bench_prompt *p, const tdm_model *m, int from, size_t n, tdm_ids *out,
                            tdm_error *err);

/* A text of exactly `tokens` tokens, from word `from` (modulo their number) on; malloc'ed. */
tdm_status bench_prompt_message(const bench_prompt *p, const tdm_model *m, int from, size_t tokens, char **out,
                                tdm_error *err);
/* The tokens that the template adds to a first message: those of its prompt minus its own. */
tdm_status bench_prompt_frame(const tdm_model *m, size_t *tokens, tdm_error *err);

#endif
