/* Prompts: what is read holds what its header promises, and a message is made of it. */
#include <stdlib.h>
#include <string.h>

#include "src/chat/prompt.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    enum { LIMIT = 1 << 16 };
    prompt_file p;
    tdm_error err;
    if (prompt_parse(&p, "fuzz", (const char *)data, size, &err)) return 0;
    if (p.n < 1) abort();
    for (int i = 0; i < p.n; i++) {
        if (p.parts[i].kind > PROMPT_FILE || p.parts[i].line < 1 || !p.parts[i].n) abort();
        if (memchr(p.parts[i].text, '\033', p.parts[i].n) || memchr(p.parts[i].text, 0, p.parts[i].n)) abort();
    }
    for (option_id id = 0; id < OPTION_COUNT; id++)
        if (options_given(&p.settings, id) && !prompt_takes(id)) abort();
    struct buffer out = {0};
    tdm_status status = prompt_compose(&p, "input", 5, LIMIT, &out, &err);
    if (!status && (out.n > LIMIT || strlen(out.bytes) != out.n)) abort();
    buffer_free(&out);
    prompt_free(&p);
    return 0;
}
