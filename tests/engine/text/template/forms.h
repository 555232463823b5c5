/* Small templates of the tests' own (templates/NAME.jinja), and the built-in model's. */
#ifndef TANDEM_TESTS_TEXT_TEMPLATE_FORMS_H
#define TANDEM_TESTS_TEXT_TEMPLATE_FORMS_H

#include "engine/text/template/template.h"

/* Its text, kept until the program ends; NULL with a failed check. "builtin": that of the model in assets. */
const char *forms_text(const char *name);
/* The template with the vocabulary of tests/goldens/tiny-a, kept likewise. */
const struct template *forms_template(const char *name);

/* Appends the ids of a prompt; places may be NULL. */
tdm_status forms_encode(const struct template *t, const struct tokenizer *tokenizer,
                        const struct template_options *options, const tdm_message *messages, size_t n, struct ids *out,
                        struct template_place *places, tdm_error *err);

#endif
