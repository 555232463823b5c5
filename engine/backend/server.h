/* A server as a backend: a state is the tokens of a prompt that the server was asked to evaluate, and a pass is a
 * request for the prompt so far (tandem.h, 'Servers'). What the server keeps of it is the server's affair: a state that
 * it has forgotten costs time, never correctness. There are no logits, so nothing is drawn from them: a reply is a
 * request of its own (chat/stream.c).
 *
 * Threads: as backend.h says. */
#ifndef TANDEM_BACKEND_SERVER_H
#define TANDEM_BACKEND_SERVER_H

#include "engine/backend/backend.h"
#include "engine/base/buffer.h"
#include "engine/text/tokenizer.h"

#include <pthread.h>

/* What a model on a server has in place of weights. */
struct server_link {
    struct backend_model model; /* on that server */
    tdm_server server;
    const struct tokenizer *tokenizer; /* by which ids become text */
    char *name, *host;
    double round_trip_ms;
    tdm_speculation ahead;
    bool in_turn; /* as tdm_server_options */
    pthread_mutex_t lock; /* guards what follows */
    tdm_server_counts last;
    atomic_bool rereads; /* the server evaluates a prompt anew of which it was only given a new end */
};

extern const struct backend backend_server;

/* The model of this configuration, whose server is reached so. The weights and the tokenizer outlive it. */
tdm_status server_link_new(struct server_link **out, const tdm_server_options *options, const struct weights *w,
                           const struct tokenizer *tokenizer, tdm_error *err);
void server_link_free(struct server_link *link); /* NULL is allowed */

/* Notes what the server told of a request for a prompt of which it was asked for the first `known` tokens before.
 * What it did not tell leaves things as they were. */
void server_told(struct server_link *link, const tdm_server_counts *counts, uint32_t known);
tdm_server_counts server_last(struct server_link *link);

/* Appends the text of ids as a prompt. Only ids of added tokens are spelled as these: where other text spells one, or
 * looks like one (<|NAME|>), a U+2060 stands behind its first character. Bytes that are no UTF-8 become U+FFFD. */
tdm_status server_text(const struct tokenizer *t, const tdm_id *ids, size_t n, struct buffer *out, tdm_error *err);

/* s becomes the state of these tokens, without asking anybody. At most the context of its pool. */
void server_state_set(struct state *s, const tdm_id *ids, uint32_t n);

#endif
