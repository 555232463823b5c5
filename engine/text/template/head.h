/* The head of a prompt whose last message is still growing: the text before that message, whatever it becomes.
 *
 * The conversation is rendered twice, with two texts without a common beginning in the message's place. The common
 * beginning of both prompts is the head. Where the message's text follows it byte by byte in both, the prompt of any
 * text is known without another rendering; else it takes two for each. A template that examines the message may render
 * the final text differently: then the tokens read ahead were a wrong guess, and the prompt that is sent is rendered as
 * a whole.
 *
 * In a message with pictures only the tail grows; the text before the last picture belongs to the head.
 *
 * An assistant's message is rendered as a past turn, followed by a user's message.
 */
#ifndef TANDEM_TEXT_TEMPLATE_HEAD_H
#define TANDEM_TEXT_TEMPLATE_HEAD_H

#include "engine/text/template/template.h"

struct template_head {
    struct written text;
    bool copies; /* the message's text follows unchanged ... */
    bool strips; /* ... without the white space at its beginning */
    bool thinks; /* the message has no text yet, but thinking: nothing follows */
    size_t cut;  /* the head's length, if the tokenizer splits there whatever follows; else 0 */
};

/* The tail of the last message has no influence, nor have `generation` and, with `thinks`, its thinking. */
tdm_status head_make(struct template_head *head, const struct template *t, const struct template_options *options,
                     const tdm_message *messages, size_t n, bool thinks, tdm_error *err);
void head_free(struct template_head *head);

/* Appends to the head, in `out`, the part of the last message that is known. place: where its text is. *limit: the
 * prompt may end there. */
tdm_status head_grow(const struct template_head *head, const struct template *t, const struct template_options *options,
                     const tdm_message *messages, size_t n, struct written *out, struct template_place *place,
                     size_t *limit, tdm_error *err);

#endif
