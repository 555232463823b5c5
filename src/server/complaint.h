/* The error message of a server, in the server's words, as one line. Servers have no common form for errors:
 *
 *   {"error": {"message": ...}}, {"error": "..."}, a list of these    OpenAI and its like, Google
 *   {"detail": "..."}, {"detail": [{"loc": [...], "msg": ...}]} FastAPI, with which vLLM and others refuse a field
 *   {"object": "error", "message": ...}, {"message": ...}             SGLang, proxies
 *   a page of HTML, a line of plain text                              proxies
 *
 * Everything that comes from a server is untrusted. */
#ifndef TANDEM_SRC_COMPLAINT_H
#define TANDEM_SRC_COMPLAINT_H

#include <json-c/json_object.h>
#include <stdbool.h>

#include "engine/base/span.h"

enum { COMPLAINT = 300 }; /* bytes of the message, with the zero */

/* The message of an error in a JSON value, as one harmless line. False: the value has no error. */
bool complaint_of(json_object *o, char out[COMPLAINT]);
/* The same for the body of an error answer of any form: JSON, the title or the text of a page, or plain text. */
bool complaint_read(struct span body, char out[COMPLAINT]);

#endif
