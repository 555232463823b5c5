/* The parts of `tandem info`, beside that of a language model (info.c). */
#ifndef TANDEM_SRC_INFO_H
#define TANDEM_SRC_INFO_H

#include <stdbool.h>

#include "engine/json/json.h"
#include "engine/vision/tower.h"
#include "src/cli/options.h"

/* ---- A vision tower: that of a projector file, or of a model ------------------------------------------------- */

/* Whether the path is that of a projector alone, which is no model. */
bool info_vision_is(const char *path);
/* Prints it (as text or JSON) and returns the exit status. */
int info_vision(const options *o, const char *path);

/* Opens the model's vision tower, to be closed with tower_close; NULL: it has none. */
tdm_status info_vision_open(struct tower **out, const tdm_model *m, tdm_error *err);
/* Print the tower as lines, or add it as a member `vision`; nothing without a tower. For a tower that was found and
 * can't be used they give the reason, as a line or as a member `vision_not_used`. */
void info_vision_lines(const options *o, const tdm_model *m, const struct tower *t);
void info_vision_member(const options *o, const tdm_model *m, const struct tower *t, json_object *to);

/* ---- http://...: the facts that a server reports about itself ------------------------------------------------ */

/* Prints it (as text or JSON) and returns the exit status. */
int info_server(const options *o, const char *address);

#endif
