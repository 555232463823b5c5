#include "engine/chat/dialogue/conversation.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "engine/base/buffer.h"
#include "engine/base/error.h"
#include "engine/base/size.h"
#include "engine/base/span.h"

static void node_free(struct node *node)
{
    buffer_free(&node->text);
    buffer_free(&node->thinking);
    picture_list_free(&node->pictures);
    free(node->reply.ids);
}

tdm_status conversation_init(struct conversation *c, tdm_error *err)
{
    *c = (struct conversation){.room = 64, .begun_s = time(NULL)};
    c->nodes = calloc((size_t)c->room, sizeof *c->nodes);
    if (!c->nodes) return error_set(err, TDM_E_NOMEM, "no memory for a conversation");
    c->nodes[0].current = true;
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
    c->nodes[0].current = true;
    c->n = 0;
    c->leaf = 0;
    c->begun_s = time(NULL);
    c->version++;
}

/* Costs as many steps as nodes become current or cease to be. */
void conversation_set_leaf(struct conversation *c, int node)
{
    int common = node;
    for (; !c->nodes[common].current; common = c->nodes[common].parent) c->nodes[common].current = true;
    for (int i = c->leaf; i != common; i = c->nodes[i].parent) c->nodes[i].current = false;
    c->leaf = node;
}

static struct span span_of(const struct buffer *b)
{
    return (struct span){b->bytes, b->n};
}

bool conversation_has_no_text(const struct conversation *c, int node)
{
    return c->nodes[node].role == TDM_ASSISTANT && span_is_blank(span_of(&c->nodes[node].text));
}

int conversation_answered(const struct conversation *c, int node)
{
    const struct node *at = &c->nodes[node];
    while (node && (at->role != TDM_ASSISTANT || (conversation_has_no_text(c, node) && !at->thinking.n)))
        at = &c->nodes[node = at->parent];
    return node;
}

int conversation_add(struct conversation *c, int parent, tdm_role role, const char *text, size_t n, tdm_error *err)
{
    assert_always(parent >= 0 && parent <= c->n);
    if (role == TDM_USER) parent = conversation_answered(c, parent);
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
    *node = (struct node){.parent = parent, .role = role, .finish = TDM_FINISH_UNFINISHED, .time_s = time(NULL)};
    if (role != TDM_ASSISTANT) node->finish = TDM_FINISH_END;
    if (buffer_append(&node->text, text, n, err)) return 0;
    struct node *above = &c->nodes[parent];
    node->attempt = (uint32_t)above->children[TDM_ASSISTANT];
    node->place = ++above->children[role];
    above->redo = ++c->n;
    conversation_set_leaf(c, c->n);
    return c->n;
}

void conversation_set_pictures(struct conversation *c, struct picture_list *list)
{
    c->nodes[c->n].pictures = *list;
    *list = (struct picture_list){0};
}

void conversation_remove_last(struct conversation *c)
{
    assert_always(c->n > 0);
    struct node *last = &c->nodes[c->n];
    int parent = last->parent;
    conversation_set_leaf(c, parent);
    c->nodes[parent].children[last->role]--;
    node_free(last);
    memset(last, 0, sizeof *last);
    c->n--;
    c->version++; /* its number will stand for another text */
    c->nodes[parent].redo = 0;
    for (int i = 1; i <= c->n; i++)
        if (c->nodes[i].parent == parent) c->nodes[parent].redo = i;
}

bool conversation_is_wordless(const struct conversation *c, int node)
{
    const struct node *at = &c->nodes[node];
    return conversation_has_no_text(c, node) && !at->thinking.n && !at->reply.n;
}

bool conversation_remove_wordless(struct conversation *c, int user)
{
    bool removed = false;
    for (; c->n && c->nodes[c->n].parent == user && !c->nodes[c->n].redo; removed = true) {
        if (!conversation_is_wordless(c, c->n)) break;
        conversation_remove_last(c);
    }
    if (removed) conversation_select(c, user);
    return removed;
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
    *place = c->nodes[node].place;
    *count = c->nodes[c->nodes[node].parent].children[c->nodes[node].role];
}

bool conversation_on_path(const struct conversation *c, int node)
{
    return c->nodes[node].current;
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
    conversation_set_leaf(c, newest_below(c, node));
}

bool conversation_undo(struct conversation *c)
{
    int user = c->leaf;
    while (user > 0 && c->nodes[user].role != TDM_USER) user = c->nodes[user].parent;
    if (user == 0) return false;
    conversation_set_leaf(c, c->nodes[user].parent);
    return true;
}

bool conversation_redo(struct conversation *c)
{
    int user = c->nodes[c->leaf].redo;
    if (user == 0) return false;
    /* One turn: the user message and the reply below it. */
    int reply = c->nodes[user].redo;
    conversation_set_leaf(c, reply ? reply : user);
    return true;
}
