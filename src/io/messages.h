#include "engine/json/json.h"
/* Messages of a conversation as JSON: [{"role", "content", "reasoning_content"}]. */
#ifndef TANDEM_SRC_MESSAGES_H
#define TANDEM_SRC_MESSAGES_H

/* Reads an array; the texts point into it. *out is malloc'ed. `name` is for error lines. */
tdm_status messages_read(json_object *array, const char *name, tdm_message **out, size_t *n, tdm_error *err);

/* "system", "user", "assistant"; false when there is no such role. */
bool messages_role(const char *name, tdm_role *out);
const char *messages_role_name(tdm_role role);

/* A part of a message's content as in OpenAI's interface: {"type": "image_url", "image_url": {"url": ADDRESS}}. */
json_object *messages_picture_part(const char *address);

#endif
