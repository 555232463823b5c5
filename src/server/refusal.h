/* What a server says when it has no answer: its error message, as one line, and whether to ask again later. Everything
 * that comes from a server is untrusted. Pure.
 *
 * Servers have no common form for errors:
 *
 *   {"error": {"message": ...}}, {"error": "..."}, a list of these    OpenAI and its like, Google
 *   {"detail": "..."}, {"detail": [{"loc": [...], "msg": ...}]} FastAPI, with which vLLM and others refuse a field
 *   {"object": "error", "message": ...}, {"message": ...}             SGLang, proxies
 *   a page of HTML, a line of plain text                              proxies
 *
 * When a request is repeated:
 *
 *   429 with Retry-After      after that time, if it is at most REFUSAL_BUSY_S; REFUSAL_TRIES times in all
 *   503 with Retry-After      after that time, until REFUSAL_MAX_S have passed
 *   503 'Loading model'       every REFUSAL_LOADING_S seconds, until REFUSAL_MAX_S have passed: llama-server
 *                             and similar servers don't say how long loading takes
 */
#ifndef TANDEM_SRC_REFUSAL_H
#define TANDEM_SRC_REFUSAL_H

#include <stdbool.h>

#include "engine/base/span.h"
#include "engine/json/json.h"

enum { REFUSAL_ROOM = 300 }; /* bytes of the message, with the zero */

/* The message of an error in a JSON value, as one harmless line. False: the value has no error. */
bool refusal_of(json_object *o, char out[REFUSAL_ROOM]);
/* The same for the body of an error answer of any form: JSON, the title or the text of a page, or plain text. */
bool refusal_read(struct span body, char out[REFUSAL_ROOM]);
/* Whether a body is a page of HTML, of which these are the words. */
bool refusal_is_page(struct span body, char out[REFUSAL_ROOM]);

enum { REFUSAL_TRIES = 4, REFUSAL_BUSY_S = 60, REFUSAL_LOADING_S = 5, REFUSAL_MAX_S = 600 };

/* An answer without content. */
typedef struct {
    int status;
    int retry_after_s; /* -1: not said */
    struct span body;
    bool loads; /* a 503 of this server means that it loads its model, whatever its body */
} refusal_answer;

/* Does it load its model, or start? */
bool refusal_is_loading(const refusal_answer *a);
/* Seconds until the next attempt; -1: none. tries: attempts so far; waited_s: seconds since the first. */
int refusal_wait_s(const refusal_answer *a, int tries, int waited_s);

#endif
