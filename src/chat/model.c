#include "src/chat/app_parts.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/base/error.h"
#include "engine/base/utf8.h"
#include "src/files/recent.h"
#include "src/models/vision.h"
#include "src/models/load.h"
#include "src/models/settings.h"

tdm_status app_open_chat(app *a, load_pair *models, tdm_chat **out, tdm_error *err)
{
    tdm_chat_options c;
    settings_chat_options(&c, a->o, models->model);
    c.reading = battery_reading(&a->battery, a->o);
    tdm_status status = load_chat(out, models, a->machine, &c, err);
    if (!status && a->open.system) status = tdm_chat_set_system(*out, a->open.system, a->open.system_length, err);
    if (status && *out) {
        tdm_chat_close(*out);
        *out = NULL;
    }
    return status;
}

static void remember(void *ctx)
{
    recent_add(((const app *)ctx)->remembering.name);
}

void app_remember_model(app *a, const char *name)
{
    bool remote = load_is_remote(a->o, name); /* nothing is sent there before the user names it again */
    if (a->o->command != COMMAND_CHAT || a->open.private || remote) return;
    task_end(&a->remembering.task);
    free(a->remembering.name);
    a->remembering.name = strdup(name);
    if (a->remembering.name && !task_begin(&a->remembering.task, remember, a, -1)) remember(a);
}

tdm_status app_copy_name(char **out, const char *name, tdm_error *err)
{
    *out = load_is_builtin(name) ? NULL : strdup(name);
    return *out || load_is_builtin(name) ? TDM_OK : error_set(err, TDM_E_NOMEM, "out of memory");
}

void app_count_attached(app *a)
{
    tdm_chat_options c;
    tdm_chat_options_of(a->chat, &c);
    a->attach.files.picture_tokens = (uint32_t)c.picture_tokens;
    attach_job_model(a->attach.job, a->models.model, (uint32_t)c.picture_tokens);
    attach_recount(&a->attach.files, a->models.model);
}

void app_drop_left(app *a)
{
    if (a->left) session_free(a->left);
    free(a->left);
    a->left = NULL;
}

/* Closes the chat; nothing of it is written or read any more. */
static void close_chat(app *a)
{
    state_writer_wait(&a->state_writer);
    sent_strand(&a->open.sent);
    attach_job_model(a->attach.job, NULL, 0);
    tdm_chat_close(a->chat);
    load_pair_close(&a->models);
    a->chat = NULL;
    a->info = (tdm_model_info){0}; /* its strings are the model's */
}

tdm_status app_leave_model(app *a, char name[APP_MODEL_NAME], tdm_error *err)
{
    tdm_chat_status now;
    tdm_error why;
    tdm_chat_status_of(a->chat, &now);
    if (now.phase != TDM_PHASE_IDLE) return error_set(err, TDM_E_BUSY, "a reply is being written; Ctrl-C stops it");
    tdm_status way = background_make_way(a, err);
    if (way) return way;
    sent_settle(&a->open.sent, a->chat);
    if (app_save(a, &why)) return error_set(err, TDM_E_IO, "not saved: %.200s", a->open.unsaved);
    session *s = calloc(1, sizeof *s);
    if (!s) return error_set(err, TDM_E_NOMEM, "out of memory");
    tdm_status status = app_snapshot(a, s, err);
    if (status) {
        free(s);
        return status;
    }
    snprintf(name, APP_MODEL_NAME, "%s", a->info.name);
    size_t length = strlen(name);
    name[length - utf8_incomplete(name, length)] = 0;
    close_chat(a);
    a->left = s;
    return TDM_OK;
}

tdm_status app_switch_model(app *a, const load_pair *models, const char *path, tdm_error *err)
{
    load_pair next = *models;
    session taken;
    const session *s = a->left ? a->left : &taken;
    tdm_chat *chat = NULL;
    char *copy;
    if (a->chat) sent_settle(&a->open.sent, a->chat);
    tdm_status status = app_copy_name(&copy, path, err);
    if (!status) status = background_make_way(a, err);
    if (!status && !a->left) status = app_snapshot(a, &taken, err);
    if (!status) {
        char unseen[160];
        if (vision_unseen(next.model, session_pictures(s), unseen, sizeof unseen))
            status = error_set(err, TDM_E_UNSUPPORTED, "this conversation can't go on there: %s", unseen);
        if (!status) status = app_open_chat(a, &next, &chat, err);
        if (!status)
            status =
                tdm_chat_load(chat, a->open.system, a->open.system_length, s->nodes, s->n, s->leaf, s->created_s, err);
        if (!a->left) session_free(&taken);
    }
    if (status) {
        tdm_chat_close(chat);
        load_pair_close(&next);
        free(copy);
        return status;
    }
    close_chat(a);
    free(a->model_path);
    app_drop_left(a);
    a->chat = chat;
    a->models = next;
    a->model_path = copy;
    app_remember_model(a, copy ? copy : LOAD_BUILTIN);
    tdm_model_describe(next.model, &a->info);
    app_count_attached(a);
    ceilings_recall(&a->ceilings, a->machine, a->info.kernels);
    a->memory.full_budget = a->memory.given_back = 0; /* the new chat has a budget of its own */
    a->open.state_old = true;
    app_begin_save(a);
    return TDM_OK;
}

