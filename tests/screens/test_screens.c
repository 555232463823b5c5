/* Golden screens by key script: the whole front end, from the terminal's bytes to the cells that it shows, with an
 * engine and a clock that do what the script says (fake_engine.h, fake_host.h). tests/screens/NAME.keys is played, what
 * came of it is compared with NAME.txt; GOLDEN_UPDATE=1 (make goldens-update) writes the .txt anew, to be read before
 * it is kept.
 *
 * A script has a command a line; # begins a comment.
 *   terminal ROWS COLS [256|8|0]  size and colours, also of a running front end
 *   option NAME VALUE             as on the command line        } before `start`
 *   theme NAME.ROLE COLOUR        as in the configuration file  }
 *   env NAME VALUE                in the environment            }
 *   ground R/G/B|none             the terminal's answer about its background, hexadecimal; black without it }
 *   file PATH [TEXT]              below the home folder, at any time; one that begins with #! is a program
 *   start                         runs the front end
 *   type TEXT                     keys: <Enter> <Esc> <Up> <^X> <Alt-Enter> ... stand for what a terminal sends; in
 *                                 this and all texts \n \r \t \e \\ \xHH stand for bytes
 *   paste [TIMES] TEXT            a bracketed paste
 *   wait MS                       time passes
 *   load WHAT DONE TOTAL | loaded | load-fails TEXT | no-room TEXT
 *   reply TEXT | think TEXT | end [stop|length|context|failed]
 *   answer N                      of several, the one that the next texts and ends are of
 *   tokens N                      in each text of a reply from here on
 *   stat NAME VALUE               of the turn that ends next (in, before, out, tps, thinking)
 *   status NAME VALUE             of the chat (read, target, behind, ahead, draft-read ...; mark WORD)
 *   model thinks|does-not-think   what it can do
 *   cores N                       of the machine
 *   disk full|slow|free           whether a session can be saved; slow: what is written there arrives when it is free
 *   memory short|free             the kernel says so
 *   battery on|off                what the machine runs on
 *   lanes PREFILL DECODE          the last 20 s, a letter a column
 *   sensor W|C VALUE|- [REASON|REMEDY]
 *   notice TEXT | error TEXT      from the engine
 *   demo RUN THOUSANDTHS | demo-first | demo-made | demo-fails TEXT    the demo's runs (fake_demo.h)
 *   until TEXT                    the screen shows it, in real time: what threads and programs do comes when it comes
 *   gone TEXT                     the screen doesn't show it any more, likewise
 *   await                         a thread or a program wakes the front end, in real time
 *   screen NAME                   the text of the screen, the cursor as _
 *   bottom ROWS NAME              only the last rows of it
 *   looks NAME                    the same with the attributes of each row: @COLUMN+LENGTH colour attributes
 *   frames                        how many frames were drawn since this was asked last
 */
#include "tests/check.h"
#include "tests/screens/fake_demo.h"
#include "tests/screens/fake_engine.h"
#include "tests/screens/fake_host.h"
#include "tests/ui/dump.h"
#include "tests/ui/golden.h"

#include <ctype.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "engine/os/file.h"
#include "src/cli/options.h"
#include "src/io/output.h"
#include "src/tui/tui.h"

static struct {
    char *text;  /* of the script */
    char *at;    /* the next line */
    int line;
    char name[64];
    void (*show)(void); /* once the time has passed */
    char shown[64];
    char until[64];
    bool gone;   /* until it isn't there */
    int rows;    /* of the screen's end; 0: all */
    char *bytes; /* behind host.typed */
    bool started;
    options o;
} play;

static void wrong(const char *what)
{
    host_print("-- line %d of the script: %s\n", play.line, what);
    _exit(8);
}

/* ---- Words ------------------------------------------------------------------------------------------------------- */

static char *word(char **rest)
{
    char *at = *rest + strspn(*rest, " ");
    size_t n = strcspn(at, " ");
    *rest = at + n;
    if (at[n]) at[n] = 0, (*rest)++;
    return at;
}

static long number(char **rest)
{
    char *end, *text = word(rest);
    long value = strtol(text, &end, 10);
    if (!*text || *end) wrong("expected a number");
    return value;
}

/* \n, \r, \t, \e, \\ and \xHH, in place; returns the length. */
static size_t unescape(char *text)
{
    char *out = text;
    for (char *c = text; *c; c++) {
        if (*c != '\\') {
            *out++ = *c;
            continue;
        }
        c++;
        if (*c == 'x' && c[1] && c[2]) {
            char hex[3] = {c[1], c[2], 0};
            *out++ = (char)strtol(hex, NULL, 16);
            c += 2;
        } else {
            static const char names[] = "nrte", bytes[] = "\n\r\t\033";
            const char *name = *c ? strchr(names, *c) : NULL;
            *out++ = name ? bytes[name - names] : *c;
        }
    }
    *out = 0;
    return (size_t)(out - text);
}

/* The bytes of one <Name>; NULL: there is no such key. */
static const char *key_bytes(const char *name, size_t n)
{
    static const struct {
        const char *name, *bytes;
    } known[] = {{"Enter", "\r"},        {"Esc", "\033"},         {"Tab", "\t"},
                 {"BS", "\x7f"},         {"Up", "\033[A"},        {"Down", "\033[B"},
                 {"Right", "\033[C"},    {"Left", "\033[D"},      {"PgUp", "\033[5~"},
                 {"PgDn", "\033[6~"},    {"Home", "\033[H"},      {"End", "\033[F"},
                 {"^Home", "\033[1;5H"}, {"^End", "\033[1;5F"},   {"F1", "\033OP"},
                 {"F2", "\033OQ"},       {"Alt-Enter", "\033\r"}, {"lt", "<"}};
    static char control[2];
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (strlen(known[i].name) == n && !memcmp(known[i].name, name, n)) return known[i].bytes;
    if (n != 2 || name[0] != '^') return NULL;
    control[0] = (char)(name[1] & 0x1f);
    return control;
}

static void type(char *text)
{
    unescape(text);
    free(play.bytes);
    char *out = play.bytes = calloc(1, 8 * strlen(text) + 1);
    while (*text) {
        char *end = *text == '<' ? strchr(text, '>') : NULL;
        if (!end) {
            *out++ = *text++;
            continue;
        }
        const char *bytes = key_bytes(text + 1, (size_t)(end - text - 1));
        if (!bytes) wrong("there is no such key");
        out = stpcpy(out, bytes);
        text = end + 1;
    }
    host.typed = play.bytes;
    host.n_typed = (size_t)(out - play.bytes);
}

static void paste(char *rest)
{
    long times = isdigit((unsigned char)*rest) ? number(&rest) : 1;
    size_t n = unescape(rest);
    free(play.bytes);
    char *out = play.bytes = malloc((size_t)times * n + 16);
    out = stpcpy(out, "\033[200~");
    for (long i = 0; i < times; i++, out += n) memcpy(out, rest, n);
    out = stpcpy(out, "\033[201~");
    host.typed = play.bytes;
    host.n_typed = (size_t)(out - play.bytes);
    host.wait_ns = 60000000; /* silence ends it */
}

/* ---- The chat ---------------------------------------------------------------------------------------------------- */

static void set_mark(const char *name)
{
    static const char *const marks[] = {"off", "after-reply", "following", "to-read", "ready", "queued", "too-long"};
    for (int i = 0; i < 7; i++)
        if (!strcmp(name, marks[i])) {
            fake.status.mark = (tdm_mark)i;
            return;
        }
    wrong("there is no such mark");
}

static void set_status(char *rest)
{
    tdm_chat_status *s = &fake.status;
    const struct {
        const char *name;
        uint32_t *value;
    } fields[] = {{"reading-done", &s->reading_done},
                  {"reading-total", &s->reading_total},
                  {"target", &s->target},
                  {"read", &s->read},
                  {"behind", &s->behind},
                  {"ahead", &s->ahead},
                  {"wasted", &s->wasted},
                  {"checkpoints", &s->checkpoints},
                  {"context", &s->context_used},
                  {"draft-tokens", &s->draft_tokens},
                  {"adopted", &s->adopted}};
    const char *name = word(&rest);
    if (!strcmp(name, "mark")) {
        set_mark(word(&rest));
        return;
    }
    if (!strcmp(name, "prefill-failed") || !strcmp(name, "no-checkpoints")) {
        *(*name == 'p' ? &s->prefill_failed : &s->no_checkpoints) = number(&rest) != 0;
        return;
    }
    long value = number(&rest);
    for (size_t i = 0; i < sizeof fields / sizeof *fields; i++)
        if (!strcmp(name, fields[i].name)) {
            *fields[i].value = (uint32_t)value;
            return;
        }
    if (!strcmp(name, "draft-read")) s->draft_read_bytes = (size_t)value;
    else if (!strcmp(name, "tps")) s->decode_tps = (double)value;
    else if (!strcmp(name, "prefill-tps")) s->prefill_tps = (double)value;
    else if (!strcmp(name, "handover-us")) s->handover_ms = (double)value / 1000;
    else if (!strcmp(name, "kept")) s->speed_kept = (double)value / 100;
    else wrong("there is no such status");
}

static void set_stat(char *rest)
{
    tdm_turn_stats *s = &fake.stats;
    const char *name = word(&rest);
    uint32_t value = (uint32_t)number(&rest);
    if (!strcmp(name, "in")) s->turn_tokens = value;
    else if (!strcmp(name, "before")) s->turn_before_enter = value;
    else if (!strcmp(name, "after")) s->after_enter = value;
    else if (!strcmp(name, "out")) s->reply_tokens = value;
    else if (!strcmp(name, "thinking")) s->thinking_tokens = value;
    else if (!strcmp(name, "tps")) s->decode_tps = value;
    else wrong("there is no such figure");
}

static void end_reply(const char *how)
{
    fake_end(!strcmp(how, "stop")      ? TDM_FINISH_STOPPED
             : !strcmp(how, "length")  ? TDM_FINISH_LENGTH
             : !strcmp(how, "repeats") ? TDM_FINISH_REPEATS
             : !strcmp(how, "context") ? TDM_FINISH_CONTEXT
             : !strcmp(how, "failed")  ? TDM_FINISH_FAILED
                                       : TDM_FINISH_END);
}

static void set_sensor(char *rest)
{
    struct sensor *s = !strcmp(word(&rest), "W") ? &fake.sensors.watts : &fake.sensors.celsius;
    char *value = word(&rest), *bar = strchr(rest, '|');
    *s = (struct sensor){.valid = strcmp(value, "-") != 0, .value = strtod(value, NULL)};
    if (bar) *bar = 0;
    snprintf(s->reason, sizeof s->reason, "%s", rest);
    snprintf(s->remedy, sizeof s->remedy, "%s", bar ? bar + 1 : "");
}

/* ---- The screen -------------------------------------------------------------------------------------------------- */

static void show_text(void)
{
    char *text = golden_text(host.canvas), *at = text;
    for (int skip = play.rows ? host.canvas->rows - play.rows : 0; skip > 0; skip--) at = strchr(at, '\n') + 1;
    host_print("== %s, %dx%d%s\n%s", play.shown, host.canvas->rows, host.canvas->cols, play.rows ? ", its end" : "",
               at);
    free(text);
}

static void show_looks(void)
{
    char *text = dump_looks(host.canvas, host.theme, host.colours);
    host_print("== %s, %dx%d, %d colours, cursor %d,%d\n%s", play.shown, host.canvas->rows, host.canvas->cols,
               host.colours, host.canvas->cursor_row, host.canvas->cursor_col, text);
    free(text);
}

static void set_terminal(char *rest)
{
    host.rows = (int)number(&rest);
    host.cols = (int)number(&rest);
    if (*rest) host.colours = (int)number(&rest);
    if (play.started) raise(SIGWINCH);
}

/* ---- The script -------------------------------------------------------------------------------------------------- */

static void show_later(void (*show)(void), int rows, const char *name)
{
    play.rows = rows;
    snprintf(play.shown, sizeof play.shown, "%s", name);
    play.show = show;
    host.wait_ns = 120000000; /* what is due is drawn */
}

static void show_until(const char *text, bool gone)
{
    snprintf(play.until, sizeof play.until, "%s", text);
    play.gone = gone;
    host.wait_ns = 40000000;
}

static void make_file(char *rest)
{
    char path[600], *name = word(&rest);
    snprintf(path, sizeof path, "%s/%s", getenv("HOME"), name);
    char *end = strrchr(path, '/');
    *end = 0;
    bool good = !file_make_folders(path, 0700, NULL);
    *end = '/';
    FILE *f = good ? fopen(path, "w") : NULL;
    if (!f || fwrite(rest, 1, unescape(rest), f) == SIZE_MAX || fclose(f)) wrong("the file can't be made");
    if (!strncmp(rest, "#!", 2)) chmod(path, 0755);
}

static bool command(const char *name, char *rest)
{
    if (!strcmp(name, "terminal")) set_terminal(rest);
    else if (!strcmp(name, "type")) type(rest);
    else if (!strcmp(name, "paste")) paste(rest);
    else if (!strcmp(name, "file"))
        make_file(rest);
    else if (!strcmp(name, "await")) host.awaits_wake = !host.was_woken, host.was_woken = false;
    else if (!strcmp(name, "wait")) host.wait_ns = 1000000 * number(&rest);
    else if (!strcmp(name, "reply")) fake_reply(rest, unescape(rest), false);
    else if (!strcmp(name, "think")) fake_reply(rest, unescape(rest), true);
    else if (!strcmp(name, "answer")) fake_answer((int)number(&rest));
    else if (!strcmp(name, "end")) end_reply(rest);
    else if (!strcmp(name, "stat")) set_stat(rest);
    else if (!strcmp(name, "status")) set_status(rest);
    else if (!strcmp(name, "model")) fake.can_think = !strcmp(rest, "thinks");
    else if (!strcmp(name, "cores")) fake.cores = (int)number(&rest);
    else if (!strcmp(name, "tokens")) fake.tokens = (int)number(&rest);
    else if (!strcmp(name, "disk")) host_disk(rest);
    else if (!strcmp(name, "sensor")) set_sensor(rest);
    else if (!strcmp(name, "memory")) host_memory(!strcmp(rest, "short"));
    else if (!strcmp(name, "battery")) fake.sensors.discharging = !strcmp(rest, "on");
    else if (!strcmp(name, "screen")) show_later(show_text, 0, rest);
    else if (!strcmp(name, "bottom")) play.rows = (int)number(&rest), show_later(show_text, play.rows, rest);
    else if (!strcmp(name, "looks")) show_later(show_looks, 0, rest);
    else if (!strcmp(name, "until") || !strcmp(name, "gone")) show_until(rest, *name == 'g');
    else if (!strcmp(name, "frames")) host_print("-- %d frames\n", host.frames), host.frames = 0;
    else return false;
    return true;
}

static tdm_step step_of(const char *name)
{
    static const char *const names[TDM_STEPS] = {
        [TDM_STEP_READING] = "loading",          [TDM_STEP_PACKING] = "packing",
        [TDM_STEP_TESTING_GPU] = "testing",      [TDM_STEP_COPYING_GPU] = "copying",
        [TDM_STEP_MEASURING_GPU] = "measuring", [TDM_STEP_COMPILING_GPU] = "compiling",
    };
    for (int i = 0; i < TDM_STEPS; i++)
        if (names[i] && !strcmp(name, names[i])) return (tdm_step)i;
    CHECK_FAIL("no such step: %s", name);
    return TDM_STEP_READING;
}

static bool chat_command(const char *name, char *rest)
{
    if (!strcmp(name, "load")) {
        tdm_step step = step_of(word(&rest));
        uint64_t done = (uint64_t)number(&rest);
        fake_load(step, done, (uint64_t)number(&rest));
    } else if (!strcmp(name, "loaded") || !strcmp(name, "load-fails") || !strcmp(name, "no-room")) {
        fake_loaded(*name == 'n' ? TDM_E_NOMEM : *rest ? TDM_E_FORMAT : TDM_OK, rest);
        host.awaits_wake = true;
    } else if (!strcmp(name, "lanes")) {
        char *prefill = word(&rest);
        fake_lanes(prefill, word(&rest), host.now_ns);
    } else if (!strcmp(name, "demo")) {
        int run = (int)number(&rest);
        fake_demo_at(run, (int)number(&rest));
    } else if (!strcmp(name, "demo-first")) {
        fake_demo_first();
    } else if (!strcmp(name, "demo-made") || !strcmp(name, "demo-fails")) {
        fake_demo_made(*rest ? rest : NULL);
    } else if (!strcmp(name, "notice") || !strcmp(name, "error")) {
        fake_post(
            &(tdm_event){.kind = *name == 'n' ? TDM_EV_NOTICE : TDM_EV_ERROR, .text = rest, .length = strlen(rest)});
    } else {
        return false;
    }
    return true;
}

/* The next command that isn't a comment; false: the script is over. */
static bool next_line(char **name, char **rest)
{
    for (;;) {
        if (!*play.at) return false;
        char *line = play.at;
        size_t n = strcspn(line, "\n");
        play.at += n + (line[n] != 0);
        line[n] = 0;
        play.line++;
        if (!*line || *line == '#') continue;
        *rest = line;
        *name = word(rest);
        return true;
    }
}

/* Whether what the script waits for is there; a frame is drawn after everything that comes. */
static bool is_until(void)
{
    char *text = golden_text(host.canvas);
    bool there = strstr(text, play.until);
    free(text);
    if (there != play.gone) return true;
    usleep(1000);
    if (host.was_woken) host.wait_ns = 40000000;
    host.was_woken = false;
    return false;
}

static bool next_command(void)
{
    char *name, *rest;
    if (play.until[0]) {
        if (!is_until()) return true;
        play.until[0] = 0;
    }
    if (play.show) {
        play.show();
        play.show = NULL;
    }
    if (!next_line(&name, &rest)) return false;
    if (!command(name, rest) && !chat_command(name, rest)) wrong("there is no such command");
    return true;
}

/* What comes before `start`. */
static void prepare(void)
{
    char *name, *rest;
    tdm_error err = {0};
    while (next_line(&name, &rest)) {
        if (!strcmp(name, "start")) {
            play.started = true;
            return;
        }
        if (!strcmp(name, "env")) {
            const char *variable = word(&rest);
            setenv(variable, rest, 1);
        } else if (!strcmp(name, "ground")) {
            host.ground = strcmp(rest, "none") ? rest : NULL;
        } else if (!strcmp(name, "theme")) {
            const char *setting = word(&rest);
            if (theme_own_set(&play.o.themes, &play.o.n_themes, setting, rest, &err)) wrong(err.text);
        } else if (!strcmp(name, "option")) {
            option_id id = option_find(COMMAND_CHAT, word(&rest));
            if (id == OPTION_COUNT || !option_set(&play.o, id, rest, FROM_COMMAND_LINE, &err)) wrong(err.text);
        } else if (!command(name, rest)) {
            wrong("not before `start`");
        }
    }
    wrong("`start` is missing");
}

/* In a child: readline, the terminal and the signals are the process's. */
static void play_script(const char *home)
{
    char *argv[] = {(char *)"tandem", (char *)"chat", (char *)"--measure-idle=off", NULL};
    tdm_error err = {0};
    host_environment(home);
    fake_reset();
    host = (struct host){.rows = 24, .cols = 80, .colours = 256, .now_ns = INT64_C(1000000000000), .next = next_command,
                         .ground = "0000/0000/0000"};
    if (!options_parse(&play.o, 3, argv, &err)) wrong(err.text);
    prepare();
    host.running = true;
    int status = tui_main(&play.o);
    output_flush();
    host.running = false;
    host_print("-- ends with status %d\n", status);
    options_free(&play.o);
    free(play.text);
    free(play.bytes);
}

static char *read_all(int fd)
{
    size_t n = 0, room = 1 << 20;
    char *text = calloc(1, room);
    for (ssize_t got; text && n + 1 < room && (got = read(fd, text + n, room - n - 1)) > 0;) n += (size_t)got;
    return text;
}

static void run_script(const char *name)
{
    char path[128], home[300];
    int out[2];
    snprintf(path, sizeof path, "tests/screens/%s.keys", name);
    snprintf(home, sizeof home, "%s/%s", check_tmp(), name);
    FILE *in = fopen(path, "r");
    REQUIRE(in && pipe(out) == 0);
    play.text = calloc(1, 1 << 16);
    REQUIRE(play.text && fread(play.text, 1, (1 << 16) - 1, in) > 0);
    fclose(in);
    play.at = play.text;
    fflush(stdout);
    pid_t child = fork();
    if (child == 0) {
        dup2(out[1], STDOUT_FILENO);
        close(out[0]);
        close(out[1]);
        alarm(60);
        play_script(home);
        _exit(0);
    }
    close(out[1]);
    char *found = read_all(out[0]);
    int status;
    close(out[0]);
    waitpid(child, &status, 0);
    if (!WIFEXITED(status) || WEXITSTATUS(status))
        CHECK_FAIL("the front end ended with %s %d after:\n%s", WIFEXITED(status) ? "status" : "signal",
                   WIFEXITED(status) ? WEXITSTATUS(status) : WTERMSIG(status), found ? found : "");
    snprintf(path, sizeof path, "screens/%s.txt", name);
    if (found) golden_file(path, found);
    free(found);
    free(play.text);
    play.text = NULL;
}

#define SCRIPTS(X)                                                                                                     \
    X(legend)                                                                                                          \
    X(themes) X(themes_light) X(branches) X(prompts_list) X(mouse_lists) X(first_run) X(chat) X(thinking) X(no_model)  \
        X(browse) X(edit) X(commands) X(popups) X(palette) X(markdown) X(hostile) X(sizes) X(looks) X(following)       \
            X(model) X(leaving) X(drafts) X(demo) X(warnings) X(troubles) X(narrow) X(mouse) X(demo_sizes) X(private)  \
                X(trash) X(attach) X(chips) X(monitor) X(models) X(models_sizes) X(models_pull) X(adopted) X(prompts)  \
                    X(compact) X(width) X(light) X(sessions) X(ground_unknown) X(ground_slow) X(slow_disk)             \
                        X(prompts_model) X(prompts_small) X(battery) X(memory) X(answers) X(repeats) X(lost_paste)
#define SCRIPT(name) TEST(name) { run_script(#name); }
SCRIPTS(SCRIPT)

/* README.md names places as `SCRIPT/SCREEN`. */
TEST(the_tables_are_true)
{
    static char table[1 << 14], golden[1 << 18];
    FILE *in = fopen("tests/screens/README.md", "r");
    REQUIRE(in && fread(table, 1, sizeof table - 1, in) > 0);
    fclose(in);
    int places = 0;
    for (char *at = strchr(table, '`'); at; at = strchr(at + 1, '`')) {
        char script[64], screen[64], path[128], title[80];
        if (sscanf(at, "`%63[a-z_]/%63[a-z-]`", script, screen) != 2 || !strcmp(script, "tests")) continue;
        snprintf(path, sizeof path, "tests/screens/%s.txt", script);
        snprintf(title, sizeof title, "\n== %s, ", screen);
        golden[0] = '\n';
        size_t n = (in = fopen(path, "r")) ? fread(golden + 1, 1, sizeof golden - 2, in) : 0;
        if (in) fclose(in);
        golden[n + 1] = 0;
        if (!strstr(golden, title)) CHECK_FAIL("README.md: %s has no screen '%s'", path, screen);
        places++;
    }
    CHECK(places > 50);
}

#define LISTED(name) T(name),
TEST_MAIN(SCRIPTS(LISTED) T(the_tables_are_true))
