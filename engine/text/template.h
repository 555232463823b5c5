/* The chat templates of the Qwen3.5 family, written out: messages to the text of a prompt, and to its ids.
 *
 * Qwen3.5: every message is `<|im_start|>ROLE\nTEXT<|im_end|>\n`, TEXT without the white space at its ends (as
 * Python's str.strip() removes it). An assistant message after the last user message keeps its thinking, as
 * `<think>\nTHINKING\n</think>\n\n` before TEXT; earlier ones lose it. Where a message gives no thinking
 * (tdm_message.thinking NULL) and its text holds `</think>`, what comes before that is the thinking. The prompt of a
 * reply ends with `<|im_start|>assistant\n` and `<think>\n`, thinking on, or `<think>\n\n</think>\n\n`, off. Refused,
 * as by the original: no messages, no user message (one that is only a `<tool_response>` does not count), a system
 * message that is not the first.
 *
 * Qwen3.6: the same, and with `keep` every assistant message keeps its thinking block, an empty one included.
 *
 * Qwen3.8: `keep` is what the template itself does unless it is told not to; `</think>` in a TEXT is text; a system
 * message without text is left out. With thinking on, the efforts low and xhigh write a sentence of the template's own
 * at the head of the system turn, which is made for it where there is none; medium writes none.
 *
 * The built-in model's template differs: it refuses nothing, knows no thinking (TEXT is left as it is, and the block of
 * an assistant message after the last user message is empty), and every prompt ends with the empty block.
 *
 * Ids: `<|im_start|>`, `<|im_end|>`, `<think>`, `</think>` written by the template become these tokens, or ordinary
 * text if the vocabulary has no such token. The text between two tokens is tokenised as one string in which added
 * tokens are not recognised, so a message cannot forge a turn. A message's ids therefore do not depend on the text of
 * other messages and may be cached; they depend only on whether it comes after the last user message.
 *
 * Threads: pure functions.
 */
#ifndef TANDEM_TEXT_TEMPLATE_H
#define TANDEM_TEXT_TEMPLATE_H

#include "engine/text/growing.h"

enum template_kind { TEMPLATE_QWEN35, TEMPLATE_QWEN36, TEMPLATE_QWEN38, TEMPLATE_BUILTIN };

struct template_form {
    enum template_kind kind;
    bool can_think;
    bool substituted; /* the model has a template that was not recognised: the user should be told */
};

/* The form for a model with this template (empty: it has none, and the Qwen3.5 form is used). It is recognised by its
 * contents, since files are renamed and templates copied into other models. */
struct template_form template_recognise(struct span text);

/* The form of this name ("qwen3.5", "qwen3.6", "qwen3.8", "built-in"); false: there is none. */
bool template_find(const char *name, struct template_form *out);
const char *template_name(struct template_form form);

/* Whether the form supports these settings: TDM_E_REFUSED with a line that says what it supports. */
tdm_status template_check(struct template_form form, tdm_thinking think, tdm_keep_thinking keep, tdm_error *err);
/* Whether past turns keep their thinking. */
bool template_keeps(struct template_form form, tdm_keep_thinking keep);

struct template_options {
    struct template_form form;
    tdm_thinking think; /* TDM_THINK_ON is medium where the form has efforts; TDM_E_REFUSED where the form can't */
    bool keep;       /* past turns keep their thinking (template_keeps) */
    bool generation; /* ends with the opening of the reply */
    struct growing *growing; /* keeps the ids of the last message's text from call to call (growing.h); or NULL */
    bool open;       /* the last message (user or assistant) is still growing; not with generation. Its stable part
                        (tokenizer_stable_prefix) is rendered and not closed; an assistant's text is the answer
                        alone, after its thinking where that is kept. All assistant messages, this one included, are
                        rendered as if another user message followed. */
};

/* Where a message is in the rendered text, to which the ends of ids refer too. */
struct template_place {
    size_t start;      /* of its <|im_start|> */
    size_t begin, end; /* of what is rendered of its text ... */
    size_t source;     /* ... which is text[source .. source + end - begin) of the message */
};

/* The prompt as text, malloc'ed and zero-terminated, for forms that are not open. places: [n] or NULL. */
tdm_status template_render(const struct template_options *options, const tdm_message *messages, size_t n, char **text,
                           size_t *length, struct template_place *places, tdm_error *err);

/* Appends the prompt's ids, from message `first` on (0: all; n: only what generation adds); ends count bytes of the
 * whole rendered text. first > 0 is TDM_E_UNSUPPORTED where <|im_start|> is no token. places: [n] or NULL. */
tdm_status template_encode(const struct tokenizer *t, const struct template_options *options,
                           const tdm_message *messages, size_t n, size_t first, struct ids *out,
                           struct template_place *places, tdm_error *err);

/* The number of ids that end at or before byte `end`. With place->end: the prompt without the suffix that closes the
 * message and opens the reply. */
size_t template_count(const struct ids *ids, size_t end);

/* How many bytes of a message's text the ids that end at or before `end` cover, including the white space stripped from
 * its beginning: from 0 to the end of what is rendered. */
size_t template_read(const struct template_place *place, size_t end);

#endif
