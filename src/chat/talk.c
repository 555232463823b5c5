#include "src/chat/talk.h"

#include <poll.h>

#include "engine/base/error.h"
#include "src/process/interrupt.h"

static tdm_status none(tdm_error *err)
{
    return error_set(err, TDM_E_BUSY, "there is no model yet");
}

bool app_talks(const app *a) { return a->chat; }

void app_status(const app *a, tdm_chat_status *now)
{
    if (a->chat) tdm_chat_status_of(a->chat, now);
}

void app_status_background(const app *a, tdm_back_status *now)
{
    if (a->chat) tdm_chat_back_of(a->chat, now);
}

void app_chat_options(const app *a, tdm_chat_options *out)
{
    if (a->chat) tdm_chat_options_of(a->chat, out);
}

int app_nodes(const app *a) { return a->chat ? tdm_chat_nodes(a->chat, TDM_FRONT) : 0; }

int app_path(const app *a, int *path, int room) { return a->chat ? tdm_chat_path(a->chat, TDM_FRONT, path, room) : 0; }

tdm_status app_node(const app *a, int node, tdm_node *out, tdm_error *err)
{
    return a->chat ? tdm_chat_node(a->chat, TDM_FRONT, node, out, err) : none(err);
}

tdm_status app_select(app *a, int node, tdm_error *err)
{
    return a->chat ? tdm_chat_select(a->chat, node, err) : none(err);
}

tdm_status app_edit(app *a, int node, tdm_error *err)
{
    return a->chat ? tdm_chat_edit(a->chat, node, err) : none(err);
}

int app_events_fd(const app *a) { return a->chat ? tdm_chat_fd(a->chat) : -1; }

bool app_next_event(app *a, tdm_event *e) { return a->chat && tdm_chat_next_event(a->chat, e); }

void app_picture(const app *a, const tdm_picture *seen, tdm_picture_status *out)
{
    *out = (tdm_picture_status){0};
    if (a->chat) tdm_chat_picture_of(a->chat, seen, out);
}

void app_stop(app *a)
{
    if (a->chat) tdm_chat_stop(a->chat, TDM_FRONT);
}

void app_stop_answer(app *a, int node)
{
    if (a->chat) tdm_chat_stop_answer(a->chat, node);
}

void app_send_now(app *a, int64_t enter_ns)
{
    if (a->chat) tdm_chat_send_now(a->chat, enter_ns);
}

bool lost_text(const tdm_chat *c, const tdm_event *end, tdm_node *node, tdm_event *text)
{
    *node = (tdm_node){0};
    if (!end->lost || tdm_chat_node(c, TDM_FRONT, end->node, node, NULL) || node->length < end->lost) return false;
    *text = *end;
    text->kind = TDM_EV_TEXT;
    text->text = node->text + node->length - end->lost;
    text->length = end->lost;
    text->id = -1;
    text->tokens = end->stats.reply_tokens;
    return true;
}

size_t app_span_text(const app *a, const tdm_span *span, char *out, size_t room)
{
    return a->chat ? tdm_chat_span_text(a->chat, span, out, room) : 0;
}

enum { LOOK_MS = 100 };

int talk_wait_for(const tdm_chat *c, int other, int timeout_ms)
{
    struct pollfd fds[3] = {
        {.fd = c ? tdm_chat_fd(c) : -1, .events = POLLIN},
        {.fd = other, .events = POLLIN},
        {.fd = interrupt_seen() ? -1 : interrupt_fd(), .events = POLLIN},
    };
    if (poll(fds, 3, timeout_ms) <= 0) return 0;
    return (fds[0].revents ? TALK_CHAT : 0) | (fds[1].revents ? TALK_OTHER : 0);
}

bool talk_wait_idle(tdm_chat *c)
{
    while (!tdm_chat_wait_idle(c, LOOK_MS))
        if (interrupt_seen()) return false;
    return true;
}
