#include "src/io/messages.h"

#include <stdlib.h>
#include <string.h>

#include "engine/base/error.h"
#include "engine/json/write.h"

static const char *const role_names[] = {[TDM_SYSTEM] = "system", [TDM_USER] = "user", [TDM_ASSISTANT] = "assistant"};

bool messages_role(const char *name, tdm_role *out)
{
    for (int i = 0; i < (int)(sizeof role_names / sizeof *role_names); i++)
        if (!strcmp(name, role_names[i])) {
            *out = (tdm_role)i;
            return true;
        }
    return false;
}

const char *messages_role_name(tdm_role role)
{
    return role_names[role];
}

tdm_status messages_read(json_object *array, const char *name, tdm_message **out, size_t *n, tdm_error *err)
{
    if (!json_is(array, JSON_ARRAY)) return error_set(err, TDM_E_FORMAT, "%s: expected an array of messages", name);
    size_t length = json_length(array);
    tdm_message *messages = calloc(length + 1, sizeof *messages);
    if (!messages) return error_set(err, TDM_E_NOMEM, "%s: no memory for %zu messages", name, length);
    for (size_t i = 0; i < length; i++) {
        json_object *o = json_at(array, i);
        const char *role = json_text(o, "role", NULL);
        tdm_message *m = &messages[i];
        m->text = json_text(o, "content", &m->length);
        m->thinking = json_text(o, "reasoning_content", &m->thinking_length);
        if (!role || !messages_role(role, &m->role) || !m->text) {
            free(messages);
            return error_set(err, TDM_E_FORMAT,
                             "%s: message %zu: expected \"role\": system, user or assistant, and "
                             "\"content\": a text",
                             name, i + 1);
        }
    }
    *out = messages;
    *n = length;
    return TDM_OK;
}

json_object *messages_picture_part(const char *address)
{
    json_object *part = json_new_object(), *url = json_new_object();
    json_add_string(url, "url", address);
    json_add_string(part, "type", "image_url");
    json_add(part, "image_url", url);
    return part;
}
