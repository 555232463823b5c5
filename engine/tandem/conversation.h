/* The conversation of a dialogue: a tree of messages, ways to move in it, statistics of its turns, saving and loading.
 */
#ifndef TDM_CONVERSATION_H
#define TDM_CONVERSATION_H

#include "chat.h"

/* ---- Moving in the tree ------------------------------------------------------------------------------------------ */

/* Goes one turn back; the turn stays as a branch. */
TDM_API tdm_status tdm_chat_undo(tdm_chat *c, tdm_error *err);
TDM_API tdm_status tdm_chat_redo(tdm_chat *c, tdm_error *err);
/* Begins to edit the user message `node`: the conversation goes back to just before it, prefill restarts from there at
 * once, and the next send adds a sibling of it. node 0 ends editing. */
TDM_API tdm_status tdm_chat_edit(tdm_chat *c, int node, tdm_error *err);
/* Makes `node` (and the newest path below it) current. While several answers are written, it may be one of them. Then
 * the chat reads that one ahead, and the next message replies to it. */
TDM_API tdm_status tdm_chat_select(tdm_chat *c, int node, tdm_error *err);
TDM_API tdm_status tdm_chat_set_system(tdm_chat *c, const char *text, size_t length, tdm_error *err);
/* Begins a new, empty conversation. A queued message is dropped (TDM_EV_UNQUEUED), and a running reply ends. */
TDM_API void tdm_chat_clear(tdm_chat *c);

/* ---- Statistics of a turn ---------------------------------------------------------------------------------------- */

/* Why a reply ended. */
typedef enum {
    TDM_FINISH_END,        /* the model's end token */
    TDM_FINISH_LENGTH,     /* max_tokens, max_answer_tokens */
    TDM_FINISH_STOP_STRING, /* a text of tdm_chat_options.stops */
    TDM_FINISH_CONTEXT,    /* the context is full */
    TDM_FINISH_STOPPED,    /* by tdm_chat_stop or send_now */
    TDM_FINISH_FAILED,     /* a unit failed; the text so far is kept */
    TDM_FINISH_UNFINISHED, /* still being decoded, or the program died in it */
    TDM_FINISH_REPEATS,    /* it only repeated itself: loop_guard */
} tdm_finish;

/* What a turn could build on when Enter was pressed. Only warm turns show the benefit of reading ahead. */
typedef enum {
    TDM_TURN_FIRST,      /* the first turn of a conversation */
    TDM_TURN_RESUMED,    /* the first turn after tdm_chat_load */
    TDM_TURN_WARM,       /* a later turn; part of its message was evaluated before Enter (turn_before_enter) */
    TDM_TURN_COLD,       /* a later turn; none of its message was */
} tdm_turn_kind;

/* Why a turn's time to the first token is not typical of its kind. Marked turns are left out of medians. */
typedef enum {
    TDM_TURN_MARK_NONE,
    TDM_TURN_MARK_QUEUED,     /* it was sent while a reply was being decoded: its clock starts at that reply's end */
    TDM_TURN_MARK_CUT,        /* it was queued, and tdm_chat_send_now stopped the reply: its clock starts there */
    TDM_TURN_MARK_HEAD_START, /* its text was in the draft before any key was typed: an earlier message was edited */
} tdm_turn_mark;

/* "first", "resumed", "warm", "cold"; "queued", "cut", "head start", "" for none. */
TDM_API const char *tdm_turn_kind_name(tdm_turn_kind kind);
TDM_API const char *tdm_turn_mark_name(tdm_turn_mark mark);

/* Statistics of a turn. Those of its prompt are complete with TDM_EV_REPLY, those of its reply with TDM_EV_END. */
typedef struct {
    tdm_turn_kind kind;
    tdm_turn_mark mark;
    bool paced;                     /* decoded with pace_tps */
    int64_t enter_ns;               /* Enter: the clock of the time to the first token starts */
    int64_t first_id_ns;            /* the first token was sampled: the engine's share of that time ends */
    int64_t first_answer_ns;        /* the first token after the thinking was sampled */
    int64_t last_id_ns;             /* the newest token of the reply was sampled */
    int64_t end_ns;
    uint32_t prompt_tokens;         /* the whole prompt: earlier + before_enter + after_enter */
    uint32_t earlier;               /* of these, tokens shared with the last turn's prompt */
    uint32_t before_enter, after_enter; /* evaluated for this turn, before Enter and after it */
    uint32_t adopted;               /* of before_enter, tokens of the last reply that were not evaluated again, since
                                       the prefill unit took over the decoder's state */
    uint32_t turn_tokens;           /* the user's turn with the suffix */
    uint32_t turn_before_enter;     /* of turn_tokens, those evaluated before Enter */
    uint32_t wasted;                /* evaluated but not part of the prompt that was sent */
    uint32_t suffix_evaluations;    /* how often the suffix was evaluated */
    uint32_t reply_tokens, thinking_tokens;
    double decode_tps;              /* decode speed from the first token to the last one; by the server's clock if the
                                       server reports times */
    uint32_t passes;                /* forward passes that made the tokens after the first one */
    uint32_t drafted;               /* drafted tokens that those passes verified */
    uint32_t accepted;              /* of these, tokens that are in the reply */
    uint32_t lag_max;               /* largest distance in tokens from the follower to the reply being decoded */
    double handover_ms;             /* time of the hand-over in all */
    double copy_ms;                 /* over the bridge directly: time of the copy */
    double save_ms, read_ms, restore_ms; /* over the bridge by bytes: times of its three steps */
    uint64_t ids_hash;              /* FNV-1a of the ids of prompt and reply */
    uint64_t logits_hash;           /* FNV-1a of all logits that were sampled from, with hash_logits; else 0 */
    bool by_server;                 /* the model is on a server */
    bool counted;                   /* the counts are the server's own, else estimates */
    double server_prompt_ms, server_reply_ms; /* by the server's clock; 0: not reported */
} tdm_turn_stats;

/* ---- Nodes ------------------------------------------------------------------------------------------------------- */

/* A node of the conversation. Nodes are numbered from 1 in order of creation; 0 is the root. */
typedef struct {
    int node, parent;
    tdm_role role;
    char *text, *thinking;          /* malloc'ed copies; thinking may be NULL */
    size_t length, thinking_length;
    tdm_finish finish;              /* assistant */
    int branch, branches;           /* its number among its siblings, from 1, and how many these are */
    bool current;                   /* on the current path */
    int64_t time_s;                 /* wall clock, seconds since 1970 */
    tdm_turn_stats stats;           /* assistant; all zero when loaded from a file */
    void *user;                     /* the caller's own (tdm_chat_set_user); from tdm_chat_load or NULL at first */
    tdm_placed_picture *pictures;   /* its pictures (pictures.h), malloc'ed and held; NULL: it has none */
    size_t n_pictures;
} tdm_node;

/* How many nodes there are; their numbers are 1 to this. */
TDM_API int tdm_chat_nodes(const tdm_chat *c, tdm_which_dialogue which);
/* Writes the nodes of the current path, at most `room`, and returns the path's length. */
TDM_API int tdm_chat_path(const tdm_chat *c, tdm_which_dialogue which, int *nodes, int room);
/* Copies a node, to be freed with tdm_node_free. */
TDM_API tdm_status tdm_chat_node(const tdm_chat *c, tdm_which_dialogue which, int node, tdm_node *out, tdm_error *err);
TDM_API void tdm_node_free(tdm_node *node);
/* Lets a node carry a pointer of the caller's. The engine neither follows nor frees it, and forgets it with the node:
 * with tdm_chat_clear, load, forget and close, and if a reply remained empty (TDM_EV_END without a node). */
TDM_API tdm_status tdm_chat_set_user(tdm_chat *c, tdm_which_dialogue which, int node, void *user, tdm_error *err);
/* When the conversation began, in seconds since 1970: the date that its template may ask for. */
TDM_API int64_t tdm_chat_begun(const tdm_chat *c, tdm_which_dialogue which);

/* ---- Saving and loading ------------------------------------------------------------------------------------------ */

/* Replaces the conversation by a saved one: nodes in order, parents before children, up to `leaf`; begun_s 0: now. */
TDM_API tdm_status tdm_chat_load(tdm_chat *c, const char *system, size_t system_length, const tdm_node *nodes, int n,
                                 int leaf, int64_t begun_s, tdm_error *err);
/* Saves and loads the prefilled state that belongs to a saved conversation. Saving waits for the running dispatch; it
 * evaluates nothing, but a reply that has just ended is part of what is saved where PREFILL can take over its state. It
 * may run in a thread of its own while the chat is used, but must return before tdm_chat_close. Loading reads the file
 * while the units continue to work. A file of another model, weight type, key/value type or kernel set is refused
 * (TDM_E_FORMAT); the conversation is then simply prefilled again. */
TDM_API tdm_status tdm_chat_save_state(tdm_chat *c, const char *path, tdm_error *err);
TDM_API tdm_status tdm_chat_load_state(tdm_chat *c, const char *path, tdm_error *err);

#endif
