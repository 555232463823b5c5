/* What the demo is given to play: a script, and a picture that goes before its first message. */
#ifndef TANDEM_SRC_DEMO_GIVEN_H
#define TANDEM_SRC_DEMO_GIVEN_H

#include "src/cli/options.h"
#include "src/image/picture.h"
#include "src/play/script.h"

/* The script of this file, which the demo can play (demo_run_check); path NULL: the one that comes along, with a
 * picture a few questions about it. */
tdm_status demo_given_script(script *out, const char *path, bool pictured, tdm_error *err);

/* The picture that --image names, decoded. None: TDM_OK, and both are NULL. *seen is the caller's (tdm_picture_drop).
 */
tdm_status demo_given_picture(const options *o, const picture **out, tdm_picture **seen, tdm_error *err);

/* The same picture but for the least bit of one colour of its last pixel: what a model has encoded of one serves every
 * chat, and the second run is to encode, too. */
tdm_status demo_given_again(const tdm_picture *p, tdm_picture **out, tdm_error *err);

#endif
