/* The messages of a rendered prompt (tandem.h, tdm_server_ask), for servers that render prompts themselves. No message
 * can spell <|im_start|> or <|im_end|>, so the text tells where each begins and ends. Pure. */
#ifndef TANDEM_SRC_PROMPT_TURNS_H
#define TANDEM_SRC_PROMPT_TURNS_H

#include <stdbool.h>
#include <stddef.h>

#include "engine/base/span.h"
#include "engine/tandem.h"

typedef struct {
    tdm_message *list; /* malloc'ed; the texts point into the prompt */
    size_t n;
    struct span begun; /* what there is of a reply that is to be continued; empty: none */
    bool open;         /* the last message is the user's and may go on, if it has begun at all */
} prompt_turns;

/* Thinking of past turns is no part of them. There is room for one message more. TDM_E_FORMAT: it is no such prompt. */
tdm_status prompt_turns_read(prompt_turns *out, struct span prompt, tdm_error *err);
void prompt_turns_free(prompt_turns *m);

#endif
