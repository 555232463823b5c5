/* The methods of texts, lists, dictionaries and loops. */
#ifndef TANDEM_TEXT_JINJA_METHODS_H
#define TANDEM_TEXT_JINJA_METHODS_H

#include "engine/text/jinja/run/state.h"

struct method_entry {
    const char *name;
    /* NULL: the sandbox refuses it, since it would change the value. */
    struct value (*call)(struct jinja *, struct value self, const struct args *);
};

/* NULL: values of this kind have no such method. */
const struct method_entry *methods_find(struct value self, struct span name);
struct value methods_call(struct jinja *j, const struct method *method, const struct args *args);

/* The implementations that filters share with the methods of the same names. */
const struct str *methods_strip(struct jinja *j, const struct str *s, const struct str *characters, bool left,
                                bool right);
const struct str *methods_upper(struct jinja *j, const struct str *s);
const struct str *methods_lower(struct jinja *j, const struct str *s);
const struct str *methods_capitalize(struct jinja *j, const struct str *s);
const struct str *methods_replace(struct jinja *j, const struct str *s, const struct str *old, const struct str *with,
                                  int64_t count);
struct list *methods_splitlines(struct jinja *j, const struct str *s, bool keep);
struct value methods_items(struct jinja *j, struct value dict);

#endif
