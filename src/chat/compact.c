#include "src/chat/compact.h"

#include <stdlib.h>
#include <string.h>

#include "engine/base/clock.h"
#include "engine/base/error.h"
#include "src/cli/output.h"

enum { OFFERED_PERCENT = 85 };

static const char request[] =
    "Sum up our conversation so far as notes that you will go on from: who I am and what I want, what was asked and "
    "answered, what was decided, names, numbers, and what is still open. Use at most 200 words. Write the notes alone.";
static const char beginning[] = "Summary of our conversation so far:\n\n";

static tdm_status check_idle(const app *a, tdm_error *err)
{
    tdm_chat_status now;
    tdm_chat_status_of(a->chat, &now);
    return now.phase == TDM_IDLE ? TDM_OK : error_set(err, TDM_E_BUSY, "a reply is being written; Ctrl-C stops it");
}

/* The index of the message that the kept turns begin with; *older: the turns before it. */
static int first_kept(const session *s, int *older)
{
    int turns = session_turns(s), seen = 0, first = 0;
    for (int i = 0; i < s->n; i++) {
        if (!s->nodes[i].current || s->nodes[i].role != TDM_USER) continue;
        if (seen++ == turns - COMPACT_KEPT_TURNS) first = i;
    }
    *older = turns > COMPACT_KEPT_TURNS ? turns - COMPACT_KEPT_TURNS : 0;
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
    first_kept(&s, &older);
    session_free(&s);
    return older ? TDM_OK : no_older(err);
}

tdm_status compact_ask(app *a, tdm_error *err)
{
    tdm_status status = tdm_chat_send(a->chat, request, sizeof request - 1, clock_ns(), err);
    if (status == TDM_E_CONTEXT)
        return error_set(err, status, "there is no room left to draft a summary; /compact TEXT takes one of yours");
    a->compacting = !status;
    return status;
}

static bool is_request(const app *a, int node)
{
    tdm_node asked;
    if (tdm_chat_node(a->chat, node, &asked, NULL)) return false;
    bool same = asked.length == sizeof request - 1 && !memcmp(asked.text, request, asked.length);
    tdm_node_free(&asked);
    return same;
}

/* Whether it answers the request: the conversation may have become another one meanwhile. */
static bool is_summary(const app *a, const tdm_node *reply)
{
    return reply->length && is_request(a, reply->parent);
}

void compact_give_up(app *a)
{
    if (!a->compacting) return;
    a->compacting = false;
    tdm_chat_stop(a->chat);
    int n = tdm_chat_path(a->chat, NULL, 0), *path = calloc((size_t)n + 1, sizeof *path);
    bool asked = path && n && tdm_chat_path(a->chat, path, n) == n &&
                 (is_request(a, path[n - 1]) || (n > 1 && is_request(a, path[n - 2])));
    if (asked) tdm_chat_undo(a->chat, NULL);
    free(path);
}

void compact_end(app *a, const tdm_event *e)
{
    tdm_node reply;
    if (!a->compacting) return;
    a->compacting = false;
    /* A message that was queued meanwhile goes on from the summary: it stays an ordinary turn. */
    if (e->finish == TDM_FAILED || check_idle(a, NULL) || tdm_chat_node(a->chat, e->node, &reply, NULL)) return;
    char *draft;
    if (is_summary(a, &reply) && asprintf(&draft, "/compact %s", reply.text) >= 0) {
        if (tdm_chat_undo(a->chat, NULL)) {
            free(draft);
        } else {
            free(a->draft);
            a->draft = draft;
        }
    }
    tdm_node_free(&reply);
}

bool compact_due(app *a)
{
    tdm_chat_status now;
    tdm_chat_options c;
    tdm_chat_status_of(a->chat, &now);
    tdm_chat_options_of(a->chat, &c);
    bool full = (uint64_t)now.context_used * 100 >= (uint64_t)now.context_size * OFFERED_PERCENT;
    bool room = now.context_used < now.context_size; /* for the words that ask for a summary */
    bool due = full && room && !a->compact_offered && c.on_full == TDM_FULL_STOP &&
               tdm_chat_path(a->chat, NULL, 0) > 2 * COMPACT_KEPT_TURNS;
    a->compact_offered = full && (a->compact_offered || due);
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
    s->attached[s->n++] = before ? 0 : s->attached[i];
    if (!to->text || (from->thinking && !to->thinking)) return error_set(err, TDM_E_NOMEM, "out of memory");
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

tdm_status compact_replace(app *a, const char *text, size_t n, int *turns, tdm_error *err)
{
    session s;
    size_t begin = sizeof beginning - 1;
    tdm_status status = check_idle(a, err);
    if (!status) status = app_snapshot(a, &s, err);
    if (status) return status;
    int first = first_kept(&s, turns);
    char *summary = malloc(begin + 3 * n + 3);
    if (!*turns)
        status = no_older(err);
    else if (!summary)
        status = error_set(err, TDM_E_NOMEM, "out of memory");
    if (!status) {
        memcpy(summary, beginning, begin);
        begin += output_valid(text, n, summary + begin);
        memcpy(summary + begin, "\n\n", 3);
        status = add_branch(&s, first, summary, err);
    }
    if (!status) status = tdm_chat_load(a->chat, a->system, a->system_length, s.nodes, s.n, s.leaf, err);
    if (!status) status = sent_load(&a->sent, s.attached, s.n, err);
    free(summary);
    session_free(&s);
    if (!status) app_begin_save(a);
    return status;
}
