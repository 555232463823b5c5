/* Commands that change settings of the conversation: options, system prompt, model. */
#include "src/slash/command.h"

#include <stdlib.h>
#include <string.h>

#include "engine/base/error.h"
#include "engine/os/path.h"
#include "src/cli/words.h"
#include "src/models/family.h"
#include "src/models/models.h"
#include "src/models/settings.h"

void commands_setting(const app *a, option_id id, char *out, size_t room)
{
    const char *text = options_text(a->o, id);
    tdm_chat_options c;
    bool of_app = id == OPTION_NO_LENDING || id == OPTION_ON_BATTERY || id == OPTION_BACKGROUND;
    bool of_chat = option_table[id].flags & LIVE && !of_app;
    if (a->chat && of_chat) {
        tdm_chat_options_of(a->chat, &c);
        settings_text(&c, id, out, room);
    } else {
        snprintf(out, room, "%s", text ? text : option_table[id].initial);
    }
}

/* Where the template writes into the past what the setting is, the conversation is another prompt. The follower has
 * begun on it already. */
uint32_t command_read_again(const slash_running *r, bool system, uint32_t *of)
{
    tdm_chat_status now;
    tdm_chat_status_of(r->a->chat, &now);
    *of = now.target;
    if (now.phase != TDM_PHASE_IDLE) return 0;
    if (system) return tdm_chat_nodes(r->a->chat, TDM_FRONT) ? now.target : 0; /* it stands before all else */
    return now.read_again;
}

static void say_read_again(const slash_running *r, bool system)
{
    uint32_t of, n = command_read_again(r, system, &of);
    if (n) command_say(r, "%u of %u tokens are read again\n", n, of);
}

tdm_status command_system(slash_running *r, tdm_error *err)
{
    const char *text = r->call->argument;
    if (!text) {
        command_say_text(r, r->a->open.system ? "system prompt: " : "no system prompt");
        command_say_text(r, r->a->open.system ? r->a->open.system : "");
        command_say_text(r, "\n");
        return TDM_OK;
    }
    if (!strcmp(text, "off")) text = "";
    tdm_status status = app_set_system(r->a, text, strlen(text), err);
    if (!status) command_say(r, text[0] ? "the system prompt is changed\n" : "no system prompt\n");
    if (!status) say_read_again(r, true);
    return status;
}

/* What /set of this front end shows and changes. */
static bool is_setting(const slash_running *r, option_id id)
{
    return option_table[id].flags & LIVE || (option_table[id].flags & LOOK && r->front->look);
}

/* What it may be, of thinking what the model in use knows. */
static void range_of(const slash_running *r, option_id id, char *out, size_t room)
{
    const tdm_model_info *info = &r->a->info;
    bool known = r->a->chat && (id == OPTION_THINK || id == OPTION_KEEP_THINKING);
    size_t n = 0;
    option_range(id, out, room);
    for (int k = 0; known && id == OPTION_THINK && k < TDM_THINKINGS; k++)
        if (info->thinkings >> k & 1 && n < room)
            n += (size_t)snprintf(out + n, room - n, "%s%s", n ? ", " : "", tdm_thinking_name((tdm_thinking)k));
    if (known && id == OPTION_KEEP_THINKING)
        snprintf(out, room, "auto%s%s", info->can_keep_thinking ? ", on" : "", info->can_drop_thinking ? ", off" : "");
}

/* A row of the list. */
static void list_setting(const slash_running *r, option_id id)
{
    char value[64], range[200];
    commands_setting(r->a, id, value, sizeof value);
    range_of(r, id, range, sizeof range);
    command_say(r, "  %-18s %-20s %s\n", option_table[id].name, value, range);
}

/* One setting: with what it may be, where that was asked. */
static void say_setting(const slash_running *r, option_id id, bool asked)
{
    char value[64], range[200];
    commands_setting(r->a, id, value, sizeof value);
    range_of(r, id, range, sizeof range);
    bool in_vain = id == OPTION_THINK && r->a->chat && r->a->info.always_thinks && !strcmp(value, "off");
    const char *note = in_vain ? "; this model thinks all the same" : "";
    if (asked)
        command_say(r, "%s: %s (%s)%s\n", option_table[id].name, value, range, note);
    else
        command_say(r, "%s: %s%s\n", option_table[id].name, value, note);
}

/* Takes a changed option over; on failure the earlier value is to be put back. */
static tdm_status take_over(const slash_running *r, option_id id, tdm_error *err)
{
    if (option_table[id].flags & LIVE) return app_configure(r->a, err);
    r->front->look(r->front->ctx);
    return TDM_OK;
}

tdm_status command_change(const slash_running *r, const option_id *ids, const char *const *texts, int n, tdm_error *err)
{
    option_value *values = r->a->o->values, before[OPTION_COUNT];
    int set = 0;
    tdm_status status = TDM_OK;
    while (set < n && !status) {
        option_value *v = &values[ids[set]];
        before[set] = *v;
        v->text = NULL; /* option_set must not free what may be put back */
        if (option_set(r->a->o, ids[set], texts[set], FROM_CONVERSATION, err)) {
            set++;
        } else {
            *v = before[set];
            status = TDM_E_ARG;
        }
    }
    if (!status) status = take_over(r, ids[0], err);
    for (int i = 0; i < set; i++) {
        option_value *v = &values[ids[i]];
        free(status ? v->text : before[i].text);
        if (status) *v = before[i];
    }
    return status;
}

/* Sets an option and shows it; on failure the earlier value stays. */
static tdm_status change(const slash_running *r, option_id id, const char *value, tdm_error *err)
{
    tdm_status status = command_change(r, &id, &value, 1, err);
    if (status) return status;
    say_setting(r, id, false);
    if (r->a->chat && (id == OPTION_THINK || id == OPTION_KEEP_THINKING)) say_read_again(r, false);
    return TDM_OK;
}

static tdm_status unknown_setting(const slash_running *r, const char *name, tdm_error *err)
{
    nearest best = {0};
    for (option_id id = 0; id < OPTION_COUNT; id++)
        if (is_setting(r, id)) nearest_offer(&best, name, option_table[id].name);
    if (best.name)
        return error_set(err, TDM_E_NOT_FOUND, "there is no setting '%s'; did you mean '%s'?", name, best.name);
    return error_set(err, TDM_E_NOT_FOUND, "there is no setting '%s'; /set lists them", name);
}

tdm_status command_set(slash_running *r, tdm_error *err)
{
    if (!r->call->argument) {
        for (option_id id = 0; id < OPTION_COUNT; id++)
            if (is_setting(r, id)) list_setting(r, id);
        return TDM_OK;
    }
    char name[64];
    const char *value = r->call->argument;
    size_t n = strcspn(value, " \t=");
    snprintf(name, sizeof name, "%.*s", (int)(n < sizeof name ? n : sizeof name - 1), value);
    value += n;
    value += strspn(value, " \t=");
    option_id id = option_find(COMMAND_CHAT, name);
    if (id == OPTION_COUNT || !(option_table[id].flags & (LIVE | LOOK))) return unknown_setting(r, name, err);
    if (!is_setting(r, id)) return error_set(err, TDM_E_UNSUPPORTED, "%s belongs to the full screen", name);
    if (*value) return change(r, id, value, err);
    say_setting(r, id, true);
    return TDM_OK;
}

/* /think, /pipeline, /speculation, /pace: /set by a shorter name; without an argument they show the value. */
tdm_status command_setting(slash_running *r, tdm_error *err)
{
    option_id id = option_find(COMMAND_CHAT, slash_table[r->call->id].name);
    if (r->call->argument) return change(r, id, r->call->argument, err);
    say_setting(r, id, true);
    return TDM_OK;
}

/* The rows of `tandem models`, with the one in use. */
static tdm_status list_models(slash_running *r, tdm_error *err)
{
    app *a = r->a;
    models_list list;
    ceilings_memory speed;
    tdm_status status = models_find(&list, a->o, err);
    if (!status) status = ceilings_memory_now(&speed, &a->ceilings, a->machine, err);
    for (size_t i = 0; !status && i < list.n; i++) models_describe(&list.rows[i], a->o, NULL, NULL);
    if (!status) status = models_add_servers(&list, a->o, &a->models, a->model_path, err);
    if (!status) status = family_offer(&list, err);
    if (!status) {
        const models_current current = {a->info.path, a->info.packed_bytes, a->info.from_disk_tps};
        models_judge(&list, speed, &current);
        char *text = models_text(&list);
        if (text) command_say_text(r, text);
        free(text);
    }
    models_free(&list);
    return status;
}

static tdm_status load_and_switch(const slash_running *r, const char *path, tdm_error *err)
{
    load_pair models;
    tdm_status status = r->front->load(r->front->ctx, path, &models, err);
    return status ? status : app_switch_model(r->a, &models, path, err);
}

/* There is no room for both models: the one in use is closed first, and loaded again where that does not help. */
static tdm_status switch_in_its_place(const slash_running *r, const char *path, tdm_error *err)
{
    char name[APP_MODEL_NAME];
    tdm_error unheard;
    char *old = strdup(r->a->model_path ? r->a->model_path : LOAD_BUILTIN);
    if (!old || app_leave_model(r->a, name, &unheard)) {
        free(old);
        return TDM_E_NOMEM; /* the first reason stands */
    }
    command_say(r, "no room for both models: %s is closed first\n", name);
    tdm_status status = load_and_switch(r, path, err);
    if (status && load_and_switch(r, old, &unheard)) {
        error_set(err, status, "there is no model any more (%s); the conversation is kept", unheard.text);
        r->result->quit = true;
    }
    free(old);
    return status;
}

tdm_status command_switch_model(const slash_running *r, const char *path, tdm_error *err)
{
    load_pair models;
    tdm_status status = r->front->load(r->front->ctx, path, &models, err);
    if (!status) status = app_switch_model(r->a, &models, path, err);
    else if (status == TDM_E_NOMEM && r->a->chat) status = switch_in_its_place(r, path, err);
    r->result->anew = !status;
    char note[400];
    if (!status) command_say(r, "going on with %s\n", r->a->info.name);
    if (!status && load_template_note(r->a->o, path, note, sizeof note)) command_say(r, "%s\n", note);
    if (!status && load_cost_note(&r->a->models, note, sizeof note)) command_say(r, "%s\n", note);
    return status;
}

tdm_status command_model(slash_running *r, tdm_error *err)
{
    if (r->call->argument) {
        char *path = path_read(r->call->argument, strlen(r->call->argument), getenv("HOME"));
        tdm_status status = path ? command_switch_model(r, path, err) : error_set(err, TDM_E_NOMEM, "out of memory");
        free(path);
        return status;
    }
    return list_models(r, err);
}
