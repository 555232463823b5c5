/* The editor and the clipboard, with small scripts in place of the programs. */
#include "tests/check.h"

#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include "engine/base/base64.h"
#include "ui/terminal/clipboard.h"
#include "ui/terminal/editor.h"

static char seen_path[300];

static const char *script(const char *name, const char *body)
{
    static char path[300];
    snprintf(path, sizeof path, "%s/%s", check_tmp(), name);
    FILE *f = fopen(path, "w");
    if (f) {
        fprintf(f, "#!/bin/sh\n%s\n", body);
        fclose(f);
        chmod(path, 0700);
    }
    return path;
}

static const char *contents(const char *name)
{
    static char text[8192];
    char path[300];
    snprintf(path, sizeof path, "%s/%s", check_tmp(), name);
    FILE *f = fopen(path, "r");
    size_t n = f ? fread(text, 1, sizeof text - 1, f) : 0;
    if (f) fclose(f);
    text[n] = 0;
    return text;
}

static int balance, releases;

static void release(void *context)
{
    (void)context;
    balance++;
    releases++;
}

static void retake(void *context)
{
    (void)context;
    balance--;
}

static const char *edit(const char *command, const char *text)
{
    static char out[600];
    struct editor_options options = {.visual = command, .folder = check_tmp(), .release = release, .retake = retake};
    struct editor *e;
    tdm_error err;
    char *edited = NULL;
    if (editor_start(&e, &options, text, &err) != TDM_OK) return strcpy(out, err.text);
    CHECK_INT(1, balance);
    struct pollfd p = {.fd = editor_fd(e), .events = POLLIN};
    CHECK_INT(1, poll(&p, 1, CHECK_PATIENCE_MS));
    tdm_status status = editor_finish(e, &edited, &err);
    CHECK_INT(0, balance);
    snprintf(out, sizeof out, "%s", status == TDM_OK ? edited : err.text);
    CHECK((status == TDM_OK) == (edited != NULL));
    free(edited);
    return out;
}

TEST(editor)
{
    char command[700];
    snprintf(command, sizeof command, "%s with argument",
             script("ed", "for p; do :; done; echo \"$@\" >\"${0}.args\"; stat -c %a \"$p\" >\"${0}.mode\"; "
                          "cat \"$p\" >\"${0}.draft\"; printf 'new\\r\\ntext\\n' >\"$p\""));
    CHECK_STR("new\ntext", edit(command, "old\ndraft"));
    CHECK_STR("old\ndraft\n", contents("ed.draft"));
    CHECK_STR("600\n", contents("ed.mode"));
    CHECK(!strncmp(contents("ed.args"), "with argument /", 15));
    sscanf(contents("ed.args"), "with argument %299s", seen_path);
    CHECK(access(seen_path, F_OK) < 0); /* removed */
    CHECK_STR("same", edit("true", "same"));
    CHECK_STR("same\n", edit("true", "same\n"));
    CHECK_STR("", edit("true", ""));
    CHECK(strstr(edit("false", "x"), "false ended with status 1; the draft is unchanged"));
    CHECK(strstr(edit("kill -9 $$; true", "x"), "was ended by signal 9"));
    CHECK(strstr(edit("/no/such/editor", "x"), "/no/such/editor: not found"));
    snprintf(command, sizeof command, "%s", script("replace", "printf new >\"$1.x\"; mv \"$1.x\" \"$1\""));
    CHECK_STR("new", edit(command, "old"));
    CHECK_INT(9 - 1, releases);
    struct editor_options options = {.folder = "/no/such/folder", .release = release};
    struct editor *e;
    CHECK_INT(TDM_E_IO, editor_start(&e, &options, "x", NULL));
    CHECK_INT(0, balance); /* never handed over */
}

TEST(base64)
{
    static const char *const cases[][2] = {{"", ""},        {"f", "Zg=="},          {"fo", "Zm8="},
                                           {"foo", "Zm9v"}, {"foobar", "Zm9vYmFy"}, {"\377\376", "//4="}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char *s = base64_text(cases[i][0], strlen(cases[i][0]));
        CHECK_STR(cases[i][1], s);
        free(s);
    }
}

TEST(clipboard_helpers)
{
    struct clipboard_options o = {.path = check_tmp(), .wayland_display = "wayland-0", .display = ":0"};
    struct clipboard_result r;
    script("wl-copy", "cat >\"$0.got\"");
    CHECK_INT(TDM_OK, clipboard_copy(&o, "some text", 9, &r, NULL));
    CHECK_STR("9 bytes copied with wl-copy", r.text);
    CHECK(r.confirmed && !r.escape);
    CHECK_STR("some text", contents("wl-copy.got"));

    script("wl-copy", "exit 1"); /* fails: the next one */
    script("xclip", "echo \"$@\" >\"$0.args\"; cat >\"$0.got\"");
    size_t n = 300000;
    char *large = malloc(n + 1);
    memset(large, 'x', n);
    CHECK_INT(TDM_OK, clipboard_copy(&o, large, n, &r, NULL));
    CHECK_STR("300,000 bytes copied with xclip", r.text);
    CHECK_STR("-selection clipboard\n", contents("xclip.args"));
    char path[300];
    struct stat st;
    snprintf(path, sizeof path, "%s/xclip.got", check_tmp());
    CHECK(stat(path, &st) == 0 && st.st_size == (off_t)n);

    script("xclip", "exit 0"); /* ends without reading: no SIGPIPE, and no success unless it took all */
    CHECK_INT(TDM_E_UNSUPPORTED, clipboard_copy(&o, large, n, &r, NULL));
    free(large);
    script("xclip", "sleep 30"); /* hangs */
    CHECK_INT(TDM_OK, clipboard_copy(&o, "x", 1, &r, NULL));
    CHECK(!r.confirmed && r.escape);
    free(r.escape);
}

TEST(clipboard_is_read)
{
    struct clipboard_options o = {.path = check_tmp(), .wayland_display = "wayland-0", .display = ":0"};
    char *text;
    size_t n;
    tdm_error err;
    script("xclip", "echo \"$@\"");
    CHECK_INT(TDM_OK, clipboard_paste(&o, 100, &text, &n, &err)); /* there is no wl-paste */
    CHECK_STR("-selection clipboard -o\n", text);
    CHECK_INT((int)strlen(text), (int)n);
    free(text);
    script("wl-paste", "printf 12345");
    CHECK_INT(TDM_OK, clipboard_paste(&o, 5, &text, &n, &err));
    CHECK_STR("12345", text);
    free(text);
    CHECK_INT(TDM_E_FORMAT, clipboard_paste(&o, 4, &text, &n, &err));
    CHECK_STR("the clipboard holds more than 4 bytes", err.text);
    script("wl-paste", "while :; do printf %4000s yes; done"); /* without an end: it is ended */
    CHECK_INT(TDM_E_FORMAT, clipboard_paste(&o, 30000, &text, &n, &err));
    script("wl-paste", "exit 1");
    script("xclip", "exit 0"); /* empty */
    CHECK_INT(TDM_E_NOT_FOUND, clipboard_paste(&o, 100, &text, &n, &err));
    script("xclip", "echo half; sleep 30"); /* hangs: what came is not all of it */
    CHECK_INT(TDM_E_NOT_FOUND, clipboard_paste(&o, 100, &text, &n, &err));
}

TEST(clipboard_osc52)
{
    struct clipboard_options o = {0};
    struct clipboard_result r;
    tdm_error err;
    CHECK_INT(TDM_OK, clipboard_copy(&o, "foo", 3, &r, NULL));
    CHECK_STR("\033]52;c;Zm9v\007", r.escape);
    CHECK_STR("3 bytes sent to the terminal (OSC 52)", r.text); /* whether it took them, nobody tells */
    CHECK(!r.confirmed);
    free(r.escape);
    o.terminal = CLIPBOARD_SCREEN;
    CHECK_INT(TDM_OK, clipboard_copy(&o, "foo", 3, &r, NULL));
    CHECK_STR("\033P\033]52;c;Zm9v\007\033\\", r.escape);
    free(r.escape);
    char *large = calloc(1, CLIPBOARD_OSC52_MAX + 1);
    o.terminal = CLIPBOARD_TMUX; /* takes it as it is, if it takes it */
    CHECK_INT(TDM_OK, clipboard_copy(&o, "foo", 3, &r, NULL));
    CHECK_STR("\033]52;c;Zm9v\007", r.escape);
    CHECK_STR("3 bytes sent to tmux (OSC 52), which takes them with set-clipboard on", r.text);
    free(r.escape);
    CHECK_INT(TDM_OK, clipboard_copy(&o, large, CLIPBOARD_OSC52_MAX, &r, NULL));
    CHECK(strlen(r.escape) <= 100000);
    free(r.escape);
    CHECK_INT(TDM_E_UNSUPPORTED, clipboard_copy(&o, large, CLIPBOARD_OSC52_MAX + 1, &r, &err));
    CHECK_STR("nothing copied: 74,995 bytes, the terminal takes at most 74,994", err.text);
    o.no_terminal = true;
    CHECK_INT(TDM_E_UNSUPPORTED, clipboard_copy(&o, "x", 1, &r, &err));
    free(large);
}

/* tmux's default takes OSC 52 from no program within; its own command is let through, and fills its buffer at least. */
TEST(clipboard_within_tmux)
{
    struct clipboard_options o = {.path = check_tmp(), .terminal = CLIPBOARD_TMUX};
    struct clipboard_result r;
    char path[300];
    snprintf(path, sizeof path, "%s/wl-copy", check_tmp());
    unlink(path);
    script("tmux", "echo \"$@\" >\"$0.args\"; cat >\"$0.got\"");
    CHECK_INT(TDM_OK, clipboard_copy(&o, "some text", 9, &r, NULL));
    CHECK(!r.confirmed && r.escape); /* another terminal's tmux is none of ours */
    free(r.escape);
    o.tmux = true;
    CHECK_INT(TDM_OK, clipboard_copy(&o, "some text", 9, &r, NULL));
    CHECK_STR("9 bytes copied to tmux's buffer and sent to the terminal", r.text);
    CHECK(r.confirmed && !r.escape);
    CHECK_STR("load-buffer -w -\n", contents("tmux.args"));
    CHECK_STR("some text", contents("tmux.got"));
    script("tmux", "[ \"$2\" = - ] && cat >\"$0.got\""); /* one older than -w */
    CHECK_INT(TDM_OK, clipboard_copy(&o, "old", 3, &r, NULL));
    CHECK_STR("3 bytes copied to tmux's buffer", r.text);
    CHECK_STR("old", contents("tmux.got"));
    o.wayland_display = "wayland-0";
    script("wl-copy", "cat >/dev/null"); /* the desktop's own goes first */
    CHECK_INT(TDM_OK, clipboard_copy(&o, "x", 1, &r, NULL));
    CHECK_STR("1 byte copied with wl-copy", r.text);
}

TEST_MAIN(T(editor), T(base64), T(clipboard_helpers), T(clipboard_is_read), T(clipboard_osc52),
          T(clipboard_within_tmux))
