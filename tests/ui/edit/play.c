#include "tests/ui/edit/play.h"

#include <locale.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/check.h"

enum { REPORT = 1 << 16 };

static const char *action_name(enum key_action a)
{
    switch (a) {
    case ACTION_SUBMIT: return "SUBMIT";
    case ACTION_INTERRUPT: return "INTERRUPT";
    case ACTION_LEAVE: return "LEAVE";
    case ACTION_SUSPEND: return "SUSPEND";
    case ACTION_TAKE_BACK: return "TAKE_BACK";
    case ACTION_STOP: return "STOP";
    case ACTION_RUB_CHIP: return "RUB_CHIP";
    case ACTION_EDITOR: return "EDITOR";
    default: break;
    }
    const struct key_row *row = keys_find_action(KEYS_CHAT, a);
    return row && row->function ? row->function + strlen("tandem-") : "?";
}

static void add(char *report, const char *text, size_t n)
{
    size_t at = strlen(report);
    for (size_t i = 0; i < n && at < REPORT - 2; i++) {
        unsigned char c = (unsigned char)text[i];
        if (c < 0x20 && c != '\n' && at < REPORT - 3) {
            report[at++] = '^';
            c += 64;
        }
        report[at++] = c == '\n' ? '$' : (char)c;
    }
    report[at] = 0;
}

static void drain(struct input *in, char *report)
{
    struct input_action a;
    while (input_next_action(in, &a)) {
        if (*report) add(report, " ", 1);
        add(report, action_name(a.action), strlen(action_name(a.action)));
        if (a.action == ACTION_SUBMIT) {
            add(report, a.pasted ? "[pasted](" : "(", a.pasted ? 9 : 1);
            add(report, a.text, a.length);
            add(report, ")", 1);
            free(input_take(in, NULL, true, true));
        }
        if (a.action == ACTION_EDITOR) input_replace(in, "edited");
    }
}

static void in_child(const struct play *how, const char *script, char *report)
{
    char path[300];
    snprintf(path, sizeof path, "%s/inputrc", check_tmp());
    FILE *f = fopen(path, "w");
    if (!f) _exit(3);
    fputs(how->inputrc ? how->inputrc : "", f);
    fclose(f);
    setenv("INPUTRC", path, 1);
    setenv("LC_ALL", "C", 1); /* the program may choose UTF-8 although the environment doesn't */
    setlocale(LC_ALL, "C.UTF-8");
    tdm_error err;
    struct input_options options = {.completer = how->completer, .home = "/nowhere"};
    options.history = history_file_open(how->history_path, 0, &err);
    for (size_t i = 0; how->history && how->history[i]; i++)
        history_file_add(options.history, how->history[i], true, NULL);
    struct input *in = input_open(&options, &err);
    struct decoder *d = decoder_open(NULL);
    if (!in || !d) _exit(4);
    input_set_queued(in, how->queued);
    input_set_chips(in, how->chips);
    input_set_columns(in, how->columns);
    input_set_esc_stops(in, how->esc_stops);
    size_t suggestions = 0;
    while (how->suggestions && how->suggestions[suggestions]) suggestions++;
    input_set_suggestions(in, how->suggestions, suggestions);

    int64_t now = 1000000000;
    struct decoder_event e;
    struct input_view v;
    for (const char *p = script; *p;) {
        size_t n = strcspn(p, WAIT READ PAUSE);
        decoder_feed(d, p, n, now);
        while (decoder_next(d, &e)) {
            input_feed_event(in, &e);
            drain(in, report);
        }
        p += n;
        if (*p != READ[0]) {
            for (int i = 0, steps = *p == PAUSE[0] ? 1 : 6; i < steps; i++) {
                now += 100000000;
                decoder_feed(d, NULL, 0, now);
                while (decoder_next(d, &e)) {
                    input_feed_event(in, &e);
                    drain(in, report);
                }
            }
        }
        if (*p) p++;
    }
    input_view(in, now, &v);
    add(report, *report ? " => " : "", *report ? 4 : 0);
    if (v.prompt) add(report, v.prompt, strlen(v.prompt));
    add(report, v.text, v.cursor);
    add(report, "|", 1);
    add(report, v.text + v.cursor, v.length - v.cursor);
    if (how->then) how->then(in, now, report, REPORT);
    input_close(in);
    decoder_close(d);
    history_file_close(options.history);
}

const char *play(const struct play *how, const char *script)
{
    static char report[REPORT];
    int fds[2];
    check_tmp();
    fflush(NULL);
    if (pipe(fds)) return "pipe";
    pid_t pid = fork();
    if (pid == 0) {
        static char out[REPORT];
        close(fds[0]);
        in_child(how, script, out);
        size_t n = strlen(out), at = 0;
        while (at < n) {
            ssize_t w = write(fds[1], out + at, n - at);
            if (w <= 0) break;
            at += (size_t)w;
        }
        _exit(0);
    }
    close(fds[1]);
    size_t n = 0;
    ssize_t r;
    while (n < REPORT - 1 && (r = read(fds[0], report + n, REPORT - 1 - n)) > 0) n += (size_t)r;
    report[n] = 0;
    close(fds[0]);
    int status = 0;
    waitpid(pid, &status, 0);
    if (status) snprintf(report, sizeof report, "child ended with status 0x%x", (unsigned)status);
    return report;
}

const char *keys(const char *script)
{
    return play(&(struct play){0}, script);
}

const char *keys_with(const char *inputrc, const char *script)
{
    return play(&(struct play){.inputrc = inputrc}, script);
}
