#include "engine/chat/conversation.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "engine/base/buffer.h"
#include "engine/base/error.h"
#include "engine/base/size.h"

static void node_free(struct node *node)
{
    buffer_free(&node->text);
    buffer_free(&node->thinking);
    free(node->reply.ids);
}

tdm_status conversation_init(struct conversation *c, tdm_error *err)
{
    *c = (struct conversation){.room = 64};
    c->nodes = calloc((size_t)c->room, sizeof *c->nodes);
    if (!c->nodes) return error_set(err, TDM_E_NOMEM, "no memory for a conversation");
    return TDM_OK;
}

void conversation_free(struct conversation *c)
{
    if (!c->nodes) return;
    for (int i = 0; i <= c->n; i++) node_free(&c->nodes[i]);
    free(c->nodes);
    buffer_free(&c->system);
    *c = (struct conversation){0};
}

void conversation_clear(struct conversation *c)
{
    for (int i = 0; i <= c->n; i++) node_free(&c->nodes[i]);
    memset(c->nodes, 0, ((size_t)c->n + 1) * sizeof *c->nodes);
    c->n = 0;
    c->leaf = 0;
    c->version++;
}

int conversation_add(struct conversation *c, int parent, tdm_role role, const char *text, size_t n, tdm_error *err)
{
    assert_always(parent >= 0 && parent <= c->n);
    if (c->n + 1 >= c->room) {
        int room = c->room * 2;
        struct node *grown = realloc(c->nodes, (size_t)room * sizeof *grown);
        if (!grown) {
            error_set(err, TDM_E_NOMEM, "no memory for message %d", c->n + 1);
            return 0;
        }
        memset(grown + c->room, 0, (size_t)(room - c->room) * sizeof *grown);
        c->nodes = grown;
        c->room = room;
    }
    struct node *node = &c->nodes[c->n + 1];
    *node = (struct node){.parent = parent, .role = role, .finish = TDM_UNFINISHED, .time_s = time(NULL)};
    if (role != TDM_ASSISTANT) node->finish = TDM_END;
    if (buffer_append(&node->text, text, n, err)) return 0;
    for (int i = 1; i <= c->n; i++)
        if (c->nodes[i].parent == parent && c->nodes[i].role == TDM_ASSISTANT) node->attempt++;
    c->n++;
    c->nodes[parent].redo = c->n;
    c->leaf = c->n;
    return c->n;
}

void conversation_remove_last(struct conversation *c)
{
    assert_always(c->n > 0);
    struct node *last = &c->nodes[c->n];
    int parent = last->parent;
    node_free(last);
    memset(last, 0, sizeof *last);
    c->n--;
    c->version++; /* its number will stand for another text */
    c->nodes[parent].redo = 0;
    for (int i = 1; i <= c->n; i++)
        if (c->nodes[i].parent == parent) c->nodes[parent].redo = i;
    c->leaf = parent;
}

tdm_status conversation_append(struct conversation *c, int node, bool thinking, const char *text, size_t n,
                               tdm_error *err)
{
    assert_always(node > 0 && node <= c->n);
    struct node *at = &c->nodes[node];
    return buffer_append(thinking ? &at->thinking : &at->text, text, n, err);
}

tdm_status conversation_set_system(struct conversation *c, const char *text, size_t n, tdm_error *err)
{
    struct buffer fresh = {0};
    tdm_status status = buffer_append(&fresh, text, n, err);
    if (status) return status;
    buffer_free(&c->system);
    c->system = fresh;
    c->version++;
    return TDM_OK;
}

int conversation_path(const struct conversation *c, int *out, int room)
{
    int length = 0;
    for (int i = c->leaf; i > 0; i = c->nodes[i].parent) length++;
    int at = length;
    for (int i = c->leaf; i > 0; i = c->nodes[i].parent)
        if (--at < room) out[at] = i;
    return length;
}

int conversation_turns(const struct conversation *c, int node)
{
    int turns = 0;
    for (int i = node; i > 0; i = c->nodes[i].parent) turns += c->nodes[i].role == TDM_USER;
    return turns;
}

void conversation_branch(const struct conversation *c, int node, int *place, int *count)
{
    *place = *count = 0;
    for (int i = 1; i <= c->n; i++) {
        if (c->nodes[i].parent != c->nodes[node].parent || c->nodes[i].role != c->nodes[node].role) continue;
        ++*count;
        if (i == node) *place = *count;
    }
}

bool conversation_on_path(const struct conversation *c, int node)
{
    for (int i = c->leaf; i > 0; i = c->nodes[i].parent)
        if (i == node) return true;
    return node == 0;
}

/* Follows the children that were current last down to a leaf. */
static int newest_below(const struct conversation *c, int node)
{
    while (c->nodes[node].redo) node = c->nodes[node].redo;
    return node;
}

void conversation_select(struct conversation *c, int node)
{
    assert_always(node >= 0 && node <= c->n);
    for (int i = node; i > 0; i = c->nodes[i].parent) c->nodes[c->nodes[i].parent].redo = i;
    c->leaf = newest_below(c, node);
}

bool conversation_undo(struct conversation *c)
{
    int user = c->leaf;
    while (user > 0 && c->nodes[user].role != TDM_USER) user = c->nodes[user].parent;
    if (user == 0) return false;
    c->leaf = c->nodes[user].parent;
    return true;
}

bool conversation_redo(struct conversation *c)
{
    int user = c->nodes[c->leaf].redo;
    if (user == 0) return false;
    /* One turn: the user message and the reply below it. */
    int reply = c->nodes[user].redo;
    c->leaf = reply ? reply : user;
    return true;
}
