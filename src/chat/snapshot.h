/* A copy of a conversation with the data of its session, to be saved or shown. */
#ifndef TANDEM_SRC_SNAPSHOT_H
#define TANDEM_SRC_SNAPSHOT_H

#include "src/cli/options.h"
#include "src/chat/sent.h"
#include "src/session/session.h"

/* The source of a snapshot. */
typedef struct {
    const tdm_chat *chat;  /* NULL: there is no chat, and so no message */
    tdm_which_dialogue dialogue; /* which dialogue of the chat */
    const sent_messages *sent;
    const char *name, *draft, *system, *model_path; /* NULL: none; name: made of the first words */
    size_t system_length;
    const tdm_model_info *info;
    int most, leaf;        /* only the first `most` messages, whose path ends at `leaf`; most 0: all */
    char *const *settings; /* [OPTION_COUNT]; NULL: those of the chat */
} snapshot_source;

/* Free it with session_free. On failure there is nothing to free. */
tdm_status snapshot_take(const snapshot_source *from, session *out, tdm_error *err);
/* The chat's settings that a session keeps, malloc'ed, into out[OPTION_COUNT], which is all NULL. */
tdm_status snapshot_settings(const tdm_chat *chat, char **out, tdm_error *err);

#endif
