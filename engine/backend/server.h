/* A server as a backend. A state is the tokens of a prompt that the server was asked to evaluate, and a pass is a
 * request for the prompt so far (tandem/server.h). The server decides how much of that its cache keeps: a state that it
 * has dropped costs time, never correctness. There are no logits to sample from: a reply is a request of its own
 * (chat/writer/stream.c).
 *
 * Threads: as backend.h says. */
#ifndef TANDEM_BACKEND_SERVER_H
#define TANDEM_BACKEND_SERVER_H

#include "engine/backend/backend.h"
#include "engine/base/buffer.h"
#include "engine/text/tokenizer.h"
#include "engine/text/written.h"

#include <pthread.h>

/* A prompt in the two forms in which it may be sent to a server: as text, or as messages. */
struct server_prompt {
    const tdm_id *ids;  /* [n] */
    const size_t *ends; /* [n]: where each ends in the text */
    uint32_t n;
    const struct written *text;
    const tdm_message *messages;
    size_t n_messages;
    size_t last;       /* bytes of the last message that the ids stand for */
    struct span begun; /* of a reply that is continued: its answer so far */
};

/* The connection to a server, which a model there has in place of weights. */
struct server_link {
    struct backend_model model; /* on that server */
    tdm_server server;
    const struct tokenizer *tokenizer; /* by which ids become text */
    char *name, *host;
    double round_trip_ms;
    tdm_speculation ahead;
    bool in_turn;    /* as tdm_server_options */
    bool renders;    /* the messages, itself: then only a request (tdm_server_ask) says whether to think */
    bool same_words; /* tokens are counted on this machine with the server's own vocabulary */
    atomic_bool told_thoughtless; /* the user was told that a reply was to have thinking and had none */
    pthread_mutex_t lock; /* guards what follows */
    struct server_prompt wanted;
    tdm_server_counts last;
    atomic_bool
        rereads; /* the server has no cache of prefixes: it evaluates a whole prompt anew even if only its end is new */
};

extern const struct backend backend_server;

/* A model of this configuration on the server that the options name. The weights and the tokenizer outlive it. */
tdm_status server_link_new(struct server_link **out, const tdm_server_options *options, const struct weights *w,
                           const struct tokenizer *tokenizer, tdm_error *err);
void server_link_free(struct server_link *link); /* NULL is allowed */

/* Notes the server's counts for a prompt whose first `known` tokens it was asked to evaluate before. Counts that it did
 * not report change nothing. */
void server_told(struct server_link *link, const tdm_server_counts *counts, uint32_t known);
tdm_server_counts server_last(struct server_link *link);

/* Keeps a copy of the prompt that is wanted now, from which the text of a state's tokens is taken. Without memory none
 * is wanted. */
tdm_status server_want(struct server_link *link, const struct server_prompt *prompt, tdm_error *err);

/* A copy of that. TDM_E_NOMEM also where none is wanted. */
tdm_status server_wanted(struct server_link *link, struct server_prompt *out, tdm_error *err);
/* A copy, freed by server_prompt_free. */
tdm_status server_prompt_copy(struct server_prompt *to, const struct server_prompt *from, tdm_error *err);
void server_prompt_free(struct server_prompt *prompt);
/* Appends the text of its first n ids. Where a message spells an added token, a mark that the template writes in this
 * prompt, or a word that looks like one (<|NAME|>), U+2060 is inserted after its first character. Bytes that are not
 * UTF-8 become U+FFFD. */
tdm_status server_text(const struct tokenizer *t, const struct server_prompt *prompt, uint32_t n, struct buffer *out,
                       tdm_error *err);

/* s becomes the state of these tokens, without a request. At most the context of its pool. */
void server_state_set(struct state *s, const tdm_id *ids, uint32_t n);

#endif
