/* Any bytes as expressions to split by and a text: refused with one line, or pre-tokens that cover the text, and, up to
 * where more text could change them, the same for a text that is cut there. Input: two expressions and the text, each
 * ended by a line break (so that the expressions have none of their own). */
#include <stdlib.h>
#include <string.h>

#include "engine/base/utf8.h"
#include "engine/text/split/split.h"
#include "tests/engine/text/fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

static struct span take_line(struct span *rest)
{
    const char *stop = rest->length ? memchr(rest->bytes, '\n', rest->length) : NULL;
    struct span line = {rest->bytes, stop ? (size_t)(stop - rest->bytes) : rest->length};
    size_t taken = line.length + (stop != NULL);
    rest->bytes += taken;
    rest->length -= taken;
    return line;
}

static void check_text(const struct split *s, const char *text, size_t n)
{
    struct split_progress whole = {0}, cut = {0};
    size_t at = 0, end, other, half = n / 2;
    bool settled = true;
    while (at < n && !split_next(s, &whole, text, n, at, &end, NULL)) {
        must_hold(end > at && end <= n);
        if (settled && at < half && !split_next(s, &cut, text, half, at, &other, NULL)) {
            settled = !cut.open;
            must_hold(!settled || (other == end && whole.apart == cut.apart));
        }
        at = end;
    }
    split_end(&whole);
    split_end(&cut);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    struct span rest = {(const char *)data, n}, expressions[2] = {take_line(&rest), take_line(&rest)};
    struct split s;
    tdm_error err = {.text = ""};
    if (split_init_expressions(&s, "fuzz", expressions, expressions[1].length ? 2 : 1, &err)) {
        must_hold(err.text[0]);
        return 0;
    }
    /* An invalid character is one where it is cut, too, only where the cut is between two. */
    size_t half = rest.length / 2;
    if (half && half < rest.length && utf8_continues(rest.bytes[half])) rest.length = 0;
    check_text(&s, rest.bytes, rest.length);
    split_free(&s);
    return 0;
}
