#include "src/chat/app.h"

#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

#include "engine/base/error.h"
#include "engine/base/fnv.h"
#include "src/chat/compact.h"
#include "src/chat/load.h"
#include "src/chat/pending.h"
#include "src/chat/settings.h"
#include "src/chat/snapshot.h"
#include "src/cli/files.h"
#include "src/cli/output.h"
#include "src/cli/recent.h"

/* ---- Opening and closing --------------------------------------------------------------------------------------- */

/* What is private must not get to the disk by a core dump, nor be read by another process of the user's. Once it has
 * been in memory, that stays so. */
static void keep_from_dumps(const app *a)
{
    if (a->private) prctl(PR_SET_DUMPABLE, 0);
}

void app_init(app *a, options *o)
{
    *a = (app){.o = o, .place = {.lock = -1}, .private = options_flag(o, OPTION_PRIVATE)};
    keep_from_dumps(a);
    a->created_s = time(NULL);
    a->keeper = keeper_new();
    elsewhere_init(&a->elsewhere);
}

static tdm_status set_system_text(app *a, const char *text, size_t n, tdm_error *err)
{
    char *copy = NULL;
    if (text && n) {
        if (!(copy = malloc(n + 1))) return error_set(err, TDM_E_NOMEM, "out of memory");
        memcpy(copy, text, n);
        copy[n] = 0;
    }
    free(a->system);
    a->system = copy;
    a->system_length = copy ? n : 0;
    return TDM_OK;
}

static tdm_status open_chat(app *a, load_pair *models, tdm_chat **out, tdm_error *err)
{
    tdm_chat_options c;
    settings_chat_options(&c, a->o, models->model);
    c.reading = battery_reading(&a->battery, a->o);
    tdm_status status = load_chat(out, models, a->machine, &c, err);
    if (!status && a->system) status = tdm_chat_set_system(*out, a->system, a->system_length, err);
    if (status && *out) {
        tdm_chat_close(*out);
        *out = NULL;
    }
    return status;
}

static void remember(void *ctx)
{
    recent_add(((const app *)ctx)->remembered);
}

/* The next start takes it, unless it is told another. Nobody waits for the disk. */
static void remember_model(app *a, const char *name)
{
    bool remote = load_is_elsewhere(a->o, name); /* nothing is sent there but by being named again */
    if (a->o->command != COMMAND_CHAT || a->private || remote) return;
    job_end(&a->remembering);
    free(a->remembered);
    a->remembered = strdup(name);
    if (a->remembered && !job_begin(&a->remembering, remember, a, -1)) remember(a);
}

/* Copies the name of a model as given; *out stays NULL for the built-in one. */
static tdm_status copy_name(char **out, const char *name, tdm_error *err)
{
    *out = load_is_builtin(name) ? NULL : strdup(name);
    return *out || load_is_builtin(name) ? TDM_OK : error_set(err, TDM_E_NOMEM, "out of memory");
}

tdm_status app_start(app *a, const load_pair *models, tdm_machine *machine, char *notice, tdm_error *err)
{
    files_sweep();
    store_sweep();
    store_purge_trash();
    const char *system = options_text(a->o, OPTION_SYSTEM), *path = options_text(a->o, OPTION_MODEL);
    notice[0] = 0;
    a->models = *models;
    a->machine = machine;
    tdm_model_describe(a->models.model, &a->info);
    tdm_status status = copy_name(&a->model_path, path, err);
    if (!status) status = set_system_text(a, system, system ? strlen(system) : 0, err);
    if (!status && !machine) {
        status = load_machine(&a->machine, a->o, models->model, &(load_how){0}, err);
        if (!status) status = load_places(&a->models, a->machine, a->o, &(load_how){0}, err);
    }
    if (!status) ceilings_recall(&a->ceilings, a->machine, a->info.kernels);
    if (!status) status = open_chat(a, &a->models, &a->chat, err);
    if (!status) attach_job_model(a->attaching, a->models.model);
    if (!status && a->model_path) remember_model(a, a->model_path);
    if (!status && options_given(a->o, OPTION_RESUME))
        status = app_resume(a, options_text(a->o, OPTION_RESUME), notice, err);
    return status;
}

/* Begins to write the state file where it is older than the conversation. */
static void begin_save_state(app *a)
{
    bool old = a->state_old;
    a->state_old = false; /* also where nothing is written: or the front end would ask again at once */
    if (a->private || a->place.lock < 0 || !old || !a->chat) return;
    uint64_t limit = options_whole(a->o, OPTION_STATE_DISK, (uint64_t)4 << 30);
    char *path = limit ? store_state_path(a->place.id) : NULL;
    if (path) saver_begin(&a->saver, a->chat, path, limit);
}

/* What a session without a file is known by. */
static void begin_session(app *a)
{
    sent_strand(&a->sent);
    sent_load(&a->sent, NULL, 0, NULL);
    free(a->name);
    a->name = NULL;
    free(a->draft);
    a->draft = NULL;
    a->kept_nodes = 0;
    a->looked_at = 0;
    a->state_old = false;
    a->unsaved[0] = 0;
    a->created_s = time(NULL);
}

static void end_session(app *a)
{
    begin_save_state(a);
    saver_wait(&a->saver);
    store_close(&a->place);
    begin_session(a);
}

/* A conversation that no file has is not left. What is attached belongs to the next message, whatever it is said to. */
tdm_status app_close_session(app *a, tdm_error *err)
{
    tdm_error why;
    compact_give_up(a);
    if (app_save(a, &why))
        return error_set(err, TDM_E_IO, "not saved; make room, or /private on gives it up: %.120s", a->unsaved);
    end_session(a);
    return TDM_OK;
}

/* One that is being answered goes on elsewhere. */
static tdm_status leave_session(app *a, tdm_error *err)
{
    bool left;
    tdm_status status = elsewhere_leave(a, &left, err);
    return status || left ? status : app_close_session(a, err);
}

static void drop_left(app *a)
{
    if (a->left) session_free(a->left);
    free(a->left);
    a->left = NULL;
}

void app_close(app *a)
{
    tdm_error unheard;
    if (a->chat) {
        compact_give_up(a);
        app_save(a, &unheard);
        end_session(a);
    }
    elsewhere_close(a);
    attach_job_model(a->attaching, NULL);
    tdm_chat_close(a->chat);
    load_pair_close(&a->models);
    tdm_machine_close(a->machine);
    store_close(&a->place);
    drop_left(a);
    figures_free(&a->figures);
    store_show_free(&a->shown);
    store_show_free(&a->trashed);
    free(a->system);
    free(a->name);
    free(a->draft);
    attach_job_close(a->attaching);
    attach_clear(&a->attached);
    mentions_free(&a->mentions);
    sent_free(&a->sent);
    free(a->model_path);
    job_end(&a->remembering);
    free(a->remembered);
    keeper_free(a->keeper);
    pressure_close(&a->pressure);
    *a = (app){.place = {.lock = -1}, .elsewhere = {.place = {.lock = -1}}};
}

/* ---- Saving ---------------------------------------------------------------------------------------------------- */

/* The files of a message that nobody will answer come before those of the next one, as its words do. */
static tdm_status snapshot_pending(const app *a, session *s, tdm_error *err)
{
    if (!a->keeps_attached) return TDM_OK;
    tdm_status status = a->sent.on_its_way ? pending_keep(s, &a->sent.files, err) : TDM_OK;
    return status ? status : pending_keep(s, &a->attached, err);
}

tdm_status app_snapshot(const app *a, session *out, tdm_error *err)
{
    const snapshot_source from = {.chat = a->chat, .sent = &a->sent, .name = a->name, .draft = a->draft,
                                  .system = a->system, .system_length = a->system_length, .model_path = a->model_path,
                                  .info = &a->info, .created_s = a->created_s};
    tdm_status status = snapshot_take(&from, out, err);
    if (status) return status;
    status = snapshot_pending(a, out, err);
    if (status) session_free(out);
    return status;
}

/* The conversation as it is to be written, and a place for it. */
static tdm_status prepare_save(app *a, session *s, tdm_error *err)
{
    tdm_status status = a->place.lock < 0 ? store_create(&a->place, err) : TDM_OK;
    if (!status) status = app_snapshot(a, s, err);
    if (!status && !a->name && s->name) a->name = strdup(s->name);
    return status;
}

/* Without the file's long name, or the reason would not fit into the row that says it. */
static void tell_saved(app *a, tdm_status status, const tdm_error *err)
{
    const char *text = status && err ? err->text : "", *why = *text == '/' ? strstr(text, ": ") : NULL;
    snprintf(a->unsaved, sizeof a->unsaved, "%s", why ? why + 2 : text);
}

bool app_saved(app *a)
{
    tdm_status status;
    tdm_error err;
    bool ended = keeper_take(a->keeper, &status, &err);
    if (ended) tell_saved(a, status, &err);
    return elsewhere_saved(a) || ended;
}

void app_set_wake(app *a, int fd)
{
    keeper_set_wake(a->keeper, fd);
    keeper_set_wake(a->elsewhere.keeper, fd);
}

bool app_saving(const app *a)
{
    return keeper_busy(a->keeper) || keeper_busy(a->elsewhere.keeper);
}

void app_settle(app *a)
{
    keeper_wait(a->keeper);
    keeper_wait(a->elsewhere.keeper);
    app_saved(a);
}

/* Nothing is being written afterwards, and nothing waits to be. */
static void end_keeping(app *a)
{
    app_settle(a);
    keeper_rest(a->keeper);
}

/* Without a model only the draft, and what is attached, may be another one. */
static tdm_status save_left(app *a, tdm_error *err)
{
    if (a->private || !(a->draft || a->keeps_attached) || a->place.lock < 0) return TDM_OK;
    char *draft = a->draft ? strdup(a->draft) : NULL;
    if (a->draft && !draft) return error_set(err, TDM_E_NOMEM, "out of memory");
    free(a->left->draft);
    a->left->draft = draft;
    tdm_status status = snapshot_pending(a, a->left, err);
    return status ? status : store_save(&a->place, a->left, err);
}

static bool nothing_to_save(const app *a)
{
    return a->private || (!a->draft && !a->keeps_attached && (!a->chat || !tdm_chat_nodes(a->chat)));
}

/* What would be written, as one number that isn't 0; 0: no memory. */
static uint64_t contents_of(const app *a)
{
    session s;
    size_t n = 0;
    if (app_snapshot(a, &s, NULL)) return 0;
    s.changed_s = 0;
    char *text = session_format(&s, &n);
    uint64_t contents = text ? fnv_bytes(FNV_START, text, n) | 1 : 0;
    free(text);
    session_free(&s);
    return contents;
}

/* Remembers a session as it was resumed, with what is attached to its next message: who only looks changes no file. */
static void look_at(app *a)
{
    bool keeps = a->keeps_attached;
    a->keeps_attached = pending_any(&a->attached);
    a->looked_at = contents_of(a);
    a->keeps_attached = keeps;
}

/* Compared until the first change alone. */
static bool only_looked_at(app *a)
{
    if (a->looked_at && contents_of(a) != a->looked_at) a->looked_at = 0;
    return a->looked_at;
}

/* A failure is that of the newest text: none of an older one comes after it. */
static tdm_status hand_over(app *a, tdm_error *err)
{
    session s;
    if (only_looked_at(a)) return TDM_OK;
    tdm_status status = a->keeper ? prepare_save(a, &s, err) : error_set(err, TDM_E_NOMEM, "out of memory");
    if (!status) {
        keeper_put(a->keeper, &a->place, &s);
        return TDM_OK;
    }
    app_settle(a);
    tell_saved(a, status, err);
    return status;
}

void app_begin_save(app *a)
{
    tdm_error told;
    if (!nothing_to_save(a)) hand_over(a, &told);
    keeper_rest(a->keeper);
}

tdm_status app_save(app *a, tdm_error *err)
{
    if (a->left) return save_left(a, err);
    tdm_status status = nothing_to_save(a) ? TDM_OK : hand_over(a, err), saved;
    tdm_error told;
    keeper_wait(a->keeper);
    keeper_rest(a->keeper);
    if (!keeper_take(a->keeper, &saved, &told)) return status;
    tell_saved(a, saved, &told);
    if (saved && err) *err = told;
    return saved;
}

void app_keep(app *a, int64_t now_ns)
{
    app_saved(a);
    elsewhere_keep(a, now_ns);
    if (!keeper_ready(a->keeper, now_ns)) return;
    tdm_error told;
    if (!nothing_to_save(a)) hand_over(a, &told);
}

int64_t app_keep_deadline(const app *a)
{
    int64_t front = keeper_deadline(a->keeper), other = keeper_deadline(a->elsewhere.keeper);
    return front < other ? front : other;
}

void app_idle(app *a)
{
    begin_save_state(a);
}

tdm_status app_set_private(app *a, bool on, tdm_error *err)
{
    if (on && a->private) return TDM_OK; /* or a session that was resumed while private would be erased */
    a->private = on;
    keep_from_dumps(a);
    end_keeping(a);
    saver_wait(&a->saver);
    a->kept_nodes = 0;
    a->looked_at = 0;
    a->unsaved[0] = 0;
    if (!on) {
        app_begin_save(a);
        return TDM_OK;
    }
    tdm_status status = a->place.lock >= 0 ? store_erase(a->place.id, &a->place, err) : TDM_OK;
    store_close(&a->place);
    return status;
}

tdm_status app_rename(app *a, const char *name, tdm_error *err)
{
    char *copy = strdup(name);
    if (!copy) return error_set(err, TDM_E_NOMEM, "out of memory");
    free(a->name);
    a->name = copy;
    app_begin_save(a);
    return TDM_OK;
}

int app_memory_turns(const app *a)
{
    int n = a->private && a->chat ? tdm_chat_nodes(a->chat) : 0, turns = 0;
    for (int i = a->kept_nodes + 1; i <= n; i++) {
        tdm_node node;
        if (tdm_chat_node(a->chat, i, &node, NULL)) continue;
        turns += node.role == TDM_USER;
        tdm_node_free(&node);
    }
    return turns;
}

void app_keep_draft(app *a, const char *text)
{
    tdm_error unheard;
    bool blank = !text[strspn(text, " \t\r\n")];
    bool queued = a->sent.on_its_way && pending_any(&a->sent.files);
    a->keeps_attached = !a->private && (queued || pending_any(&a->attached));
    if (a->private || (blank && !a->keeps_attached)) return;
    free(a->draft);
    a->draft = blank ? NULL : strdup(text);
    app_save(a, &unheard);
}

char *app_take_draft(app *a)
{
    char *draft = a->draft;
    a->draft = NULL;
    return draft;
}

/* ---- Events ---------------------------------------------------------------------------------------------------- */

/* /ab: the turn's figure goes to its level, and the next turn gets the other one. */
static void alternate(app *a, const tdm_turn_stats *t, int64_t glyph_ns)
{
    tdm_chat_options c;
    tdm_chat_options_of(a->chat, &c);
    bool full = c.speculation == TDM_SPEC_FULL;
    if (figures_counts(t, TDM_WARM) || figures_counts(t, TDM_COLD))
        figures_add(full ? &a->figures.full_ms : &a->figures.off_ms, figures_ttft_ms(t, glyph_ns));
    c.speculation = full ? TDM_SPEC_OFF : TDM_SPEC_FULL;
    tdm_chat_configure(a->chat, &c, NULL);
}

void app_event(app *a, const tdm_event *e, int64_t glyph_ns)
{
    if (e->elsewhere) {
        elsewhere_event(a, e);
        return;
    }
    switch (e->kind) {
    case TDM_EV_TEXT: keeper_text_came(a->keeper); break;
    case TDM_EV_END:
        a->state_old = true;
        if (e->answer <= 1) { /* of several answers the first: its token was the one that was waited for */
            a->last = e->stats;
            a->last_glyph_ns = glyph_ns;
            figures_turn(&a->figures, &e->stats, glyph_ns);
        }
        if (a->ab && !e->writing) alternate(a, &e->stats, glyph_ns);
        compact_end(a, e);
        app_begin_save(a);
        break;
    case TDM_EV_TURN:
    case TDM_EV_PATH:
        sent_settle(&a->sent, a->chat);
        a->state_old = true;
        app_begin_save(a);
        break;
    default: break;
    }
}

/* ---- The input ------------------------------------------------------------------------------------------------- */

tdm_status app_set_draft(app *a, const char *text, size_t n, bool held, tdm_error *err)
{
    size_t length;
    bool alone = held && a->attached.n;
    char *joined = attach_compose(&a->attached, text, alone ? 0 : n, &length);
    held = held && !alone;
    if (!joined) return error_set(err, TDM_E_NOMEM, "out of memory");
    tdm_status status = tdm_chat_set_draft(a->chat, joined, length, held, err);
    free(joined);
    return status;
}

static tdm_status send(app *a, const char *text, size_t n, int answers, int64_t enter_ns, tdm_error *err)
{
    char *words = malloc(3 * n + 1);
    if (!words) return error_set(err, TDM_E_NOMEM, "out of memory");
    size_t valid = output_valid(text, n, words);
    tdm_status status = sent_send(&a->sent, a->chat, &a->attached, words, valid, answers, enter_ns, err);
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
    if (now.phase != TDM_IDLE)
        return error_set(err, TDM_E_BUSY, "a reply is being written; /answers N TEXT waits, Ctrl-C stops it");
    return tdm_chat_answers(a->chat, answers, NULL, 0, enter_ns, err);
}

char *app_unqueue(app *a)
{
    return a->chat ? sent_take_back(&a->sent, a->chat, &a->attached) : NULL;
}

const char *app_queued(const app *a)
{
    return a->sent.on_its_way ? a->sent.words.bytes : NULL;
}

size_t app_attached(const app *a, const tdm_node *node)
{
    return sent_attached(&a->sent, node);
}

int app_room(const tdm_chat_status *now)
{
    /* Between replies the draft counts as used as soon as it is part of what is followed. */
    bool counted = now->phase == TDM_IDLE && now->mark != TDM_MARK_TOO_LONG && now->draft_tokens <= now->context_used;
    uint32_t used = now->context_used - (counted ? now->draft_tokens : 0);
    return now->context_size > used ? (int)(now->context_size - used) : 0;
}

tdm_status app_configure(app *a, tdm_error *err)
{
    tdm_chat_options c;
    tdm_chat_options_of(a->chat, &c);
    for (option_id id = 0; id < OPTION_COUNT; id++) settings_apply(&c, a->o, id);
    c.reading = battery_reading(&a->battery, a->o);
    tdm_status status = tdm_chat_configure(a->chat, &c, err);
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

/* It is told once; how much it comes to, the monitor shows. */
static bool give_back(app *a, char *notice)
{
    bool told = a->given_back;
    tdm_chat_status before, after;
    tdm_chat_status_of(a->chat, &before);
    if (!before.checkpoint_bytes || !set_budget(a, before.checkpoint_bytes / 2 + 1)) return false;
    tdm_chat_status_of(a->chat, &after);
    if (!a->full_budget) a->full_budget = before.checkpoint_budget;
    a->given_back += before.checkpoint_bytes - after.checkpoint_bytes;
    snprintf(notice, 100, "memory is short: checkpoints are given back; undo and edits may read more again");
    return !told;
}

bool app_look_at_memory(app *a, int64_t now_ns, char *notice)
{
    if (!a->chat) return false;
    switch (pressure_look(&a->pressure, now_ns)) {
    case PRESSURE_SHORT: return give_back(a, notice);
    case PRESSURE_OVER: break;
    default: return false;
    }
    bool grows = a->full_budget && set_budget(a, a->full_budget);
    a->full_budget = a->given_back = 0;
    if (grows) snprintf(notice, 100, "memory is no longer short: checkpoints are kept as before");
    return grows;
}

tdm_status app_set_system(app *a, const char *text, size_t n, tdm_error *err)
{
    tdm_status status = set_system_text(a, text, n, err);
    if (!status) status = tdm_chat_set_system(a->chat, a->system ? a->system : "", a->system_length, err);
    if (!status) app_begin_save(a);
    return status;
}

/* ---- Sessions and models --------------------------------------------------------------------------------------- */

tdm_status app_leave_model(app *a, tdm_error *err)
{
    tdm_chat_status now;
    tdm_error why;
    tdm_chat_status_of(a->chat, &now);
    if (now.phase != TDM_IDLE) return error_set(err, TDM_E_BUSY, "a reply is being written; Ctrl-C stops it");
    tdm_status way = elsewhere_make_way(a, err);
    if (way) return way;
    sent_settle(&a->sent, a->chat);
    if (app_save(a, &why)) return error_set(err, TDM_E_IO, "not saved: %.200s", a->unsaved);
    session *s = calloc(1, sizeof *s);
    if (!s) return error_set(err, TDM_E_NOMEM, "out of memory");
    tdm_status status = app_snapshot(a, s, err);
    if (status) {
        free(s);
        return status;
    }
    saver_wait(&a->saver);
    sent_strand(&a->sent);
    attach_job_model(a->attaching, NULL);
    tdm_chat_close(a->chat);
    load_pair_close(&a->models);
    a->chat = NULL;
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
    if (a->chat) sent_settle(&a->sent, a->chat);
    tdm_status status = copy_name(&copy, path, err);
    if (!status) status = elsewhere_make_way(a, err);
    if (!status && !a->left) status = app_snapshot(a, &taken, err);
    if (!status) {
        status = open_chat(a, &next, &chat, err);
        if (!status) status = tdm_chat_load(chat, a->system, a->system_length, s->nodes, s->n, s->leaf, err);
        if (!a->left) session_free(&taken);
    }
    if (status) {
        tdm_chat_close(chat);
        load_pair_close(&next);
        free(copy);
        return status;
    }
    saver_wait(&a->saver);
    sent_strand(&a->sent);
    attach_job_model(a->attaching, NULL);
    tdm_chat_close(a->chat);
    load_pair_close(&a->models);
    free(a->model_path);
    drop_left(a);
    a->chat = chat;
    a->models = next;
    a->model_path = copy;
    remember_model(a, copy ? copy : LOAD_BUILTIN);
    tdm_model_describe(next.model, &a->info);
    attach_job_model(a->attaching, next.model);
    attach_recount(&a->attached, next.model);
    ceilings_recall(&a->ceilings, a->machine, a->info.kernels);
    a->full_budget = a->given_back = 0; /* the new chat has a budget of its own */
    a->state_old = true;
    app_begin_save(a);
    return TDM_OK;
}

tdm_status app_delete(app *a, const char *id, bool for_good, bool *open, tdm_error *err)
{
    /* What is being written would be renamed to where it was. */
    end_keeping(a);
    saver_wait(&a->saver);
    *open = a->place.lock >= 0 && !strcmp(a->place.id, id);
    store_place *held = *open ? &a->place : elsewhere_is(a, id) ? &a->elsewhere.place : NULL;
    bool answered = held == &a->elsewhere.place;
    if (answered) elsewhere_stop(a);
    tdm_status status = for_good ? store_erase(id, held, err) : store_delete(id, held, err);
    if (!status && answered) elsewhere_forget(a);
    if (!status) elsewhere_visited(a, id);
    if (status || !*open) return status;
    tdm_chat_clear(a->chat);
    begin_session(a);
    return status;
}

tdm_status app_new(app *a, const char *name, tdm_error *err)
{
    tdm_status status = leave_session(a, err);
    if (status) return status;
    tdm_chat_clear(a->chat);
    if (name && !(a->name = strdup(name))) return error_set(err, TDM_E_NOMEM, "out of memory");
    return TDM_OK;
}

static tdm_status load_conversation(app *a, const session *s, tdm_error *err)
{
    return tdm_chat_load(a->chat, a->system, a->system_length, s->nodes, s->n, s->leaf, err);
}

/* Before the conversation is loaded, so that none of it is read meanwhile. Of another model or damaged: then it is
 * prefilled, which is all it costs. */
static void load_state(app *a, const char *id)
{
    char *path = store_state_path(id);
    if (path && access(path, R_OK) == 0) tdm_chat_load_state(a->chat, path, NULL);
    free(path);
}

/* Puts a session that was read in place of the conversation. */
static tdm_status enter_session(app *a, const session *s, tdm_error *err)
{
    for (option_id id = 0; id < OPTION_COUNT; id++) {
        bool given = a->o->values[id].origin >= FROM_COMMAND_LINE;
        if (!s->settings[id] || given || !settings_fit(&a->info, id, s->settings[id])) continue;
        if (!option_set(a->o, id, s->settings[id], FROM_FILE, err)) return TDM_E_FORMAT;
    }
    tdm_status status = app_configure(a, err);
    if (!status) status = set_system_text(a, s->system, s->system_length, err);
    if (!status) status = load_conversation(a, s, err);
    if (!status) status = sent_load(&a->sent, s->attached, s->n, err);
    return status;
}

tdm_status app_resume(app *a, const char *wanted, char *notice, tdm_error *err)
{
    store_entry *entries;
    int n;
    notice[0] = 0;
    app_settle(a);
    tdm_status status = store_list(&entries, &n, err);
    if (status) return status;
    int picked = store_pick(entries, n, &a->shown, wanted, err);
    if (picked < 0) elsewhere_visited(a, wanted); /* another program has deleted it */
    if (picked >= 0 && a->place.lock >= 0 && !strcmp(entries[picked].id, a->place.id)) {
        snprintf(notice, 400, "'%.200s' is the open session", a->name ? a->name : "session");
        store_list_free(entries, n);
        return TDM_OK;
    }
    if (picked >= 0 && elsewhere_is(a, entries[picked].id)) {
        store_list_free(entries, n);
        return elsewhere_visit(a, notice, err);
    }
    store_place place = {.lock = -1};
    session s = {0};
    bool copied = false;
    status = picked < 0 ? TDM_E_NOT_FOUND : store_open(&place, entries[picked].id, &s, &copied, err);
    if (!status) status = leave_session(a, err);
    if (!status) {
        load_state(a, entries[picked].id);
        status = enter_session(a, &s, err);
        if (status) tdm_chat_clear(a->chat);
    }
    if (!status) {
        elsewhere_visited(a, entries[picked].id);
        a->place = place;
        a->name = s.name ? strdup(s.name) : NULL;
        a->draft = s.draft ? strdup(s.draft) : NULL;
        pending_bring(&a->attached, &s, a->models.model);
        a->kept_nodes = s.n;
        a->created_s = s.created_s;
        const char *unsaved = a->private       ? "; private: what follows is not saved"
                              : place.lock < 0 ? "; nothing is saved: its folder can't be written"
                                               : "";
        snprintf(notice, 400, copied ? "'%.200s' is open in another program: this is a copy%s" : "resumed '%.200s'%s",
                 a->name ? a->name : "session", unsaved);
        look_at(a);
    } else {
        store_close(&place);
    }
    session_free(&s);
    store_list_free(entries, n);
    return status;
}
