/* Any template over any messages: it renders, fails with one line or passes a bound; runs are in order and end with the
 * text, and a byte that no template has written (0x01) is always the data's. Input: the template, a byte 0xFF, and a
 * text that is a message's content and, where it is JSON, the variable `x`. */
#include <stdlib.h>
#include <string.h>

#include "engine/text/jinja/jinja.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

#define must_hold(condition) ((condition) ? (void)0 : abort())

static jinja_value *messages_of(struct jinja *j, const char *text, size_t n)
{
    static const char *const roles[] = {"system", "user", "assistant", "tool"};
    jinja_value *messages = jinja_list(j, JINJA_DATA);
    for (size_t i = 0; i < 4; i++) {
        jinja_value *message = jinja_dict(j, JINJA_DATA);
        jinja_put(j, message, "role", jinja_text(j, roles[i], strlen(roles[i]), JINJA_TEMPLATE));
        jinja_put(j, message, "content", jinja_text(j, text, n, JINJA_DATA));
        jinja_add(j, messages, message);
    }
    return messages;
}

static void check_output(const struct jinja_output *out, bool marked)
{
    size_t at = 0;
    must_hold(strlen(out->text) <= out->length);
    for (size_t i = 0; i < out->n_runs; i++) {
        must_hold(out->runs[i].end > at && out->runs[i].end <= out->length);
        must_hold(!i || out->runs[i].source != out->runs[i - 1].source);
        if (marked && out->runs[i].source == JINJA_TEMPLATE)
            must_hold(!memchr(out->text + at, 1, out->runs[i].end - at));
        at = out->runs[i].end;
    }
    must_hold(at == out->length);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    static const struct jinja_bounds bounds = {.steps = 100000, .depth = 300, .output = 1 << 16, .memory = 8 << 20};
    const uint8_t *cut = n ? memchr(data, 0xFF, n) : NULL;
    size_t length = cut ? (size_t)(cut - data) : n, rest = cut ? n - length - 1 : 0;
    const char *source = (const char *)data, *text = cut ? (const char *)cut + 1 : "";
    struct jinja_template *t;
    tdm_error err = {.text = ""};
    tdm_status status = jinja_parse(&t, source, length, &err);
    if (status) {
        must_hold(!t && err.text[0] && !strchr(err.text, '\n'));
        return 0;
    }
    struct jinja *j = jinja_new(&bounds);
    jinja_value *x;
    must_hold(j);
    if (jinja_json(j, "x", text, rest, &x, NULL) == TDM_OK) jinja_set(j, "x", x);
    jinja_set(j, "messages", messages_of(j, text, rest));
    jinja_set(j, "add_generation_prompt", jinja_truth(j, true));
    jinja_set_now(j, (struct jinja_time){2026, 11, 25, 9, 30, 0});
    struct jinja_output out;
    status = jinja_render(j, t, &out, &err);
    /* The template may spell the byte itself, also by an escape or a product of parts of one. */
    if (status)
        must_hold(err.text[0] && !strchr(err.text, '\n') && !out.text);
    else
        check_output(&out, !memchr(source, 1, length) && !memchr(source, '\\', length));
    jinja_output_free(&out);
    jinja_free(j);
    jinja_template_free(t);
    return 0;
}
