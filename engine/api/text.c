/* Tokenizing and rendering for the library's users: public arrays in and out. */
#include "engine/base/buffer.h"
#include "engine/object/model.h"

#include <stdlib.h>
#include <string.h>

#include "engine/base/error.h"
#include "engine/text/detokenizer.h"

TDM_API void tdm_ids_free(tdm_ids *ids)
{
    free(ids->ids);
    *ids = (tdm_ids){0};
}

TDM_API tdm_status tdm_tokenize(const tdm_model *m, const char *text, size_t length, bool added, tdm_ids *out,
                                tdm_error *err)
{
    struct ids ids = {0};
    tdm_status status = tokenizer_encode(m->tokenizer, text, length, added ? TOKENIZE_ADDED : 0, 0, &ids, err);
    if (status == TDM_OK) status = ids_list_append(out, ids.id, ids.count, err);
    ids_free(&ids);
    return status;
}

TDM_API tdm_status tdm_detokenize(const tdm_model *m, const tdm_id *ids, size_t n, char **text, size_t *length,
                                  tdm_error *err)
{
    struct detokenizer d;
    struct buffer b = {0};
    detokenizer_init(&d, m->tokenizer, false);
    tdm_status status = buffer_reserve(&b, 0, err);
    for (size_t i = 0; status == TDM_OK && i < n; i++) {
        struct span piece;
        if (ids[i] < 0 || ids[i] >= tokenizer_count(m->tokenizer))
            status = error_set(err, TDM_E_ARG, "id %d: expected 0 to %d", ids[i], tokenizer_count(m->tokenizer) - 1);
        if (status == TDM_OK) status = detokenizer_push(&d, ids[i], &piece, err);
        if (status == TDM_OK) status = buffer_append(&b, piece.bytes, piece.length, err);
    }
    struct span rest = detokenizer_finish(&d);
    if (status == TDM_OK) status = buffer_append(&b, rest.bytes, rest.length, err);
    detokenizer_free(&d);
    if (status) {
        buffer_free(&b);
        return status;
    }
    *text = b.bytes;
    *length = b.n;
    return TDM_OK;
}

TDM_API tdm_status tdm_render(const tdm_model *m, const tdm_message *messages, size_t n,
                              const tdm_render_options *o, tdm_ids *ids, char **text, tdm_error *err)
{
    struct template_options options = {.form = m ? m->form : template_recognise((struct span){0}), .think = o->think,
                                       .generation = o->generation_prompt};
    tdm_status status = template_check(options.form, o->think, o->keep_thinking, err);
    if (status) return status;
    options.keep = template_keeps(options.form, o->keep_thinking);
    if (ids && !m) return error_set(err, TDM_E_ARG, "ids need a model");
    char *rendered = NULL;
    size_t length;
    if (text) status = template_render(&options, messages, n, &rendered, &length, NULL, err);
    struct ids found = {0};
    if (status == TDM_OK && ids) {
        status = template_encode(m->tokenizer, &options, messages, n, 0, &found, NULL, err);
        if (status == TDM_OK) status = ids_list_append(ids, found.id, found.count, err);
    }
    ids_free(&found);
    if (status) {
        free(rendered);
        return status;
    }
    if (text) *text = rendered;
    return TDM_OK;
}
