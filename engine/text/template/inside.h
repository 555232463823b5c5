/* Private to engine/text/template: what a template is inside. */
#ifndef TANDEM_TEXT_TEMPLATE_INSIDE_H
#define TANDEM_TEXT_TEMPLATE_INSIDE_H

#include "engine/text/template/template.h"

enum { TEMPLATE_SWITCHES = 4, TEMPLATE_KEEPERS = 5 };

/* A variable by which templates let a model think or not: values in JSON, NULL: not set. */
struct template_switch {
    const char *name, *on, *off;
};
extern const struct template_switch template_switches[TEMPLATE_SWITCHES];

/* A variable by which templates keep the thinking of past turns: if it is true (keeps), or if it is false. */
struct template_keeper {
    const char *name;
    bool keeps;
};
extern const struct template_keeper template_keepers[TEMPLATE_KEEPERS];

#define TEMPLATE_EFFORT "reasoning_effort"

struct template
{
    struct jinja_template *parsed;
    struct span bos, eos, pad; /* copies */
    const struct tokenizer *tokenizer;
    struct template_facts facts;
    const char *effort[TDM_THINKINGS]; /* what reasoning_effort is for each way of thinking; NULL: not set */
    bool empty_tools;                  /* it takes no tools for a list without any, and fails where there is no list */
    const char *thought;               /* a message's thinking is under this name too, where there is any; or NULL */
    bool starved;                      /* while it is made: a lookup failed only for lack of memory */
};

/* Finds the facts of a template that is parsed. TDM_E_NOMEM. */
tdm_status traits_find(struct template *t, tdm_error *err);
void traits_free(struct template_facts *facts);

#endif
