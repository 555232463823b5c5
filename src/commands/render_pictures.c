#include "src/commands/render.h"

#include <stdlib.h>
#include <string.h>

#include "engine/base/buffer.h"
#include "engine/base/error.h"
#include "engine/json/write.h"
#include "src/image/address.h"
#include "src/image/picture.h"

/* ---- Reading ----------------------------------------------------------------------------------------------------- */

static tdm_status add(render_pictures *p, size_t message, size_t at, const char *address, tdm_error *err)
{
    tdm_placed_picture *all = realloc(p->all, (p->n + 1) * sizeof *all);
    if (all) p->all = all;
    size_t *messages = all ? realloc(p->messages, (p->n + 1) * sizeof *messages) : NULL;
    if (!messages) return error_set(err, TDM_E_NOMEM, "no memory for %zu pictures", p->n + 1);
    p->messages = messages;
    tdm_picture *seen;
    tdm_status status = address_picture(&seen, address, err);
    if (status) return status;
    p->messages[p->n] = message;
    p->all[p->n++] = (tdm_placed_picture){.picture = seen, .at = at};
    return TDM_OK;
}

static const char *address_of(json_object *part)
{
    return json_text(json_get(part, "image_url"), "url", NULL);
}

/* All of a message, its text into `text`. */
static tdm_status read_parts(render_pictures *p, size_t message, json_object *parts, bool joined, struct buffer *text,
                             tdm_error *err)
{
    tdm_status status = buffer_append(text, "", 0, err);
    for (size_t i = 0, n = json_length(parts); i < n && !status; i++) {
        json_object *part = json_at(parts, i);
        const char *type = json_text(part, "type", NULL), *address = NULL, *words = NULL;
        size_t length;
        if (type && !strcmp(type, "text")) words = json_text(part, "text", &length);
        if (type && !strcmp(type, "image_url")) address = address_of(part);
        if (words)
            status = buffer_append(text, words, length, err);
        else if (address)
            status = add(p, message, text->n, address, err);
        else if (joined)
            return error_set(err, TDM_E_FORMAT,
                             "part %zu: expected \"type\": text, with \"text\", or image_url, with "
                             "\"image_url\": {\"url\"}",
                             i + 1);
    }
    return status;
}

static tdm_status read_message(render_pictures *p, size_t message, json_object *o, bool joined, tdm_error *err)
{
    json_object *parts = json_member(o, "content", JSON_ARRAY);
    const char *role = json_text(o, "role", NULL);
    struct buffer text = {0};
    size_t before = p->n;
    if (!parts) return TDM_OK;
    tdm_status status = read_parts(p, message, parts, joined, &text, err);
    if (!status && joined && p->n > before && role && strcmp(role, "user"))
        status = error_set(err, TDM_E_FORMAT, "only messages of the user have pictures");
    if (!status && joined) json_add_text(o, "content", text.n ? text.bytes : "", text.n);
    buffer_free(&text);
    return status;
}

tdm_status render_pictures_read(render_pictures *out, json_object *messages, bool joined, const char *name,
                                tdm_error *err)
{
    size_t n = json_length(messages);
    *out = (render_pictures){0};
    for (size_t i = 0; i < n; i++) {
        tdm_error inner = {0};
        tdm_status status = read_message(out, i, json_at(messages, i), joined, &inner);
        if (status) return error_set(err, status, "%s: message %zu: %s", name, i + 1, inner.text);
    }
    return TDM_OK;
}

/* ---- Use --------------------------------------------------------------------------------------------------------- */

void render_pictures_show(const render_pictures *p, tdm_message *messages)
{
    for (size_t i = 0; i < p->n; i++) {
        tdm_message *m = &messages[p->messages[i]];
        if (!m->n_pictures++) m->pictures = &p->all[i];
    }
}

static tdm_status tokens_of(const tdm_picture *p, const tdm_model *m, uint32_t most_tokens, size_t *out, tdm_error *err)
{
    tdm_picture_fit fit;
    tdm_status status = picture_fit_sides(m, p, most_tokens, &fit, err);
    *out = status ? 0 : fit.tokens;
    return status;
}

tdm_status render_pictures_place(const render_pictures *p, const tdm_model *m, uint32_t most_tokens, tdm_ids *ids,
                                 tdm_error *err)
{
    tdm_vision vision;
    if (!p->n) return TDM_OK;
    size_t *tokens = calloc(p->n + 1, sizeof *tokens), more = 0, places = 0;
    tdm_status status = tokens ? TDM_OK : error_set(err, TDM_E_NOMEM, "no memory for %zu pictures", p->n);
    tdm_model_vision(m, &vision);
    for (size_t i = 0; i < p->n && !status; i++) {
        status = tokens_of(p->all[i].picture, m, most_tokens, &tokens[i], err);
        more += tokens[i];
    }
    for (size_t i = 0; i < ids->n; i++) places += ids->ids[i] == vision.pad;
    if (!status && places != p->n)
        status = error_set(err, TDM_E_REFUSED, "the chat template has places for %zu pictures of %zu", places, p->n);
    tdm_id *larger = status ? NULL : malloc((ids->n + more + 1) * sizeof *larger);
    if (!status && !larger) status = error_set(err, TDM_E_NOMEM, "no memory for %zu ids", ids->n + more);
    size_t n = 0, next = 0;
    for (size_t i = 0; i < ids->n && !status; i++) {
        size_t times = ids->ids[i] == vision.pad ? tokens[next++] : 1;
        while (times--) larger[n++] = ids->ids[i];
    }
    free(tokens);
    if (status) return status;
    free(ids->ids);
    ids->ids = larger;
    ids->n = n;
    ids->capacity = n;
    return TDM_OK;
}

void render_pictures_free(render_pictures *p)
{
    for (size_t i = 0; i < p->n; i++) tdm_picture_drop(p->all[i].picture);
    free(p->messages);
    free(p->all);
    *p = (render_pictures){0};
}
