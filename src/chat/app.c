#include "src/chat/app_parts.h"

#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

#include "engine/base/error.h"
#include "engine/base/utf8.h"
#include "src/chat/compact.h"
#include "src/files/files.h"
#include "src/models/vision.h"
#include "src/models/load.h"
#include "src/models/settings.h"

/* ---- Opening and closing --------------------------------------------------------------------------------------- */

void app_mind_privacy(app *a)
{
    option_set_flag(a->o, OPTION_PRIVATE, a->open.private);
    if (!a->open.private) return;
    /* Programs that are started later inherit the limit; what has been in memory once may be there still. */
    prctl(PR_SET_DUMPABLE, 0);
    setrlimit(RLIMIT_CORE, &(struct rlimit){0, 0});
}

void app_init(app *a, options *o)
{
    *a = (app){.o = o};
    open_session_init(&a->open, options_flag(o, OPTION_PRIVATE));
    app_mind_privacy(a);
    background_init(&a->background);
}

tdm_status app_start(app *a, const load_pair *models, tdm_machine *machine, char *notice, tdm_error *err)
{
    files_sweep();
    store_sweep();
    store_purge_trash(app_forget_session, NULL);
    const char *system = options_text(a->o, OPTION_SYSTEM), *path = options_text(a->o, OPTION_MODEL);
    notice[0] = 0;
    a->models = *models;
    a->machine = machine;
    tdm_model_describe(a->models.model, &a->info);
    tdm_status status = app_copy_name(&a->model_path, path, err);
    if (!status) status = open_session_set_system(&a->open, system, system ? strlen(system) : 0, err);
    if (!status && !machine) {
        status = load_machine(&a->machine, a->o, models->model, &(load_how){0}, err);
        if (!status) status = load_places(&a->models, a->machine, a->o, &(load_how){0}, err);
    }
    if (!status && !a->trace) status = trace_begin(&a->trace, a->o, a->machine, err);
    if (!status) ceilings_recall(&a->ceilings, a->machine, a->info.kernels);
    if (!status) status = app_open_chat(a, &a->models, &a->chat, err);
    if (!status) app_count_attached(a);
    if (!status && a->model_path) app_remember_model(a, a->model_path);
    if (!status && options_given(a->o, OPTION_RESUME))
        status = app_resume(a, options_text(a->o, OPTION_RESUME), notice, err);
    return status;
}

void app_collect(app *a)
{
    if (a->trace) trace_collect(a->trace);
}

tdm_status app_report(app *a, char line[FIGURES_END_ROOM], tdm_error *err)
{
    line[0] = 0;
    bool talks = a->o->command == COMMAND_CHAT; /* the turns of a demo are not this conversation's */
    if (a->machine && options_flag(a->o, OPTION_VERBOSE))
        figures_end_line(talks ? &a->figures : NULL, a->machine, line);
    return trace_end(a->trace, a->o, err);
}

void app_close(app *a)
{
    tdm_error unheard;
    if (a->chat) {
        compact_give_up(a);
        app_save(a, &unheard);
        app_end_session(a);
    }
    background_close(a);
    attach_job_model(a->attach.job, NULL, 0);
    tdm_chat_close(a->chat);
    load_pair_close(&a->models);
    trace_free(a->trace);
    tdm_machine_close(a->machine);
    open_session_close(&a->open);
    app_drop_left(a);
    figures_free(&a->figures);
    store_listing_free(&a->listed.sessions);
    store_listing_free(&a->listed.trash);
    free(a->draft);
    attach_job_close(a->attach.job);
    attach_clear(&a->attach.files);
    mentions_free(&a->attach.mentions);
    free(a->model_path);
    task_end(&a->remembering.task);
    free(a->remembering.name);
    pressure_close(&a->memory.pressure);
    *a = (app){.open = {.slot = {.lock = -1}}, .background = {.open = {.slot = {.lock = -1}}}};
}

/* ---- Events ---------------------------------------------------------------------------------------------------- */

/* /ab: the turn's figure goes to its level, and the next turn gets the other one. */
static void alternate(app *a, const tdm_turn_stats *t, int64_t glyph_ns)
{
    tdm_chat_options c;
    tdm_chat_options_of(a->chat, &c);
    bool full = c.speculation == TDM_SPEC_FULL;
    if (figures_counts(t, TDM_TURN_WARM) || figures_counts(t, TDM_TURN_COLD))
        figures_add(full ? &a->figures.full_ms : &a->figures.off_ms, figures_ttft_ms(t, glyph_ns));
    c.speculation = full ? TDM_SPEC_OFF : TDM_SPEC_FULL;
    tdm_chat_configure(a->chat, &c, NULL);
}

void app_event(app *a, const tdm_event *e, int64_t glyph_ns)
{
    if (e->kind == TDM_EV_END && a->trace) trace_turn(a->trace, &e->stats);
    if (e->dialogue == TDM_BACK) {
        background_event(a, e);
        return;
    }
    switch (e->kind) {
    case TDM_EV_TEXT:
        session_writer_text_came(a->open.session_writer);
        break;
    case TDM_EV_END:
        a->open.state_old = true;
        if (e->answer <= 1) { /* of several answers the first one, whose token ended the wait */
            a->last.stats = e->stats;
            a->last.glyph_ns = glyph_ns;
            if (!a->compact.running) figures_turn(&a->figures, &e->stats, glyph_ns); /* a summary is no turn */
        }
        if (a->ab && !e->writing && !a->compact.running) alternate(a, &e->stats, glyph_ns);
        compact_end(a, e);
        app_begin_save(a);
        break;
    case TDM_EV_TURN:
    case TDM_EV_PATH:
        sent_settle(&a->open.sent, a->chat);
        a->open.state_old = true;
        app_begin_save(a);
        break;
    default: break;
    }
}

/* ---- The input ------------------------------------------------------------------------------------------------- */

tdm_status app_set_draft(app *a, const char *text, size_t n, bool held, tdm_error *err)
{
    size_t length;
    bool alone = held && a->attach.files.n;
    char *joined = attach_compose(&a->attach.files, text, alone ? 0 : n, &length);
    held = held && !alone;
    size_t n_pictures;
    tdm_placed_picture *pictures = attach_pictures(&a->attach.files, 0, &n_pictures);
    tdm_status status = joined && n_pictures == attach_pictures_n(&a->attach.files)
                            ? tdm_chat_set_draft_pictures(a->chat, joined, length, pictures, n_pictures, held, err)
                            : error_set(err, TDM_E_NOMEM, "out of memory");
    free(pictures);
    free(joined);
    return status;
}

/* The pictures of the conversation are from before, with a model that saw. */
static void explain_unseen(app *a, tdm_error *err)
{
    tdm_model_info info;
    tdm_model_describe(a->models.model, &info);
    if (!info.on_server) vision_explain(a->o, a->models.model, NULL, err);
}

static tdm_status send(app *a, const char *text, size_t n, int answers, int64_t enter_ns, tdm_error *err)
{
    char *words = malloc(3 * n + 1);
    if (!words) return error_set(err, TDM_E_NOMEM, "out of memory");
    size_t valid = utf8_mend(text, n, words);
    tdm_status status = sent_send(&a->open.sent, a->chat, &a->attach.files, words, valid, answers, enter_ns, err);
    if (status == TDM_E_UNSUPPORTED) explain_unseen(a, err);
    free(words);
    return status;
}

tdm_status app_send(app *a, const char *text, size_t n, int64_t enter_ns, tdm_error *err)
{
    return send(a, text, n, 1, enter_ns, err);
}

tdm_status app_answers(app *a, int answers, const char *text, size_t n, int64_t enter_ns, tdm_error *err)
{
    tdm_chat_status now;
    tdm_chat_status_of(a->chat, &now);
    if (text) return send(a, text, n, answers, enter_ns, err);
    if (now.phase != TDM_PHASE_IDLE)
        return error_set(err, TDM_E_BUSY, "a reply is being written; /answers N TEXT waits, Ctrl-C stops it");
    return tdm_chat_answers(a->chat, answers, NULL, 0, enter_ns, err);
}

char *app_unqueue(app *a)
{
    return a->chat ? sent_take_back(&a->open.sent, a->chat, &a->attach.files) : NULL;
}

const char *app_queued(const app *a)
{
    return a->open.sent.on_its_way ? a->open.sent.words.bytes : NULL;
}

size_t app_attached(const app *a, const tdm_node *node)
{
    return sent_attached(&a->open.sent, node);
}

void app_attach_shown(app *a, const tdm_node *node)
{
    for (size_t i = 0; i < node->n_pictures; i++) {
        const picture *p = picture_find(node->pictures[i].picture);
        attachment one;
        int place;
        if (!p || attach_picture(&one, ATTACH_FILE, p->name, p, node->pictures[i].picture, NULL)) continue;
        one.of_edit = true;
        if (attach_add(&a->attach.files, &one, &place, NULL)) continue;
        attach_count(&a->attach.files.all[place], a->models.model, a->attach.files.picture_tokens, NULL);
    }
}

void app_edited(app *a)
{
    for (int i = a->attach.files.n; i-- > 0;)
        if (a->attach.files.all[i].of_edit) attach_remove(&a->attach.files, i);
}

int app_room(const tdm_chat_status *now)
{
    /* Between replies the draft counts as used as soon as it is part of what is followed. */
    bool counted =
        now->phase == TDM_PHASE_IDLE && now->mark != TDM_MARK_TOO_LONG && now->draft_tokens <= now->context_used;
    uint32_t used = now->context_used - (counted ? now->draft_tokens : 0);
    return now->context_size > used ? (int)(now->context_size - used) : 0;
}

int app_room_now(const app *a)
{
    tdm_chat_status now;
    tdm_chat_status_of(a->chat, &now);
    return app_room(&now);
}

tdm_status app_configure(app *a, tdm_error *err)
{
    tdm_chat_options c;
    tdm_chat_options_of(a->chat, &c);
    for (option_id id = 0; id < OPTION_COUNT; id++) settings_apply(&c, a->o, id);
    c.reading = battery_reading(&a->battery, a->o);
    tdm_status status = tdm_chat_configure(a->chat, &c, err);
    if (!status && a->attach.files.picture_tokens != (uint32_t)c.picture_tokens) app_count_attached(a);
    if (!status) tdm_machine_set_lending(a->machine, !options_flag(a->o, OPTION_NO_LENDING));
    return status;
}

bool app_look_at_battery(app *a, int64_t now_ns, char *notice)
{
    tdm_chat_options c;
    if (!a->chat || !battery_look(&a->battery, now_ns)) return false;
    tdm_chat_options_of(a->chat, &c);
    tdm_reading before = c.reading;
    c.reading = battery_reading(&a->battery, a->o);
    if (c.reading == before || tdm_chat_configure(a->chat, &c, NULL)) return false;
    battery_notice(&a->battery, before, c.reading, notice, 100);
    return notice[0];
}

static bool set_budget(app *a, uint64_t bytes)
{
    tdm_chat_options c;
    tdm_chat_options_of(a->chat, &c);
    c.checkpoint_bytes = bytes;
    return !tdm_chat_configure(a->chat, &c, NULL);
}

/* One notice says so; the monitor shows how much it comes to. */
static bool give_back(app *a, char *notice)
{
    bool told = a->memory.given_back;
    tdm_chat_status before, after;
    tdm_chat_status_of(a->chat, &before);
    if (!before.checkpoint_bytes || !set_budget(a, before.checkpoint_bytes / 2 + 1)) return false;
    tdm_chat_status_of(a->chat, &after);
    if (!a->memory.full_budget) a->memory.full_budget = before.checkpoint_budget;
    a->memory.given_back += before.checkpoint_bytes - after.checkpoint_bytes;
    snprintf(notice, 100, "memory is short: checkpoints are given back; undo and edits may read more again");
    return !told;
}

bool app_look_at_memory(app *a, int64_t now_ns, char *notice)
{
    if (!a->chat) return false;
    switch (pressure_look(&a->memory.pressure, now_ns)) {
    case PRESSURE_SHORT: return give_back(a, notice);
    case PRESSURE_OVER: break;
    default: return false;
    }
    bool grows = a->memory.full_budget && set_budget(a, a->memory.full_budget);
    a->memory.full_budget = a->memory.given_back = 0;
    if (grows) snprintf(notice, 100, "memory is no longer short: checkpoints are kept as before");
    return grows;
}

tdm_status app_set_system(app *a, const char *text, size_t n, tdm_error *err)
{
    tdm_status status = open_session_set_system(&a->open, text, n, err);
    if (!status)
        status = tdm_chat_set_system(a->chat, a->open.system ? a->open.system : "", a->open.system_length, err);
    if (!status) app_begin_save(a);
    return status;
}
