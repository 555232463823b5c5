/* Random keys into decoder and input: whatever comes, the view stays sound, the queue drains, and readline neither
 * waits nor leaves its line buffer in disorder. Each run opens an input of its own, with the same history, in the
 * editing mode of its first byte (0 emacs, 1 vi), with nothing in the kill ring but a letter, so that findings come
 * back alone; what else readline keeps for the life of the process goes on (the last macro and search, vi's last
 * command). Every byte 0xff is a pause. */
#include <locale.h>
#include <stdlib.h>
#include <stdint.h>
#include <string.h>

#include "ui/edit/input.h"
#include "ui/edit/input_private.h"

enum { KILLS = 10 }; /* that readline keeps */

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
const char *__lsan_default_suppressions(void);

/* readline loses a few bytes with some cancelled searches; only leaks of ours are of interest. */
const char *__lsan_default_suppressions(void)
{
    return "leak:libreadline\n";
}

static const char *command(void *context, size_t i, const char **help)
{
    static const char *const names[] = {"attach", "alpha", "alpine", "beta", "b\303\244r"};
    (void)context;
    *help = i % 2 ? "note" : NULL;
    return i < 5 ? names[i] : NULL;
}

static enum complete_kind argument(void *context, const char *name, size_t index, const char *arguments,
                                   struct completion *out)
{
    (void)context, (void)arguments;
    completion_add(out, index ? "one more" : "first", "note");
    completion_add(out, "other", NULL);
    return !strcmp(name, "attach") ? COMPLETE_FILE : !strcmp(name, "beta") ? COMPLETE_LINE : COMPLETE_WORD;
}

static const struct completer completer = {.command = command, .argument = argument};
static const char *const tries[] = {"try this", "or\nthat"};

static const char *const entries[] = {"first entry", "second\nentry", "third"};

/* A line that is over leaves the history as it was, if the user wishes it; undo lists it never has. */
static void check_history(struct input *in, bool reverted)
{
    free(input_take(in, NULL, false, false));
    if (history_length < 3) abort();
    for (int i = 0; i < 3; i++)
        if (history_list()[i]->data || (reverted && strcmp(history_list()[i]->line, entries[i]))) abort();
}

static void check_view(struct input *in, int64_t now)
{
    struct input_view v;
    input_view(in, now, &v);
    if (v.cursor > v.length || strlen(v.text) != v.length) abort();
    if (v.list && (!v.list->count || v.list->count > v.list->size)) abort();
    if (v.menu && !v.prefix) abort();
    if (v.pasted && !v.length) abort();
    input_deadline(in, now);
}

static void drain(struct input *in, struct decoder *d, int64_t now)
{
    struct decoder_event e;
    struct input_action a;
    while (decoder_next(d, &e)) {
        if (!input_feed_event(in, &e)) abort();
        while (input_next_action(in, &a)) {
            if (a.action == ACTION_NONE || a.action >= ACTION_COUNT) abort();
            if (a.action == ACTION_SUBMIT) {
                if (strlen(a.text) != a.length) abort();
                if (a.length % 2) free(input_take(in, NULL, true, false));
            }
            if (a.action == ACTION_INTERRUPT) free(input_take(in, NULL, true, false));
            if (a.action == ACTION_EDITOR) input_replace(in, "from the\neditor");
            if (a.action == ACTION_TAKE_BACK) input_set_text(in, "taken back");
            if (a.action == ACTION_BROWSE) input_unread(in, &e);
        }
        check_view(in, now);
    }
}

static void feed(struct input *in, struct decoder *d, const char *keys, int64_t now)
{
    decoder_feed(d, keys, strlen(keys), now);
    drain(in, d, now);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static int64_t now = 1;
    if (now == 1) {
        setenv("INPUTRC", "/dev/null", 1);
        setlocale(LC_ALL, "C.UTF-8");
    }
    if (!size) return 0;
    struct decoder *d = decoder_open(NULL);
    struct input *in = input_open(&(struct input_options){.completer = &completer, .home = "/"}, NULL);
    if (!d || !in) abort();
    input_set_suggestions(in, tries, 2);
    for (int i = 0; i < 3; i++) input_add_history(in, entries[i], false);
    rl_variable_bind("revert-all-at-newline", data[0] & 8 ? "on" : "off");
    input_set_queued(in, data[0] & 2);
    input_set_esc_stops(in, data[0] & 4);
    for (int i = 0; i < KILLS; i++) feed(in, d, "x\025\006", now);
    const char *mode = data[0] & 1 ? "\033\n" : "\033\005"; /* emacs: M-C-j; in vi's command mode C-e is emacs */
    feed(in, d, mode, now);
    for (size_t i = 1; i < size;) {
        size_t n = 0;
        while (i + n < size && data[i + n] != 0xff) n++;
        decoder_feed(d, (const char *)data + i, n, now);
        drain(in, d, now);
        now += 600000000;
        for (int k = 0; k < 4; k++) {
            decoder_feed(d, NULL, 0, now);
            drain(in, d, now);
            now += 1000000000;
        }
        i += n + 1;
    }
    decoder_close(d);
    struct input_action a;
    while (input_next_action(in, &a)) {}
    check_view(in, now);
    check_history(in, data[0] & 8);
    input_close(in);
    return 0;
}
