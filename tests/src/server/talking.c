#include "tests/src/server/talking.h"

#include <poll.h>
#include <stdio.h>
#include <string.h>

#include "engine/base/clock.h"
#include "src/models/load.h"
#include "tests/check.h"

struct scripted_page talking_pages[8];
const char *talking_props;
const char *talking_models;
struct scripted_page talking_more;

static remote_model *open_server(int ahead)
{
    remote_model *s = NULL;
    tdm_error err = {0};
    talking_pages[0] = (struct scripted_page){"/props", talking_props ? talking_props : scripted_ok(PROPS)};
    talking_pages[2] = talking_more;
    talking_pages[3].path = NULL;
    const char *models = talking_models ? talking_models : scripted_ok("{\"data\":[{\"id\":\"m\"}]}");
    talking_pages[1] = (struct scripted_page){"/v1/models", models};
    scripted.pages = talking_pages;
    scripted.hangs = false;
    remote_model_options o = {
        .address = scripted_start(), .kind = -1, .tokenizer = load_builtin(), .agreed = true, .ahead = ahead};
    if (remote_model_open(&s, &o, &err)) CHECK_FAIL("%s", err.text);
    return s;
}

bool talking_open(struct talk *t, int ahead)
{
    tdm_chat_options o;
    tdm_error err = {0};
    *t = (struct talk){.server = open_server(ahead)};
    if (!t->server) return false;
    tdm_chat_defaults(&o, remote_model_of(t->server));
    if (tdm_machine_open(&t->machine, &(tdm_machine_options){0}, &err) ||
        tdm_chat_open(&t->chat, remote_model_of(t->server), t->machine, &o, &err))
        CHECK_FAIL("%s", err.text);
    return t->chat;
}

bool talking_open_other(struct talk *t)
{
    talking_props = NO_PAGE;
    scripted.answer = NO_PAGE;
    bool there = talking_open(t, TDM_SPEC_OFF);
    talking_props = NULL;
    return there;
}

void talking_close(struct talk *t)
{
    tdm_chat_close(t->chat);
    tdm_machine_close(t->machine);
    remote_model_close(t->server);
    buffer_free(&t->text);
    buffer_free(&t->thinking);
}

void talking_until_end(struct talk *t)
{
    t->finish = TDM_FINISH_UNFINISHED;
    buffer_clear(&t->text);
    buffer_clear(&t->thinking);
    t->said[0] = 0;
    for (int64_t until = clock_ns() + CHECK_PATIENCE_NS; t->finish == TDM_FINISH_UNFINISHED && clock_ns() < until;) {
        tdm_event e;
        poll(&(struct pollfd){.fd = tdm_chat_fd(t->chat), .events = POLLIN}, 1, 200);
        while (tdm_chat_next_event(t->chat, &e)) {
            if (e.kind == TDM_EV_TEXT) buffer_append(e.thinking ? &t->thinking : &t->text, e.text, e.length, NULL);
            if (e.kind == TDM_EV_ERROR || e.kind == TDM_EV_NOTICE) snprintf(t->said, sizeof t->said, "%s", e.text);
            if (e.kind != TDM_EV_END) continue;
            t->finish = e.finish;
            t->stats = e.stats;
        }
    }
    buffer_append(&t->text, "", 1, NULL);
    buffer_append(&t->thinking, "", 1, NULL);
}

void talking_say(struct talk *t, const char *text)
{
    tdm_error err = {0};
    if (tdm_chat_send(t->chat, text, strlen(text), clock_ns(), &err)) CHECK_FAIL("%s", err.text);
    talking_until_end(t);
}
