#include "src/tui/external.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "engine/base/clock.h"
#include "engine/base/error.h"
#include "engine/os/start.h"
#include "engine/os/file.h"
#include "src/chat/prompts.h"
#include "src/files/files.h"
#include "src/io/clip.h"
#include "src/io/output.h"
#include "src/process/inherit.h"
#include "src/process/stopping.h"
#include "src/tui/private.h"
#include "ui/terminal/questions.h"

static void release(void *ctx)
{
    tui *t = ctx;
    char typed[4096];
    /* An answer that came later would be typed into a shell. */
    size_t n = questions_wait(typed, sizeof typed, QUESTIONS_END_NS);
    if (n) decoder_feed(t->keys.decoder, typed, n, clock_ns());
    t->face.away = true;
    term_suspend(t->face.term);
}

static void retake(void *ctx)
{
    tui *t = ctx;
    term_resume(t->face.term);
    t->face.away = false;
    t->face.dirty = t->face.urgent = true;
}

/* ---- The editor ------------------------------------------------------------------------------------------------ */

static tdm_status start_editor(tui *t, const char *text, tdm_error *err)
{
    const char *folder = files_runtime(), *named = getenv("XDG_RUNTIME_DIR");
    if (t->app.open.private && !folder) /* other folders may be on a disk */
        return error_set(err, TDM_E_UNSUPPORTED, "private: the editor's file needs XDG_RUNTIME_DIR, which %s",
                         !named || !*named ? "isn't set" : access(named, F_OK) ? "isn't there" : "isn't yours alone");
    char **environment = inherit_for_user();
    if (!environment) return error_set(err, TDM_E_NOMEM, "no memory for the editor");
    struct editor_options how = {.visual = getenv("VISUAL"),
                                 .editor = getenv("EDITOR"),
                                 .folder = folder ? folder : getenv("TMPDIR"),
                                 .environment = environment,
                                 .release = release,
                                 .retake = retake,
                                 .context = t};
    tdm_status status = editor_start(&t->keys.editor, &how, text, err);
    free(environment);
    if (status) t->keys.editor = NULL;
    return status;
}

void tui_external_edit(tui *t)
{
    struct input_view in;
    tdm_error err = {0};
    if (t->keys.editor) return;
    input_view(t->keys.input, clock_ns(), &in);
    if (start_editor(t, in.text, &err)) tui_notices_add(&t->notices, VIEW_NOTICE_ERROR, "%s", err.text);
}

void tui_external_edit_prompt(tui *t, const char *name)
{
    char *text = NULL;
    size_t n;
    bool own;
    tdm_error err = {0};
    if (t->keys.editor) return;
    tdm_status status = prompts_text(name, &text, &n, &own, &err);
    if (!status) status = start_editor(t, text, &err);
    if (status)
        tui_prompts_edited(&t->lists.prompts, name, err.text);
    else
        snprintf(t->lists.edits_prompt, sizeof t->lists.edits_prompt, "%s", name);
    free(text);
}

/* The last line end is the editor's. */
static bool same_text(const char *a, size_t n, const char *b, size_t m)
{
    if (n && a[n - 1] == '\n') n--;
    if (m && b[m - 1] == '\n') m--;
    return n == m && !memcmp(a, b, n);
}

static void keep_prompt(tui *t, const char *name, const char *text)
{
    char *before = NULL, *line_ended = NULL;
    size_t n = 0;
    bool own = false;
    tdm_error err = {0};
    char said[200];
    bool there = !prompts_text(name, &before, &n, &own, NULL);
    snprintf(said, sizeof said, own ? "%s is changed" : "%s is your own now: it goes before the program's", name);
    if (there && same_text(before, n, text, strlen(text))) snprintf(said, sizeof said, "%s stays as it was", name);
    else if (asprintf(&line_ended, "%s\n", text) < 0) snprintf(said, sizeof said, "out of memory");
    else if (prompts_put(name, line_ended, strlen(line_ended), &err)) snprintf(said, sizeof said, "%.190s", err.text);
    free(line_ended);
    free(before);
    tui_prompts_edited(&t->lists.prompts, name, said);
}

void tui_external_edited(tui *t)
{
    char *text = NULL, name[sizeof t->lists.edits_prompt];
    tdm_error err = {0};
    tdm_status status = editor_finish(t->keys.editor, &text, &err);
    t->keys.editor = NULL;
    memcpy(name, t->lists.edits_prompt, sizeof name);
    t->lists.edits_prompt[0] = 0;
    if (status) tui_notices_add(&t->notices, VIEW_NOTICE_WARN, "%s", err.text);
    else if (name[0]) keep_prompt(t, name, text);
    else
        input_replace(t->keys.input, text);
    free(text);
}

/* ---- Being stopped ---------------------------------------------------------------------------------------------- */

void tui_external_suspend(tui *t)
{
    if (t->face.away) {
        term_take_keys(t->face.term, false);
        stopping_stop();
        return;
    }
    release(t);
    stopping_stop();
    stopping_over(); /* is known */
    retake(t);
}

void tui_external_continue(tui *t)
{
    if (!term_continue(t->face.term)) return;
    if (t->face.copy_view) term_take_keys(t->face.term, true);
    if (!t->face.away) t->face.dirty = t->face.urgent = true;
}

/* ---- Copying --------------------------------------------------------------------------------------------------- */

void tui_external_copy(tui *t, const char *what, const char *text, size_t n)
{
    struct clipboard_result result;
    tdm_error err = {0};
    if (clip_copy(text, n, true, &result, &err)) {
        tui_notices_add(&t->notices, VIEW_NOTICE_ERROR, "%s", err.text);
        return;
    }
    if (result.escape) term_write(t->face.term, result.escape, strlen(result.escape));
    free(result.escape);
    tui_notices_add(&t->notices, VIEW_NOTICE_INFO, "%s%s", what, result.text);
}

void tui_external_copy_view(tui *t)
{
    uint64_t marked = t->lists.browse.on ? transcript_marked(screen_transcript(t->face.screen)) : 0;
    if (t->face.away || !t->turns.n) return;
    release(t);
    t->face.copy_view = true;
    for (size_t i = 0; i < t->turns.n; i++) {
        const tui_turn *turn = &t->turns.turns[i];
        if (marked && turn->v.id != marked) continue;
        output_print(turn->v.role == VIEW_USER ? "> " : "");
        output_text(turn->text.bytes ? turn->text.bytes : "", turn->text.n);
        output_print("\n\n");
    }
    output_print("(select and copy; a key goes back to tandem)\n");
    output_flush();
    term_take_keys(t->face.term, true);
}

void tui_external_copy_view_end(tui *t)
{
    t->face.copy_view = false;
    retake(t);
}

/* ---- Links ----------------------------------------------------------------------------------------------------- */

/* A grandchild, so that the browser need not be waited for. */
static void start_browser(const char *program, const char *address, char *const *environment)
{
    char *argv[] = {"xdg-open", (char *)address, NULL};
    pid_t child = fork();
    if (child == 0) {
        if (fork() == 0) {
            int null = open("/dev/null", O_RDWR);
            for (int fd = 0; fd < 3; fd++) dup2(null, fd);
            setsid();
            start_signals();
            execve(program, argv, environment);
        }
        _exit(0);
    }
    if (child > 0) waitpid(child, NULL, 0);
}

void tui_external_open(tui *t, const char *address)
{
    char program[PATH_MAX];
    bool web = !strncmp(address, "https://", 8) || !strncmp(address, "http://", 7);
    bool desktop = getenv("DISPLAY") || getenv("WAYLAND_DISPLAY");
    char **environment = NULL;
    if (web && desktop && file_find_program(getenv("PATH"), "xdg-open", program)) environment = inherit_for_user();
    if (!environment) {
        const char *what = web ? "no browser here, its address: " : "no web page, its address: ";
        tui_external_copy(t, what, address, strlen(address));
        return;
    }
    start_browser(program, address, environment);
    free(environment);
    tui_notices_add(&t->notices, VIEW_NOTICE_INFO, "opened %s", address);
}
