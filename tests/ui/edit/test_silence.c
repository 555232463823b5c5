/* readline inside the program reaches neither the terminal nor its settings: a child with a pseudo-terminal on its
 * descriptors 0-2 goes through everything that makes readline draw, ring or complain, and the terminal sees nothing.
 * Also: what a large paste costs (figures, no verdict). */
#include "tests/check.h"

#include <fcntl.h>
#include <locale.h>
#include <pty.h>
#include <signal.h>
#include <sys/wait.h>
#include <termios.h>
#include <unistd.h>

#include "engine/base/clock.h"
#include "ui/edit/input.h"

static const char *command(void *context, size_t i, const char **help)
{
    static const char *const names[] = {"alpha", "alpine", "beta"};
    (void)context;
    *help = NULL;
    return i < 3 ? names[i] : NULL;
}

static void play(struct input *in, struct decoder *d, const char *script, int64_t *now)
{
    struct decoder_event e;
    struct input_action a;
    struct input_view v;
    decoder_feed(d, script, strlen(script), *now);
    for (int i = 0; i < 2; i++) {
        while (decoder_next(d, &e)) {
            input_feed_event(in, &e);
            while (input_next_action(in, &a))
                if (a.action == ACTION_SUBMIT) free(input_take(in, NULL, true, true));
        }
        *now += 1000000000;
        decoder_feed(d, NULL, 0, *now);
    }
    while (decoder_next(d, &e)) {
        input_feed_event(in, &e);
        while (input_next_action(in, &a)) {}
    }
    input_view(in, *now, &v);
}

static int in_terminal(const char *folder)
{
    static const struct completer completer = {.command = command};
    char path[300];
    struct termios before, after;
    struct sigaction winch;
    snprintf(path, sizeof path, "%s/inputrc", folder);
    FILE *f = fopen(path, "w");
    if (!f) return 2;
    fputs("set bell-style audible\nset enable-bracketed-paste on\nset show-mode-in-prompt on\nset nonsense 1\n"
          "set completion-query-items 2\nset blink-matching-paren on\n\"\\C-t\": dump-functions\n", f);
    fclose(f);
    setenv("INPUTRC", path, 1);
    setenv("TERM", "xterm-256color", 1);
    unsetenv("LINES");
    unsetenv("COLUMNS");
    setenv("LC_ALL", "C", 1);
    setlocale(LC_ALL, "C.UTF-8");
    tcgetattr(0, &before);
    tdm_error err;
    struct input *in = input_open(&(struct input_options){.completer = &completer}, &err);
    struct decoder *d = decoder_open(NULL);
    if (!in || !d) return 3;
    if (input_open(NULL, &err) || err.code != TDM_E_BUSY) return 4; /* one per process */
    static const char *const scripts[] = {
        "hello (world)\r", "\022zzz\007", "\022hel\033", "/a\t\t", "n", "/a\t\ty", "\025", "\014", "\030\022",
        "\007\007", "\0334\0335", "\007", "\024", "\033[200~paste\033[201~", "\037\037\037\037\037", "\004\004",
        "\003\032",
        "\020\020\020\020", "\016\016\016\016\016", "\033?", "\030*", "\033~", "\026\001", "\r", "\033\012", "abc\033",
        "x~\033", "/abc\r", "\033:", "\033[5~\033[25~\033OP", "\033\005", "\030(abc\030)\030e\030e", "ab\017",
        "\t\t\t"};
    int64_t now = 1;
    for (size_t i = 0; i < sizeof scripts / sizeof *scripts; i++) play(in, d, scripts[i], &now);
    raise(SIGWINCH);
    play(in, d, "x\r", &now);
    input_close(in);
    decoder_close(d);
    fflush(NULL);
    tcgetattr(0, &after);
    sigaction(SIGWINCH, NULL, &winch);
    if (before.c_iflag != after.c_iflag || before.c_oflag != after.c_oflag || before.c_lflag != after.c_lflag ||
        before.c_cflag != after.c_cflag || memcmp(before.c_cc, after.c_cc, sizeof before.c_cc))
        return 5;
    if (getenv("LINES") || getenv("COLUMNS")) return 6;
    if (winch.sa_handler != SIG_DFL) return 7;
    if (strcmp(setlocale(LC_CTYPE, NULL), "C.UTF-8")) return 8;
    in = input_open(NULL, &err); /* and again */
    if (!in) return 9;
    input_close(in);
    return write(1, "END", 3) == 3 ? 0 : 10;
}

TEST(nothing_reaches_the_terminal)
{
    int master;
    const char *folder = check_tmp();
    fflush(NULL);
    struct winsize size = {.ws_row = 24, .ws_col = 80};
    pid_t pid = forkpty(&master, NULL, NULL, &size);
    if (pid == 0) _exit(in_terminal(folder));
    REQUIRE(pid > 0);
    char seen[4096] = "";
    size_t n = 0;
    ssize_t r;
    while (n < sizeof seen - 1 && (r = read(master, seen + n, sizeof seen - 1 - n)) > 0) n += (size_t)r;
    seen[n] = 0;
    CHECK_STR("END", seen);
    int status;
    waitpid(pid, &status, 0);
    CHECK_INT(0, status);
    close(master);
}

static double ms_since(int64_t start)
{
    return (double)(clock_ns() - start) / 1e6;
}

TEST(large_pastes)
{
    setlocale(LC_ALL, "C.UTF-8");
    setenv("INPUTRC", "/dev/null", 1);
    struct input *in = input_open(NULL, NULL);
    REQUIRE(in);
    for (size_t n = 200 << 10; n <= 5 * (200 << 10); n *= 5) {
        struct decoder *d = decoder_open(NULL);
        struct decoder_event e;
        struct input_action a;
        struct input_view v;
        char *text = malloc(n + 13);
        memcpy(text, "\033[200~", 6);
        for (size_t i = 0; i < n; i++) text[6 + i] = (char)(i % 80 == 79 ? '\n' : 'a' + i % 26);
        memcpy(text + 6 + n, "\033[201~", 7);
        int64_t start = clock_ns();
        for (size_t i = 0; i < n + 12; i += 4096) decoder_feed(d, text + i, n + 12 - i < 4096 ? n + 12 - i : 4096, 1);
        CHECK(!decoder_next(d, &e));
        decoder_feed(d, NULL, 0, decoder_deadline(d));
        REQUIRE(decoder_next(d, &e));
        input_feed_event(in, &e);
        CHECK(!input_next_action(in, &a));
        input_view(in, 0, &v);
        double pasted = ms_since(start);
        CHECK_INT(n, v.length);
        CHECK(!memcmp(v.text, text + 6, n));
        start = clock_ns();
        e = (struct decoder_event){.kind = DECODER_BYTES, .data = "0123456789", .length = 10};
        input_feed_event(in, &e);
        input_next_action(in, &a);
        double typed = ms_since(start);
        e = (struct decoder_event){.kind = DECODER_BYTES, .data = "\0010123456789", .length = 11};
        start = clock_ns();
        input_feed_event(in, &e);
        input_next_action(in, &a);
        double at_start = ms_since(start);
        e = (struct decoder_event){.kind = DECODER_BYTES, .data = "\037\037\037\037", .length = 4};
        start = clock_ns();
        input_feed_event(in, &e);
        input_next_action(in, &a);
        double undone = ms_since(start);
        input_view(in, 0, &v);
        CHECK_INT(0, v.length); /* two runs of typing, the paste */
        input_insert_paste(in, text + 6, n);
        size_t length;
        char *taken = input_take(in, &length, true, true);
        CHECK_INT(n, length);
        free(taken);
        printf("# paste of %zu KiB: in the draft after %.1f ms; ten keys at its end %.2f ms, at its start %.1f ms; "
               "undo %.1f ms\n",
               n >> 10, pasted, typed, at_start, undone);
        free(text);
        decoder_close(d);
    }
    input_close(in);
}

TEST_MAIN(T(nothing_reaches_the_terminal), T(large_pastes))
