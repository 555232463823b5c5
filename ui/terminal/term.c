#include "ui/terminal/term.h"

#define NCURSES_WIDECHAR 1
#include <curses.h>
#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <termios.h>
#include <unistd.h>
#include <wchar.h>

#include "engine/os/file.h"
#include "engine/os/inout.h"
#include "engine/os/starving.h"
#include "ui/terminal/questions.h"
#include "ui/terminal/restore.h"
#include "ui/terminal/strike.h"

struct term {
    SCREEN *screen;
    struct inlet in;
    struct outlet out;
    struct termios before, ours;
    FILE *curses; /* a file in memory: what ncurses writes is given to the terminal in one piece, or not at all */
    char frame[1 << 16];
    int colours;
    bool pairs_set, afresh, synchronised, suspended, behind, failed, mouse, wheel, strikes;
    const char *more_on, *more_off; /* modes of term_set_modes() */
    enum view_theme theme;
    struct graphics graphics;
    struct canvas_cell *shown; /* rows x cols, as on the screen */
    int rows, cols, cursor_row, cursor_col, lasting;
};

static const char modes_on[] = "\033[?2004h";
/* synchronised update, wheel, mouse, paste */
static const char modes_off[] = "\033[?2026l\033[?1007l\033[?1006l\033[?1000l\033[?2004l";

const char *term_capability(void *unused, const char *name)
{
    (void)unused;
    const char *s = tigetstr(name);
    return s == (const char *)-1 ? NULL : s;
}

static int count_colours(int wanted)
{
    const char *no_colour = getenv("NO_COLOR");
    if (wanted < 0) wanted = no_colour && no_colour[0] ? 0 : 256;
    if (wanted == 0 || !has_colors() || start_color() == ERR || use_default_colors() == ERR) return 0;
    int have = COLORS >= 256 && COLOR_PAIRS > STYLES ? 256 : COLORS >= 8 && COLOR_PAIRS > 8 ? 8 : 0;
    return have < wanted ? have : wanted >= 256 ? 256 : 8;
}

bool term_has_failed(const struct term *t)
{
    return t->failed;
}

/* ---- Bytes ---- */

static void write_bytes(struct term *t, const char *bytes, size_t n)
{
    if (!t->behind) outlet_write(&t->out, bytes, n);
}

static void write_text(struct term *t, const char *text)
{
    write_bytes(t, text, strlen(text));
}

void term_write(struct term *t, const char *bytes, size_t len)
{
    write_bytes(t, bytes, len);
}

/* Forgets what ncurses has written. */
static void drop_caught(struct term *t)
{
    int fd = fileno(t->curses);
    lseek(fd, 0, SEEK_SET);
    if (ftruncate(fd, 0)) t->afresh = true; /* what is left of this frame would follow the next one */
}

/* A frame leaves in one piece: a terminal that wakes at its first bytes would take the CPU and show half of it. */
static void give_caught(struct term *t)
{
    int fd = fileno(t->curses);
    off_t size = t->strikes ? lseek(fd, 0, SEEK_END) : 0;
    char *all = size > 0 ? mmap(NULL, (size_t)size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0) : MAP_FAILED;
    if (all != MAP_FAILED) {
        strike_put(all, (size_t)size);
        munmap(all, (size_t)size);
    }
    lseek(fd, 0, SEEK_SET);
    for (ssize_t n; (n = read(fd, t->frame, sizeof t->frame)) > 0;) write_bytes(t, t->frame, (size_t)n);
    drop_caught(t);
}

/* ---- Taking and giving back ---- */

/* Appends a string capability, without its padding marks. */
static size_t add_capability(char *to, size_t n, const char *s)
{
    for (; s && *s && n < RESTORE_BYTES; s++) {
        const char *end = s[0] == '$' && s[1] == '<' ? strchr(s, '>') : NULL;
        if (end) s = end;
        else to[n++] = *s;
    }
    return n;
}

static size_t add_text(char *to, size_t n, const char *text)
{
    size_t length = strlen(text);
    if (length > RESTORE_BYTES - n) return n;
    memcpy(to + n, text, length);
    return n + length;
}

/* The cursor to the beginning of that row. */
static const char *cursor_to(int row)
{
    const char *cup = term_capability(NULL, "cup");
    return cup ? tiparm(cup, row, 0) : NULL;
}

/* From here on the terminal is given back whatever ends the program. */
static void arm(struct term *t)
{
    char bytes[RESTORE_BYTES];
    size_t n = add_text(bytes, add_text(bytes, 0, t->more_off), modes_off);
    if (t->graphics.way == GRAPHICS_KITTY) n = add_text(bytes, n, "\033_Ga=d,d=A,q=2\033\\"); /* all that is shown */
    n = add_capability(bytes, n, term_capability(NULL, "sgr0"));
    n = add_capability(bytes, n, term_capability(NULL, "cnorm"));
    /* Without an alternate screen, or where it is switched off: what is said at the end stands in a row of its own. */
    n = add_capability(bytes, n, cursor_to(LINES - 1));
    n = add_capability(bytes, n, term_capability(NULL, "el"));
    n = add_capability(bytes, n, term_capability(NULL, "rmcup"));
    if (!term_capability(NULL, "rmcup")) n = add_text(bytes, n, "\r\n");
    restore_arm(t->in.fd, &t->before, t->out.fd, bytes, n);
}

static void set_modes(struct term *t)
{
    write_text(t, modes_on);
    write_text(t, t->more_on);
    term_set_mouse(t, t->mouse, t->wheel);
}

/* Takes over a terminal that another program had: line modes, alternate screen and all else. */
static void take(struct term *t)
{
    arm(t);
    tcsetattr(t->in.fd, TCSANOW, &t->ours);
    t->afresh = true;
    starving_watch(true);
    wrefresh(stdscr);
    starving_watch(false);
    give_caught(t);
    set_modes(t);
}

/* Where there is no alternate screen, or the user has switched it off, what was drawn stays, and what comes next would
 * be written into it: the rows that are to stay do, those below are cleaned. */
static void clean(const struct term *t)
{
    move(t->lasting < LINES ? t->lasting : LINES - 1, 0);
    clrtobot();
    refresh();
}

/* Curses leaves the cursor in the last row; an alternate screen's end brings it back to where it was. */
static void place_cursor(struct term *t)
{
    char bytes[RESTORE_BYTES];
    if (term_capability(NULL, "rmcup")) return;
    write_bytes(t, bytes, add_capability(bytes, 0, cursor_to(t->lasting < LINES ? t->lasting : LINES - 1)));
}

/* The only way by which a terminal is left while the program goes on, or ends in order. */
static void give_back(struct term *t)
{
    struct buffer pictures = {0};
    graphics_remove(&t->graphics, &pictures);
    if (pictures.n) write_bytes(t, pictures.bytes, pictures.n);
    buffer_free(&pictures);
    write_text(t, t->more_off);
    write_text(t, modes_off);
    questions_end();
    starving_watch(true);
    clean(t);
    endwin();
    starving_watch(false);
    give_caught(t);
    place_cursor(t);
    tcsetattr(t->in.fd, TCSANOW, &t->before);
    restore_disarm();
}

/* Frees all but ncurses' memory: after ncurses has lacked memory it can't free that without a fault. */
static void free_term(struct term *t)
{
    if (t->curses) fclose(t->curses);
    inlet_close(&t->in);
    outlet_close(&t->out);
    free(t->shown);
    free(t);
}

/* Raw, and without a line discipline that puts out a carriage return for each line feed, which would hand a frame to
 * the terminal in pieces. */
static void choose_modes(struct term *t)
{
    t->ours = t->before;
    t->ours.c_lflag &= ~(tcflag_t)(ICANON | ECHO | ECHONL | ISIG | IEXTEN);
    t->ours.c_iflag &= ~(tcflag_t)(IXON | BRKINT | PARMRK | ICRNL | INLCR | IGNCR);
    t->ours.c_oflag &= ~(tcflag_t)OPOST;
    t->ours.c_cc[VMIN] = 1;
    t->ours.c_cc[VTIME] = 0;
}

/* False: the terminal doesn't tell its size. */
static bool read_size(int out, struct winsize *size)
{
    *size = (struct winsize){0};
    return !ioctl(out, TIOCGWINSZ, size) && size->ws_row && size->ws_col;
}

static void correct(const char *name, int size)
{
    char text[16];
    snprintf(text, sizeof text, "%d", size);
    if (getenv(name)) setenv(name, text, 1);
}

/* ncurses, which writes into a file, can't ask the terminal for its size and believes what these variables say, however
 * long ago a shell exported them. It has no memory for a million columns. */
static void correct_environment(int out)
{
    struct winsize size;
    if (!read_size(out, &size)) return;
    correct("LINES", size.ws_row);
    correct("COLUMNS", size.ws_col);
}

static bool open_curses(struct term *t, const char *name, int colours)
{
    t->screen = newterm(name, t->curses, t->curses);
    if (!t->screen) return false;
    set_term(t->screen);
    nonl();
    typeahead(-1); /* a frame is drawn whole, whatever is typed meanwhile */
    intrflush(stdscr, FALSE);
    keypad(stdscr, FALSE);
    leaveok(stdscr, FALSE);
    scrollok(stdscr, FALSE);
    t->colours = count_colours(colours);
    t->strikes = strike_able(term_capability, NULL);
    return true;
}

struct term *term_open(const char *name, int out, int in, int leave, int colours)
{
    struct term *t = calloc(1, sizeof *t);
    if (!t) return NULL;
    outlet_open(&t->out, out, leave);
    inlet_open(&t->in, in);
    t->more_on = t->more_off = "";
    int caught = memfd_create("frame", MFD_CLOEXEC);
    t->curses = caught >= 0 ? fdopen(caught, "w+") : NULL;
    if (!t->curses && caught >= 0) close(caught);
    bool able = t->curses && isatty(out) && isatty(in) && !tcgetattr(in, &t->before);
    if (able) correct_environment(out);
    starving_watch(true);
    able = able && open_curses(t, name, colours);
    starving_watch(false);
    if (!able) {
        free_term(t);
        return NULL;
    }
    choose_modes(t);
    take(t);
    return t;
}

void term_close(struct term *t)
{
    if (!t) return;
    if (t->failed) restore_now(); /* ncurses' screens may have different sizes now */
    else if (!t->suspended && !t->behind && restore_in_front(t->in.fd)) give_back(t);
    restore_disarm();
    free_term(t);
}

int term_colours(const struct term *t) { return t->colours; }
bool term_strikes(const struct term *t)
{
    return t->strikes;
}

void term_size(const struct term *t, int *rows, int *cols)
{
    struct winsize size;
    *rows = LINES;
    *cols = COLS;
    if (read_size(t->out.fd, &size)) {
        *rows = size.ws_row;
        *cols = size.ws_col;
    }
}

void term_redraw(struct term *t) { t->afresh = true; }
void term_set_synchronised(struct term *t, bool on) { t->synchronised = on; }

void term_cell_size(const struct term *t, int *width, int *height)
{
    struct winsize size;
    bool told = read_size(t->out.fd, &size) && size.ws_xpixel && size.ws_ypixel;
    *width = told ? size.ws_xpixel / size.ws_col : 0;
    *height = told ? size.ws_ypixel / size.ws_row : 0;
}

bool term_set_graphics(struct term *t, enum graphics_way way)
{
    term_cell_size(t, &t->graphics.cell_width, &t->graphics.cell_height);
    bool able = way != GRAPHICS_SIXEL || (t->graphics.cell_width && t->graphics.cell_height);
    if (t->graphics.way != way && t->graphics.n) t->afresh = true; /* what is shown goes with the screen */
    t->graphics.way = able ? way : GRAPHICS_NONE;
    arm(t);
    return able;
}

void term_set_mouse(struct term *t, bool mouse, bool wheel)
{
    t->mouse = mouse;
    t->wheel = wheel;
    write_text(t, mouse ? "\033[?1000h\033[?1006h" : "\033[?1006l\033[?1000l");
    write_text(t, wheel ? "\033[?1007h" : "\033[?1007l");
}

void term_set_modes(struct term *t, const char *on, const char *off)
{
    t->more_on = on;
    t->more_off = off;
    arm(t);
    write_text(t, on);
}

/* A program that was stopped learns that it has gone on, but may have been about to write or to read: what it writes
 * would stand in another's lines, and reading from behind stops it. So that is looked at last of all. */
static bool fell_behind(struct term *t)
{
    t->behind = t->behind || !restore_in_front(t->in.fd);
    return t->behind;
}

ssize_t term_read(struct term *t, void *bytes, size_t n)
{
    if (!fell_behind(t)) return inlet_read(&t->in, bytes, n);
    errno = EAGAIN;
    return -1;
}

void term_suspend(struct term *t)
{
    if (t->suspended) return;
    if (!t->behind) give_back(t);
    t->suspended = true;
}

void term_resume(struct term *t)
{
    if (!t->suspended) return;
    t->suspended = false;
    t->behind = !restore_in_front(t->in.fd);
    if (!t->behind) take(t);
}

/* ---- Behind another program ---- */

void term_take_keys(struct term *t, bool on)
{
    struct termios modes = t->before;
    if (!t->suspended || t->behind) return;
    modes.c_lflag &= ~(tcflag_t)(ICANON | ECHO);
    modes.c_cc[VMIN] = 1;
    modes.c_cc[VTIME] = 0;
    if (on) restore_arm(t->in.fd, &t->before, t->out.fd, "", 0);
    tcsetattr(t->in.fd, TCSANOW, on ? &modes : &t->before);
    if (!on) restore_disarm();
}

bool term_is_behind(const struct term *t)
{
    return t->behind;
}

bool term_continue(struct term *t)
{
    t->behind = !restore_in_front(t->in.fd);
    if (t->behind) return false;
    if (t->suspended) return true;
    starving_watch(true);
    endwin(); /* so that curses enters the screen again, whatever program has left it meanwhile */
    starving_watch(false);
    drop_caught(t);
    write_text(t, t->more_off); /* or those that count how often they are set would be set twice */
    take(t);
    return true;
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

static attr_t attributes(const struct term *t, uint16_t a)
{
    attr_t out = A_NORMAL;
    if (a & STYLE_BOLD) out |= A_BOLD;
    if (a & STYLE_UNDERLINE) out |= A_UNDERLINE;
    if (a & STYLE_REVERSE) out |= A_REVERSE;
    if (a & STYLE_STRIKE && t->strikes) out |= A_BLINK; /* see ui/terminal/strike.h */
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
    int blocks = cell->blocks && t->colours >= 256 ? alloc_pair(cell->upper, cell->lower) : -1;
    short pair = blocks > 0 && blocks <= SHRT_MAX ? (short)blocks : pair_of(t, cell->style, look);
    setcchar(&c, text, attributes(t, look.attributes), pair, NULL);
    mvadd_wch(row, col, &c);
    if (!agrees && cell->width == 2) mvadd_wch(row, col + 1, &c);
}

static bool same_cell(const struct canvas_cell *a, const struct canvas_cell *b)
{
    return a->n == b->n && a->width == b->width && a->style == b->style && a->blocks == b->blocks &&
           a->upper == b->upper && a->lower == b->lower && memcmp(a->point, b->point, a->n * sizeof *a->point) == 0;
}

/* Behind the cells, in the same frame. */
static void draw_graphics(struct term *t, const struct canvas *canvas)
{
    struct buffer out = {0};
    graphics_draw(&t->graphics, canvas, &out);
    if (out.n) file_write_all(fileno(t->curses), out.bytes, out.n);
    buffer_free(&out);
}

/* False: nothing has changed. */
static bool draw(struct term *t, const struct canvas *canvas, enum view_theme theme)
{
    set_pairs(t, theme);
    size_t n = (size_t)canvas->rows * (size_t)canvas->cols;
    if (canvas->rows != t->rows || canvas->cols != t->cols) {
        struct canvas_cell *shown = calloc(n, sizeof *shown);
        t->failed = !shown || resizeterm(canvas->rows, canvas->cols) == ERR;
        if (t->failed) {
            free(shown);
            return false;
        }
        free(t->shown);
        t->shown = shown;
        t->rows = canvas->rows;
        t->cols = canvas->cols;
        t->afresh = true;
        arm(t);
    }
    bool pictures = graphics_changed(&t->graphics, canvas, t->afresh), changed = t->afresh || pictures;
    int from, to;
    t->lasting = canvas->lasting;
    graphics_rows(&t->graphics, &from, &to);
    if (pictures && to > from) wredrawln(stdscr, from, to - from); /* the pixels go with the cells */
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
    if (!changed && !moved) return false;
    memcpy(t->shown, canvas->cells, n * sizeof *t->shown);
    t->cursor_row = canvas->cursor_row;
    t->cursor_col = canvas->cursor_col;
    t->afresh = false;
    if (t->synchronised) file_write_all(fileno(t->curses), "\033[?2026h", 8);
    curs_set(canvas->cursor_row >= 0);
    if (canvas->cursor_row >= 0) wmove(stdscr, canvas->cursor_row, canvas->cursor_col);
    wnoutrefresh(stdscr);
    doupdate();
    if (pictures) draw_graphics(t, canvas);
    if (t->synchronised) file_write_all(fileno(t->curses), "\033[?2026l", 8);
    return true;
}

void term_present(struct term *t, const struct canvas *canvas, enum view_theme theme)
{
    if (t->suspended || t->behind || t->failed) return;
    starving_watch(true);
    bool changed = draw(t, canvas, theme);
    starving_watch(false);
    if (fell_behind(t))
        drop_caught(t);
    else if (changed)
        give_caught(t);
}
