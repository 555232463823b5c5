#include "src/chat/snapshot.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "engine/base/error.h"
#include "src/models/settings.h"

static tdm_status no_memory(tdm_error *err)
{
    return error_set(err, TDM_E_NOMEM, "out of memory");
}

tdm_status snapshot_settings(const tdm_chat *chat, char **out, tdm_error *err)
{
    tdm_chat_options c;
    tdm_chat_options_of(chat, &c);
    for (option_id id = 0; id < OPTION_COUNT; id++) {
        if (option_table[id].section != SECTION_SAMPLING && id != OPTION_THINK && id != OPTION_KEEP_THINKING) continue;
        char text[64];
        settings_text(&c, id, text, sizeof text);
        if (!(out[id] = strdup(text))) return no_memory(err);
    }
    return TDM_OK;
}

static tdm_status take_settings(const snapshot_source *from, session *s, tdm_error *err)
{
    if (!from->settings) return from->chat ? snapshot_settings(from->chat, s->settings, err) : TDM_OK;
    for (option_id id = 0; id < OPTION_COUNT; id++)
        if (from->settings[id] && !(s->settings[id] = strdup(from->settings[id]))) return no_memory(err);
    return TDM_OK;
}

static tdm_status take_nodes(const snapshot_source *from, session *s, tdm_error *err)
{
    const tdm_chat *chat = from->chat;
    if (!chat) return TDM_OK;
    int n = from->most ? from->most : tdm_chat_nodes(chat, from->dialogue);
    int depth = tdm_chat_path(chat, from->dialogue, NULL, 0), *path = calloc((size_t)depth + 1, sizeof *path);
    s->nodes = calloc((size_t)n + 1, sizeof *s->nodes);
    s->attached = calloc((size_t)n + 1, sizeof *s->attached);
    if (!path || !s->nodes || !s->attached) {
        free(path);
        return no_memory(err);
    }
    tdm_chat_path(chat, from->dialogue, path, depth);
    s->leaf = from->most ? from->leaf : depth ? path[depth - 1] : 0;
    free(path);
    for (int i = 0; i < n; i++) {
        tdm_status status = tdm_chat_node(chat, from->dialogue, i + 1, &s->nodes[i], err);
        if (status) return status;
        s->attached[i] = sent_attached(from->sent, &s->nodes[i]);
        s->n = i + 1;
        status = session_note_pictures(s, i, err);
        if (status) return status;
    }
    return TDM_OK;
}

/* *out stays NULL where there is no text. */
static tdm_status copy(char **out, const char *text, tdm_error *err)
{
    *out = text ? strdup(text) : NULL;
    return text && !*out ? no_memory(err) : TDM_OK;
}

tdm_status snapshot_take(const snapshot_source *from, session *out, tdm_error *err)
{
    int64_t now = time(NULL);
    *out = (session){.created_s = from->chat ? tdm_chat_begun(from->chat, from->dialogue) : now,
                     .changed_s = now,
                     .fingerprint = from->info->fingerprint};
    tdm_status status = take_nodes(from, out, err);
    if (!status) status = take_settings(from, out, err);
    if (!status) status = copy(&out->name, from->name, err);
    if (!status && !from->name && out->n && !(out->name = session_first_words(out))) status = no_memory(err);
    if (!status) status = copy(&out->draft, from->draft, err);
    if (!status) status = copy(&out->model_name, from->chat ? from->info->name : NULL, err);
    if (!status) status = copy(&out->model_path, from->model_path, err);
    if (!status && from->system && !(out->system = malloc(from->system_length + 1))) status = no_memory(err);
    if (out->system) {
        memcpy(out->system, from->system, from->system_length + 1);
        out->system_length = from->system_length;
    }
    if (status) session_free(out);
    return status;
}
