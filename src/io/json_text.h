/* json-c's objects as text. json-c's own writer leaves parts out without memory, and does not report it. */
#ifndef TANDEM_SRC_JSON_TEXT_H
#define TANDEM_SRC_JSON_TEXT_H

#include <json-c/json_object.h>

#include "engine/base/buffer.h"

typedef enum {
    JSON_TEXT_LINE,  /* {"key":"value"} */
    JSON_TEXT_INDENTED, /* each member and element on its own line, indented by two spaces */
} json_text_form;

/* Marks an object or array as incomplete; NULL, which counts as incomplete, is allowed. */
void json_text_lacks(json_object *o);

/* Appends the text, and a zero that doesn't count. TDM_E_NOMEM: no memory, o is NULL, or a part of it is incomplete;
 * then the buffer is unchanged. */
tdm_status json_text_write(json_object *o, json_text_form form, struct buffer *out, tdm_error *err);

#endif
