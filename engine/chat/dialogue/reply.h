/* Turns generated ids into the text of a reply: thinking and answer separated, whole characters only, cut at stop
 * strings.
 *
 * A reply that thinks starts inside the thinking (the prompt's end opened it), or opens it itself with its first token.
 * The template's marks (template_facts) open and close it: they are known by their ids if these begin with an added
 * token, otherwise by their text. The white space after a mark belongs to neither part. A reply of channels
 * (template_channels) is any number of messages: the text of the answer's channel is the answer, and the reply ends
 * with it; the text of all other channels is thinking; a header, which precedes a message's text, is part of neither.
 * Stop strings are looked for in the answer only; text that may be the beginning of one is held back until more text
 * decides. One thread at a time.
 */
#ifndef TANDEM_CHAT_REPLY_H
#define TANDEM_CHAT_REPLY_H

#include "engine/base/buffer.h"
#include "engine/text/detokenizer.h"
#include "engine/text/template/template.h"

struct reply {
    const struct tokenizer *tokenizer;
    struct detokenizer detokenizer;
    const struct template_facts *facts;
    bool thinking;            /* in the thinking */
    bool opens;               /* at the beginning, where it may open its thinking */
    bool by_text;             /* a mark is known by its text */
    size_t matched;           /* ids of a mark that have come so far */
    bool skip_space;          /* after a mark, before the first character */
    bool header, named;       /* with channels: in a header; in it, after the mark of the channel's name */
    bool thought_before;      /* there was a message of thinking */
    struct buffer name;       /* text of the present header after its last mark */
    struct buffer marked;     /* text in which a mark may have begun */
    const char *const *stops; /* NULL-terminated; or NULL; the caller's */
    struct buffer held;       /* answer text that was held back, after `given` bytes that the last call returned */
    size_t given;
    struct buffer thought; /* likewise thinking that may become a mark, if marks are known by their text */
    size_t thought_given;
};

enum reply_beginning { REPLY_ANSWERS, REPLY_THINKS, REPLY_MAY_THINK };
/* The facts outlive it. */
void reply_init(struct reply *r, const struct tokenizer *t, const struct template_facts *facts,
                enum reply_beginning beginning, const char *const *stops);
void reply_free(struct reply *r);

/* The text that one id adds, valid until the next call. */
struct reply_piece {
    struct span thinking, answer;
    bool stopped; /* a stop string was met: the answer ends with this piece */
    bool ended;   /* the model has ended the answer */
};

tdm_status reply_push(struct reply *r, tdm_id id, struct reply_piece *out, tdm_error *err);
/* The same for text of a server, in whole characters: the spelling of a mark begins and ends the thinking. thought: the
 * server has marked all of this text as thinking. */
tdm_status reply_push_text(struct reply *r, struct span text, bool thought, struct reply_piece *out, tdm_error *err);
/* At the end of the reply: the text that was held back. */
tdm_status reply_finish(struct reply *r, struct reply_piece *out, tdm_error *err);

#endif
