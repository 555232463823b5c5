#include "src/commands.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "engine/base/clock.h"
#include "engine/base/error.h"
#include "src/files.h"
#include "src/nearest.h"
#include "src/number.h"
#include "src/settings.h"
#include "src/trace.h"
#include "ui/markdown.h"

enum { LARGEST_ATTACHMENT = 16 << 20 };

typedef struct {
    app *a;
    const commands_front *front;
    const slash_call *call;
    commands_result *result;
} run;

static void say(const run *r, const char *format, ...) __attribute__((format(printf, 2, 3)));

static void say(const run *r, const char *format, ...)
{
    char *text;
    va_list args;
    va_start(args, format);
    int n = vasprintf(&text, format, args);
    va_end(args);
    if (n < 0) return;
    r->front->say(r->front->ctx, text, (size_t)n);
    free(text);
}

static bool means_on(const run *r, bool now)
{
    return r->call->argument ? !strcmp(r->call->argument, "on") : now;
}

/* ---- Help and leaving ------------------------------------------------------------------------------------------ */

static void say_command(const run *r, slash_id id)
{
    const slash *s = &slash_table[id];
    char left[120];
    snprintf(left, sizeof left, "/%s %s", s->name, strlen(s->arguments) < 30 ? s->arguments : "NAME");
    say(r, "  %-28s %s\n", left, s->help);
}

static tdm_status do_help(run *r, tdm_error *err)
{
    const char *wanted = r->call->argument;
    if (wanted) {
        if (*wanted == '/') wanted++;
        slash_id id = slashes_find(wanted, strlen(wanted));
        if (id == SLASH_COUNT) return error_set(err, TDM_E_NOT_FOUND, "there is no command /%s", wanted);
        const slash *s = &slash_table[id];
        say(r, "/%s %s\n%s%s%s%s\n", s->name, s->arguments, s->help, s->aliases[0] ? " (also: " : "", s->aliases,
            s->aliases[0] ? ")" : "");
        return TDM_OK;
    }
    for (slash_id id = 0; id < SLASH_COUNT; id++)
        if (slash_table[id].owner == BY_CONVERSATION || r->front->screen) say_command(r, id);
    say(r, "  // at the beginning sends a message that begins with a slash\n");
    return TDM_OK;
}

static tdm_status do_quit(run *r, tdm_error *err)
{
    (void)err;
    r->result->quit = true;
    return TDM_OK;
}

/* ---- Sessions -------------------------------------------------------------------------------------------------- */

static tdm_status do_new(run *r, tdm_error *err)
{
    tdm_status status = app_new(r->a, r->call->argument, err);
    r->result->anew = true;
    if (!status) say(r, "a new session\n");
    return status;
}

static void say_entry(const run *r, int number, const store_entry *e)
{
    char date[40];
    time_t when = (time_t)e->changed_s;
    struct tm parts;
    localtime_r(&when, &parts);
    strftime(date, sizeof date, "%Y-%m-%d %H:%M", &parts);
    bool open = r->a->place.lock >= 0 && !strcmp(e->id, r->a->place.id);
    if (e->damage[0])
        say(r, "%3d  %s  %s\n", number, date, e->damage);
    else
        say(r, "%3d  %s  %3d %-5s  %-20.20s  %s%s\n", number, date, e->turns, e->turns == 1 ? "turn" : "turns", e->model, e->name,
            open ? "  (this one)" : "");
}

static tdm_status do_sessions(run *r, tdm_error *err)
{
    store_entry *entries;
    int n;
    tdm_status status = store_list(&entries, &n, err);
    if (status) return status;
    if (!n) say(r, "there is no saved session yet\n");
    for (int i = 0; i < n; i++) say_entry(r, i + 1, &entries[i]);
    store_list_free(entries, n);
    return TDM_OK;
}

static tdm_status do_resume(run *r, tdm_error *err)
{
    char notice[400];
    tdm_status status = app_resume(r->a, r->call->argument, notice, err);
    r->result->anew = !status || !tdm_chat_nodes(r->a->chat); /* half resumed: an empty conversation */
    if (!status) say(r, "%s\n", notice);
    return status;
}

static tdm_status do_rename(run *r, tdm_error *err)
{
    tdm_status status = app_rename(r->a, r->call->argument, err);
    if (!status) say(r, "this session is now called '%s'\n", r->call->argument);
    return status;
}

/* The first call asks, the second one about the same session does it. */
static tdm_status delete_entry(run *r, const store_entry *e, tdm_error *err)
{
    app *a = r->a;
    if (strcmp(a->deleting, e->id)) {
        snprintf(a->deleting, sizeof a->deleting, "%s", e->id);
        say(r, "delete '%s' (%d turn%s)? The same command once more does it\n", e->name, e->turns, e->turns == 1 ? "" : "s");
        return TDM_OK;
    }
    a->deleting[0] = 0;
    bool open = a->place.lock >= 0 && !strcmp(a->place.id, e->id);
    if (open) {
        store_close(&a->place);
        tdm_chat_clear(a->chat);
        free(a->name);
        a->name = NULL;
        a->state_old = false;
        r->result->anew = true;
    }
    tdm_status status = store_delete(e->id, err);
    if (!status) say(r, "'%s' is deleted%s\n", e->name, open ? "; this is a new session" : "");
    return status;
}

static tdm_status do_delete(run *r, tdm_error *err)
{
    store_entry *entries;
    int n, picked = -1;
    tdm_status status = store_list(&entries, &n, err);
    if (status) return status;
    if (r->call->argument) {
        picked = store_pick(entries, n, r->call->argument, err);
    } else {
        for (int i = 0; i < n; i++)
            if (r->a->place.lock >= 0 && !strcmp(entries[i].id, r->a->place.id)) picked = i;
        if (picked < 0) error_set(err, TDM_E_NOT_FOUND, "this session isn't saved");
    }
    status = picked < 0 ? TDM_E_NOT_FOUND : delete_entry(r, &entries[picked], err);
    store_list_free(entries, n);
    return status;
}

/* The line around the first of the words, cut to a screen's width. */
static void say_match(const run *r, const char *place, const tdm_node *node, const char *words)
{
    size_t length = strcspn(words, " \t"), at = 0;
    while (at + length < node->length && strncasecmp(node->text + at, words, length)) at++;
    size_t start = at, end = at + length;
    while (start && node->text[start - 1] != '\n' && at - start < 60) start--;
    while (end < node->length && node->text[end] != '\n' && end - start < 110) end++;
    while (start < at && ((unsigned char)node->text[start] & 0xc0) == 0x80) start++;
    while (end > start && end < node->length && ((unsigned char)node->text[end] & 0xc0) == 0x80) end--;
    say(r, "%s %s: %.*s\n", place, node->role == TDM_USER ? "you" : "model", (int)(end - start), node->text + start);
}

typedef struct {
    run *r;
    int found;
} search;

static void on_found(void *ctx, const store_entry *entry, const tdm_node *node)
{
    search *s = ctx;
    char place[120];
    snprintf(place, sizeof place, "%.80s,", entry->name);
    if (s->found++ < 50) say_match(s->r, place, node, s->r->call->argument);
}

static tdm_status do_search(run *r, tdm_error *err)
{
    search s = {.r = r};
    tdm_status status = store_search(r->call->argument, on_found, &s, err);
    if (status) return status;
    if (!s.found) say(r, "no saved message has '%s'\n", r->call->argument);
    if (s.found > 50) say(r, "%d messages; the first 50 are shown\n", s.found);
    return status;
}

static tdm_status do_find(run *r, tdm_error *err)
{
    session s;
    tdm_status status = app_snapshot(r->a, &s, err);
    if (status) return status;
    int turn = 0, found = 0;
    for (int i = 0; i < s.n; i++) {
        const tdm_node *node = &s.nodes[i];
        if (!node->current) continue;
        turn += node->role == TDM_USER;
        if (!store_matches(node->text, node->length, r->call->argument)) continue;
        char place[40];
        snprintf(place, sizeof place, "turn %d,", turn);
        say_match(r, place, node, r->call->argument);
        found++;
    }
    if (!found) say(r, "not found\n");
    session_free(&s);
    return TDM_OK;
}

static tdm_status do_private(run *r, tdm_error *err)
{
    (void)err;
    app_set_private(r->a, means_on(r, true));
    say(r, r->a->private ? "private: nothing of this session is written to disk\n" : "this session is saved\n");
    return TDM_OK;
}

static tdm_status do_save(run *r, tdm_error *err)
{
    if (r->a->private) return error_set(err, TDM_E_ARG, "this session is private; /private off first");
    tdm_status status = r->call->argument ? app_rename(r->a, r->call->argument, err) : app_save(r->a, err);
    if (!status) say(r, r->a->name ? "saved as '%s'\n" : "nothing to save yet\n", r->a->name);
    return status;
}

static tdm_status do_export(run *r, tdm_error *err)
{
    const char *path = r->call->argument, *dot = strrchr(path, '.');
    bool json = dot && !strcmp(dot, ".json");
    if (!json && (!dot || strcmp(dot, ".md")))
        return error_set(err, TDM_E_ARG, "%s: expected a name in .md or .json", path);
    session s;
    tdm_status status = app_snapshot(r->a, &s, err);
    if (status) return status;
    size_t n = 0;
    char *text = json ? session_messages(&s, &n) : session_markdown(&s, &n);
    status = text ? files_write(path, text, n, err) : error_set(err, TDM_E_NOMEM, "out of memory");
    int turns = session_turns(&s);
    if (!status) say(r, "%s: %d turn%s, %zu bytes\n", path, turns, turns == 1 ? "" : "s", n);
    free(text);
    session_free(&s);
    return status;
}

/* ---- Options --------------------------------------------------------------------------------------------------- */

void commands_setting(const app *a, option_id id, char *out, size_t room)
{
    const char *text = options_text(a->o, id);
    tdm_chat_options c;
    if (a->chat && option_table[id].flags & LIVE && id != OPTION_NO_LENDING) {
        tdm_chat_options_of(a->chat, &c);
        settings_text(&c, id, out, room);
    } else {
        snprintf(out, room, "%s", text ? text : option_table[id].initial);
    }
}

static tdm_status do_system(run *r, tdm_error *err)
{
    const char *text = r->call->argument;
    if (!text) {
        say(r, r->a->system ? "system prompt: %s\n" : "no system prompt\n", r->a->system);
        return TDM_OK;
    }
    if (!strcmp(text, "off")) text = "";
    tdm_status status = app_set_system(r->a, text, strlen(text), err);
    if (!status) say(r, text[0] ? "the system prompt is changed\n" : "no system prompt\n");
    return status;
}

/* What /set of this front end shows and changes. */
static bool is_setting(const run *r, option_id id)
{
    return option_table[id].flags & LIVE || (option_table[id].flags & LOOK && r->front->look);
}

static void say_setting(const run *r, option_id id)
{
    char value[64], range[200];
    commands_setting(r->a, id, value, sizeof value);
    option_range(id, range, sizeof range);
    say(r, "  %-18s %-20s %s\n", option_table[id].name, value, range);
}

/* Takes a changed option over; on failure the earlier value is to be put back. */
static tdm_status take_over(const run *r, option_id id, tdm_error *err)
{
    if (option_table[id].flags & LIVE) return app_configure(r->a, err);
    r->front->look(r->front->ctx);
    return TDM_OK;
}

/* Sets an option and shows it; on failure the earlier value stays. */
static tdm_status change(run *r, option_id id, const char *value, tdm_error *err)
{
    option_value *v = &r->a->o->values[id], before = *v;
    v->text = NULL; /* option_set must not free what may be put back */
    if (!option_set(r->a->o, id, value, FROM_COMMAND_LINE, err)) {
        *v = before;
        return TDM_E_ARG;
    }
    tdm_status status = take_over(r, id, err);
    if (status) {
        free(v->text);
        *v = before;
        return status;
    }
    free(before.text);
    say_setting(r, id);
    return TDM_OK;
}

static tdm_status unknown_setting(const run *r, const char *name, tdm_error *err)
{
    nearest best = {0};
    for (option_id id = 0; id < OPTION_COUNT; id++)
        if (is_setting(r, id)) nearest_offer(&best, name, option_table[id].name);
    if (best.name)
        return error_set(err, TDM_E_NOT_FOUND, "there is no setting '%s'; did you mean '%s'?", name, best.name);
    return error_set(err, TDM_E_NOT_FOUND, "there is no setting '%s'; /set lists them", name);
}

static tdm_status do_set(run *r, tdm_error *err)
{
    if (!r->call->argument) {
        for (option_id id = 0; id < OPTION_COUNT; id++)
            if (is_setting(r, id)) say_setting(r, id);
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
    say_setting(r, id);
    return TDM_OK;
}

/* /think, /pipeline, /speculation, /pace: /set by a shorter name; without an argument they show the value. */
static tdm_status change_or_show(run *r, option_id id, tdm_error *err)
{
    if (r->call->argument) return change(r, id, r->call->argument, err);
    say_setting(r, id);
    return TDM_OK;
}

static tdm_status do_think(run *r, tdm_error *err)
{
    return change_or_show(r, OPTION_THINK, err);
}

static tdm_status do_pipeline(run *r, tdm_error *err)
{
    return change_or_show(r, OPTION_PIPELINE, err);
}

static tdm_status do_speculation(run *r, tdm_error *err)
{
    return change_or_show(r, OPTION_SPECULATION, err);
}

static tdm_status do_pace(run *r, tdm_error *err)
{
    return change_or_show(r, OPTION_PACE, err);
}

static tdm_status do_model(run *r, tdm_error *err)
{
    if (!r->call->argument) {
        say(r, "%s (%s, %s)\n", r->a->info.name, r->a->info.weight_types, r->a->info.path);
        return TDM_OK;
    }
    load_pair models;
    tdm_status status = r->front->load(r->front->ctx, r->call->argument, &models, err);
    if (!status) status = app_switch_model(r->a, &models, r->call->argument, err);
    r->result->anew = !status;
    if (!status) say(r, "going on with %s\n", r->a->info.name);
    return status;
}

/* ---- Turns ----------------------------------------------------------------------------------------------------- */

static tdm_status do_regen(run *r, tdm_error *err)
{
    tdm_status status = tdm_chat_regenerate(r->a->chat, clock_ns(), err);
    r->result->waits = !status;
    return status;
}

static tdm_status do_continue(run *r, tdm_error *err)
{
    tdm_status status = tdm_chat_continue(r->a->chat, err);
    r->result->waits = !status;
    return status;
}

static tdm_status do_undo(run *r, tdm_error *err)
{
    tdm_status status = tdm_chat_undo(r->a->chat, err);
    if (!status) say(r, "the last turn is taken back; /redo brings it again\n");
    return status;
}

static tdm_status do_redo(run *r, tdm_error *err)
{
    tdm_status status = tdm_chat_redo(r->a->chat, err);
    if (!status) say(r, "the turn is back\n");
    return status;
}

/* The current path; *n its length. malloc'ed. */
static int *current_path(const app *a, int *n)
{
    *n = tdm_chat_path(a->chat, NULL, 0);
    int *path = calloc((size_t)*n + 1, sizeof *path);
    if (path) tdm_chat_path(a->chat, path, *n);
    return path;
}

/* User message number `number` of the current path (0: the last); *turn its number. */
static tdm_status user_message(const app *a, long number, tdm_node *out, long *turn, tdm_error *err)
{
    int n, node = 0;
    int *path = current_path(a, &n);
    long seen = 0;
    if (!path) return error_set(err, TDM_E_NOMEM, "out of memory");
    for (int i = 0; i < n; i++) {
        tdm_node each;
        if (tdm_chat_node(a->chat, path[i], &each, NULL)) continue;
        if (each.role == TDM_USER && (!number || seen < number)) {
            seen++;
            node = path[i];
        }
        tdm_node_free(&each);
    }
    free(path);
    if (!node || (number && seen != number))
        return error_set(err, TDM_E_NOT_FOUND,
                         seen > 1 ? "there are only %ld messages" : seen ? "there is only one message" : "there is no message yet",
                         seen);
    *turn = seen;
    return tdm_chat_node(a->chat, node, out, err);
}

static tdm_status do_edit(run *r, tdm_error *err)
{
    tdm_node node;
    long turn = 0;
    tdm_status status = user_message(r->a, r->call->number, &node, &turn, err);
    if (status) return status;
    status = tdm_chat_edit(r->a->chat, node.node, err);
    if (!status) {
        r->result->draft = node.text;
        node.text = NULL;
        say(r, "editing turn %ld: Enter branches\n", turn);
    }
    tdm_node_free(&node);
    return status;
}

/* ---- Copying --------------------------------------------------------------------------------------------------- */

static tdm_status last_reply(const app *a, tdm_node *out, tdm_error *err)
{
    int n;
    int *path = current_path(a, &n);
    if (!path) return error_set(err, TDM_E_NOMEM, "out of memory");
    bool found = false;
    while (n-- > 0 && !found) {
        if (tdm_chat_node(a->chat, path[n], out, NULL)) continue;
        found = out->role == TDM_ASSISTANT && out->length;
        if (!found) tdm_node_free(out);
    }
    free(path);
    return found ? TDM_OK : error_set(err, TDM_E_NOT_FOUND, "there is no reply to copy yet");
}

static tdm_status do_copy(run *r, tdm_error *err)
{
    const char *argument = r->call->argument;
    int64_t number = 0;
    if (argument && !strcmp(argument, "view")) return r->front->copy_view(r->front->ctx, err);
    if (argument && !number_int(argument, 1, 1000000, &number))
        return error_set(err, TDM_E_ARG, "/copy: expected the number of a code block or 'view', found '%s'", argument);
    tdm_node node;
    tdm_status status = last_reply(r->a, &node, err);
    if (status) return status;
    size_t n = node.length;
    char *code = number ? markdown_code_block(node.text, node.length, (int)number, &n) : NULL;
    status = number && !code
                 ? error_set(err, TDM_E_NOT_FOUND, "the last reply has no code block %d", (int)number)
                 : r->front->copy(r->front->ctx, code ? code : node.text, n, err);
    free(code);
    tdm_node_free(&node);
    return status;
}

/* ---- Branches -------------------------------------------------------------------------------------------------- */

/* The nodes that share a parent and a role with `node`, in order; how many. */
static int siblings(const app *a, const tdm_node *node, int *out, int room)
{
    int n = 0, all = tdm_chat_nodes(a->chat);
    for (int i = 1; i <= all; i++) {
        tdm_node other;
        if (tdm_chat_node(a->chat, i, &other, NULL)) continue;
        if (other.parent == node->parent && other.role == node->role && n < room) out[n++] = i;
        tdm_node_free(&other);
    }
    return n;
}

/* The last place of the current path where there is a choice. */
static tdm_status last_branching(const app *a, tdm_node *out, tdm_error *err)
{
    int n;
    int *path = current_path(a, &n);
    tdm_status status = error_set(err, TDM_E_NOT_FOUND, "there are no branches; /edit and /regen make them");
    for (int i = n - 1; path && i >= 0; i--) {
        if (tdm_chat_node(a->chat, path[i], out, err)) break;
        if (out->branches > 1) {
            status = TDM_OK;
            break;
        }
        tdm_node_free(out);
    }
    free(path);
    return status;
}

static tdm_status do_branch(run *r, tdm_error *err)
{
    enum { MOST = 999 };
    int nodes[MOST];
    tdm_node here;
    tdm_status status = last_branching(r->a, &here, err);
    if (status) return status;
    int n = siblings(r->a, &here, nodes, MOST);
    if (r->call->number > n) {
        status = error_set(err, TDM_E_ARG, "there are only %d branches", n);
    } else if (r->call->number) {
        status = tdm_chat_select(r->a->chat, nodes[r->call->number - 1], err);
        if (!status) say(r, "branch %ld/%d\n", r->call->number, n);
    }
    for (int i = 0; !r->call->number && i < n; i++) {
        tdm_node each;
        if (tdm_chat_node(r->a->chat, nodes[i], &each, NULL)) continue;
        int shown = (int)strcspn(each.text, "\n");
        say(r, "%c %d/%d  %.*s\n", nodes[i] == here.node ? '*' : ' ', i + 1, n, shown < 60 ? shown : 60, each.text);
        tdm_node_free(&each);
    }
    tdm_node_free(&here);
    return status;
}

static tdm_status do_attach(run *r, tdm_error *err)
{
    const char *path = r->call->argument, *base = strrchr(path, '/') ? strrchr(path, '/') + 1 : path;
    char *bytes, *joined;
    size_t n;
    tdm_status status = files_read(path, LARGEST_ATTACHMENT, &bytes, &n, err);
    if (status) return status;
    if (memchr(bytes, 0, n)) {
        free(bytes);
        return error_set(err, TDM_E_FORMAT, "%s: not a text (it holds zero bytes)", path);
    }
    tdm_ids ids = {0};
    tdm_chat_status now;
    tdm_chat_status_of(r->a->chat, &now);
    status = tdm_tokenize(r->a->models.model, bytes, n, false, &ids, err);
    size_t tokens = ids.n;
    tdm_ids_free(&ids);
    if (!status && tokens + now.context_used >= now.context_size)
        status = error_set(err, TDM_E_CONTEXT, "%s: %zu tokens, but only %u of %u are free", path, tokens,
                           now.context_size - now.context_used, now.context_size);
    if (!status) {
        int length = asprintf(&joined, "%s%s:\n\n%s\n\n", r->a->attached ? r->a->attached : "", base, bytes);
        if (length < 0) {
            status = error_set(err, TDM_E_NOMEM, "out of memory");
        } else {
            free(r->a->attached);
            r->a->attached = joined;
            r->a->attached_length = (size_t)length;
            say(r, "%s: %zu tokens, goes before your next message\n", base, tokens);
        }
    }
    free(bytes);
    return status;
}

/* ---- Figures --------------------------------------------------------------------------------------------------- */

static tdm_status measure_units(run *r, tdm_error *err)
{
    tdm_chat_status now;
    tdm_error unkept;
    tdm_chat_status_of(r->a->chat, &now);
    if (now.phase != TDM_IDLE) return error_set(err, TDM_E_BUSY, "the units are at work: measure when the reply has ended");
    tdm_status status = ceilings_measure(&r->a->ceilings, r->a->machine, r->a->info.kernels, &unkept, err);
    if (status) return status;
    char *text = ceilings_text(&r->a->ceilings, r->a->machine);
    say(r, "%s", text ? text : "");
    if (unkept.code) say(r, "for this run only, not kept: %s\n", unkept.text);
    free(text);
    return TDM_OK;
}

static tdm_status do_units(run *r, tdm_error *err)
{
    if (r->call->argument) return measure_units(r, err);
    static const char *const kinds[TDM_SPAN_KINDS] = {"history",   "draft",       "suffix",   "prompt", "decode",
                                                      "hand-over", "checkpoints", "restores", "lent"};
    for (int unit = 0; unit < TDM_UNITS; unit++) {
        tdm_unit_info info;
        tdm_unit_describe(r->a->machine, unit, &info);
        say(r, "%s: %s, %s, %d %s\n", unit == TDM_PREFILL_UNIT ? "prefill" : "decode", info.name, info.kind,
            info.cores, info.cores == 1 ? "core" : "cores");
        for (int kind = 0; kind < TDM_SPAN_KINDS; kind++)
            if (info.total[kind].spans)
                say(r, "  %-12s %8" PRIu64 " spans %10" PRIu64 " tokens %8.1f s\n", kinds[kind], info.total[kind].spans,
                    info.total[kind].tokens, 1e-9 * (double)info.total[kind].ns);
    }
    char *text = r->a->ceilings.known ? ceilings_text(&r->a->ceilings, r->a->machine) : NULL;
    say(r, "%s", text ? text : "ceilings: not measured yet (/units measure)\n");
    free(text);
    return TDM_OK;
}

static void say_median(const run *r, const char *name, const figures_row *row, const char *unit)
{
    char median[32];
    if (!row->n) return;
    figures_number(figures_median(row), median);
    say(r, "  %-22s %s %s (n %d)\n", name, median, unit, row->n);
}

static void say_turn_figures(const run *r)
{
    const app *a = r->a;
    char line[300];
    if (!a->last.enter_ns) {
        say(r, "no turn yet\n");
        return;
    }
    figures_turn_line(&a->last, a->last_glyph_ns, line, sizeof line);
    say(r, "last turn: %s\n", line);
    say(r, "  prompt %u tokens: %u read before Enter, %u after; %u wasted; at most %u behind; hand-over %.2f ms\n",
        a->last.prompt_tokens, a->last.before_enter, a->last.after_enter, a->last.wasted, a->last.lag_max,
        a->last.handover_ms);
}

static tdm_status do_stats(run *r, tdm_error *err)
{
    app *a = r->a;
    const char *argument = r->call->argument;
    if (argument) {
        bool off = !strcmp(argument, "turn off");
        if (!off && strcmp(argument, "turn line") && strcmp(argument, "turn card"))
            return error_set(err, TDM_E_ARG, "/stats: expected 'turn off', 'turn line' or 'turn card'");
        if (!strcmp(argument, "turn card") && !r->front->screen)
            return error_set(err, TDM_E_ARG, "/stats turn card belongs to the full screen");
        a->no_turn_line = off;
        return r->front->screen ? r->front->screen(r->front->ctx, r->call, err) : TDM_OK;
    }
    tdm_chat_status now;
    tdm_chat_status_of(a->chat, &now);
    say_turn_figures(r);
    say(r, "session: %d turn%s\n", a->figures.turns, a->figures.turns == 1 ? "" : "s");
    say_median(r, "warm, median", &a->figures.warm_ms, "ms");
    say_median(r, "cold, median", &a->figures.cold_ms, "ms");
    say_median(r, "decode, median", &a->figures.decode_tps, "tok/s");
    say_median(r, "speculation full", &a->figures.full_ms, "ms");
    say_median(r, "speculation off", &a->figures.off_ms, "ms");
    say(r, "context: %u of %u tokens\n", now.context_used, now.context_size);
    say(r, "checkpoints: %u, %.0f of %.0f MB\n", now.checkpoints, 1e-6 * (double)now.checkpoint_bytes,
        1e-6 * (double)now.checkpoint_budget);
    return TDM_OK;
}

static tdm_status do_trace(run *r, tdm_error *err)
{
    tdm_status status = trace_write_recent(r->a->machine, r->call->argument, err);
    if (!status) say(r, "%s: written; ui.perfetto.dev opens it\n", r->call->argument);
    return status;
}

static tdm_status do_sensors(run *r, tdm_error *err)
{
    enum { MOST = 64 };
    tdm_sensor found[MOST];
    tdm_sensors *sensors = tdm_sensors_open();
    if (!sensors) return error_set(err, TDM_E_NOMEM, "out of memory");
    size_t n = tdm_sensors_read(sensors, found, MOST);
    for (size_t i = 0; i < n; i++) {
        if (found[i].valid)
            say(r, "  %-24s %.1f %s\n", found[i].name, found[i].value, found[i].unit);
        else
            say(r, "  %-24s n/a: %s%s%s\n", found[i].name, found[i].reason,
                found[i].remedy[0] ? "; allow it with: " : "", found[i].remedy);
    }
    if (!n) say(r, "this machine tells neither power nor temperature\n");
    tdm_sensors_close(sensors);
    return TDM_OK;
}

static tdm_status do_cold(run *r, tdm_error *err)
{
    int pipeline = r->call->argument ? tdm_pipeline_find(r->call->argument) : TDM_PIPE_SINGLE;
    tdm_status status = tdm_chat_cold(r->a->chat, (tdm_pipeline)pipeline, err);
    r->result->waits = !status;
    return status;
}

static tdm_status do_ab(run *r, tdm_error *err)
{
    app *a = r->a;
    bool on = means_on(r, !a->ab);
    if (!on && a->ab) {
        tdm_chat_options c;
        tdm_chat_options_of(a->chat, &c);
        c.speculation = TDM_SPEC_FULL;
        tdm_status status = tdm_chat_configure(a->chat, &c, err);
        if (status) return status;
    }
    a->ab = on;
    say(r, on ? "speculation is full and off by turns; /stats shows both medians\n" : "speculation is full again\n");
    return TDM_OK;
}

/* ---- All of them ----------------------------------------------------------------------------------------------- */

/* clang-format off */
static tdm_status (*const doers[SLASH_COUNT])(run *r, tdm_error *err) = {
    [SLASH_HELP] = do_help,         [SLASH_NEW] = do_new,           [SLASH_SESSIONS] = do_sessions,
    [SLASH_RESUME] = do_resume,     [SLASH_RENAME] = do_rename,     [SLASH_DELETE] = do_delete,
    [SLASH_SEARCH] = do_search,     [SLASH_FIND] = do_find,         [SLASH_PRIVATE] = do_private,
    [SLASH_SAVE] = do_save,         [SLASH_EXPORT] = do_export,     [SLASH_SYSTEM] = do_system,
    [SLASH_SET] = do_set,           [SLASH_THINK] = do_think,       [SLASH_REGEN] = do_regen,
    [SLASH_CONTINUE] = do_continue, [SLASH_EDIT] = do_edit,         [SLASH_UNDO] = do_undo,
    [SLASH_REDO] = do_redo,         [SLASH_BRANCH] = do_branch,     [SLASH_ATTACH] = do_attach,
    [SLASH_MODEL] = do_model,       [SLASH_PIPELINE] = do_pipeline, [SLASH_SPECULATION] = do_speculation,
    [SLASH_UNITS] = do_units,       [SLASH_STATS] = do_stats,       [SLASH_TRACE] = do_trace,
    [SLASH_SENSORS] = do_sensors,   [SLASH_PACE] = do_pace,         [SLASH_COLD] = do_cold,
    [SLASH_AB] = do_ab,             [SLASH_COPY] = do_copy,         [SLASH_QUIT] = do_quit,
};
/* clang-format on */

tdm_status commands_run(app *a, const commands_front *front, const slash_call *call, commands_result *out,
                        tdm_error *err)
{
    run r = {a, front, call, out};
    *out = (commands_result){0};
    if (call->id != SLASH_DELETE) a->deleting[0] = 0;
    if (doers[call->id]) return doers[call->id](&r, err);
    if (front->screen) return front->screen(front->ctx, call, err);
    return error_set(err, TDM_E_UNSUPPORTED, "/%s belongs to the full screen", slash_table[call->id].name);
}

/* ---- Completion ------------------------------------------------------------------------------------------------ */

static const char *completed_command(void *ctx, size_t i, const char **help)
{
    (void)ctx;
    if (i >= SLASH_COUNT) return NULL;
    *help = slash_table[i].help;
    return slash_table[i].name;
}

static void offer_choices(struct completion *out, const char *words)
{
    while (*words) {
        char word[40];
        size_t n = strcspn(words, "|");
        snprintf(word, sizeof word, "%.*s", (int)n, words);
        completion_add(out, word, NULL);
        words += n + (words[n] == '|');
    }
}

static void offer_sessions(struct completion *out)
{
    store_entry *entries;
    int n;
    if (store_list(&entries, &n, NULL)) return;
    for (int i = 0; i < n; i++) completion_add(out, entries[i].name, NULL);
    store_list_free(entries, n);
}

/* The ends of a number's range. */
static void offer_range(struct completion *out, const option *o)
{
    char end[32];
    snprintf(end, sizeof end, "%.10g", o->low);
    completion_add(out, end, "the least");
    snprintf(end, sizeof end, "%.10g", o->high);
    completion_add(out, end, "the most");
}

/* NAME, or the value of the NAME that stands there. */
static void offer_settings(struct completion *out, size_t index, const char *arguments)
{
    char name[64];
    if (index == 0) {
        for (option_id id = 0; id < OPTION_COUNT; id++)
            if (option_table[id].flags & (LIVE | LOOK)) completion_add(out, option_table[id].name, option_table[id].help);
        return;
    }
    snprintf(name, sizeof name, "%.*s", (int)strcspn(arguments, " \t"), arguments);
    option_id id = option_find(COMMAND_CHAT, name);
    if (index > 1 || id == OPTION_COUNT || !(option_table[id].flags & (LIVE | LOOK))) return;
    const option *o = &option_table[id];
    switch (o->kind) {
    case KIND_CHOICE: offer_choices(out, o->argument); break;
    case KIND_FLAG: offer_choices(out, "on|off"); break;
    case KIND_AUTO: completion_add(out, "auto", o->help); /* fall through */
    case KIND_INT:
    case KIND_REAL: offer_range(out, o); break;
    default: break;
    }
}

static enum complete_kind completed_argument(void *ctx, const char *name, size_t index, const char *arguments,
                                             struct completion *out)
{
    (void)ctx;
    slash_id id = slashes_find(name, strlen(name));
    if (id == SLASH_COUNT) return COMPLETE_WORD;
    switch (slash_table[id].argument) {
    case ARG_CHOICE:
        if (index == 0) offer_choices(out, slash_table[id].arguments);
        return COMPLETE_WORD;
    case ARG_SETTING: offer_settings(out, index, arguments); return COMPLETE_WORD;
    case ARG_SESSION: offer_sessions(out); return COMPLETE_LINE;
    case ARG_FILE:
    case ARG_MODEL: return COMPLETE_FILE;
    default:
        if (id == SLASH_HELP && index == 0)
            for (slash_id other = 0; other < SLASH_COUNT; other++) completion_add(out, slash_table[other].name, NULL);
        if (id == SLASH_COPY && index == 0) completion_add(out, "view", NULL);
        return COMPLETE_WORD;
    }
}

const struct completer commands_completer = {.command = completed_command, .argument = completed_argument};
