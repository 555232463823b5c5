/* The user's sent messages: how much of each was attached, and the queued message.
 *
 * To the chat a message is only a text. This struct has the length of its attached part, which a front end may fold,
 * and the parts of the queued message, so that it can be taken back unchanged. One thread. */
#ifndef TANDEM_SRC_SENT_H
#define TANDEM_SRC_SENT_H

#include "engine/base/buffer.h"
#include "src/attach/attach.h"

/* Zeroed: nothing was sent. */
typedef struct {
    size_t *attached;  /* [n]: bytes at the beginning of node i + 1 that were attached */
    int n;
    bool on_its_way; /* a message was sent, and is not yet known to be in the conversation */
    struct buffer words;
    int answers;       /* how many answers it gets */
    attachments files; /* before its words, pictures too */
    int first;         /* number of nodes when it was sent: its own node comes after these */
    bool stranded;     /* its conversation was left: it will not be answered */
} sent_messages;

/* Sends files and words (valid UTF-8) as one message that gets this many answers. With a queued message they become
 * one: the files of both, then the words of both on separate lines, and the larger number of answers. On success
 * `files` is empty; on failure it and the queued message are unchanged. */
tdm_status sent_send(sent_messages *s, tdm_chat *chat, attachments *files, const char *words, size_t n, int answers,
                     int64_t enter_ns, tdm_error *err);
/* Checks whether the sent message has become a part of the conversation. Call it at TDM_EV_TURN, before that node's
 * bytes are asked for. */
void sent_settle(sent_messages *s, const tdm_chat *chat);
/* When the conversation or chat changes: from now on the queued message can only be taken back. */
void sent_strand(sent_messages *s);
/* Takes the queued message back: its words, malloc'ed, and its files, before those in `files`; a file that is in both
 * is taken once. NULL: there is no such message. */
char *sent_take_back(sent_messages *s, tdm_chat *chat, attachments *files);

/* Bytes at the beginning of a node's text that were attached. */
size_t sent_attached(const sent_messages *s, const tdm_node *node);
/* Sets the attached bytes of a conversation that was read from a file: [n], or NULL. */
tdm_status sent_load(sent_messages *s, const size_t *attached, int n, tdm_error *err);
void sent_free(sent_messages *s);

#endif
