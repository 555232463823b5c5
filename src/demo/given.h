/* The input of the demo: a script, and a picture that goes before its first message. */
#ifndef TANDEM_SRC_DEMO_GIVEN_H
#define TANDEM_SRC_DEMO_GIVEN_H

#include "src/cli/options.h"
#include "src/image/picture.h"
#include "src/play/script.h"

/* The script of this file, which the demo can play (demo_run_check); path NULL: the installed one; pictured: the one
 * with questions about a picture. */
tdm_status demo_given_script(script *out, const char *path, bool pictured, tdm_error *err);

/* The picture that --image names, decoded. Without --image: TDM_OK, and both are NULL. The caller owns *seen
 * (tdm_picture_drop).
 */
tdm_status demo_given_picture(const options *o, const picture **out, tdm_picture **seen, tdm_error *err);

/* A copy that differs in the lowest bit of one colour of its last pixel. Encoded pictures are shared by all chats of a
 * model, and the second run must encode its picture, too. */
tdm_status demo_given_again(const tdm_picture *p, tdm_picture **out, tdm_error *err);

#endif
