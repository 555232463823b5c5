/* A cursor over JSON in memory, for files of many megabytes of which little is kept: it makes no tree.
 *
 * The caller walks the document in order, saying what it expects:
 *
 *     jsonscan_object(&j);
 *     while (jsonscan_member(&j, &key)) {
 *         if (span_is(key, "ids")) {
 *             jsonscan_array(&j);
 *             while (jsonscan_element(&j)) use(jsonscan_integer(&j));
 *         } else {
 *             jsonscan_skip(&j);
 *         }
 *     }
 *     jsonscan_finish(&j);
 *
 * The first error sticks (in status and in the caller's tdm_error, with the byte offset): from then on members and
 * elements end and values read as 0 or empty, so that a walk needs one check, at its end. Nesting is limited to 64.
 * Input is untrusted. Strings point into the document, or, where they hold escapes, into memory of the cursor that
 * lives until jsonscan_close; neither is terminated. */
#ifndef TANDEM_TEXT_JSONSCAN_H
#define TANDEM_TEXT_JSONSCAN_H

#include <stdint.h>

#include "engine/base/error.h"
#include "engine/base/span.h"

struct jsonscan {
    const char *name, *begin, *at, *end;
    tdm_error *err;
    tdm_status status;
    int depth;
    uint64_t started; /* bit d: the container at depth d has had a member or element */
    char *decoded;    /* room for every string with escapes: what is decoded is never longer than its source */
    size_t decoded_used;
};

/* name and bytes must outlive the cursor. */
void jsonscan_open(struct jsonscan *j, const char *name, const char *bytes, size_t n, tdm_error *err);
void jsonscan_close(struct jsonscan *j);

/* The first character of the next value: { [ " t f n - or a digit; 0 at the end. */
char jsonscan_peek(struct jsonscan *j);

void jsonscan_object(struct jsonscan *j);
bool jsonscan_member(struct jsonscan *j, struct span *key);
void jsonscan_array(struct jsonscan *j);
bool jsonscan_element(struct jsonscan *j);
struct span jsonscan_string(struct jsonscan *j);
int64_t jsonscan_integer(struct jsonscan *j);
bool jsonscan_boolean(struct jsonscan *j);
/* Is the next value null? If so it is read. */
bool jsonscan_null(struct jsonscan *j);
void jsonscan_skip(struct jsonscan *j);
/* Nothing but white space may follow. */
void jsonscan_finish(struct jsonscan *j);

/* Marks the document as wrong at the cursor. */
void jsonscan_fail(struct jsonscan *j, const char *expected);

#endif
