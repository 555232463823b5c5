/* The folder of a session's pictures, beside its file (src/session/store.h): KEY.TYPE each. `folder`: the path of that
 * folder. Any thread that holds the session's lock. */
#ifndef TANDEM_SRC_SESSION_PICTURES_H
#define TANDEM_SRC_SESSION_PICTURES_H

#include "src/session/session.h"

/* Writes the pictures of messages and pending attachments that are not there yet; makes the folder for the first one.
 */
tdm_status pictures_save(const char *folder, const session *s, tdm_error *err);
/* Reads and decodes a picture; The caller owns *seen. TDM_E_FORMAT: the file has another picture now. */
tdm_status pictures_read(const char *folder, const session_picture *p, const picture **out, tdm_picture **seen,
                         tdm_error *err);
/* Links all pictures into another folder; those that can't be linked are left out. */
void pictures_copy(const char *from, const char *to);
/* Removes the folder with its files. */
void pictures_remove(const char *folder);

#endif
