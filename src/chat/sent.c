#include "src/chat/sent.h"

#include <stdlib.h>
#include <string.h>

#include "engine/base/error.h"

/* ---- How much of a message was attached ------------------------------------------------------------------------- */

static bool make_room(sent_messages *s, int n)
{
    if (n <= s->n) return true;
    size_t *larger = realloc(s->attached, (size_t)n * sizeof *larger);
    if (!larger) return false;
    memset(larger + s->n, 0, (size_t)(n - s->n) * sizeof *larger);
    s->attached = larger;
    s->n = n;
    return true;
}

size_t sent_attached(const sent_messages *s, const tdm_node *node)
{
    size_t bytes = node->role == TDM_USER && node->node <= s->n ? s->attached[node->node - 1] : 0;
    return bytes <= node->length ? bytes : 0;
}

tdm_status sent_load(sent_messages *s, const size_t *attached, int n, tdm_error *err)
{
    s->n = 0;
    if (!make_room(s, n)) return error_set(err, TDM_E_NOMEM, "out of memory");
    if (attached && n) memcpy(s->attached, attached, (size_t)n * sizeof *attached);
    return TDM_OK;
}

/* A message that was written anew begins with the same files as the one before it did, unless they were changed. */
static size_t inherited(const sent_messages *s, const tdm_chat *chat, const tdm_node *node)
{
    size_t most = 0;
    for (int i = 1; i < node->node && node->branches > 1; i++) {
        tdm_node other;
        if (tdm_chat_node(chat, TDM_FRONT, i, &other, NULL)) continue;
        size_t bytes = other.parent == node->parent ? sent_attached(s, &other) : 0;
        if (bytes > most && bytes < node->length && !memcmp(other.text, node->text, bytes)) most = bytes;
        tdm_node_free(&other);
    }
    return most;
}

static void drop(sent_messages *s)
{
    buffer_clear(&s->words);
    attach_clear(&s->files);
    s->on_its_way = s->stranded = false;
    s->answers = 0;
}

void sent_settle(sent_messages *s, const tdm_chat *chat)
{
    int n = tdm_chat_nodes(chat, TDM_FRONT);
    for (int i = s->first + 1; s->on_its_way && !s->stranded && i <= n; i++) {
        tdm_node node;
        if (tdm_chat_node(chat, TDM_FRONT, i, &node, NULL)) continue;
        size_t bytes = attach_length(&s->files);
        if (node.role == TDM_USER) {
            if (make_room(s, i)) s->attached[i - 1] = bytes ? bytes : inherited(s, chat, &node);
            drop(s);
        }
        tdm_node_free(&node);
    }
}

void sent_free(sent_messages *s)
{
    drop(s);
    buffer_free(&s->words);
    free(s->attached);
    *s = (sent_messages){0};
}

/* ---- The message on its way ------------------------------------------------------------------------------------- */

/* Takes the message out of the chat's queue again, unless it has become a part of the conversation. */
static void unqueue(sent_messages *s, tdm_chat *chat)
{
    if (!s->on_its_way || s->stranded) return;
    tdm_placed_picture *pictures;
    size_t n;
    char *waiting = tdm_chat_unqueue_pictures(chat, &pictures, &n);
    if (!waiting) sent_settle(s, chat);
    for (size_t i = 0; i < n; i++) tdm_picture_drop(pictures[i].picture);
    free(pictures);
    free(waiting);
}

/* The pictures of the message on its way, and those that are added; malloc'ed. NULL with *n above 0: no memory. */
static tdm_placed_picture *pictures_of(const sent_messages *s, const attachments *more, size_t *n)
{
    size_t n_before, n_more, room = attach_pictures_n(&s->files) + attach_pictures_n(more);
    tdm_placed_picture *before = attach_pictures(&s->files, 0, &n_before);
    tdm_placed_picture *behind = attach_pictures(more, attach_length(&s->files), &n_more);
    tdm_placed_picture *all = room && n_before + n_more == room ? realloc(before, room * sizeof *all) : NULL;
    if (all && n_more) memcpy(all + n_before, behind, n_more * sizeof *all);
    if (!all) free(before);
    free(behind);
    *n = room;
    return all;
}

/* The message on its way with what is added to it: more files, more words. */
static tdm_status send_text(const sent_messages *s, tdm_chat *chat, const attachments *more, size_t words, int answers,
                            int64_t enter_ns, tdm_error *err)
{
    size_t before = attach_length(&s->files), files = before + attach_length(more), n;
    char *text = malloc(files + words + 1);
    tdm_placed_picture *pictures = pictures_of(s, more, &n);
    if (!text || (n && !pictures)) {
        free(text);
        free(pictures);
        return error_set(err, TDM_E_NOMEM, "out of memory");
    }
    attach_join(&s->files, text);
    attach_join(more, text + before);
    if (words) memcpy(text + files, s->words.bytes, words);
    tdm_status status = tdm_chat_send_pictures(chat, text, files + words, pictures, n, answers, enter_ns, err);
    free(pictures);
    free(text);
    return status;
}

tdm_status sent_send(sent_messages *s, tdm_chat *chat, attachments *files, const char *words, size_t n, int answers,
                     int64_t enter_ns, tdm_error *err)
{
    if (s->stranded) drop(s);
    sent_settle(s, chat);
    unqueue(s, chat);
    bool joins = s->on_its_way;
    size_t before = s->words.n;
    int waiting = s->answers > 1 ? s->answers : 1;
    if (waiting > answers) answers = waiting;
    int first = tdm_chat_nodes(chat, TDM_FRONT);
    tdm_status status = joins ? buffer_append(&s->words, "\n", 1, err) : TDM_OK;
    if (!status) status = buffer_append(&s->words, words, n, err);
    if (!status) status = attach_reserve(&s->files, files->n, err);
    if (!status) status = send_text(s, chat, files, s->words.n, answers, enter_ns, err);
    if (status) {
        tdm_error unheard; /* the message that waited waits again, or can at least be taken back */
        s->words.n = before;
        if (joins) s->stranded = send_text(s, chat, &(attachments){0}, before, waiting, enter_ns, &unheard) != TDM_OK;
        return status;
    }
    attach_append(&s->files, files);
    s->answers = answers;
    s->on_its_way = true;
    s->first = first;
    sent_settle(s, chat);
    return TDM_OK;
}

void sent_strand(sent_messages *s)
{
    s->stranded = s->on_its_way;
}

char *sent_take_back(sent_messages *s, tdm_chat *chat, attachments *files)
{
    unqueue(s, chat);
    if (!s->on_its_way) return NULL;
    s->stranded = true; /* no longer in the chat; without memory here it can be asked for again */
    char *words = strndup(s->words.n ? s->words.bytes : "", s->words.n);
    if (!words || attach_reserve(&s->files, files->n, NULL)) {
        free(words);
        return NULL;
    }
    for (int i = 0; i < files->n; i++)
        for (int k = s->files.n; k-- > 0;)
            if (!strcmp(s->files.all[k].path, files->all[i].path)) attach_remove(&s->files, k);
    attach_append(&s->files, files);
    unsigned revision = files->revision + 1;
    *files = s->files;
    files->revision = revision;
    s->files = (attachments){0};
    drop(s);
    return words;
}
