/* Attachments that were not sent, in a saved session: it keeps them with the draft when the program has to leave.
 * Attachments that belong to words of the draft are read again with that draft. One thread. */
#ifndef TANDEM_SRC_PENDING_H
#define TANDEM_SRC_PENDING_H

#include "src/attach/attach.h"
#include "src/session/session.h"

/* Whether there are attachments to keep. */
bool pending_any(const attachments *a);
/* Adds copies to the session. */
tdm_status pending_keep(session *s, const attachments *a, tdm_error *err);
/* Reads a picture that a session has kept; The caller owns *seen. False: the picture is gone. */
typedef bool pending_picture(void *ctx, const session_picture *p, const picture **out, tdm_picture **seen);
/* Attaches the session's attachments, and counts them; attachments beyond the limits are left out. */
void pending_bring(attachments *a, const session *s, const tdm_model *model, pending_picture *its, void *ctx);

#endif
