/* The filters, with Jinja's names and parameters. */
#ifndef TANDEM_TEXT_JINJA_FILTERS_H
#define TANDEM_TEXT_JINJA_FILTERS_H

#include "engine/text/jinja/run/state.h"

/* A filter: its parameters after the value itself, as args_bind takes them, and how many of them are required. */
struct filter_entry {
    const char *name, *parameters;
    unsigned needed;
    /* arg: of each parameter, VALUE_UNDEFINED where it isn't given; `given` has a bit for each that is. */
    struct value (*apply)(struct jinja *, struct value v, const struct value *arg, unsigned given);
    /* Instead of apply, for filters that pass their further arguments on. */
    struct value (*apply_rest)(struct jinja *, struct value v, const struct args *args);
};

/* NULL: there is no filter of this name. */
const struct filter_entry *filters_find(struct span name);
struct value filters_apply(struct jinja *j, const struct filter_entry *filter, struct value v, const struct args *args);

/* The indices of a list's items in sorted order; equal items keep their order. */
size_t *filters_order(struct jinja *j, const struct list *list, bool reversed);

/* Of texts (text_filters.c), of lists (list_filters.c). They end with a name of NULL. */
extern const struct filter_entry text_filters[], list_filters[];

/* An argument as a truth value or an integer; `otherwise` if it isn't given. */
bool filters_truth(struct jinja *j, struct value arg, bool otherwise);
int64_t filters_whole(struct jinja *j, struct value arg, int64_t otherwise);
/* An argument as str() converts it; an undefined one is "". */
const struct str *filters_text(struct jinja *j, struct value v);

#endif
