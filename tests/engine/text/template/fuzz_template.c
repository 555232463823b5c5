/* Any messages: the template renders or refuses them; no message makes a token of the template's, and what is
 * known of a message that grows begins the whole prompt. Input: a byte of options, then messages, each a byte for role
 * and form and text up to the next byte 0xF8. */
#include <stdlib.h>
#include <string.h>

#include "engine/text/incremental.h"
#include "engine/text/template/head.h"
#include "tests/engine/text/fuzz.h"
#include "tests/engine/text/template/forms.h"

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

/* What is known of half of the last message begins the whole prompt. */
static void check_growing(const struct tokenizer *t, const struct template *template,
                          const struct template_options *options, const tdm_message *messages, size_t n,
                          const struct written *text, const struct ids *ids)
{
    tdm_message last[MESSAGES];
    struct template_head head = {0};
    struct written part = {0};
    struct template_place place;
    struct incremental *growing;
    struct ids *known;
    size_t limit, length;
    memcpy(last, messages, n * sizeof *messages);
    last[n - 1].length /= 2;
    must_hold(!incremental_new(&growing, t, NULL));
    if (!head_make(&head, template, options, last, n, false, NULL)) {
        must_hold(!head_grow(&head, template, options, last, n, &part, &place, &limit, NULL));
        must_hold(!incremental_set(growing, &part, head.cut, limit, NULL) &&
                  !incremental_stable(growing, &length, NULL));
        must_hold(!incremental_encode(growing, length, &known, NULL));
        /* A user message that ends up as a tool's response shows the thinking before it after all. */
        if (!memmem(text->text, text->n, "<tool_response>", 15))
            for (size_t i = 0; i < known->count; i++) must_hold(i < ids->count && known->id[i] == ids->id[i]);
    }
    incremental_free(growing);
    head_free(&head);
    written_free(&part);
}

static void check_prompt(const struct tokenizer *t, const struct template *template,
                         const struct template_options *options, const tdm_message *messages, size_t n,
                         const struct written *text)
{
    struct ids ids = {0};
    struct template_place places[MESSAGES];
    size_t starts = 0, ends = 0;
    must_hold(!tokenizer_encode_written(t, text->text, text->ends, text->n_ends, &ids, NULL));
    template_places(template, text, messages, n, places);
    for (size_t i = 0; i < ids.count; i++) {
        starts += ids.id[i] == tokenizer_find(t, "<|im_start|>");
        ends += ids.id[i] == tokenizer_find(t, "<|im_end|>");
    }
    must_hold(starts == ends + options->generation);
    /* One leaves an empty system message out, and makes one for what it says of the effort. */
    must_hold(ends + 1 >= n && ends <= n + 1);
    must_hold(!ids.count || ids.end[ids.count - 1] == text->n);
    for (size_t i = 0; i < n; i++) {
        must_hold(places[i].end - places[i].begin + places[i].source <= messages[i].length);
        must_hold(!memcmp(text->text + places[i].begin, messages[i].text + places[i].source,
                          places[i].end - places[i].begin));
        must_hold(template_read(&places[i], text->n) <= messages[i].length);
    }
    if (n && messages[n - 1].role == TDM_USER) check_growing(t, template, options, messages, n, text, &ids);
    ids_free(&ids);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    static const char *const names[] = {"qwen35", "qwen36", "qwen38", "builtin"};
    const struct tokenizer *t = fuzz_tokenizer();
    if (!n) return 0;
    unsigned flags = data[0];
    const struct template *template = forms_template(names[flags >> 3 & 3]);
    struct template_options options = {
        .think = (tdm_thinking)(flags & 2 ? 1 + (flags >> 5) % (TDM_THINKINGS - 1) : 0),
        .generation = flags & 4,
        .keep = flags & 64 ? TDM_KEEP_ON : TDM_KEEP_AUTO,
    };
    tdm_message messages[MESSAGES];
    struct written text = {0};
    tdm_error err = {.text = ""};
    size_t count = read_messages(data + 1, n - 1, messages);
    if (template_check(template, options.think, options.keep, NULL)) return 0;
    tdm_status status = template_render(template, &options, messages, count, &text, &err);
    if (status)
        must_hold(status == TDM_E_REFUSED && err.text[0]);
    else
        check_prompt(t, template, &options, messages, count, &text);
    written_free(&text);
    return 0;
}
