/* tokenizer.json from anyone: loading fails with one line, or gives a tokenizer that encodes and decodes. */
#include <stdlib.h>
#include <string.h>

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
    struct marks marks;
    marks_init(&marks);
    marks_read_template(&marks, (struct span){(const char *)data, n});
    if (marks.n > MARKS_MAX) abort();
    if (!status) {
        struct tokenizer_parts parts = *tokenizer_json_parts(json);
        if (n % 2) parts.marks = &marks;
        status = tokenizer_load_parts(&t, &parts, &err);
    }
    tokenizer_json_close(json);
    if (status) {
        if (t || !err.text[0]) abort();
        return 0;
    }
    for (size_t i = 0; n % 2 && i < marks.n; i++) { /* what isn't an added token can't come of text */
        char mark[256] = "";
        memcpy(mark, marks.texts[i].bytes, marks.texts[i].length);
        struct ids spelled = {0};
        tdm_id id = tokenizer_find(t, mark);
        if (tokenizer_encode(t, mark, marks.texts[i].length, 0, 0, &spelled, &err)) abort();
        if (id >= 0 && spelled.count == 1 && spelled.id[0] == id) abort();
        ids_free(&spelled);
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
