/* Commands that open, find, save, rename, delete and export sessions. */
#include "src/slash/command.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "engine/base/error.h"
#include "src/chat/consent.h"
#include "src/files/files.h"
#include "src/files/unfinished.h"
#include "src/session/html.h"
#include "ui/text/format.h"

/* Turns that existed only in memory have gone with the session that was left; "": there were none. */
static void tell_gone(int turns, char out[60])
{
    out[0] = 0;
    if (turns) snprintf(out, 60, "; %d private turn%s gone", turns, turns == 1 ? " is" : "s are");
}

/* What waits for the next message goes before it in any session. */
static void tell_attached(const app *a, char out[60])
{
    int n = a->attach.files.n;
    out[0] = 0;
    if (n) snprintf(out, 60, "; %d file%s attached (/detach)", n, n == 1 ? " stays" : "s stay");
}

tdm_status command_new(slash_running *r, tdm_error *err)
{
    char gone[60], attached[60];
    unsigned before = r->a->background.leaves;
    tell_gone(app_memory_turns(r->a), gone);
    tdm_status status = app_new(r->a, r->call->argument, err);
    bool goes_on = r->a->background.leaves != before;
    r->result->anew = !status || !tdm_chat_nodes(r->a->chat, TDM_FRONT);
    tell_attached(r->a, attached);
    if (!status)
        command_say(r, "a new %ssession%s%s\n", r->a->open.private ? "private " : "", goes_on ? "" : gone, attached);
    return status;
}

static void say_entry(const slash_running *r, int number, const store_entry *e)
{
    char date[FORMAT_DATE];
    format_date(date, e->changed_s);
    bool open = r->a->open.slot.lock >= 0 && !strcmp(e->id, r->a->open.slot.id);
    const char *other = r->a->background.writing ? "  (being answered)" : "  (answered)";
    if (e->damage[0])
        command_say(r, "%3d  %s  %s\n", number, date, e->damage);
    else
        command_say(r, "%3d  %s  %3d %-5s  %-20.20s  %s%s\n", number, date, e->turns, e->turns == 1 ? "turn" : "turns",
                    e->model, e->name,
                    open                         ? "  (this one)"
                    : background_is(r->a, e->id) ? other
                                                 : "");
}

tdm_status command_sessions(slash_running *r, tdm_error *err)
{
    store_entry *entries;
    int n;
    app_settle(r->a);
    tdm_status status = store_list(&entries, &n, err);
    if (status) return status;
    if (!n) command_say(r, "there is no saved session yet\n");
    for (int i = 0; i < n; i++) say_entry(r, i + 1, &entries[i]);
    store_listing_set(&r->a->listed.sessions, entries, n);
    store_list_free(entries, n);
    return TDM_OK;
}

/* Where its turns would go to a server that has not had them, the user is asked. */
static bool may_resume(const slash_running *r, const char *wanted)
{
    char question[CONSENT_ROOM];
    bool asks = r->front->may_send && wanted && consent_to_resume(r->a, wanted, question);
    return !asks || r->front->may_send(r->front->ctx, question);
}

tdm_status command_resume(slash_running *r, tdm_error *err)
{
    char notice[400], gone[60], attached[60];
    if (!may_resume(r, r->call->argument)) return TDM_OK;
    unsigned before = r->a->background.leaves;
    tell_gone(app_memory_turns(r->a), gone);
    tdm_status status = app_resume(r->a, r->call->argument, notice, err);
    r->result->anew = !status || !tdm_chat_nodes(r->a->chat, TDM_FRONT); /* half resumed: an empty conversation */
    tell_attached(r->a, attached);
    bool goes_on = r->a->background.leaves != before || app_memory_turns(r->a); /* or it is the open one */
    if (!status) command_say(r, "%s%s%s\n", notice, goes_on ? "" : gone, attached);
    return status;
}

tdm_status command_visit(slash_running *r, tdm_error *err)
{
    char notice[400], gone[60];
    if (!may_resume(r, background_answered(r->a))) return TDM_OK;
    tell_gone(app_memory_turns(r->a), gone);
    tdm_status status = background_visit(r->a, notice, err);
    r->result->anew = !status;
    if (!status) command_say(r, "%s%s\n", notice, r->a->background.there ? "" : gone);
    return status;
}

tdm_status command_rename(slash_running *r, tdm_error *err)
{
    tdm_status status = app_rename(r->a, r->call->argument, err);
    if (!status) command_say(r, "this session is now called '%s'\n", r->call->argument);
    return status;
}

/* The first call asks, the second one about the same session deletes it. */
static tdm_status delete_entry(slash_running *r, const store_entry *e, bool for_good, tdm_error *err)
{
    app *a = r->a;
    const char *s = e->turns == 1 ? "" : "s";
    if (strcmp(a->deleting.id, e->id) || a->deleting.for_good != for_good) {
        snprintf(a->deleting.id, sizeof a->deleting.id, "%s", e->id);
        a->deleting.for_good = for_good;
        command_say(r,
                    for_good ? "erase '%s' (%d turn%s) for good? The same command once more does it\n"
                             : "delete '%s' (%d turn%s)? The same command once more does it\n",
                    e->name, e->turns, s);
        return TDM_OK;
    }
    bool open;
    a->deleting.id[0] = 0;
    tdm_status status = app_delete(a, e->id, for_good, &open, err);
    r->result->anew = !status && open;
    if (status) return status;
    /* The open one's name has been asked about and is gone from the screen: one row is enough without it. */
    const char *name = open ? "it" : e->name, *quote = open ? "" : "'", *then = open ? "; this is a new session" : "";
    if (for_good) command_say(r, "%s%s%s is erased%s\n", quote, name, quote, then);
    else
        command_say(r, "%s%s%s is in the trash for %d days (/undelete)%s\n", quote, name, quote, STORE_TRASH_DAYS,
                    then);
    return TDM_OK;
}

/* Takes --now, which stands before or behind the name, out of it. */
static bool take_now(char *name)
{
    static const char now[] = "--now";
    size_t n = strlen(name), m = sizeof now - 1;
    if (!strncmp(name, now, m) && (!name[m] || name[m] == ' ')) {
        size_t skip = m + strspn(name + m, " ");
        memmove(name, name + skip, n - skip + 1);
        return true;
    }
    if (n <= m || name[n - m - 1] != ' ' || strcmp(name + n - m, now)) return false;
    for (n -= m; n && name[n - 1] == ' ';) n--;
    name[n] = 0;
    return true;
}

static int find_open(const app *a, const store_entry *entries, int n, tdm_error *err)
{
    for (int i = 0; i < n; i++)
        if (a->open.slot.lock >= 0 && !strcmp(entries[i].id, a->open.slot.id)) return i;
    error_set(err, TDM_E_NOT_FOUND, "this session isn't saved");
    return -1;
}

tdm_status command_delete(slash_running *r, tdm_error *err)
{
    store_entry *entries;
    int n;
    app_settle(r->a);
    tdm_status status = store_list(&entries, &n, err);
    if (status) return status;
    char *name = r->call->argument ? strdup(r->call->argument) : NULL;
    bool for_good = name && take_now(name);
    int picked =
        name && name[0] ? store_pick(entries, n, &r->a->listed.sessions, name, err) : find_open(r->a, entries, n, err);
    status = picked < 0 ? TDM_E_NOT_FOUND : delete_entry(r, &entries[picked], for_good, err);
    free(name);
    store_list_free(entries, n);
    return status;
}

/* Without a name: what is in the trash. */
tdm_status command_undelete(slash_running *r, tdm_error *err)
{
    store_entry *entries;
    int n;
    const char *wanted = r->call->argument;
    tdm_status status = store_list_trash(&entries, &n, err);
    if (status) return status;
    if (!wanted) {
        if (!n) command_say(r, "the trash is empty\n");
        for (int i = 0; i < n; i++) say_entry(r, i + 1, &entries[i]);
        store_listing_set(&r->a->listed.trash, entries, n);
    } else if (!n) {
        status = error_set(err, TDM_E_NOT_FOUND, "the trash is empty");
    } else {
        int picked = store_pick(entries, n, &r->a->listed.trash, wanted, err);
        status = picked < 0 ? TDM_E_NOT_FOUND : store_undelete(entries[picked].id, err);
        if (!status) command_say(r, "'%s' is back among the saved sessions\n", entries[picked].name);
    }
    store_list_free(entries, n);
    return status;
}

static void say_match(const slash_running *r, const char *place, const tdm_node *node, const char *words)
{
    char line[400];
    store_excerpt(node->text, node->length, words, line, sizeof line);
    command_say(r, "%s %s: %s\n", place, node->role == TDM_USER ? "you" : "model", line);
}

typedef struct {
    slash_running *r;
    int found;
} search;

static void on_found(void *ctx, const store_entry *entry, int id, const tdm_node *node)
{
    (void)id;
    search *s = ctx;
    char place[120];
    snprintf(place, sizeof place, "%.80s,", entry->name);
    if (s->found++ < 50) say_match(s->r, place, node, s->r->call->argument);
}

tdm_status command_search(slash_running *r, tdm_error *err)
{
    search s = {.r = r};
    app_settle(r->a);
    tdm_status status = store_search(r->call->argument, on_found, &s, err);
    if (status) return status;
    if (!s.found) command_say(r, "no saved message has '%s'\n", r->call->argument);
    if (s.found > 50) command_say(r, "%d messages; the first 50 are shown\n", s.found);
    return status;
}

tdm_status command_find(slash_running *r, tdm_error *err)
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
    if (!found) command_say(r, "not found\n");
    session_free(&s);
    return TDM_OK;
}

tdm_status command_private(slash_running *r, tdm_error *err)
{
    tdm_status status = app_set_private(r->a, command_means_on(r, true), err);
    if (!status)
        command_say(r, r->a->open.private ? "private: nothing of this session is written to disk\n"
                                          : "this session is saved\n");
    return status;
}

tdm_status command_save(slash_running *r, tdm_error *err)
{
    if (r->a->open.private) return error_set(err, TDM_E_ARG, "this session is private; /private off first");
    tdm_status status = r->call->argument ? app_rename(r->a, r->call->argument, err) : TDM_OK;
    if (!status) status = app_save(r->a, err);
    if (!status) command_say(r, r->a->open.name ? "saved as '%s'\n" : "nothing to save yet\n", r->a->open.name);
    return status;
}

/* The pictures beside a page; the names are those of its links. force: what is there is overwritten. */
static tdm_status export_pictures(const session *s, const char *stem, bool force, tdm_error *err)
{
    int number = 0;
    tdm_status status = TDM_OK;
    for (int i = 0; i < s->n_pictures && !status; i++) {
        const session_picture *p = &s->pictures[i];
        const picture *its = picture_find_key(p->key);
        char path[PATH_MAX];
        if (!p->node || !s->nodes[p->node - 1].current) continue;
        session_picture_file(path, sizeof path, stem, ++number, p);
        if (!force && !access(path, F_OK))
            status = error_set(err, TDM_E_ARG, "%s: is there already; --force before the name overwrites it", path);
        else if (its)
            status = unfinished_replace(path, its->bytes, its->n, err);
    }
    return status;
}

static tdm_status export_to(slash_running *r, const char *path, bool force, tdm_error *err)
{
    const char *dot = strrchr(path, '.');
    static const char *const endings[] = {".md", ".json", ".html"};
    enum { MARKDOWN, MESSAGES, PAGE, FORMS } form = MARKDOWN;
    while (form < FORMS && (!dot || strcmp(dot, endings[form]))) form++;
    if (form == FORMS)
        return error_set(err, TDM_E_ARG, "%s: expected a name in .md, .json or .html; on the full screen also .svg",
                         path);
    session s;
    tdm_status status = app_snapshot(r->a, &s, err);
    if (status) return status;
    size_t n = 0;
    char *stem = strndup(path, (size_t)(dot - path)), *text = NULL;
    int turns = session_turns(&s), shown = session_pictures(&s);
    if (stem && form == MARKDOWN) text = session_markdown(&s, &n, stem);
    if (stem && form != MARKDOWN) text = form == PAGE ? html_page(&s, &n) : session_messages(&s, &n);
    if (!text) status = error_set(err, TDM_E_NOMEM, "out of memory");
    if (!status && form == MARKDOWN) status = export_pictures(&s, stem, force, err);
    if (!status) status = unfinished_replace(path, text, n, err);
    if (!status)
        command_say(r, shown ? "%s: %d turn%s, %zu bytes, %d picture%s\n" : "%s: %d turn%s, %zu bytes\n", path, turns,
                    turns == 1 ? "" : "s", n, shown, shown == 1 ? "" : "s");
    free(stem);
    free(text);
    session_free(&s);
    return status;
}

tdm_status command_export(slash_running *r, tdm_error *err)
{
    char *path = files_to_write(r->call->argument, err);
    tdm_status status = path ? export_to(r, path, files_forces(r->call->argument), err) : err->code;
    free(path);
    return status;
}
