#include "engine/chat/remote.h"

#include "engine/base/error.h"

/* Without a key, before a draft is worth a request. */
enum { LEAST_PAUSE_MS = 150 };

tdm_status remote_check(const tdm_chat_options *o, const tdm_model *m, tdm_error *err)
{
    if (!m->server) return TDM_OK;
    if (o->pipeline != TDM_PIPE_TANDEM)
        return error_set(err, TDM_E_UNSUPPORTED, "the model is on a server (%s): pipeline: expected tandem, found %s",
                         m->server->host, tdm_pipeline_name(o->pipeline));
    if (o->prefill_model && o->prefill_model != m)
        return error_set(err, TDM_E_UNSUPPORTED, "the model is on a server (%s): the prefill unit can have no other",
                         m->server->host);
    return TDM_OK;
}

/* Bytes of the last message that the target's ids stand for. */
static size_t last_bytes(const struct target *t)
{
    if (t->complete) return t->n_messages ? t->messages[t->n_messages - 1].length : 0;
    return t->draft > t->history ? t->draft_ends[t->draft - t->history - 1] : 0;
}

bool remote_asks(const struct tdm_chat *c)
{
    const struct target *t = &c->reader.target;
    bool renders = c->model->server->renders;
    size_t last = last_bytes(t);
    for (size_t i = 0; i < t->n_messages; i++) {
        const tdm_message *m = &t->messages[i];
        bool known = i + 1 < t->n_messages || last || (m->n_pictures && !m->pictures[0].at);
        if (known && (m->role == TDM_USER || !renders)) return true;
    }
    return false;
}

void remote_want(struct tdm_chat *c)
{
    const struct target *t = &c->reader.target;
    const struct conversation *all = &c->front->conversation;
    bool resumed = chat_phase(c) == PHASE_PROMPT && c->front->reply_node;
    const struct buffer *begun = resumed ? &all->nodes[c->front->reply_node].text : NULL;
    struct server_prompt prompt = {
        .ids = t->ids,
        .ends = t->ends,
        .n = t->n,
        .text = t->text,
        .messages = t->messages,
        .n_messages = t->n_messages,
        .last = last_bytes(t),
        .begun = {begun ? begun->bytes : NULL, begun ? begun->n : 0},
    };
    tdm_error err;
    if (server_want(c->model->server, &prompt, &err)) events_post_line(c->events, TDM_EV_ERROR, "%s", err.text);
}

void remote_cap(struct tdm_chat *c, bool told)
{
    if (!chat_on_server(c) || c->options.speculation <= c->model->server->ahead) return;
    c->options.speculation = c->model->server->ahead;
    if (!told) return;
    events_post_line(c->events, TDM_EV_NOTICE,
                     c->options.speculation > TDM_SPEC_OFF
                         ? "speculation history: %s is sent nothing before Enter but finished turns"
                         : "speculation off: %s is sent nothing before Enter",
                     c->model->server->host);
}

uint32_t remote_room_factor(const struct tdm_chat *c)
{
    return chat_on_server(c) && !c->model->server->same_words ? 2 : 1;
}

void remote_tell(struct tdm_chat *c)
{
    if (!chat_on_server(c)) return;
    const char *host = c->model->server->host;
    if (c->options.pace_tps > 0)
        events_post_line(c->events, TDM_EV_NOTICE, "pace: %s writes as fast as it likes", host);
    if (c->options.mtp > 0)
        events_post_line(c->events, TDM_EV_NOTICE, "mtp: what %s drafts is its own affair", host);
}

void remote_warn(const struct tdm_chat *c)
{
    const tdm_server *server = chat_on_server(c) ? &c->model->server->server : NULL;
    if (server && server->soon) server->soon(server->ctx);
}

int64_t remote_pause_ns(const struct tdm_chat *c)
{
    double ms = 2 * c->model->server->round_trip_ms;
    return (int64_t)(1e6 * (ms > LEAST_PAUSE_MS ? ms : LEAST_PAUSE_MS));
}
