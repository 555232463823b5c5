/* The parts of `tandem render`, beside that of a model's own template (render.c). */
#ifndef TANDEM_SRC_RENDER_H
#define TANDEM_SRC_RENDER_H

#include "engine/json/json.h"
#include "engine/tandem.h"
#include "src/cli/options.h"

/* ---- Pictures in messages -------------------------------------------------------------------------------------------
 *
 * A content may be a list of parts as in OpenAI's interface, {"type": "text", "text": ...} and {"type": "image_url",
 * "image_url": {"url": ADDRESS}} (src/image/address.h). */

typedef struct {
    tdm_placed_picture *all; /* the pictures of all messages, in order */
    size_t *messages;        /* the message of each */
    size_t n;
} render_pictures;

/* Reads the pictures of an array of messages. joined: replaces each list by one text of its parts' texts, and refuses
 * other kinds of parts. `name` is for error lines. */
tdm_status render_pictures_read(render_pictures *out, json_object *messages, bool joined, const char *name,
                                tdm_error *err);
/* Adds them to the tdm_messages that were read from the array. */
void render_pictures_show(const render_pictures *p, tdm_message *messages);
/* Repeats each picture's pad in a prompt's ids as often as the picture has tokens; most_tokens as in
 * tdm_picture_fit_of. Without pictures nothing is done. */
tdm_status render_pictures_place(const render_pictures *p, const tdm_model *m, uint32_t most_tokens, tdm_ids *ids,
                                 tdm_error *err);
void render_pictures_free(render_pictures *p);

/* ---- Variables: the text that a chat template makes of messages and of other variables ----------------------- */

/* Prints the text, or its ids. path: of the template; NULL: the model's own. m: the model for the ids, and for begin
 * and end tokens that the options don't name; NULL: no model. */
tdm_status render_template(options *o, const char *path, const tdm_model *m, tdm_error *err);
/* One line of ids (render.c). */
void render_print_ids(const tdm_ids *ids);

#endif
