/* Chat templates: messages to the text of a prompt, as the model's own template writes it (jinja.h), and the facts that
 * test renderings reveal about a template (template_facts).
 *
 * A template sees what transformers gives it: messages, add_generation_prompt, bos_token, eos_token, tools and
 * documents (none), strftime_now with the time that is passed in; and the variables that switch thinking on or off, if
 * the template reads them. A message that gives its thinking, an empty one too, has it as `reasoning_content`.
 *
 * A message with pictures (where the model has a pad) has its `content` as a list of parts, in order: {"type": "text",
 * "text": ...} and {"type": "image"}, for which templates write the pad between their own marks.
 *
 * Roles, the two tokens and the values of settings are the template's bytes; everything else in a message is data, so
 * that a message can't spell a token (engine/text/written.h).
 *
 * Threads: a template is constant once it is made; any number of threads may use it.
 */
#ifndef TANDEM_TEXT_TEMPLATE_TEMPLATE_H
#define TANDEM_TEXT_TEMPLATE_TEMPLATE_H

#include "engine/text/jinja/jinja.h"
#include "engine/text/tokenizer.h"
#include "engine/text/written.h"

struct template;

struct template_source {
    struct span text;                  /* empty: there is none */
    struct span bos, eos;              /* the texts of these tokens, or empty */
    const struct tokenizer *tokenizer; /* outlives the template; NULL: no marks are looked up */
    struct span pad;                   /* the text of the token that stands for a picture, or empty */
    bool served;                       /* another program renders (a server), and a request can say how to think; text
                                          is empty */
};

/* The origin of a template. */
enum template_kind {
    TEMPLATE_GIVEN,
    TEMPLATE_CHATML, /* the model has no template, and the vocabulary has ChatML's marks */
    TEMPLATE_PLAIN,  /* the vocabulary has no such marks: messages and replies are one text that goes on */
};

/* Replies that are messages, each of a channel (Harmony): <|channel|>NAME<|message|>TEXT<|end|>. A template may have
 * other words. */
enum template_mark { MARK_NAME, MARK_TEXT, MARK_END, TEMPLATE_MARKS };
struct template_channels {
    char *mark[TEMPLATE_MARKS + 1]; /* NULL ends them */
    tdm_id id[TEMPLATE_MARKS];      /* or -1 */
    char *answer;                   /* the name of the answer's channel, all others being thinking; NULL: replies have
                                       no channels */
};

enum { TEMPLATE_BARRED = 4 };

struct template_facts {
    enum template_kind kind;
    unsigned thinkings;             /* 1 << tdm_thinking of each that it knows; OFF always */
    bool always_thinks;             /* with OFF as well: the prompt opens the thinking, or is the same for OFF and ON */
    bool keeps, can_keep, can_drop; /* the thinking of past turns: by default; on request */
    bool no_system;                 /* it refuses system messages, or leaves them out */
    char *opens, *closes; /* the text before and after thinking in a reply, from its first to its last mark; NULL:
                             unknown */
    tdm_ids open_ids, close_ids; /* of these, where the vocabulary is known */
    char *behind;                /* white space that follows `closes` */
    struct template_channels channels;
    /* The words with a bar in `opens` and `closes`, as special tokens have them, which servers leave out of a reply's
     * text unless they are asked for; NULL ends them. */
    char *barred[TEMPLATE_BARRED + 1];
    char *user, *reply;          /* the text that opens a user's turn, and a past reply, or "" */
    tdm_id stop;                 /* the token that ends a reply in a prompt, or -1 */
    /* How the prompt of a reply ends, for each way of thinking. */
    enum template_opening { OPENING_FREE, OPENING_THINKS, OPENING_ANSWERS } opening[TDM_THINKINGS];
};

/* TDM_E_FORMAT: the source is no template. */
tdm_status template_new(struct template **out, const struct template_source *source, tdm_error *err);
void template_free(struct template *t); /* NULL is allowed */
/* ChatML's, which is used where there is none. */
struct span template_chatml(void);
const struct template_facts *template_facts(const struct template *t);

/* Can the template be asked for both? TDM_E_REFUSED: no, with a line that says what is possible. */
tdm_status template_check(const struct template *t, tdm_thinking think, tdm_keep_thinking keep, tdm_error *err);

struct template_options {
    tdm_thinking think;
    tdm_keep_thinking keep;
    bool generation;       /* ends with the opening of the reply */
    struct jinja_time now; /* month 0: unknown */
};

/* Local time of these seconds since 1970. */
struct jinja_time template_time(int64_t seconds);

/* Bytes of a message's text before its last picture; 0 without pictures. The rest is its tail. */
static inline size_t template_fixed(const tdm_message *m)
{
    return m->n_pictures ? m->pictures[m->n_pictures - 1].at : 0;
}

/* The whole prompt. TDM_E_REFUSED: the template refuses the messages. Freed by written_free. */
tdm_status template_render(const struct template *t, const struct template_options *options,
                           const tdm_message *messages, size_t n, struct written *out, tdm_error *err);

/* Where a message's text is in a prompt, if it can be found; of a message with pictures, its tail. */
struct template_place {
    bool found;
    size_t begin, end; /* in the prompt */
    size_t source;     /* there it is text[source .. source + end - begin) of the message */
};

void template_places(const struct template *t, const struct written *prompt, const tdm_message *messages, size_t n,
                     struct template_place *places);
/* Where the turn of a message opens, if its text stands at `begin`. */
size_t template_turn(const struct template *t, const struct written *prompt, const tdm_message *m, size_t begin);

/* The number of ids that end at or before byte `end`. */
size_t template_count(const struct ids *ids, size_t end);
/* How many bytes of a message's text the ids that end at or before `end` cover, including the white space stripped from
 * its beginning. */
size_t template_read(const struct template_place *place, size_t end);

#endif
