/* tokenizer.json from anyone: loading fails with one line, or gives a tokenizer that encodes and decodes. */
#include <stdlib.h>

#include "engine/text/detokenizer.h"
#include "engine/text/tokenizer_json.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    static const char text[] = "Hello <x> caf\xC3\xA9 \r\n 12 's \xFF";
    struct tokenizer *t = NULL;
    struct tokenizer_json *json;
    tdm_error err = {.text = ""};
    tdm_status status = tokenizer_json_open_memory(&json, "fuzz", (const char *)data, n, &err);
    if (!status == !json) abort();
    if (!status) status = tokenizer_load_parts(&t, tokenizer_json_parts(json), &err);
    tokenizer_json_close(json);
    if (status) {
        if (t || !err.text[0]) abort();
        return 0;
    }
    struct ids ids = {0};
    if (tokenizer_encode(t, text, sizeof text - 1, TOKENIZE_ADDED, 0, &ids, &err)) abort();
    struct detokenizer d;
    detokenizer_init(&d, t, false);
    struct span piece;
    for (size_t i = 0; i < ids.count; i++)
        if (detokenizer_push(&d, ids.id[i], &piece, &err)) abort();
    detokenizer_free(&d);
    ids_free(&ids);
    tokenizer_free(t);
    return 0;
}
