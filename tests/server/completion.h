/* Requests for a reply, in each form: read, evaluated, and answered at once or as a stream. */
#ifndef TANDEM_TESTS_COMPLETION_H
#define TANDEM_TESTS_COMPLETION_H

#include "tests/server/answers.h"
#include "tests/server/pages.h"

/* Answers a request; cut: bytes of a stream after which it ends in the middle; -1: it doesn't. */
enum MHD_Result completion_answer(pages *p, struct MHD_Connection *c, answer_form form, json_object *asked, int cut);

/* Is the other end gone? */
bool completion_gone(void *connection);

/* An answer of JSON, which is freed. */
enum MHD_Result completion_send(struct MHD_Connection *c, int status, json_object *o);

#endif
