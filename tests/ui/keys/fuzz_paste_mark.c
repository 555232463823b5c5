/* Marks of pastes and forms of answers in arbitrary bytes: nothing is read out of bounds, the marks that are found do
 * not depend on how the text was cut, and every beginning of a whole answer is the beginning of one. The first byte
 * chooses the cuts. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "ui/keys/answer_form.h"
#include "ui/keys/paste_mark.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Kinds and places of all marks, the text coming in pieces: what can be none is let go. */
static size_t count(const char *text, size_t n, size_t piece)
{
    size_t sum = 0, from = 0;
    for (size_t come = piece < n ? piece : n;; come = n - come < piece ? n : come + piece) {
        char *now = malloc(come - from + 1); /* of its own, so that a sanitizer sees its ends */
        size_t at, length, used = 0;
        if (!now) abort();
        memcpy(now, text + from, come - from);
        for (enum paste_mark mark; (mark = paste_mark_find(now + used, come - from - used, 0, &at, &length));) {
            sum = sum * 31 + (from + used + at) * 2 + (mark == PASTE_MARK_END);
            used += at + length;
        }
        size_t partial = paste_mark_partial(now + used, come - from - used);
        if (partial > come - from - used) abort();
        free(now);
        from = come - partial;
        if (come == n) return sum;
    }
}

static void check_form(const char *text, size_t n)
{
    size_t length, part;
    if (answer_form(text, n, &length) != ANSWER_FORM_WHOLE) {
        if (length > n) abort();
        return;
    }
    if (length > n) abort();
    for (size_t i = 1; i < length; i++) {
        enum answer_form form = answer_form(text, i, &part);
        if (form == ANSWER_FORM_NONE || form == ANSWER_FORM_WHOLE) abort();
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < 2) return 0;
    const char *text = (const char *)data + 1;
    size_t n = size - 1;
    if (count(text, n, n) != count(text, n, 1 + data[0] % 16)) abort();
    if (*text == '\033') check_form(text, n < 200 ? n : 200);
    return 0;
}
