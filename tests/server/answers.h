/* What the server of the tests says, in the forms of the servers that it stands for. Written after their documentation
 * and sources (tests/server/exchanges says which); pure functions on JSON. Objects are the caller's. */
#ifndef TANDEM_TESTS_ANSWERS_H
#define TANDEM_TESTS_ANSWERS_H

#include <stdbool.h>

#include "engine/json/json.h"
#include "src/server/dialect.h"
#include "tests/server/reply.h"

/* The form of a reply. */
typedef enum {
    FORM_LLAMA,      /* llama-server's /completion */
    FORM_COMPLETION, /* /v1/completions */
    FORM_CHAT,       /* /v1/chat/completions */
    FORM_GENERATE,   /* SGLang's /generate */
} answer_form;

typedef struct {
    answer_form form;
    dialect kind;
    const char *model, *prompt;
    int slot;
    slot_work work;
    const reply *reply; /* NULL: of none */
    bool usage;         /* of a stream: counts at its end were asked for */
    bool old;           /* llama-server: truth values instead of stop_type, no cache_n */
} answer;

/* A stream: what comes before the first piece, a piece, the end's events. NULL: nothing. */
json_object *answer_opening(const answer *a);
json_object *answer_piece(const answer *a, const char *text, size_t n);
json_object *answer_end(const answer *a);
json_object *answer_usage(const answer *a);
bool answer_says_done(const answer *a);
/* All at once. */
json_object *answer_whole(const answer *a);

json_object *answer_error(dialect kind, int status, const char *type, const char *message);

#endif
