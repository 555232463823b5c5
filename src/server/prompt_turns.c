#include "src/server/prompt_turns.h"

#include <stdlib.h>
#include <string.h>

#include "engine/base/error.h"

#define START "<|im_start|>"
#define END   "<|im_end|>"

static bool takes(struct span *text, const char *what)
{
    size_t n = strlen(what);
    if (text->length < n || memcmp(text->bytes, what, n)) return false;
    text->bytes += n;
    text->length -= n;
    return true;
}

static bool take_role(struct span *rest, tdm_role *out)
{
    static const struct { const char *line; tdm_role role; } roles[] = {
        {"system\n", TDM_SYSTEM}, {"user\n", TDM_USER}, {"assistant\n", TDM_ASSISTANT}};
    for (size_t i = 0; i < sizeof roles / sizeof *roles; i++) {
        *out = roles[i].role;
        if (takes(rest, roles[i].line)) return true;
    }
    return false;
}

/* Without the think block that it begins with, if it does. */
static struct span answer_of(struct span text)
{
    if (!takes(&text, "<think>")) return text;
    const char *end = text.length ? memmem(text.bytes, text.length, "</think>", 8) : NULL;
    if (!end) return (struct span){text.bytes, 0};
    text.length -= (size_t)(end + 8 - text.bytes);
    text.bytes = end + 8;
    while (takes(&text, "\n")) continue;
    return text;
}

tdm_status prompt_turns_read(prompt_turns *out, struct span rest, tdm_error *err)
{
    size_t room = 2;
    for (size_t i = 0; i + sizeof START <= rest.length + 1; i++)
        room += !memcmp(rest.bytes + i, START, sizeof START - 1);
    *out = (prompt_turns){.list = calloc(room, sizeof *out->list)};
    if (!out->list) return error_set(err, TDM_E_NOMEM, "no memory for %zu messages", room);
    while (rest.length) {
        tdm_role role;
        if (!takes(&rest, START) || !take_role(&rest, &role)) {
            prompt_turns_free(out);
            return error_set(err, TDM_E_FORMAT, "expected a prompt made of turns");
        }
        const char *end = memmem(rest.bytes, rest.length, END, sizeof END - 1);
        struct span text = {rest.bytes, end ? (size_t)(end - rest.bytes) : rest.length};
        rest.bytes += text.length;
        rest.length -= text.length;
        if (end) takes(&rest, END);
        if (end) takes(&rest, "\n");
        if (role == TDM_ASSISTANT) text = answer_of(text);
        if (!end && role == TDM_ASSISTANT)
            out->begun = text;
        else
            out->list[out->n++] = (tdm_message){.role = role, .text = text.bytes, .length = text.length};
        out->open = !end && role == TDM_USER;
    }
    return TDM_OK;
}

void prompt_turns_free(prompt_turns *m)
{
    free(m->list);
    *m = (prompt_turns){0};
}
