/* A cursor over JSON in memory, for files of many megabytes of which little is kept: it makes no tree.
 *
 * The caller walks the document in order, saying what it expects:
 *
 *     json_object(&j);
 *     while (json_member(&j, &key)) {
 *         if (span_is(key, "ids")) {
 *             json_array(&j);
 *             while (json_element(&j)) use(json_integer(&j));
 *         } else {
 *             json_skip(&j);
 *         }
 *     }
 *     json_finish(&j);
 *
 * The first error sticks (in status and in the caller's tdm_error, with the byte offset): from then on members and
 * elements end and values read as 0 or empty, so that a walk needs one check, at its end. Nesting is limited to 64.
 * Input is untrusted. Strings point into the document, or, where they hold escapes, into memory of the cursor that
 * lives until json_close; neither is terminated. */
#ifndef TANDEM_TEXT_JSON_H
#define TANDEM_TEXT_JSON_H

#include <stdint.h>

#include "engine/base/error.h"
#include "engine/base/span.h"

struct json {
    const char *name, *begin, *at, *end;
    tdm_error *err;
    tdm_status status;
    int depth;
    uint64_t started; /* bit d: the container at depth d has had a member or element */
    char *decoded;    /* room for every string with escapes: what is decoded is never longer than its source */
    size_t decoded_used;
};

/* name and bytes must outlive the cursor. */
void json_open(struct json *j, const char *name, const char *bytes, size_t n, tdm_error *err);
void json_close(struct json *j);

/* The first character of the next value: { [ " t f n - or a digit; 0 at the end. */
char json_peek(struct json *j);

void json_object(struct json *j);
bool json_member(struct json *j, struct span *key);
void json_array(struct json *j);
bool json_element(struct json *j);
struct span json_string(struct json *j);
int64_t json_integer(struct json *j);
bool json_boolean(struct json *j);
/* Is the next value null? If so it is read. */
bool json_null(struct json *j);
void json_skip(struct json *j);
/* Nothing but white space may follow. */
void json_finish(struct json *j);

/* Marks the document as wrong at the cursor. */
void json_fail(struct json *j, const char *expected);

#endif
