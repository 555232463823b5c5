#include "src/chat/compact.h"

#include <stdlib.h>
#include <string.h>

#include "engine/base/clock.h"
#include "engine/base/error.h"
#include "engine/base/utf8.h"

enum { OFFERED_PERCENT = 85 };

static const char request[] =
    "Sum up our conversation so far as notes that you will go on from: who I am and what I want, what was asked and "
    "answered, what was decided, names, numbers, and what is still open. Use at most 200 words. Write the notes alone.";
static const char beginning[] = "Summary of our conversation so far:\n\n";

static tdm_status check_idle(const app *a, tdm_error *err)
{
    tdm_chat_status now;
    tdm_chat_status_of(a->chat, &now);
    return now.phase == TDM_PHASE_IDLE ? TDM_OK
                                       : error_set(err, TDM_E_BUSY, "a reply is being written; Ctrl-C stops it");
}

/* The index of the message that the kept turns begin with; *older: the turns before it. summed: how many of them a
 * summary has, 0: all. */
static int first_kept(const session *s, int summed, int *older)
{
    int turns = session_turns(s), seen = 0, first = 0;
    *older = turns > COMPACT_KEPT_TURNS ? turns - COMPACT_KEPT_TURNS : 0;
    if (summed && summed < *older) *older = summed;
    for (int i = 0; i < s->n; i++) {
        if (!s->nodes[i].current || s->nodes[i].role != TDM_USER) continue;
        if (seen++ == *older) first = i;
    }
    return first;
}

static tdm_status no_older(tdm_error *err)
{
    return error_set(err, TDM_E_NOT_FOUND, "there is nothing to sum up: the last %d turns stay as they are",
                     COMPACT_KEPT_TURNS);
}

/* ---- The summary ----------------------------------------------------------------------------------------------- */

tdm_status compact_check(const app *a, tdm_error *err)
{
    session s;
    int older = 0;
    tdm_status status = check_idle(a, err);
    if (!status) status = app_snapshot(a, &s, err);
    if (status) return status;
    first_kept(&s, 0, &older);
    session_free(&s);
    return older ? TDM_OK : no_older(err);
}

static bool fits_here(const app *a)
{
    enum { SUMMARY_TOKENS = 400 }; /* for the request and the summary; at most half of a small context */
    tdm_chat_status now;
    tdm_chat_status_of(a->chat, &now);
    uint32_t wanted = now.context_size / 2 < SUMMARY_TOKENS ? now.context_size / 2 : SUMMARY_TOKENS;
    return now.context_used + wanted <= now.context_size;
}

/* Goes back to the end of the last turn behind which there is room for a summary; how many turns back that is. */
static int make_room(app *a)
{
    int back = 0;
    while (!fits_here(a) && !tdm_chat_undo(a->chat, NULL)) back++;
    return back;
}

tdm_status compact_ask(app *a, tdm_error *err)
{
    session before;
    tdm_status status = app_snapshot(a, &before, err);
    if (status) return status;
    int turns = session_turns(&before), back = make_room(a);
    a->compact.nodes = before.n;
    a->compact.leaf = before.leaf;
    a->compact.summed = back ? turns - back : 0;
    session_free(&before);
    status = back < turns ? tdm_chat_send(a->chat, request, sizeof request - 1, clock_ns(), err) : TDM_E_CONTEXT;
    if (status == TDM_E_CONTEXT)
        error_set(err, status, "there is no room left to draft a summary; /compact TEXT takes one of yours");
    while (status && back-- > 0 && !tdm_chat_redo(a->chat, NULL)) {
    }
    a->compact.running = !status;
    return status;
}

static tdm_status look_at_request(const app *a, int node, bool *is_one)
{
    tdm_node asked;
    tdm_status status = tdm_chat_node(a->chat, TDM_FRONT, node, &asked, NULL);
    if (status) return status;
    *is_one = asked.length == sizeof request - 1 && !memcmp(asked.text, request, asked.length);
    tdm_node_free(&asked);
    return TDM_OK;
}

/* Restores the conversation as it was before the request, whose turn is not a part of it. */
static tdm_status drop_request(app *a)
{
    session s;
    tdm_status status = app_snapshot(a, &s, NULL);
    if (status) return status;
    status = tdm_chat_load(a->chat, a->open.system, a->open.system_length, s.nodes, s.n, s.leaf, s.created_s, NULL);
    if (!status) status = sent_load(&a->open.sent, s.attached, s.n, NULL);
    session_free(&s);
    return status;
}

/* The path's messages; *n how many. malloc'ed; NULL without memory. */
static int *path_of(const app *a, int *n)
{
    *n = tdm_chat_path(a->chat, TDM_FRONT, NULL, 0);
    int *path = calloc((size_t)*n + 1, sizeof *path);
    if (path) *n = tdm_chat_path(a->chat, TDM_FRONT, path, *n);
    return path;
}

/* Is the last turn, which may have no reply yet, the one that asks for a summary? */
static tdm_status find_request(const app *a, bool *asked)
{
    int n, *path = path_of(a, &n);
    tdm_status status = path ? TDM_OK : TDM_E_NOMEM;
    *asked = false;
    for (int back = 1; back <= 2 && back <= n && !status && !*asked; back++)
        status = look_at_request(a, path[n - back], asked);
    free(path);
    return status;
}

void compact_give_up(app *a)
{
    bool asked;
    if (!a->compact.running) return;
    tdm_chat_stop(a->chat, TDM_FRONT);
    if (!find_request(a, &asked) && asked) drop_request(a);
    a->compact.running = false;
    a->compact.summed = 0;
}

/* /compact with the reply; malloc'ed. NULL: there is none, or no memory. */
static char *draft_of(const app *a, const tdm_event *e, tdm_status *status)
{
    tdm_node reply;
    char *draft = NULL;
    *status = TDM_E_NOT_FOUND;
    if (!e->node || e->finish == TDM_FINISH_FAILED || e->finish == TDM_FINISH_STOPPED) return NULL;
    *status = tdm_chat_node(a->chat, TDM_FRONT, e->node, &reply, NULL);
    if (*status) return NULL;
    if (!reply.length)
        *status = TDM_E_NOT_FOUND;
    else if (asprintf(&draft, "/compact %s", reply.text) < 0)
        *status = TDM_E_NOMEM, draft = NULL;
    tdm_node_free(&reply);
    return draft;
}

/* What is said about a summary's end; NULL: nothing. */
static const char *outcome(tdm_finish finish, tdm_status drafted, tdm_status dropped)
{
    if (dropped) return "out of memory: the turn that asks for the summary stays; /undo takes it back";
    if (finish == TDM_FINISH_STOPPED) return "the summary was given up";
    if (finish == TDM_FINISH_FAILED) return "there is no summary; /compact asks again";
    if (drafted == TDM_E_NOT_FOUND) return "the model wrote no summary";
    if (drafted) return "out of memory: the summary is lost; /compact drafts it again";
    if (finish == TDM_FINISH_LENGTH || finish == TDM_FINISH_CONTEXT) return "the summary was cut off";
    return finish == TDM_FINISH_REPEATS ? "the summary only repeats itself" : NULL;
}

void compact_end(app *a, const tdm_event *e)
{
    a->compact.ended = false;
    a->compact.said = NULL;
    if (!a->compact.running) return;
    /* A message that was queued meanwhile goes on from the summary: it stays an ordinary turn. */
    bool summary = false;
    tdm_status drafted = TDM_E_NOT_FOUND, dropped = check_idle(a, NULL) ? TDM_OK : find_request(a, &summary);
    char *draft = summary ? draft_of(a, e, &drafted) : NULL;
    if (summary) dropped = drop_request(a);
    if (summary || dropped) a->compact.said = outcome(e->finish, drafted, dropped);
    a->compact.ended = summary && !dropped;
    a->compact.running = false;
    if (!draft) a->compact.summed = 0;
    if (!draft) return;
    free(a->draft);
    a->draft = draft;
}

bool compact_due(app *a)
{
    tdm_chat_status now;
    tdm_chat_options c;
    tdm_chat_status_of(a->chat, &now);
    tdm_chat_options_of(a->chat, &c);
    bool full = (uint64_t)now.context_used * 100 >= (uint64_t)now.context_size * OFFERED_PERCENT;
    bool room = now.context_used < now.context_size; /* room for the words that ask for a summary */
    bool due = full && room && !a->compact.offered && c.on_full == TDM_FULL_STOP &&
               tdm_chat_path(a->chat, TDM_FRONT, NULL, 0) > 2 * COMPACT_KEPT_TURNS;
    a->compact.offered = full && (a->compact.offered || due);
    return due;
}

const char *compact_offer(const app *a)
{
    bool small = load_check_large(&a->info, "", "", NULL);
    return small ? "the context is 85 % full: /compact TEXT puts a summary of yours in place of the older turns"
                 : "the context is 85 % full: /compact sums up the older turns";
}

/* ---- In place of the older turns ------------------------------------------------------------------------------- */

static char *copy(const char *text, size_t n)
{
    char *out = text ? malloc(n + 1) : NULL;
    if (!out) return NULL;
    memcpy(out, text, n);
    out[n] = 0;
    return out;
}

/* Appends a copy of node i below `parent`, with the words before its text. */
static tdm_status append_copy(session *s, int i, int parent, const char *words, tdm_error *err)
{
    const tdm_node *from = &s->nodes[i];
    tdm_node *to = &s->nodes[s->n];
    size_t before = strlen(words), room = before + from->length + 1;
    *to = *from;
    to->node = s->n + 1;
    to->parent = parent;
    to->thinking = copy(from->thinking, from->thinking_length);
    to->text = malloc(room);
    to->pictures = from->n_pictures ? calloc(from->n_pictures, sizeof *to->pictures) : NULL;
    to->n_pictures = to->pictures ? from->n_pictures : 0;
    for (size_t k = 0; k < to->n_pictures; k++)
        to->pictures[k] =
            (tdm_placed_picture){tdm_picture_hold(from->pictures[k].picture), from->pictures[k].at + before};
    s->attached[s->n++] = before ? 0 : s->attached[i];
    if (!to->text || (from->thinking && !to->thinking) || to->n_pictures < from->n_pictures)
        return error_set(err, TDM_E_NOMEM, "out of memory");
    memcpy(to->text, words, before);
    memcpy(to->text + before, from->text, from->length);
    to->text[room - 1] = 0;
    to->length = room - 1;
    return TDM_OK;
}

/* Adds the branch: the summary before the first of the kept messages, and the others as they are. */
static tdm_status add_branch(session *s, int first, const char *summary, tdm_error *err)
{
    int n = s->n, parent = 0;
    tdm_node *nodes = realloc(s->nodes, (size_t)(2 * n + 1) * sizeof *nodes);
    if (nodes) s->nodes = nodes;
    size_t *attached = realloc(s->attached, (size_t)(2 * n + 1) * sizeof *attached);
    if (attached) s->attached = attached;
    if (!nodes || !attached) return error_set(err, TDM_E_NOMEM, "out of memory");
    tdm_status status = TDM_OK;
    for (int i = first; i < n && !status; i++) {
        if (!s->nodes[i].current) continue;
        status = append_copy(s, i, parent, i == first ? summary : "", err);
        parent = s->n;
    }
    s->leaf = parent;
    return status;
}

/* Which of the branches at the conversation's beginning, from 1, leads to that message. */
static int number_of_root(const session *s, int node)
{
    int number = 0;
    while (s->nodes[node - 1].parent) node = s->nodes[node - 1].parent;
    for (int i = 1; i <= node; i++) number += s->nodes[i - 1].parent == 0;
    return number;
}

tdm_status compact_replace(app *a, const char *text, size_t n, int *turns, int *branch, tdm_error *err)
{
    session s;
    size_t begin = sizeof beginning - 1;
    tdm_status status = check_idle(a, err);
    if (!status) status = app_snapshot(a, &s, err);
    if (status) return status;
    int first = first_kept(&s, a->compact.summed, turns), before = s.leaf;
    char *summary = malloc(begin + 3 * n + 3);
    if (!*turns)
        status = no_older(err);
    else if (!summary)
        status = error_set(err, TDM_E_NOMEM, "out of memory");
    if (!status) {
        memcpy(summary, beginning, begin);
        begin += utf8_mend(text, n, summary + begin);
        memcpy(summary + begin, "\n\n", 3);
        status = add_branch(&s, first, summary, err);
    }
    *branch = status ? 0 : number_of_root(&s, before);
    /* First as it was: going back to it then leads to the same replies. */
    if (!status)
        status = tdm_chat_load(a->chat, a->open.system, a->open.system_length, s.nodes, s.n, before, s.created_s, err);
    if (!status) status = tdm_chat_select(a->chat, s.leaf, err);
    if (!status) status = sent_load(&a->open.sent, s.attached, s.n, err);
    if (!status) a->compact.summed = 0;
    free(summary);
    session_free(&s);
    if (!status) app_begin_save(a);
    return status;
}
