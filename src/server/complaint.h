/* What a server says when it has no answer, in its own words and for one line. Servers have no common form for it:
 *
 *   {"error": {"message": ...}}, {"error": "..."}, a list of these    OpenAI and its like, Google
 *   {"detail": "..."}, {"detail": [{"loc": [...], "msg": ...}]}       FastAPI, by which vLLM and others refuse a field
 *   {"object": "error", "message": ...}, {"message": ...}             SGLang, proxies
 *   a page of HTML, a line of plain text                              proxies
 *
 * Everything that comes from a server is untrusted. */
#ifndef TANDEM_SRC_COMPLAINT_H
#define TANDEM_SRC_COMPLAINT_H

#include <json-c/json_object.h>
#include <stdbool.h>

#include "engine/base/span.h"

enum { COMPLAINT = 300 }; /* bytes of its words, with the zero */

/* The words of an error in a JSON value, as one harmless line. False: it names no error. */
bool complaint_of(json_object *o, char out[COMPLAINT]);
/* The same for the body of a refusal, whatever its form: JSON in any form, the title or the text of a page, or text. */
bool complaint_read(struct span body, char out[COMPLAINT]);

#endif
