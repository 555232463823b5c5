/* `tandem render` with variables: the text that a chat template makes of messages and of other variables. */
#ifndef TANDEM_SRC_RENDER_TEMPLATE_H
#define TANDEM_SRC_RENDER_TEMPLATE_H

#include "engine/tandem.h"
#include "src/cli/options.h"

/* Prints the text, or its ids. path: of the template; NULL: the model's own. m: the model whose ids they are, and whose
 * begin and end tokens are used if the options name none; NULL: no model. */
tdm_status render_template(options *o, const char *path, const tdm_model *m, tdm_error *err);
/* One line of ids (render.c). */
void render_print_ids(const tdm_ids *ids);

#endif
