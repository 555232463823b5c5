/* Chat templates: programs in Jinja, run as Jinja2 3.1 runs them in transformers' environment (immutable sandbox,
 * trim_blocks and lstrip_blocks on, loop controls, `generation` tags), with one addition: each byte of the output is
 * marked as written by the template or by the data, so that a message can't forge the template's special tokens.
 *
 * Parsing makes an immutable jinja_template, which threads may share. Each rendering is a struct jinja of its own: the
 * caller builds the values that the template sees, sets them as variables and renders once:
 *
 *     struct jinja *j = jinja_new(NULL);
 *     jinja_value *message = jinja_dict(j, JINJA_DATA), *messages = jinja_list(j, JINJA_DATA);
 *     jinja_put(j, message, "role", jinja_text(j, "user", 4, JINJA_TEMPLATE));
 *     jinja_put(j, message, "content", jinja_text(j, text, n, JINJA_DATA));
 *     jinja_add(j, messages, message);
 *     jinja_set(j, "messages", messages);
 *     status = jinja_render(j, template, &output, &err);
 *     jinja_free(j);
 *
 * Supported: if/elif/else; for with else, filter, unpacking, recursion, break, continue and all of `loop`; set, also of
 * blocks and of namespaces; macro, call, filter, with, raw, generation, print; all expressions but *args and **args in
 * calls; the filters, tests, methods and functions that README.md beside this file lists. Not supported, and refused
 * when parsed: import, include, extends, block. Strings are code points; integers have 64 bits, more is an error.
 *
 * Owners of bytes: a byte is the template's or the data's. The template's are the bytes of its text and constants, and
 * values that the caller declares as such (roles, bos and eos). Computed texts keep the owner: each byte of a slice, a
 * joined, replaced, split, stripped, formatted or repeated text has the owner that it had. Numbers, truth values and
 * the punctuation of printed containers are the data's if any of their inputs is. A special token is recognised only if
 * all of its bytes are the template's.
 *
 * Bounds: a rendering ends after a number of steps, levels, bytes of output and bytes of memory. All memory of a
 * rendering is in one arena, so that nothing is lost when it ends early.
 *
 * Errors are one line with the template's line: "line 12: 'x' is undefined". TDM_E_FORMAT: the template can't be
 * parsed; TDM_E_REFUSED: it raised an exception, its own (then the line is its message alone) or one of Jinja's;
 * TDM_E_UNSUPPORTED: a bound was passed, or it needs a feature that isn't supported; TDM_E_NOMEM.
 *
 * Threads: pure functions; a struct jinja belongs to one thread. No I/O, and no clock but the time that is passed in.
 */
#ifndef TANDEM_TEXT_JINJA_H
#define TANDEM_TEXT_JINJA_H

#include <stdbool.h>
#include <stdint.h>

#include "engine/base/error.h"
#include "engine/base/span.h"

enum { JINJA_LONGEST = 1 << 20 }; /* bytes of a template */

struct jinja_template;
struct jinja;
typedef struct value jinja_value;

enum jinja_source { JINJA_TEMPLATE, JINJA_DATA };

/* TDM_E_FORMAT: the text is no template, or longer than JINJA_LONGEST. *out is freed by jinja_template_free. */
tdm_status jinja_parse(struct jinja_template **out, const char *text, size_t n, tdm_error *err);
void jinja_template_free(struct jinja_template *t);
/* Whether an expression of the template reads this variable. A variable that the template itself sets under this name
 * counts too; words in comments, texts and attributes don't. */
bool jinja_names(const struct jinja_template *t, const char *variable);

struct jinja_bounds {
    uint64_t steps; /* evaluated parts of expressions and statements; 64 bytes or items that are read count as one */
    int depth;      /* nesting of expressions, statements and macros */
    size_t output;  /* bytes */
    size_t memory;  /* bytes */
};

/* Enough for conversations of many megabytes. */
extern const struct jinja_bounds jinja_default_bounds;

/* bounds NULL: the default. NULL without memory. */
struct jinja *jinja_new(const struct jinja_bounds *bounds);
void jinja_free(struct jinja *j);

/* Values live as long as the rendering; texts are copied. Without memory they are NULL; all functions accept NULL, and
 * rendering fails. A value may be put into several containers, but a container not into itself. */
jinja_value *jinja_none(struct jinja *j);
jinja_value *jinja_truth(struct jinja *j, bool truth);
jinja_value *jinja_text(struct jinja *j, const char *bytes, size_t n, enum jinja_source source);
jinja_value *jinja_list(struct jinja *j, enum jinja_source source);
void jinja_add(struct jinja *j, jinja_value *list, const jinja_value *item);
jinja_value *jinja_dict(struct jinja *j, enum jinja_source source);
void jinja_put(struct jinja *j, jinja_value *dict, const char *key, const jinja_value *item);

/* One JSON text as data; `name` stands in the error. Keys keep their order. Integers beyond 64 bits become floats. */
tdm_status jinja_json(struct jinja *j, const char *name, const char *text, size_t n, jinja_value **out, tdm_error *err);
/* A dictionary's value of this key; NULL: it has none, or is no dictionary. */
jinja_value *jinja_get(struct jinja *j, jinja_value *dict, const char *key);
/* Whether it is a list. */
bool jinja_is_list(const jinja_value *value);
/* Makes the template the owner of the `role` of each message of a list, if the role is a word of letters, digits, '-'
 * and '_'. */
void jinja_trust_roles(struct jinja *j, jinja_value *messages);

/* Variables that aren't set are undefined; a template may test whether one is. */
void jinja_set(struct jinja *j, const char *variable, const jinja_value *value);

/* The time that strftime_now gives; without it the template sees no such function. */
struct jinja_time {
    int year, month, day, hour, minute, second; /* month and day from 1 */
};
void jinja_set_now(struct jinja *j, struct jinja_time now);

struct jinja_run {
    size_t end; /* bytes from the end of the run before, or the beginning, to here are ... */
    enum jinja_source source;
};

/* The rendered text. Zero-initialised it is empty; freed by jinja_output_free. */
struct jinja_output {
    char *text; /* zero-terminated */
    size_t length;
    struct jinja_run *runs; /* neighbours differ; the last ends at length */
    size_t n_runs;
};

/* Call it once for each struct jinja. */
tdm_status jinja_render(struct jinja *j, const struct jinja_template *t, struct jinja_output *out, tdm_error *err);
void jinja_output_free(struct jinja_output *out);

#endif
