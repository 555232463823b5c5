/* Tokenizing and rendering for the library's users: public arrays in and out. */
#include "engine/base/buffer.h"
#include "engine/object/model.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "engine/api/options.h"
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
    unsigned flags = TOKENIZE_BEGIN | (added ? TOKENIZE_ADDED : 0);
    tdm_status status = tokenizer_encode(m->tokenizer, text, length, flags, 0, &ids, err);
    if (status == TDM_OK) status = ids_list_append(out, ids.id, ids.count, err);
    ids_free(&ids);
    return status;
}

/* As the tokenizer takes them: parts with and without special tokens alternate, those without at odd places. */
TDM_API tdm_status tdm_tokenize_parts(const tdm_model *m, const char *text, const tdm_text_part *parts, size_t n,
                                      tdm_ids *out, tdm_error *err)
{
    struct ids ids = {0};
    size_t *ends = malloc((n + 1) * sizeof *ends), n_ends = 0;
    if (!ends) return error_set(err, TDM_E_NOMEM, "no memory for a text of %zu parts", n);
    for (size_t i = 0, at = 0; i < n; at = parts[i++].end) {
        bool same = n_ends && (n_ends % 2 == 1) == parts[i].special;
        if (!n_ends && !parts[i].special) ends[n_ends++] = at;
        if (same) n_ends--;
        ends[n_ends++] = parts[i].end;
    }
    tdm_status status = tokenizer_encode_written(m->tokenizer, text, ends, n_ends, &ids, err);
    free(ends);
    if (status == TDM_OK) status = ids_list_append(out, ids.id, ids.count, err);
    ids_free(&ids);
    return status;
}

TDM_API bool tdm_model_is_end(const tdm_model *m, tdm_id id)
{
    return m->source && config_is_stop(&source_config(m->source)->stops, id);
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

/* Whether the template has written a pad for each of the messages' pictures. */
static tdm_status check_places(const struct ids *ids, tdm_id pad, const tdm_message *messages, size_t n, tdm_error *err)
{
    size_t shown = 0, places = 0;
    for (size_t i = 0; i < n; i++) shown += messages[i].n_pictures;
    for (size_t i = 0; shown && i < ids->count; i++) places += ids->id[i] == pad;
    if (places == shown) return TDM_OK;
    return error_set(err, TDM_E_REFUSED, "the model's chat template has no place for a picture");
}

static tdm_status render(const struct template *t, const struct tokenizer *tokenizer, tdm_id pad,
                         const tdm_message *messages, size_t n, const tdm_render_options *o, tdm_ids *ids, char **text,
                         tdm_error *err)
{
    struct template_options options = {.think = o->think,
                                       .keep = o->keep_thinking,
                                       .generation = o->generation_prompt,
                                       .now = template_time(time(NULL))};
    struct written w = {0};
    struct ids found = {0};
    tdm_status status = template_check(t, o->think, o->keep_thinking, err);
    if (!status) status = template_render(t, &options, messages, n, &w, err);
    if (!status && (ids || pad >= 0))
        status = tokenizer_encode_written(tokenizer, w.text, w.ends, w.n_ends, &found, err);
    if (!status && pad >= 0) status = check_places(&found, pad, messages, n, err);
    if (!status && ids) status = ids_list_append(ids, found.id, found.count, err);
    if (!status && text && !(*text = strndup(w.n ? w.text : "", w.n)))
        status = error_set(err, TDM_E_NOMEM, "no memory for a prompt of %zu bytes", w.n);
    ids_free(&found);
    written_free(&w);
    return status;
}

TDM_API tdm_status tdm_render_sized(const tdm_model *m, const tdm_message *messages, size_t n,
                                    const tdm_render_options *options, size_t size, tdm_ids *ids, char **text,
                                    tdm_error *err)
{
    struct template *chatml = NULL;
    tdm_render_options own = {0};
    tdm_id pad = m && m->vision ? m->vision->pad : -1;
    if (ids && !m) return error_set(err, TDM_E_ARG, "ids need a model");
    for (size_t i = 0; i < n && pad < 0; i++)
        if (messages[i].n_pictures)
            return error_set(err, TDM_E_UNSUPPORTED, "message %zu has pictures, and the model sees none", i + 1);
    tdm_status status = options_take(&own, sizeof own, options, size, err);
    if (!status && !m) status = template_new(&chatml, &(struct template_source){0}, err);
    if (!status)
        status = render(m ? m->template : chatml, m ? m->tokenizer : NULL, pad, messages, n, &own, ids, text, err);
    template_free(chatml);
    return status;
}
