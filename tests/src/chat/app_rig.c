#include "tests/src/chat/app_rig.h"

#include <poll.h>
#include <stdlib.h>

#include "engine/base/clock.h"
#include "tests/check.h"

tdm_error err;
char notice[400];

/* With a seed: a model that writes noise begins to think now and then, and -n doesn't count what it thinks. */
bool parse(options *o, const char *line)
{
    static char room[500];
    static char *argv[40];
    int argc = 0;
    snprintf(room, sizeof room, "%s --seed 1", line);
    for (char *word = strtok(room, " "); word; word = strtok(NULL, " ")) argv[argc++] = word;
    if (!options_parse(o, argc, argv, &err)) CHECK_FAIL("%s", err.text);
    return !err.code;
}

void use_empty_folders(const char *name)
{
    static const char *const kinds[] = {"XDG_STATE_HOME", "XDG_CONFIG_HOME", "XDG_CACHE_HOME"};
    for (int i = 0; i < 3; i++) {
        char folder[300];
        snprintf(folder, sizeof folder, "%s/%s-%d", check_tmp(), name, i);
        setenv(kinds[i], folder, 1);
    }
}

bool start(app *a, options *o, const char *line)
{
    load_pair models;
    err = (tdm_error){0};
    if (!parse(o, line)) return false;
    app_init(a, o);
    if (load_pair_open(&models, o, options_text(o, OPTION_MODEL), &(load_how){0}, &err) ||
        app_start(a, &models, NULL, notice, &err)) {
        CHECK_FAIL("%s", err.text);
        return false;
    }
    return true;
}

/* Takes what has come: was one of that kind, of the dialogue in front, among it? */
static bool take(app *a, tdm_event_kind kind, int wait_ms)
{
    struct pollfd fd = {.fd = tdm_chat_fd(a->chat), .events = POLLIN};
    tdm_event e;
    poll(&fd, 1, wait_ms);
    while (tdm_chat_next_event(a->chat, &e)) {
        app_event(a, &e, 0);
        if (e.kind == TDM_EV_ERROR) CHECK_FAIL("%.*s", (int)e.length, e.text);
        if (e.kind == kind && e.dialogue == TDM_FRONT) return true;
    }
    return false;
}

static int64_t longest_wait(void)
{
    return clock_ns() + CHECK_PATIENCE_NS;
}

bool await(app *a, tdm_event_kind kind)
{
    for (int64_t until = longest_wait(); clock_ns() < until;)
        if (take(a, kind, 1000)) return true;
    return false;
}

/* Another pace makes the next token due at once, and the one behind it due when the test is long over. */
void write_on(app *a)
{
    static bool odd;
    odd = !odd;
    if (!option_set(a->o, OPTION_PACE, odd ? "0.001" : "0.002", FROM_CONVERSATION, &err) || app_configure(a, &err))
        CHECK_FAIL("%s", err.text);
}

bool await_held(app *a, tdm_event_kind kind)
{
    for (int64_t until = longest_wait(); clock_ns() < until; write_on(a))
        if (take(a, kind, 20)) return true;
    return false;
}

/* Says something and waits for the reply. */
void say(app *a, const char *text)
{
    if (app_send(a, text, strlen(text), clock_ns(), &err)) CHECK_FAIL("%s", err.text);
    CHECK(await(a, TDM_EV_END));
    CHECK_INT(5, a->last.stats.reply_tokens);
    CHECK(tdm_chat_wait_idle(a->chat, CHECK_PATIENCE_MS));
}

bool begin_reply(app *a, const char *text)
{
    return !app_send(a, text, strlen(text), clock_ns(), &err) && await(a, TDM_EV_TEXT);
}

bool begin_held_reply(app *a, const char *text)
{
    write_on(a);
    return !app_send(a, text, strlen(text), clock_ns(), &err) && await_held(a, TDM_EV_TEXT);
}
