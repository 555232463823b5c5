#include "ui/terminal/term.h"

#define NCURSES_WIDECHAR 1
#include <curses.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <termios.h>
#include <unistd.h>
#include <wchar.h>

#include "engine/base/file.h"

struct term {
    SCREEN *screen;
    FILE *out, *in;
    FILE *curses;     /* a copy of out that ncurses writes to; while it draws, what is written goes to caught */
    int caught;       /* a file in memory */
    char frame[1 << 16];
    int colours;
    bool pairs_set, afresh, synchronised, suspended, mouse, wheel;
    enum view_theme theme;
    struct canvas_cell *shown; /* rows x cols, as on the screen */
    int rows, cols, cursor_row, cursor_col;
};

/* What a signal handler needs to restore the terminal; written before `open` is set. */
static struct {
    volatile sig_atomic_t open;
    int fd_out, fd_in;
    struct termios modes;
    char bytes[256];
    size_t len;
} emergency;

static const char modes_on[] = "\033[?2004h";
/* synchronised update, wheel, mouse, paste */
static const char modes_off[] = "\033[?2026l\033[?1007l\033[?1006l\033[?1000l\033[?2004l";

bool term_is_open(void)
{
    return emergency.open;
}

void term_emergency(void)
{
    if (!emergency.open) return;
    emergency.open = 0;
    file_write_all(emergency.fd_out, emergency.bytes, emergency.len);
    tcsetattr(emergency.fd_in, TCSANOW, &emergency.modes);
}

const char *term_capability(void *unused, const char *name)
{
    (void)unused;
    const char *s = tigetstr(name);
    return s == (const char *)-1 ? NULL : s;
}

/* Appends a string capability, without its padding marks. */
static void add_capability(const char *name)
{
    const char *s = term_capability(NULL, name);
    if (!s) return;
    for (; *s && emergency.len + 1 < sizeof emergency.bytes; s++) {
        if (s[0] == '$' && s[1] == '<') {
            const char *end = strchr(s, '>');
            if (!end) return;
            s = end;
            continue;
        }
        emergency.bytes[emergency.len++] = *s;
    }
}

static int count_colours(int wanted)
{
    const char *no_colour = getenv("NO_COLOR");
    if (wanted < 0) wanted = no_colour && no_colour[0] ? 0 : 256;
    if (wanted == 0 || !has_colors() || start_color() == ERR || use_default_colors() == ERR) return 0;
    int have = COLORS >= 256 && COLOR_PAIRS > STYLES ? 256 : COLORS >= 8 && COLOR_PAIRS > 8 ? 8 : 0;
    return have < wanted ? have : wanted >= 256 ? 256 : 8;
}

static void set_modes(struct term *t)
{
    term_write(t, modes_on, sizeof modes_on - 1);
    term_set_mouse(t, t->mouse, t->wheel);
}

static void free_term(struct term *t)
{
    if (t->screen) delscreen(t->screen);
    if (t->curses) fclose(t->curses);
    if (t->caught >= 0) close(t->caught);
    free(t->shown);
    free(t);
}

/* A line discipline that puts out a carriage return for each line feed hands a frame to the terminal in pieces. */
static void leave_output_alone(FILE *out)
{
    struct termios modes;
    if (tcgetattr(fileno(out), &modes)) return;
    modes.c_oflag &= ~(tcflag_t)OPOST;
    tcsetattr(fileno(out), TCSANOW, &modes);
    def_prog_mode();
}

struct term *term_open(FILE *out, FILE *in, int colours)
{
    struct term *t = calloc(1, sizeof *t);
    if (!t) return NULL;
    int copy = fcntl(fileno(out), F_DUPFD_CLOEXEC, 3);
    t->caught = memfd_create("frame", MFD_CLOEXEC);
    t->curses = copy >= 0 ? fdopen(copy, "w") : NULL;
    if (t->caught < 0 || !t->curses || !isatty(fileno(out)) || !isatty(fileno(in)) ||
        tcgetattr(fileno(in), &emergency.modes) != 0 || !(t->screen = newterm(NULL, t->curses, in))) {
        if (!t->curses && copy >= 0) close(copy);
        free_term(t);
        return NULL;
    }
    t->out = out;
    t->in = in;
    set_term(t->screen);
    raw();
    noecho();
    nonl();
    typeahead(-1); /* a frame is drawn whole, whatever is typed meanwhile */
    leave_output_alone(out);
    intrflush(stdscr, FALSE);
    keypad(stdscr, FALSE);
    leaveok(stdscr, FALSE);
    scrollok(stdscr, FALSE);
    t->colours = count_colours(colours);
    t->afresh = true;
    emergency.len = sizeof modes_off - 1;
    memcpy(emergency.bytes, modes_off, emergency.len);
    add_capability("sgr0");
    add_capability("cnorm");
    add_capability("rmcup");
    emergency.fd_out = fileno(out);
    emergency.fd_in = fileno(in);
    set_modes(t);
    emergency.open = 1;
    return t;
}

/* Curses leaves the cursor in the last row: without an alternate screen that row is still ours, and what comes next
 * would be written over it. */
static void leave_screen(struct term *t)
{
    endwin();
    if (!term_capability(NULL, "rmcup")) term_write(t, "\r\n", 2);
}

void term_close(struct term *t)
{
    if (!t) return;
    emergency.open = 0;
    term_write(t, modes_off, sizeof modes_off - 1);
    if (!t->suspended) leave_screen(t);
    tcsetattr(fileno(t->in), TCSADRAIN, &emergency.modes);
    free_term(t);
}

int term_colours(const struct term *t) { return t->colours; }

void term_size(const struct term *t, int *rows, int *cols)
{
    struct winsize size = {0};
    *rows = LINES;
    *cols = COLS;
    if (ioctl(fileno(t->out), TIOCGWINSZ, &size) == 0 && size.ws_row && size.ws_col) {
        *rows = size.ws_row;
        *cols = size.ws_col;
    }
}

void term_write(struct term *t, const char *bytes, size_t len)
{
    fflush(t->out);
    file_write_all(fileno(t->out), bytes, len);
}

void term_redraw(struct term *t) { t->afresh = true; }
void term_set_synchronised(struct term *t, bool on) { t->synchronised = on; }

void term_set_mouse(struct term *t, bool mouse, bool wheel)
{
    const char *m = mouse ? "\033[?1000h\033[?1006h" : "\033[?1006l\033[?1000l";
    const char *w = wheel ? "\033[?1007h" : "\033[?1007l";
    t->mouse = mouse;
    t->wheel = wheel;
    term_write(t, m, strlen(m));
    term_write(t, w, strlen(w));
}

void term_suspend(struct term *t)
{
    if (t->suspended) return;
    t->suspended = true;
    emergency.open = 0;
    term_write(t, modes_off, sizeof modes_off - 1);
    leave_screen(t);
    tcsetattr(fileno(t->in), TCSADRAIN, &emergency.modes);
}

void term_resume(struct term *t)
{
    if (!t->suspended) return;
    t->suspended = false;
    reset_prog_mode();
    t->afresh = true;
    wrefresh(stdscr); /* back to the alternate screen */
    set_modes(t);
    emergency.open = 1;
}

/* ---- Drawing ---- */

static void set_pairs(struct term *t, enum view_theme theme)
{
    if (t->pairs_set && t->theme == theme) return;
    t->pairs_set = true;
    t->theme = theme;
    t->afresh = true;
    if (t->colours == 0) return;
    for (int i = 0; i < STYLES; i++) {
        struct theme_look look = theme_look(theme, t->colours, (style_t)i);
        /* With few pairs, a pair is a colour; the default ground stays. */
        if (t->colours >= 256) init_pair((short)(i + 1), look.fg, look.bg);
    }
    for (short c = 0; t->colours < 256 && c < 7; c++) init_pair((short)(c + 1), c, -1);
}

static short pair_of(const struct term *t, style_t style, struct theme_look look)
{
    if (t->colours == 0 || look.fg < 0) return 0;
    return (short)((t->colours >= 256 ? (int)style_name(style) : look.fg) + 1);
}

static attr_t attributes(uint16_t a)
{
    attr_t out = A_NORMAL;
    if (a & STYLE_BOLD) out |= A_BOLD;
    if (a & STYLE_UNDERLINE) out |= A_UNDERLINE;
    if (a & STYLE_REVERSE) out |= A_REVERSE;
#ifdef A_ITALIC
    if (a & STYLE_ITALIC) out |= A_ITALIC;
#endif
    return out;
}

static void put_cell(const struct term *t, int row, int col, const struct canvas_cell *cell)
{
    wchar_t text[WIDTH_POINTS + 1] = {0};
    struct theme_look look = theme_look(t->theme, t->colours, cell->style);
    for (int i = 0; i < cell->n; i++) text[i] = (wchar_t)cell->point[i];
    /* The C library must agree about the width, or the rest of the row would shift. */
    bool agrees = wcwidth(text[0]) == cell->width;
    for (int i = 1; i < cell->n; i++)
        if (wcwidth(text[i]) != 0) text[i] = 0;
    if (!agrees) {
        text[0] = L'?';
        text[1] = 0;
    }
    cchar_t c;
    setcchar(&c, text, attributes(look.attributes), pair_of(t, cell->style, look), NULL);
    mvadd_wch(row, col, &c);
    if (!agrees && cell->width == 2) mvadd_wch(row, col + 1, &c);
}

static bool same_cell(const struct canvas_cell *a, const struct canvas_cell *b)
{
    return a->n == b->n && a->width == b->width && a->style == b->style &&
           memcmp(a->point, b->point, a->n * sizeof *a->point) == 0;
}

/* A frame leaves in one piece: a terminal that wakes at its first bytes would take the CPU and show half of it. */
static void catch_output(struct term *t)
{
    fflush(t->out);
    dup3(t->caught, fileno(t->curses), O_CLOEXEC);
}

static void give_frame(struct term *t)
{
    dup3(fileno(t->out), fileno(t->curses), O_CLOEXEC);
    lseek(t->caught, 0, SEEK_SET);
    for (ssize_t n; (n = read(t->caught, t->frame, sizeof t->frame)) > 0;)
        file_write_all(fileno(t->out), t->frame, (size_t)n);
    lseek(t->caught, 0, SEEK_SET);
    if (ftruncate(t->caught, 0)) t->afresh = true; /* what is left of this frame would follow the next one */
}

void term_present(struct term *t, const struct canvas *canvas, enum view_theme theme)
{
    if (t->suspended) return;
    set_pairs(t, theme);
    size_t n = (size_t)canvas->rows * (size_t)canvas->cols;
    if (canvas->rows != t->rows || canvas->cols != t->cols) {
        struct canvas_cell *shown = calloc(n, sizeof *shown);
        if (!shown) return;
        free(t->shown);
        t->shown = shown;
        t->rows = canvas->rows;
        t->cols = canvas->cols;
        t->afresh = true;
        resizeterm(canvas->rows, canvas->cols);
    }
    bool changed = t->afresh;
    if (t->afresh) {
        erase();
        clearok(stdscr, TRUE);
    }
    for (int row = 0; row < canvas->rows; row++)
        for (int col = 0; col < canvas->cols; col++) {
            size_t i = (size_t)row * (size_t)canvas->cols + (size_t)col;
            if (!t->afresh && same_cell(&canvas->cells[i], &t->shown[i])) continue;
            if (canvas->cells[i].n) put_cell(t, row, col, &canvas->cells[i]);
            changed = true;
        }
    bool moved = canvas->cursor_row != t->cursor_row || canvas->cursor_col != t->cursor_col;
    if (!changed && !moved) return;
    memcpy(t->shown, canvas->cells, n * sizeof *t->shown);
    t->cursor_row = canvas->cursor_row;
    t->cursor_col = canvas->cursor_col;
    t->afresh = false;
    catch_output(t);
    if (t->synchronised) file_write_all(t->caught, "\033[?2026h", 8);
    curs_set(canvas->cursor_row >= 0);
    if (canvas->cursor_row >= 0) wmove(stdscr, canvas->cursor_row, canvas->cursor_col);
    wnoutrefresh(stdscr);
    doupdate();
    if (t->synchronised) file_write_all(t->caught, "\033[?2026l", 8);
    give_frame(t);
}
