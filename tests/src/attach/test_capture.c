/* A command of the user's: what it printed, how it ended, how it is stopped. */
#include "tests/check.h"

#include <signal.h>
#include <unistd.h>

#include "src/attach/attach.h"
#include "src/attach/capture.h"

static tdm_error err;

static const char *cleaned(const char *text, size_t n)
{
    static char out[200];
    struct buffer b = {0};
    if (capture_clean(&b, text, n, &err)) return "?";
    snprintf(out, sizeof out, "%s", b.bytes);
    buffer_free(&b);
    return out;
}
#define CLEANED(text) cleaned(text, sizeof text - 1)

TEST(what_a_terminal_would_show)
{
    CHECK_STR("red and\tplain\n", CLEANED("\033[1;31mred\033[m and\tplain\r\n"));
    CHECK_STR("title gone", CLEANED("\033]0;a title\007title \033]8;;x\033\\gone"));
    CHECK_STR("99%\ndone", CLEANED("1%\r50%\r99%\r\ndone\007"));
    CHECK_STR("NAME", CLEANED("N\bNA\bAM\bME\bE"));
    CHECK_STR("a\357\277\275b", CLEANED("a\377b\302\233"));
    CHECK_STR("x", CLEANED("x\033"));
    CHECK_STR("x", CLEANED("x\033[31"));
    CHECK_STR("xy", CLEANED("x\033(By"));
    CHECK_STR("", CLEANED("\033]never ended"));
    CHECK_STR("", CLEANED(""));
}

/* "STATUS TEXT" of a command, or why there is none. */
static const char *ran(const char *command, bool (*stop)(void *ctx), void *ctx)
{
    static char out[400];
    capture c;
    if (capture_run(&c, command, stop, ctx, &err)) snprintf(out, sizeof out, "%s", err.text);
    else snprintf(out, sizeof out, "%d %.300s", c.exit, c.text.bytes);
    capture_free(&c);
    return out;
}

TEST(output_and_status)
{
    unsetenv("SHELL");
    CHECK_STR("0 one\ntwo\n", ran("echo one; echo two >&2", NULL, NULL));
    CHECK_STR("3 ", ran("exit 3", NULL, NULL));
    CHECK_STR("143 ", ran("kill -TERM $$", NULL, NULL));
    CHECK(!strncmp(ran("no-such-command-here", NULL, NULL), "127 ", 4));
    CHECK_STR("0 ", ran("cat", NULL, NULL)); /* there is nothing to read */
    CHECK_STR("0 no terminal\n", ran("(exec </dev/tty) 2>/dev/null || echo no terminal", NULL, NULL));
    CHECK_STR("printf 'a\\000b': printed zero bytes, expected a text", ran("printf 'a\\000b'", NULL, NULL));
    setenv("SHELL", "/no/such/shell", 1);
    CHECK_STR("0 sh\n", ran("echo sh", NULL, NULL));
}

TEST(too_much_output_ends_it)
{
    capture c;
    REQUIRE(capture_run(&c, "yes", NULL, NULL, &err) == TDM_OK);
    CHECK(c.cut && c.text.n == CAPTURE_BYTES && !c.late);
    capture_free(&c);
}

/* What a command has left behind holds the pipe open, and isn't waited for. */
TEST(nothing_goes_on_behind_it)
{
    char command[300], file[200], text[40] = "";
    snprintf(file, sizeof file, "%s/pid", check_tmp());
    snprintf(command, sizeof command, "sleep 300 & echo $! >%s; echo out", file);
    CHECK_STR("0 out\n", ran(command, NULL, NULL));
    FILE *f = fopen(file, "r");
    REQUIRE(f && fgets(text, sizeof text, f));
    fclose(f);
    pid_t left = (pid_t)atoi(text);
    for (int i = 0; i < 6000 && !kill(left, 0); i++) { /* gone, or a zombie that nobody has taken */
        char stat[100] = "", name[60];
        snprintf(name, sizeof name, "/proc/%d/stat", (int)left);
        FILE *s = fopen(name, "r");
        if (s && fgets(stat, sizeof stat, s) && strstr(stat, ") Z ")) i = 6000;
        if (s) fclose(s);
        usleep(10000);
        CHECK(i != 5999);
    }
}

static bool at_third(void *ctx)
{
    return ++*(int *)ctx >= 3;
}

TEST(it_can_be_stopped_with_all_that_it_started)
{
    int asked = 0;
    CHECK_STR("sh -c 'sleep 300'; sleep 300: stopped", ran("sh -c 'sleep 300'; sleep 300", at_third, &asked));
    asked = 0; /* also what doesn't listen */
    CHECK_STR("trap '' INT TERM; while :; do sleep 0.1; done: stopped",
              ran("trap '' INT TERM; while :; do sleep 0.1; done", at_third, &asked));
}

TEST(as_an_attachment)
{
    attachment one;
    char note[100];
    unsetenv("SHELL");
    REQUIRE(attach_run(&one, "echo hello", NULL, NULL, note, &err) == TDM_OK);
    CHECK_STR("$ echo hello\n\nhello\n\n", one.text);
    CHECK_STR("$ echo hello", one.name);
    CHECK_STR("", note);
    attach_release(&one);
    REQUIRE(attach_run(&one, "echo no; exit 7", NULL, NULL, note, &err) == TDM_OK);
    CHECK_STR("$ echo no; exit 7\n\nno\n\n(exit status 7)\n\n", one.text);
    CHECK_STR("", note);
    CHECK_STR("$ echo no; exit 7 (status 7)", one.name);
    attach_release(&one);
}

TEST_MAIN(T(what_a_terminal_would_show), T(output_and_status), T(too_much_output_ends_it),
          T(nothing_goes_on_behind_it), T(it_can_be_stopped_with_all_that_it_started), T(as_an_attachment))
