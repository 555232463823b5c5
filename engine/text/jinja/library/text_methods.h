/* Methods of texts that give a text, with the signature of the table in methods.c. */
#ifndef TANDEM_TEXT_JINJA_TEXT_METHODS_H
#define TANDEM_TEXT_JINJA_TEXT_METHODS_H

#include "engine/text/jinja/library/methods.h"

struct value text_capitalize(struct jinja *j, struct value self, const struct args *args);
struct value text_center(struct jinja *j, struct value self, const struct args *args);
struct value text_ljust(struct jinja *j, struct value self, const struct args *args);
struct value text_lower(struct jinja *j, struct value self, const struct args *args);
struct value text_lstrip(struct jinja *j, struct value self, const struct args *args);
struct value text_removeprefix(struct jinja *j, struct value self, const struct args *args);
struct value text_removesuffix(struct jinja *j, struct value self, const struct args *args);
struct value text_replace(struct jinja *j, struct value self, const struct args *args);
struct value text_rjust(struct jinja *j, struct value self, const struct args *args);
struct value text_rstrip(struct jinja *j, struct value self, const struct args *args);
struct value text_strip(struct jinja *j, struct value self, const struct args *args);
struct value text_swapcase(struct jinja *j, struct value self, const struct args *args);
struct value text_title(struct jinja *j, struct value self, const struct args *args);
struct value text_upper(struct jinja *j, struct value self, const struct args *args);
struct value text_zfill(struct jinja *j, struct value self, const struct args *args);

/* The text that an argument is; another value, or an undefined one, fails the template. */
const struct str *text_argument(struct jinja *j, struct value v);
/* Whether all letters that have a case have this one, and there is such a letter. */
bool text_is_case(struct jinja *j, const struct str *s, bool upper);

#endif
