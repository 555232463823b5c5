/* What a tdm_model is inside the engine: for the other files of the library, and for the bench that measures its
 * parts; not for its users.
 *
 * A model opened with text_only has no weights, one made from a bare tokenizer.json neither weights nor template. One
 * on a server has weights without matrices: a configuration alone.
 */
#ifndef TANDEM_API_MODEL_H
#define TANDEM_API_MODEL_H

#include "engine/forward/packed_writer.h"
#include "engine/forward/weights.h"
#include "engine/tandem.h"
#include "engine/text/template.h"
#include "engine/text/tokenizer.h"

struct server_link;

struct tdm_model {
    struct source *source;       /* NULL for a bare tokenizer */
    struct tokenizer *tokenizer;
    struct template_form form;
    struct weights *weights;
    struct packed_writer *packed; /* keeps them for the next start; NULL: nothing to do */
    struct server_link *server;   /* engine/backend/server.h; NULL: the model is here */
    tdm_model_info info;
    char weight_types[160], skipped[96];
    tdm_arithmetic arithmetic;
    char *path;
};

/* The form of its template becomes that of this name, or the one that is recognised in the text (both may be NULL);
 * where neither is known, the simplest, which refuses nothing. With its part of the information. */
void model_take_template(struct tdm_model *m, const char *name, const char *text);

#endif
