/* Pictures in the messages of `tandem render`: a content may be a list of parts as OpenAI's interface has them,
 * {"type": "text", "text": ...} and {"type": "image_url", "image_url": {"url": ADDRESS}} (src/image/address.h). */
#ifndef TANDEM_SRC_RENDER_PICTURES_H
#define TANDEM_SRC_RENDER_PICTURES_H

#include <json-c/json_object.h>

#include "engine/tandem.h"

typedef struct {
    tdm_placed_picture *all; /* of one message after the other */
    size_t *messages;        /* which one each is in */
    size_t n;
} render_pictures;

/* Reads the pictures of an array of messages. `joined`: the messages are the user's, other parts are refused, and the
 * texts of a content's parts become one text in its place. `name` stands in the messages of failure. */
tdm_status render_pictures_read(render_pictures *out, json_object *messages, bool joined, const char *name,
                                tdm_error *err);
/* Shows them to the messages that the array was read as. */
void render_pictures_show(const render_pictures *p, tdm_message *messages);
/* In a prompt's ids each picture's pad becomes as many as it has tokens; most_tokens as in tdm_picture_fit_of. Without
 * pictures nothing is done. */
tdm_status render_pictures_place(const render_pictures *p, const tdm_model *m, uint32_t most_tokens, tdm_ids *ids,
                                 tdm_error *err);
void render_pictures_free(render_pictures *p);

#endif
