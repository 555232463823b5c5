/* Random keys, commands, sizes and replies on the whole front end in this process, with the engine and the terminal of
 * the golden screens: it neither crashes nor hangs, and ends when it is told to. Several keys come at once, so that
 * commands follow one another without a frame between them. TANDEM_SEED plays one run again and prints what it does;
 * TANDEM_LONG plays for ten minutes. Most telling with SANITIZER=address,undefined. */
#include "tests/check.h"
#include "tests/screens/fake_engine.h"
#include "tests/screens/fake_host.h"

#include <signal.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "engine/os/file.h"
#include "src/cli/options.h"
#include "src/io/output.h"
#include "src/slash/slashes.h"
#include "src/tui/tui.h"
#include "ui/keys/keys.h"

enum { ACTS = 500, TYPED = 4096, PATIENCE_S = 120, SHORT_RUNS = 4 };

static struct {
    unsigned seed;
    int acts;
    char typed[TYPED];
    size_t n;
} play;

static unsigned pick(unsigned n)
{
    return (unsigned)rand_r(&play.seed) % n;
}

#define ONE_OF(texts) (texts[pick(sizeof texts / sizeof *texts)])

/* ---- Keys -------------------------------------------------------------------------------------------------------- */

static void add(const char *text)
{
    size_t n = strlen(text);
    if (play.n + n >= TYPED) return;
    memcpy(play.typed + play.n, text, n + 1);
    play.n += n;
}

/* Whatever the table of keys knows: the front end is not suspended, there is no shell to go back to. */
static void add_known_key(void)
{
    size_t n;
    const struct key_row *rows = keys_table(&n), *row = &rows[pick((unsigned)n)];
    if (!row->sequence || row->action == ACTION_SUSPEND) return;
    for (const char *c = row->sequence; *c; c++) {
        char one[2] = {*c, 0};
        if (!strncmp(c, "\\C-", 3)) one[0] = (char)(c[3] & 0x1f), c += 3;
        else if (!strncmp(c, "\\e", 2)) one[0] = 27, c++;
        else if (!strncmp(c, "\\r", 2)) one[0] = '\r', c++;
        else if (*c == '\\' && c[1]) one[0] = *++c;
        if (one[0] != 26) add(one);
    }
}

static void add_key(void)
{
    static const char *const keys[] = {
        "\r", "\r", "\r", "\t", "\x7f", "\x03", "\033", "\x18", "\x0c", "\x01", "\x05", "\x0b", "\x19", "\x12", "\x07",
        "\x15", "\x17", "\x1f", "\x02", "\x06", "\x0e", "\x10", "\x14", "\033b", "\033f", "\033d", "\033\r", "\033[A",
        "\033[B", "\033[C", "\033[D", "\033[H", "\033[F", "\033[2~", "\033[3~", "\033[5~", "\033[6~", "\033[1;5H",
        "\033[1;5F", "\033[1;5C", "\033[1;5D", "\033[1;3A", "\033[Z", "\033OP", "\033OQ", "\033OR", "\033OS",
        "\033[15~", "\033[17~", "\x18" "1", "\x18" "2", "\x18" "8", "\x18k", "\x18m", "\x18" "b", "\x18" "f",
        "\x18\x05",
        "/", "n", "N", "j", "k", "g", "G", "q", "y", "d", "u", "r", "s", "e", "c", "o", "{", "}", "[", "]", " ", "@",
        "?", "\xe4\xb8\xad", "\xf0\x9f\x91\xa8\xe2\x80\x8d\xf0\x9f\x91\xa9", "\xff\xfe", "e\xcc\x81", "the", "\033[I",
        "\033[O", "\033]11;rgb:ffff/ffff/ffff\033\\", "\033[?62c", "\033[99999999999999999999~",
    };
    char one[2] = {(char)(' ' + pick(95)), 0};
    if (pick(6) == 0) add(one);
    else if (pick(3) == 0) add_known_key();
    else add(ONE_OF(keys));
}

static void add_mouse(void)
{
    static const unsigned buttons[] = {0, 0, 0, 2, 32, 64, 65};
    char text[60];
    unsigned row = 1 + pick(2 + (unsigned)host.rows), col = 1 + pick(2 + (unsigned)host.cols);
    snprintf(text, sizeof text, "\033[<%u;%u;%u%c", ONE_OF(buttons), col, row, pick(3) ? 'M' : 'm');
    add(text);
}

static void add_paste(void)
{
    static const char *const texts[] = {
        "pasted", "two\nlines", "\033[31m\r\n\xff\t", "/undo", "", "/quit\n", "source/notes.md", "'/no such file.png'",
        "a\nb\nc\nd\ne\nf\ng\nh\ni\nj\nk\nl\nm\nn\no\np\nq\nr\ns\nt\nu\nv\nw\nx\ny\nz", "\033[200~",
    };
    add("\033[200~");
    for (unsigned times = pick(4) ? 1 : pick(40); times; times--) add(ONE_OF(texts));
    if (pick(5)) add("\033[201~");
}

/* ---- Commands ---------------------------------------------------------------------------------------------------- */

/* A setting with a value that may or may not be one. */
static void add_setting(void)
{
    static const char *const values[] = {
        "",     "on",       "off",  "0",    "1",    "-1",   "2",     "3",      "100",   "99999999999999999999", "1e999",
        "nan",  "auto",     "x",    "100%", "8G",   "-0.5", "0.25",  "\xc3\xa9", "a b c",
        "low",                "1000000",
        "full", "no/where", "dark", "mono", "1MiB", "top",  "1/2/3",
    };
    char line[300], range[200], *word = range;
    option_id id = (option_id)pick(OPTION_COUNT);
    option_range(id, range, sizeof range);
    for (unsigned skip = pick(6); skip && strchr(word, ','); skip--) word = strchr(word, ',') + 2;
    word[strcspn(word, ",")] = 0;
    snprintf(line, sizeof line, "/set %s %s\r", option_table[id].name, pick(2) ? ONE_OF(values) : word);
    add(line);
}

static void add_command(void)
{
    static const char *const arguments[] = {
        "", "", "", "1", "2", "3", "0", "-1", "99999999999999999999", "on", "off", "the", "hello world", "x", "a/b",
        "..",
        "--now", "--force", "1 2", "2 9", "all", "view", "turn card", "turn off", "line", "panel", "full", "auto",
        "strip", "legend", "live", "turn", "in", "out", "4 Why?", "2", "8 x", "9", "!echo hello", "!false",
        "source/main.c", "source", "a.md", "a.html", "a.json", "a.svg", "--force a.md",
        "--force a.svg", "no/where.md", "source/*.md", "/dev/null", "review the code", "\xe4\xb8\xad", "/", "~",
        "~/a.md",
        "builtin", "x.gguf", "http://127.0.0.1:1", "tandem", "batch", "light", "dark", "mono", "measure", "first",
    };
    static const char *const common[] = {
        "/undo\r",    "/redo\r",     "/branch 1\r", "/branch 2\r",   "/branch\r",      "/edit 1\r", "/edit\r",
        "/new\r",     "/sessions\r", "/resume 1\r", "/resume 2\r",   "/fold\r",        "/raw\r",    "/browse\r",
        "/regen\r",   "/find the\r", "/attach\r",   "/mouse on\r",   "/search the\r",  "/model\r",  "/p\r",
        "/answers 3 Why?\r", "/answers 2\r", "/continue\r", "/delete 1\r", "/compare\r", "/keys\r", "/help\r",
        "/stats turn card\r", "/export --force a.md\r", "/undelete 1\r", "/detach 1\r", "/compact a\r", "/ab on\r",
    };
    char line[200];
    slash_id id = (slash_id)pick(SLASH_COUNT);
    if (pick(2)) add("\x15"); /* into an empty draft */
    if (pick(2)) {
        add(ONE_OF(common));
        return;
    }
    if (id == SLASH_DEMO || (id == SLASH_QUIT && pick(8))) id = SLASH_UNDO;
    snprintf(line, sizeof line, "/%s %s%s", slash_table[id].name, ONE_OF(arguments), pick(8) ? "\r" : "");
    add(line);
}

static void add_message(void)
{
    static const char *const messages[] = {
        "Why is the sky blue?\r", "hello\r", "@source/main.c what is it?\r", "the end \033\rof it\r",
        "!echo hello\r", "@\"no such\" @source/", "x\r", "a long message that is going to be wrapped in a narrow one\r",
    };
    add(ONE_OF(messages));
}

static void type_something(void)
{
    play.n = 0;
    for (unsigned keys = 1 + pick(6); keys; keys--) {
        unsigned what = pick(16);
        if (what < 7) add_key();
        else if (what < 8) add_mouse();
        else if (what < 9) add_paste();
        else if (what < 10) add_setting();
        else if (what < 13) add_command();
        else add_message();
    }
    host.typed = play.typed;
    host.n_typed = play.n;
}

/* ---- The rest of the world --------------------------------------------------------------------------------------- */

static void reply_something(void)
{
    static const char *const texts[] = {
        "The ", "sky ", "is blue.", "\n", "\n\n", "- the first\n- the second\n", "```c\nint main(void)\n", "```\n",
        "| a | b |\n|---|---|\n| the | 2 |\n", "$$\\frac{a}{b}$$", "\\(x^2\\)", "**bold", "# Head\n", "> quoted\n",
        "\xe4\xb8\xad\xe6\x96\x87", "\xff\xfe\x80", "\033[2J\033[31m",
        "1\n2\n3\n4\n5\n6\n7\n8\n9\n10\n11\n12\n13\n14\n15\n",
        "averyveryverylongwordaveryveryverylongwordaveryveryverylongwordaveryveryverylongwordaveryveryverylongword",
        "[a link](https://example.org/)", "\t", "\xe2\x80\xae", "1. one\n   1. two\n", "| \xe4\xb8\xad | $x_1$ |\n", "",
    };
    static const tdm_finish ends[] = {TDM_FINISH_STOPPED, TDM_FINISH_LENGTH,  TDM_FINISH_REPEATS,
                                      TDM_FINISH_CONTEXT, TDM_FINISH_FAILED, TDM_FINISH_END};
    if (pick(4) == 0) fake_answer(1 + (int)pick(2));
    for (unsigned n = pick(5); n; n--) {
        const char *text = ONE_OF(texts);
        fake_reply(text, strlen(text), pick(6) == 0);
    }
    if (pick(3) == 0) fake_end(ONE_OF(ends));
}

static void change_figures(void)
{
    tdm_chat_status *s = &fake.status;
    uint32_t *const fields[] = {&s->reading_done, &s->reading_total, &s->target, &s->read,        &s->behind,
                                &s->ahead,        &s->wasted,        &s->context_used, &s->adopted, &s->checkpoints};
    static const uint32_t values[] = {0, 1, 7, 500, 32768, 40000, UINT32_MAX};
    static const char *const lanes[] = {"hdsp.", "....................", "dddd====", ">",
        "hhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhh"};
    *ONE_OF(fields) = ONE_OF(values);
    s->mark = (tdm_mark)pick(7);
    s->decode_tps = pick(3) ? pick(100) : 0;
    s->prefill_tps = pick(3) ? pick(100) : 0;
    fake.stats.decode_tps = s->decode_tps;
    fake.tokens = (int)pick(30);
    fake.sensors.discharging = pick(2);
    fake.sensors.watts = (struct sensor){.valid = pick(2), .value = pick(200)};
    fake.context = pick(8) ? 32768 : (int)pick(100);
    fake_lanes(ONE_OF(lanes), ONE_OF(lanes), host.now_ns);
}

static void resize(void)
{
    static const int small[] = {1, 2, 3, 4, 5, 8, 10, 12, 20, 24, 40, 80};
    host.rows = pick(3) ? ONE_OF(small) : 1 + (int)pick(100);
    host.cols = pick(3) ? ONE_OF(small) : 1 + (int)pick(300);
    raise(SIGWINCH);
}

static void change_world(void)
{
    switch (pick(6)) {
    case 0: host_memory(pick(2)); break;
    case 1: host_disk(pick(3) ? "free" : "full"); break;
    case 2: fake_loaded(pick(4) ? TDM_OK : pick(2) ? TDM_E_NOMEM : TDM_E_FORMAT, "no such thing"); break;
    case 3: fake_post(&(tdm_event){.kind = TDM_EV_NOTICE, .text = "a notice", .length = 8}); break;
    case 4: fake_post(&(tdm_event){.kind = TDM_EV_ERROR, .text = "an error", .length = 8}); break;
    default: fake.can_think = pick(2); break;
    }
}

static bool next_act(void)
{
    static const int waits_ms[] = {0, 0, 0, 1, 20, 60, 120, 600, 3000, 20000};
    if (play.acts++ >= ACTS) {
        host_disk("free"); /* what is left is saved */
        return false;
    }
    unsigned what = pick(20);
    if (what < 10) type_something();
    else if (what < 13) reply_something();
    else if (what < 15) resize();
    else if (what < 16) change_figures();
    else if (what < 17) change_world();
    else host.wait_ns = INT64_C(1000000) * ONE_OF(waits_ms);
    host_print("-- act %d: %u, %dx%d\n", play.acts, what, host.rows, host.cols);
    if (what < 10) host_print("%.*s\n", (int)play.n, play.typed);
    if (pick(8) == 0) usleep(2000); /* loaders and helpers get on */
    return true;
}

/* What readline itself loses: the words of a search in the history that is given up. */
__attribute__((visibility("default"))) const char *__lsan_default_suppressions(void);

const char *__lsan_default_suppressions(void)
{
    return "leak:rl_add_undo\n";
}

/* ---- A run ------------------------------------------------------------------------------------------------------- */

static void make_file(const char *home, const char *name, const char *text)
{
    char path[600];
    snprintf(path, sizeof path, "%s/%s", home, name);
    char *end = strrchr(path, '/');
    *end = 0;
    bool good = !file_make_folders(path, 0700, NULL);
    *end = '/';
    FILE *f = good ? fopen(path, "w") : NULL;
    if (!f || fputs(text, f) < 0 || fclose(f)) _exit(9);
}

/* Everything that is read or written by a relative path is in the run's own folder. */
static void go_home(const char *home)
{
    char assets[600], here[500];
    if (!getcwd(here, sizeof here)) _exit(9);
    make_file(home, "tandem/config", "temp = 0.5\n");
    make_file(home, "tandem/prompts/review.md", "---\ndescription: reads code\n---\nReview {{text}}\n");
    make_file(home, "huggingface/hub/models--a--Qwen3.5-4B-GGUF/refs/main", "r1");
    make_file(home, "huggingface/hub/models--a--Qwen3.5-4B-GGUF/snapshots/r1/Qwen3.5-4B-Q4_K_M.gguf", "x");
    make_file(home, "huggingface/hub/models--a--Other-GGUF/refs/main", "r1");
    make_file(home, "huggingface/hub/models--a--Other-GGUF/snapshots/r1/Other-Q8_0.gguf", "x");
    make_file(home, "source/main.c", "int main(void)\n{\n    return 0;\n}\n");
    make_file(home, "source/notes.md", "# Notes\n\nThe sky is blue.\n");
    host_environment(home);
    snprintf(assets, sizeof assets, "%s/assets", here);
    setenv("TANDEM_DATADIR", assets, 1);
    if (chdir(home)) _exit(9);
}

static void run(const char *home)
{
    static options o;
    char *argv[] = {(char *)"tandem", (char *)"chat", (char *)"--measure-idle=off", NULL};
    tdm_error err = {0};
    go_home(home);
    fake_reset();
    host = (struct host){.rows = 24, .cols = 80, .colours = 256, .now_ns = INT64_C(1000000000000), .next = next_act,
                         .ground = "0000/0000/0000"};
    if (!options_parse(&o, 3, argv, &err)) _exit(9);
    fake_loaded(TDM_OK, "");
    host.running = true;
    int status = tui_main(&o);
    output_flush();
    host.running = false;
    options_free(&o);
    exit(status);
}

/* The end of what a run has said. */
static void print_end(FILE *in)
{
    enum { LAST = 8000 };
    char line[400];
    rewind(in);
    if (!fseek(in, -LAST, SEEK_END)) (void)!fgets(line, sizeof line, in);
    while (fgets(line, sizeof line, in)) printf("# %s%s", line, strchr(line, '\n') ? "" : "\n");
}

static bool play_one(unsigned seed)
{
    FILE *said = tmpfile();
    if (!said) abort();
    fflush(stdout);
    pid_t child = fork();
    if (child == 0) {
        dup2(fileno(said), STDOUT_FILENO);
        dup2(fileno(said), STDERR_FILENO);
        alarm(PATIENCE_S);
        play.seed = seed;
        run(check_tmp()); /* the run's own, removed as it ends */
    }
    int status;
    waitpid(child, &status, 0);
    bool good = WIFEXITED(status) && WEXITSTATUS(status) == 0;
    if (!good || getenv("TANDEM_SEED")) print_end(said);
    if (!good)
        CHECK_FAIL("TANDEM_SEED=%u: the front end ended with %s %d", seed, WIFEXITED(status) ? "status" : "signal",
                   WIFEXITED(status) ? WEXITSTATUS(status) : WTERMSIG(status));
    fclose(said);
    return good;
}

TEST(random_acts)
{
    const char *longer = getenv("TANDEM_LONG"), *wanted = getenv("TANDEM_SEED");
    /* The short form is the same each time, so that a change is judged by what it changed; the long one explores. */
    bool explores = longer && longer[0];
    unsigned seed = wanted ? (unsigned)strtoul(wanted, NULL, 10) : explores ? (unsigned)time(NULL) * 1000u : 1;
    time_t until = time(NULL) + 600;
    int runs = 0, failed = 0;
    do {
        runs++;
        failed += !play_one(seed++);
    } while (!wanted && failed < 3 && (explores ? time(NULL) < until : runs < SHORT_RUNS));
    printf("# %d runs of %d acts up to TANDEM_SEED=%u\n", runs, ACTS, seed - 1);
}

TEST_MAIN(T(random_acts))
