/* Turns generated ids into the text of a reply: thinking and answer separated, whole characters only, cut at stop
 * strings.
 *
 * A reply that thinks starts inside the thinking (the prompt's end opened it), or opens it itself with its first token.
 * What opens and closes it is the template's (template_facts): ids, where these begin with an added token, else their
 * text. The white space after either belongs to neither part. A reply of channels (template_channels) is any number of
 * messages: the text of the answer's channel is the answer, and its end the reply's; that of all others is thinking; a
 * header, which is what stands before a message's text, is shown in neither. Stop strings are looked for in the answer
 * only; text that may be the beginning of one is held back until more text decides. One thread at a time.
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
    bool opens;               /* at the beginning: it may open it */
    bool by_text;             /* a mark is known by its text */
    size_t matched;           /* this many ids of a mark have come */
    bool skip_space;          /* behind a mark, before the first character */
    bool header, named;       /* of channels: in a header; behind the mark of its channel's name */
    bool thought_before;      /* there was a message of thinking */
    struct buffer name;       /* of the header that goes on, behind its last mark */
    struct buffer marked;     /* text in which a mark may have begun */
    const char *const *stops; /* NULL-terminated; or NULL; the caller's */
    struct buffer held;       /* answer text not yet given out, behind `given` bytes that the last call gave */
    size_t given;
    struct buffer thought; /* likewise, where marks are known by their text: what may become one */
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
/* The same for text of a server: whole characters, among which the marks' spelling begins the thinking, where it opens,
 * and ends it. thought: the server has marked it: all of it is thinking. */
tdm_status reply_push_text(struct reply *r, struct span text, bool thought, struct reply_piece *out, tdm_error *err);
/* At the end of the reply: the text that was held back. */
tdm_status reply_finish(struct reply *r, struct reply_piece *out, tdm_error *err);

#endif
