/* Saved sessions: whatever is read is written and read again as the same. */
#include <stdlib.h>

#include "src/session/session.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    session s, again;
    tdm_error err;
    if (session_parse(&s, "fuzz", (const char *)data, size, &err)) return 0;
    size_t n;
    char *text = session_format(&s, &n), *name = session_first_words(&s), *markdown = session_markdown(&s, &n, NULL);
    free(name);
    free(markdown);
    free(text);
    text = session_format(&s, &n);
    if (!text || session_parse(&again, "again", text, n, &err)) abort();
    if (again.n != s.n || again.leaf != s.leaf || session_turns(&again) != session_turns(&s)) abort();
    free(text);
    session_free(&again);
    session_free(&s);
    return 0;
}
