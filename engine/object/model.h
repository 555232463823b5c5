/* What a tdm_model is inside the engine: for the other files of the library, and for the benchmarks that measure its
 * parts. Programs that use the library do not see it.
 *
 * A model opened with text_only has no weights; one made from a bare tokenizer.json has no template either. A model on
 * a server has weights without matrices, which is a configuration alone.
 */
#ifndef TANDEM_API_MODEL_H
#define TANDEM_API_MODEL_H

#include "engine/forward/packed_writer.h"
#include "engine/object/vision.h"
#include "engine/forward/weights.h"
#include "engine/model/schema/unknown.h"
#include "engine/tandem.h"
#include "engine/text/template/template.h"

struct server_link;

struct tdm_model {
    struct source *source;       /* NULL for a bare tokenizer */
    struct tokenizer *tokenizer;
    struct template *template; /* on a server: the server's, or ChatML in its place */
    char template_note[240];
    bool template_given;
    struct weights *weights;
    struct vision *vision; /* NULL: there is none, and no_vision says why */
    char no_vision[240];
    bool vision_left_out;         /* files of one were found, and can't be used */
    struct packed_writer *packed; /* writes the packed weights for the next start; NULL: nothing to do */
    struct server_link *server;   /* engine/backend/server.h; NULL: the model is on this machine */
    tdm_model_info info;
    char weight_types[160], skipped[200], positions[160], features[400], begins_with[64];
    const char *notices[NOTES_MAX + 1];
    tdm_left_out *left_out; /* of the info */
    tdm_arithmetic arithmetic;
    char *path;
};

/* Finds and opens its tower, as tandem/pictures.h says of tdm_model_options.mmproj. */
tdm_status model_open_vision(struct tdm_model *m, const tdm_model_options *options, tdm_error *err);

/* Opens a model on a server, without files: with the vocabulary for counting (tokenizer.h), ChatML, and a placeholder
 * shape. */
tdm_status model_open_counting(struct tdm_model **out, tdm_error *err);

/* Gives the model the server's template, or ChatML if the server sends none that can be run. Fills in the template's
 * part of the information. */
tdm_status model_serve_template(struct tdm_model *m, const char *text, tdm_error *err);

#endif
