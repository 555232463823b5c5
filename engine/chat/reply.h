/* Turns generated ids into the text of a reply: thinking and answer separated, whole characters only, cut at stop
 * strings.
 *
 * A reply that thinks starts inside the think block (the prompt's suffix opened it); the token `</think>` ends it, and
 * the white space after it belongs to neither part. Stop strings are looked for in the answer only; text that may be
 * the beginning of one is held back until more text decides. One thread at a time.
 */
#ifndef TANDEM_CHAT_REPLY_H
#define TANDEM_CHAT_REPLY_H

#include "engine/base/buffer.h"
#include "engine/text/detokenizer.h"

struct reply {
    const struct tokenizer *tokenizer;
    struct detokenizer detokenizer;
    tdm_id think_end;         /* id of </think>, or -1 */
    bool thinking;            /* in the think block */
    bool skip_space;          /* behind </think>, before the answer's first character */
    const char *const *stops; /* NULL-terminated; or NULL; the caller's */
    struct buffer held;       /* answer text not yet given out, behind `given` bytes that the last call gave */
    size_t given;
    struct buffer thought;    /* likewise of a server's thinking: what may be the beginning of </think> */
    size_t thought_given;
};

/* thinking: the prompt has opened a think block. */
void reply_init(struct reply *r, const struct tokenizer *t, bool thinking, const char *const *stops);
void reply_free(struct reply *r);

/* The text that one id adds, valid until the next call. */
struct reply_piece {
    struct span thinking, answer;
    bool stopped; /* a stop string was met: the answer ends with this piece */
};

tdm_status reply_push(struct reply *r, tdm_id id, struct reply_piece *out, tdm_error *err);
/* The same for text of a server: whole characters, among which the spelling </think> ends the thinking. thought: the
 * server has told it apart, it is all thinking. */
tdm_status reply_push_text(struct reply *r, struct span text, bool thought, struct reply_piece *out, tdm_error *err);
/* At the end of the reply: the text that was held back. */
tdm_status reply_finish(struct reply *r, struct reply_piece *out, tdm_error *err);

#endif
