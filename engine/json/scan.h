/* A streaming JSON reader over bytes in memory, for files of many megabytes: it builds no tree.
 *
 * The caller walks the document in order and says what it expects:
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
 * The first error is kept (in status and in the caller's tdm_error, with the byte offset). After it objects and arrays
 * end and values are 0 or empty, so a walk needs one check at its end. Nesting is limited to 64. Input is untrusted.
 * Strings point into the document or, if they contain escapes, into memory that lives until jsonscan_close; neither is
 * terminated. */
#ifndef TANDEM_BASE_JSONSCAN_H
#define TANDEM_BASE_JSONSCAN_H

#include <stdint.h>

#include "engine/base/error.h"
#include "engine/base/span.h"

struct jsonscan {
    const char *name, *begin, *at, *end;
    const char *wrong; /* text of errors before the expected value; jsonscan_open sets none */
    bool raw_controls; /* strings may have control characters that aren't escaped, as some programs write them */
    bool halves;       /* an escaped surrogate without its other half is three bytes, which are no UTF-8, not U+FFFD */
    tdm_error *err;
    tdm_status status;
    int depth;
    uint64_t started; /* bit d: the container at depth d has had a member or element */
    char *decoded;    /* the strings with escapes, decoded: never longer than their source */
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
/* Consumes the next value if it is null; false if it is not. */
bool jsonscan_null(struct jsonscan *j);
void jsonscan_skip(struct jsonscan *j);
/* Nothing but white space may follow. */
void jsonscan_finish(struct jsonscan *j);

/* Fails at the current offset. */
void jsonscan_fail(struct jsonscan *j, const char *expected);
/* Fails with TDM_E_NOMEM. */
void jsonscan_no_memory(struct jsonscan *j);

#endif
