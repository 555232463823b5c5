/* The head of a prompt whose last message is still growing: the text before that message, whatever it becomes.
 *
 * The conversation is rendered twice, with two texts in the message's place that have nothing in common. The common
 * beginning of both prompts is the head. Where the message's text follows it byte by byte in both, the prompt of any
 * text is known without another rendering; else it takes two for each. A template that looks into the message may
 * render it in another way: then what was read ahead was a wrong guess, and the whole prompt counts.
 *
 * Of a message with pictures the tail grows; the text before the last picture belongs to the head.
 *
 * An assistant's message is rendered as a past turn, with a user's behind it.
 */
#ifndef TANDEM_TEXT_TEMPLATE_HEAD_H
#define TANDEM_TEXT_TEMPLATE_HEAD_H

#include "engine/text/template/template.h"

struct template_head {
    struct written text;
    bool copies; /* the message's text follows as it is ... */
    bool strips; /* ... but for the white space at its beginning */
    bool thinks; /* the message has no text yet, but thinking: nothing follows */
    size_t cut;  /* the head's length, where the tokenizer splits there whatever follows; else 0 */
};

/* The text of the last message (its tail) doesn't count, nor do generation and, if it thinks, its thinking. */
tdm_status head_make(struct template_head *head, const struct template *t, const struct template_options *options,
                     const tdm_message *messages, size_t n, bool thinks, tdm_error *err);
void head_free(struct template_head *head);

/* Appends to the head, in `out`, the part of the last message that is known. place: where its text is. *limit: the
 * prompt may end there. */
tdm_status head_grow(const struct template_head *head, const struct template *t, const struct template_options *options,
                     const tdm_message *messages, size_t n, struct written *out, struct template_place *place,
                     size_t *limit, tdm_error *err);

#endif
