/* Any messages: the template renders or refuses them; no message makes a token of the template's, and an open form's
 * ids begin those of the closed one. Input: a byte of options, then messages, each a byte for role and form and text
 * up to the next byte 0xF8. */
#include <stdlib.h>
#include <string.h>

#include "engine/text/template.h"
#include "tests/engine/text/fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

#define MESSAGES 8

static size_t read_messages(const uint8_t *data, size_t n, tdm_message *messages)
{
    size_t count = 0;
    while (n && count < MESSAGES) {
        unsigned head = *data++;
        n--;
        const uint8_t *stop = n ? memchr(data, 0xF8, n) : NULL;
        size_t length = stop ? (size_t)(stop - data) : n, half = head & 4 ? length / 2 : 0;
        messages[count++] = (tdm_message){
            .role = (tdm_role)(head % 3),
            .text = (const char *)data + half,
            .length = length - half,
            .thinking = head & 4 ? (const char *)data : NULL,
            .thinking_length = half,
        };
        n -= length + (stop != NULL);
        data += length + (stop != NULL);
    }
    return count;
}

static void check_ids(const struct tokenizer *t, const struct template_options *options, const tdm_message *messages,
                      size_t n)
{
    struct ids ids = {0};
    struct template_place places[MESSAGES];
    char *text;
    size_t length, starts = 0, ends = 0;
    must_hold(!template_render(options, messages, n, &text, &length, NULL, NULL));
    must_hold(!template_encode(t, options, messages, n, 0, &ids, places, NULL));
    for (size_t i = 0; i < ids.count; i++) {
        starts += ids.id[i] == tokenizer_find(t, "<|im_start|>");
        ends += ids.id[i] == tokenizer_find(t, "<|im_end|>");
    }
    must_hold(starts == ends + options->generation);
    /* Qwen3.8 leaves an empty system message out, and makes one for what it says of the effort. */
    must_hold(ends == n || (options->form.kind == TEMPLATE_QWEN38 && ends + 1 >= n && ends <= n + 1));
    must_hold(!ids.count || ids.end[ids.count - 1] == length);
    for (size_t i = 0; i < n; i++) {
        must_hold(places[i].end - places[i].begin + places[i].source <= messages[i].length);
        must_hold(
            !memcmp(text + places[i].begin, messages[i].text + places[i].source, places[i].end - places[i].begin));
        must_hold(template_read(&places[i], length) <= messages[i].length);
    }
    if (n && messages[n - 1].role == TDM_USER) {
        struct template_options open = *options;
        tdm_message last[MESSAGES];
        struct ids part = {0};
        memcpy(last, messages, n * sizeof *messages);
        last[n - 1].length /= 2;
        open.open = true;
        open.generation = false;
        tdm_status status = template_encode(t, &open, last, n, 0, &part, NULL, NULL);
        must_hold(!status || status == TDM_E_REFUSED);
        /* A user message that ends up as a tool's response shows the thinking before it after all. */
        if (!memmem(text, length, "<tool_response>", 15))
            for (size_t i = 0; i < part.count; i++) must_hold(i < ids.count && part.id[i] == ids.id[i]);
        ids_free(&part);
    }
    ids_free(&ids);
    free(text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    const struct tokenizer *t = fuzz_tokenizer();
    if (!n) return 0;
    template_recognise((struct span){(const char *)data, n});
    unsigned flags = data[0];
    struct template_options options = {
        .form = {flags & 1 ? TEMPLATE_BUILTIN : (enum template_kind)((flags >> 3) % 3), !(flags & 1), false},
        .think = (tdm_thinking)(flags & 2 ? 1 + (flags >> 5) % (TDM_THINKINGS - 1) : 0),
        .generation = flags & 4,
        .keep = flags & 64,
    };
    tdm_message messages[MESSAGES];
    size_t count = read_messages(data + 1, n - 1, messages);
    char *text;
    size_t length;
    tdm_error err = {.text = ""};
    tdm_status status = template_render(&options, messages, count, &text, &length, NULL, &err);
    if (status) {
        must_hold(status == TDM_E_REFUSED && err.text[0] && !text);
        return 0;
    }
    free(text);
    check_ids(t, &options, messages, count);
    return 0;
}
