#include "src/models/settings.h"

#include <inttypes.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>

#include "src/models/load.h"

void settings_apply(tdm_chat_options *c, const options *o, option_id id)
{
    if (!options_given(o, id)) return;
    int64_t number = options_int(o, id, -1); /* auto: -1 */
    float real = (float)options_real(o, id, 0);
    switch (id) {
    case OPTION_MAX_TOKENS: c->max_answer_tokens = (int)number; break;
    case OPTION_IGNORE_EOS: c->ignore_eos = number; break;
    case OPTION_IMAGE_TOKENS:
        c->picture_tokens = number < 0 ? 0 : (int)number;
        break;
    case OPTION_LOOP_GUARD: c->loop_guard = number; break;
    case OPTION_THINK: c->think = (tdm_thinking)number; break;
    case OPTION_KEEP_THINKING: c->keep_thinking = (tdm_keep_thinking)number; break;
    case OPTION_ON_FULL: c->on_full = (tdm_on_full)number; break; /* the words stand in the order of the values */
    case OPTION_TEMP: c->sampling.temperature = real; break;
    case OPTION_TOP_K: c->sampling.top_k = (int)number; break;
    case OPTION_TOP_P: c->sampling.top_p = real; break;
    case OPTION_MIN_P: c->sampling.min_p = real; break;
    case OPTION_PRESENCE_PENALTY: c->sampling.presence_penalty = real; break;
    case OPTION_FREQUENCY_PENALTY: c->sampling.frequency_penalty = real; break;
    case OPTION_REPEAT_PENALTY: c->sampling.repeat_penalty = real; break;
    case OPTION_SEED: c->sampling.seed = options_whole(o, id, 0); break;
    case OPTION_PIPELINE:
        c->pipeline = (tdm_pipeline)tdm_pipeline_find(options_text(o, id));
        break;
    case OPTION_SPECULATION:
        c->speculation = (tdm_speculation)(TDM_SPEC_OFF + number);
        break;
    case OPTION_DISPATCH: c->dispatch = number < 0 ? 0 : (int)number; break;
    case OPTION_PAUSE:
        c->pause_ms = number < 0 ? 0 : number ? (int)number : TDM_PAUSE_NONE;
        break;
    case OPTION_MTP: c->mtp = number > 1 ? (int)number - 1 : number ? TDM_MTP_OFF : TDM_MTP_AUTO; break;
    case OPTION_PACE: c->pace_tps = options_real(o, id, 0); break;
    default: break;
    }
}

bool settings_fit(const tdm_model_info *info, option_id id, const char *text)
{
    int think = 0;
    while (think < TDM_THINKINGS && strcmp(text, tdm_thinking_name((tdm_thinking)think))) think++;
    if (id == OPTION_THINK) return think < TDM_THINKINGS && info->thinkings >> think & 1;
    if (id == OPTION_KEEP_THINKING && !strcmp(text, "on")) return info->can_keep_thinking;
    if (id == OPTION_KEEP_THINKING && !strcmp(text, "off")) return info->can_drop_thinking;
    return true;
}

/* Where it is none the word stands for it. */
static void number_or(char *out, size_t room, int number, bool is_number, const char *word)
{
    if (is_number)
        snprintf(out, room, "%d", number);
    else
        snprintf(out, room, "%s", word);
}

void settings_text(const tdm_chat_options *c, option_id id, char *out, size_t room)
{
    out[0] = 0;
    switch (id) {
    case OPTION_MAX_TOKENS:
        number_or(out, room, c->max_answer_tokens, c->max_answer_tokens != 0, "until the model ends");
        break;
    case OPTION_IGNORE_EOS: snprintf(out, room, "%s", c->ignore_eos ? "on" : "off"); break;
    case OPTION_IMAGE_TOKENS:
        number_or(out, room, c->picture_tokens, c->picture_tokens != 0, "auto");
        break;
    case OPTION_LOOP_GUARD: snprintf(out, room, "%s", c->loop_guard ? "on" : "off"); break;
    case OPTION_THINK: snprintf(out, room, "%s", tdm_thinking_name(c->think)); break;
    case OPTION_KEEP_THINKING: snprintf(out, room, "%s", tdm_keep_thinking_name(c->keep_thinking)); break;
    case OPTION_ON_FULL: snprintf(out, room, "%s", c->on_full == TDM_FULL_STOP ? "stop" : "drop-oldest"); break;
    case OPTION_TEMP: snprintf(out, room, "%g", (double)c->sampling.temperature); break;
    case OPTION_TOP_K: snprintf(out, room, "%d", c->sampling.top_k); break;
    case OPTION_TOP_P: snprintf(out, room, "%g", (double)c->sampling.top_p); break;
    case OPTION_MIN_P: snprintf(out, room, "%g", (double)c->sampling.min_p); break;
    case OPTION_PRESENCE_PENALTY: snprintf(out, room, "%g", (double)c->sampling.presence_penalty); break;
    case OPTION_FREQUENCY_PENALTY: snprintf(out, room, "%g", (double)c->sampling.frequency_penalty); break;
    case OPTION_REPEAT_PENALTY: snprintf(out, room, "%g", (double)c->sampling.repeat_penalty); break;
    case OPTION_SEED: snprintf(out, room, "%" PRIu64, c->sampling.seed); break;
    case OPTION_PIPELINE: snprintf(out, room, "%s", tdm_pipeline_name(c->pipeline)); break;
    case OPTION_SPECULATION: snprintf(out, room, "%s", tdm_speculation_name(c->speculation)); break;
    case OPTION_DISPATCH: number_or(out, room, c->dispatch, c->dispatch != 0, "auto"); break;
    case OPTION_PAUSE:
        number_or(out, room, c->pause_ms > 0 ? c->pause_ms : 0, c->pause_ms != 0, "auto");
        break;
    case OPTION_MTP: number_or(out, room, c->mtp, c->mtp > 0, c->mtp == TDM_MTP_OFF ? "off" : "auto"); break;
    case OPTION_PACE: snprintf(out, room, "%g", c->pace_tps); break;
    default: break;
    }
}

/* ---- At the start
 * ----------------------------------------------------------------------------------------------------- */

static uint64_t random_seed(void)
{
    uint32_t seed = 0; /* short enough to be typed again */
    if (getrandom(&seed, sizeof seed, 0) != (ssize_t)sizeof seed) seed = (uint32_t)time(NULL);
    return seed;
}

void settings_chat_options(tdm_chat_options *out, const options *o, const tdm_model *m)
{
    tdm_chat_defaults(out, m);
    out->sampling.seed = random_seed();
    out->loop_guard = true;
    for (option_id id = 0; id < OPTION_COUNT; id++) settings_apply(out, o, id);
    out->context = (int)options_int(o, OPTION_CONTEXT, out->context);
    out->kv = load_kv(o);
    out->prefill_kv = (tdm_kv)(TDM_KV_F32 + options_int(o, OPTION_PREFILL_KV, out->kv - TDM_KV_F32));
    out->bridge = (tdm_bridge)options_int(o, OPTION_BRIDGE, out->bridge);
    out->checkpoint_bytes = options_whole(o, OPTION_CHECKPOINT_MEMORY, out->checkpoint_bytes);
    out->stops = (const char *const *)o->values[OPTION_STOP].list;
}
