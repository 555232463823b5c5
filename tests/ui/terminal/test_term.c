/* Canvases through a pseudo-terminal and a real terminal emulation: what arrives is what was drawn. */
#include "tests/check.h"
#include "tests/ui/golden.h"

#include <locale.h>
#include <poll.h>
#include <pty.h>
#include <pthread.h>
#include <termios.h>
#include <unistd.h>
#include <vterm.h>

#include "ui/screen.h"
#include "ui/terminal/restore.h"
#include "ui/terminal/term.h"

enum { ROWS = 24, COLS = 80 };

struct emulation {
    int master, slave;
    FILE *out, *in;
    VTerm *vt;
    VTermScreen *screen;
    size_t bytes;
    bool alternate;
};

static int on_property(VTermProp prop, VTermValue *value, void *user)
{
    if (prop == VTERM_PROP_ALTSCREEN) ((struct emulation *)user)->alternate = value->boolean;
    return 1;
}

static const VTermScreenCallbacks callbacks = {.settermprop = on_property};

static bool switched_off; /* the alternate screen, by the user */

static bool start(struct emulation *e, const char *term)
{
    struct winsize size = {.ws_row = ROWS, .ws_col = COLS};
    memset(e, 0, sizeof *e);
    if (openpty(&e->master, &e->slave, NULL, NULL, &size) != 0) return false;
    setenv("TERM", term, 1);
    e->out = fdopen(dup(e->slave), "w");
    e->in = fdopen(dup(e->slave), "r");
    e->vt = vterm_new(ROWS, COLS);
    vterm_set_utf8(e->vt, 1);
    e->screen = vterm_obtain_screen(e->vt);
    vterm_screen_set_callbacks(e->screen, &callbacks, e);
    if (!switched_off) vterm_screen_enable_altscreen(e->screen, 1);
    vterm_screen_reset(e->screen, 1);
    return e->out && e->in;
}

/* Feeds what has been written so far into the emulation; the writer has returned, so all of it is there. */
static void take(struct emulation *e)
{
    struct pollfd p = {.fd = e->master, .events = POLLIN};
    char buffer[4096];
    while (poll(&p, 1, 0) > 0 && (p.revents & POLLIN)) {
        ssize_t n = read(e->master, buffer, sizeof buffer);
        if (n <= 0) break;
        vterm_input_write(e->vt, buffer, (size_t)n);
        e->bytes += (size_t)n;
    }
}

/* A large frame does not fit into the kernel's buffer: a thread presents while this one takes. */
struct present {
    struct term *term;
    const struct canvas *canvas;
    int done[2];
};

static void *present_thread(void *arg)
{
    struct present *p = arg;
    term_present(p->term, p->canvas, VIEW_THEME_DARK);
    if (write(p->done[1], "x", 1) != 1) abort();
    return NULL;
}

static void present(struct emulation *e, struct term *term, const struct canvas *canvas)
{
    struct present p = {.term = term, .canvas = canvas};
    pthread_t thread;
    if (pipe(p.done) != 0 || pthread_create(&thread, NULL, present_thread, &p) != 0) abort();
    struct pollfd fds[2] = {{.fd = p.done[0], .events = POLLIN}, {.fd = e->master, .events = POLLIN}};
    do {
        poll(fds, 2, -1);
        take(e);
    } while (!(fds[0].revents & POLLIN));
    pthread_join(thread, NULL);
    take(e);
    close(p.done[0]);
    close(p.done[1]);
}

static void stop(struct emulation *e)
{
    vterm_free(e->vt);
    fclose(e->out);
    fclose(e->in);
    close(e->master);
    close(e->slave);
}

/* Every cell of the emulation against the canvas: characters, widths, bold, reverse, underline. */
static void check_same(struct emulation *e, const struct canvas *canvas, int colours)
{
    int wrong = 0;
    for (int row = 0; row < canvas->rows; row++)
        for (int col = 0; col < canvas->cols; col++) {
            VTermScreenCell got;
            const struct canvas_cell *want = &canvas->cells[row * canvas->cols + col];
            vterm_screen_get_cell(e->screen, (VTermPos){row, col}, &got);
            if (want->n == 0) continue;
            uint32_t point = got.chars[0] ? got.chars[0] : ' ';
            struct theme_look look = theme_look(VIEW_THEME_DARK, colours, want->style);
            bool same = point == want->point[0] && got.width == want->width &&
                        (want->point[0] == ' ' || got.attrs.bold == !!(look.attributes & STYLE_BOLD)) &&
                        got.attrs.reverse == !!(look.attributes & STYLE_REVERSE) && !got.attrs.blink &&
                        got.attrs.strike == !!(look.attributes & STYLE_STRIKE) &&
                        !!got.attrs.underline == !!(look.attributes & STYLE_UNDERLINE);
            if (same && look.fg >= 0 && want->point[0] != ' ')
                same = VTERM_COLOR_IS_INDEXED(&got.fg) && got.fg.indexed.idx == look.fg;
            if (!same && wrong++ < 3)
                CHECK_FAIL("row %d, column %d: expected U+%04X, found U+%04X", row, col, want->point[0], point);
        }
    CHECK_INT(0, wrong);
}

static void show(const char *name, int colours)
{
    struct emulation e;
    if (!start(&e, name)) SKIP("no pseudo-terminal");
    struct termios was, now;
    tcgetattr(e.slave, &was);
    struct term *term = term_open(NULL, fileno(e.out), fileno(e.in), -1, -1);
    if (!term) {
        stop(&e);
        SKIP("no terminfo entry");
    }
    CHECK_INT(colours, term_colours(term));
    struct sample s;
    sample_init(&s);
    s.view.options.ascii = colours == 0;
    s.view.options.colours = colours;
    s.view.options.strikes = term_strikes(term);
    CHECK(s.view.options.strikes);
    s.turns[1].text = "\xe6\xbc\xa2\xe5\xad\x97 caf\xc3\xa9 e\xcc\x81 \x1b[2J `code` **bold** ~~gone~~ [l](http://x)";
    s.turns[1].text_len = strlen(s.turns[1].text);
    struct screen *screen = screen_new();
    struct canvas *canvas = canvas_new(ROWS, COLS);
    screen_draw(screen, &s.view, canvas);
    present(&e, term, canvas);
    check_same(&e, canvas, colours);
    VTermPos cursor;
    vterm_state_get_cursorpos(vterm_obtain_state(e.vt), &cursor);
    CHECK_INT(canvas->cursor_row, cursor.row);
    CHECK_INT(canvas->cursor_col, cursor.col);
    /* The same again writes nothing, one more letter little. */
    e.bytes = 0;
    present(&e, term, canvas);
    CHECK_INT(0, e.bytes);
    s.view.draft.text = "and how much memory does one tak";
    s.view.draft.len++;
    s.view.draft.cursor++;
    screen_draw(screen, &s.view, canvas);
    present(&e, term, canvas);
    CHECK(e.bytes > 0 && e.bytes < 60);
    check_same(&e, canvas, colours);
    CHECK(e.alternate);
    term_close(term);
    take(&e);
    CHECK(!e.alternate);
    tcgetattr(e.slave, &now);
    CHECK(was.c_lflag == now.c_lflag && was.c_iflag == now.c_iflag && was.c_oflag == now.c_oflag);
    canvas_free(canvas);
    screen_free(screen);
    stop(&e);
}

TEST(colours_256) { show("xterm-256color", 256); }
TEST(colours_8) { show("xterm", 8); }

TEST(no_colour)
{
    setenv("NO_COLOR", "1", 1);
    show("xterm-256color", 0);
    unsetenv("NO_COLOR");
}

/* What a shell exported once does not stand for the size of the terminal. */
TEST(a_size_of_another_time)
{
    setenv("LINES", "2", 1);
    setenv("COLUMNS", "99999999", 1);
    show("xterm-256color", 256);
    unsetenv("LINES");
    unsetenv("COLUMNS");
}

TEST(emergency_restores)
{
    struct emulation e;
    if (!start(&e, "xterm-256color")) SKIP("no pseudo-terminal");
    struct termios was, now;
    tcgetattr(e.slave, &was);
    struct term *term = term_open(NULL, fileno(e.out), fileno(e.in), -1, -1);
    REQUIRE(term);
    struct canvas *canvas = canvas_new(ROWS, COLS);
    present(&e, term, canvas);
    CHECK(e.alternate);
    tcgetattr(e.slave, &now);
    CHECK(!(now.c_lflag & (ICANON | ISIG | ECHO)) && !(now.c_iflag & IXON) && !(now.c_oflag & OPOST));
    restore_now();
    take(&e);
    CHECK(!e.alternate);
    tcgetattr(e.slave, &now);
    CHECK(was.c_lflag == now.c_lflag && was.c_iflag == now.c_iflag && was.c_oflag == now.c_oflag);
    term_close(term);
    take(&e);
    canvas_free(canvas);
    stop(&e);
}

/* A terminal without an alternate screen, or in which the user has switched it off: what was drawn of the conversation
 * stays, and below it nothing does. */
static void leaves_clean_rows(const char *name, bool alternate)
{
    enum { LASTING = 10 };
    struct emulation e;
    switched_off = !alternate;
    bool started = start(&e, name);
    switched_off = false;
    if (!started) SKIP("no pseudo-terminal");
    struct term *term = term_open(NULL, fileno(e.out), fileno(e.in), -1, -1);
    if (!term) {
        stop(&e);
        SKIP("no terminfo entry");
    }
    struct canvas *canvas = canvas_new(ROWS, COLS);
    for (int row = 0; row < ROWS; row++) canvas_puts(canvas, row, 0, COLS, "a row of the screen", STYLE_TEXT);
    canvas->lasting = LASTING;
    present(&e, term, canvas);
    term_close(term);
    take(&e);
    VTermPos cursor;
    vterm_state_get_cursorpos(vterm_obtain_state(e.vt), &cursor);
    if (alternate) CHECK(cursor.row == LASTING && cursor.col == 0); /* else this emulation brings it back */
    for (int row = 0; row < ROWS; row++) {
        VTermScreenCell cell;
        vterm_screen_get_cell(e.screen, (VTermPos){row, 0}, &cell);
        bool blank = !cell.chars[0] || cell.chars[0] == ' ';
        if (blank != (row >= LASTING)) CHECK_FAIL("%s: row %d is %s", name, row, blank ? "blank" : "not blank");
    }
    canvas_free(canvas);
    stop(&e);
}

TEST(without_an_alternate_screen)
{
    leaves_clean_rows("vt100", true); /* terminfo knows none */
    leaves_clean_rows("linux", true);
    leaves_clean_rows("xterm-256color", false);
}

int main(int argc, char **argv)
{
    static const struct check_test tests[] = {T(colours_256), T(colours_8), T(no_colour),
                                              T(a_size_of_another_time), T(without_an_alternate_screen),
                                              T(emergency_restores)};
    if (!setlocale(LC_ALL, "C.UTF-8")) setlocale(LC_ALL, "");
    return check_main(argc, argv, tests, (int)(sizeof tests / sizeof *tests));
}
