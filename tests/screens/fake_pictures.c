/* What the fake engine has of pictures: its model has no vision tower, so that there are none. */
#include "engine/base/error.h"
#include "engine/tandem.h"

TDM_API tdm_status tdm_picture_new(tdm_picture **out, const uint8_t *rgb, uint32_t width, uint32_t height,
                                   tdm_error *err)
{
    (void)rgb, (void)width, (void)height;
    *out = NULL;
    return error_set(err, TDM_E_UNSUPPORTED, "there are no pictures here");
}

TDM_API tdm_picture *tdm_picture_hold(tdm_picture *p)
{
    return p;
}

TDM_API void tdm_picture_drop(tdm_picture *p)
{
    (void)p;
}

TDM_API void tdm_picture_describe(const tdm_picture *p, tdm_picture_facts *out)
{
    (void)p;
    *out = (tdm_picture_facts){0};
}

TDM_API void tdm_model_vision(const tdm_model *m, tdm_vision *out)
{
    (void)m;
    *out = (tdm_vision){.why = "it has none"};
}

TDM_API tdm_status tdm_picture_fit_of(const tdm_model *m, uint32_t width, uint32_t height, uint32_t most_tokens,
                                      tdm_picture_fit *out, tdm_error *err)
{
    (void)m, (void)width, (void)height, (void)most_tokens;
    *out = (tdm_picture_fit){0};
    return error_set(err, TDM_E_UNSUPPORTED, "the model sees no pictures");
}

TDM_API tdm_status tdm_render_sized(const tdm_model *m, const tdm_message *messages, size_t n,
                                    const tdm_render_options *options, size_t size, tdm_ids *ids, char **text,
                                    tdm_error *err)
{
    (void)m, (void)messages, (void)n, (void)options, (void)size, (void)ids, (void)text;
    return error_set(err, TDM_E_UNSUPPORTED, "there are no prompts here");
}

TDM_API void tdm_chat_picture_of(const tdm_chat *c, const tdm_picture *p, tdm_picture_status *out)
{
    (void)c, (void)p;
    *out = (tdm_picture_status){0};
}

TDM_API tdm_status tdm_chat_set_draft_pictures(tdm_chat *c, const char *text, size_t length,
                                               const tdm_placed_picture *pictures, size_t n, bool held, tdm_error *err)
{
    (void)pictures, (void)n;
    return tdm_chat_set_draft(c, text, length, held, err);
}

TDM_API tdm_status tdm_chat_send_pictures(tdm_chat *c, const char *text, size_t length,
                                          const tdm_placed_picture *pictures, size_t n, int answers, int64_t enter_ns,
                                          tdm_error *err)
{
    (void)pictures, (void)n;
    return answers > 1 ? tdm_chat_answers(c, answers, text, length, enter_ns, err)
                       : tdm_chat_send(c, text, length, enter_ns, err);
}

TDM_API char *tdm_chat_unqueue_pictures(tdm_chat *c, tdm_placed_picture **pictures, size_t *n)
{
    *pictures = NULL;
    *n = 0;
    return tdm_chat_unqueue(c);
}
