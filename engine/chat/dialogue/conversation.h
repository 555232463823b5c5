/* The conversation: a tree of messages whose current path, from the root to the leaf, is what the model sees.
 *
 * Nodes are numbered from 1 in order of creation; 0 is the root. They stay, except the last ones if they remained
 * empty. An edit or a new sample adds a sibling; undo moves the leaf up and leaves the nodes. A node's text only ever
 * grows while it is being decoded (conversation_append) and is constant otherwise, so that results derived from it can
 * be cached (target.c). Each node keeps whether it is current and its place among its siblings, since showing or saving
 * a long conversation asks for both at every node.
 *
 * A question without a reply, or whose reply has neither text nor thinking, is no turn. It may end the path, to be
 * asked again, but the next question becomes its sibling, not its descendant, so that no later prompt contains it.
 *
 * Threads: none of its own; the chat's lock guards it.
 */
#ifndef TANDEM_CHAT_CONVERSATION_H
#define TANDEM_CHAT_CONVERSATION_H

#include "engine/base/buffer.h"
#include "engine/object/picture.h"

struct node {
    int parent;
    tdm_role role;
    struct buffer text, thinking;
    struct picture_list pictures; /* user: its pictures */
    tdm_finish finish;
    int64_t time_s;
    tdm_turn_stats stats;
    int redo;          /* the child that redo selects: the last one that was current; 0: none */
    tdm_ids reply;     /* assistant: the ids as generated, from which `continue` resumes */
    tdm_thinking think; /* assistant: the prompt's setting */
    uint32_t attempt;  /* assistant: 0 for the first reply to its message, then 1, 2 ... */
    bool continued;    /* assistant: stats are those of its latest part, and reply may lack its beginning */
    bool current;      /* on the current path */
    int place;         /* among the children of its parent that have its role, from 1 on */
    int children[TDM_ASSISTANT + 1]; /* of each role */
    void *user;                      /* the front end's: tdm_chat_set_user */
};

struct conversation {
    struct node *nodes; /* [n + 1]; nodes[0] is the root */
    int n, room;
    int leaf; /* conversation_set_leaf() changes it */
    struct buffer system;
    int64_t begun_s;  /* wall clock, seconds since 1970: the time that the template gives the model */
    uint64_t version; /* changes whenever the number of a node, or 0, comes to stand for another closed text */
};

tdm_status conversation_init(struct conversation *c, tdm_error *err);
void conversation_free(struct conversation *c);
/* An empty conversation with the same system prompt, which begins now. */
void conversation_clear(struct conversation *c);

/* Is it a reply whose text is empty or white space? It may have thinking. */
bool conversation_has_no_text(const struct conversation *c, int node);
/* The last message of the path to `node` that a question can follow: a reply with text or thinking, or the root. */
int conversation_answered(const struct conversation *c, int node);
/* Adds a child of `parent`, a question of conversation_answered(parent), and makes it the leaf. Returns its number, or
 * 0 without memory. */
int conversation_add(struct conversation *c, int parent, tdm_role role, const char *text, size_t n, tdm_error *err);
/* The node that was added last gets these pictures, at places of its text; the list is empty then. */
void conversation_set_pictures(struct conversation *c, struct picture_list *list);
tdm_status conversation_append(struct conversation *c, int node, bool thinking, const char *text, size_t n,
                               tdm_error *err);
tdm_status conversation_set_system(struct conversation *c, const char *text, size_t n, tdm_error *err);

/* Removes the node that was added last. */
void conversation_remove_last(struct conversation *c);
/* Is it a reply without text (other than white space), thinking and ids? */
bool conversation_is_wordless(const struct conversation *c, int node);
/* Removes those of the replies to `user` that were added last and are wordless; another reply to it is current then, if
 * it has one. False: there are none. */
bool conversation_remove_wordless(struct conversation *c, int user);

/* The current path without the root, oldest first; returns its length (which may exceed room). */
int conversation_path(const struct conversation *c, int *out, int room);
/* How many turns (user messages) the path to and including `node` has. */
int conversation_turns(const struct conversation *c, int node);
/* The 1-based place of a node among its siblings of the same role, and the number of these. */
void conversation_branch(const struct conversation *c, int node, int *place, int *count);
bool conversation_on_path(const struct conversation *c, int node);

/* Ends the current path at `node`, which may be the root. */
void conversation_set_leaf(struct conversation *c, int node);
/* Makes `node` current, with the newest path below it. */
void conversation_select(struct conversation *c, int node);
/* Undo moves the leaf above the last user message, redo moves it back; false when there is nothing to do. */
bool conversation_undo(struct conversation *c);
bool conversation_redo(struct conversation *c);

#endif
