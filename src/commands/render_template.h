/* `tandem render` with variables: the text that a chat template makes of messages and of other variables. */
#ifndef TANDEM_SRC_RENDER_TEMPLATE_H
#define TANDEM_SRC_RENDER_TEMPLATE_H

#include "engine/tandem.h"
#include "src/cli/options.h"

/* Prints the text, or its ids. path: of the template; NULL: the model's own. m: the model for the ids, and for begin
 * and end tokens that the options don't name; NULL: no model. */
tdm_status render_template(options *o, const char *path, const tdm_model *m, tdm_error *err);
/* One line of ids (render.c). */
void render_print_ids(const tdm_ids *ids);

#endif
