#include "ui/terminal/questions.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <termios.h>
#include <unistd.h>

#include "engine/base/clock.h"
#include "engine/os/file.h"
#include "ui/terminal/restore.h"

/* Reads device attributes out of all that comes: Esc [ ? ... c, Esc [ > n ; ... c, where Esc [ may be the byte
 * 0x9b; and the answer about pictures, Esc _ G i=31;OK Esc \. */
enum place { TEXT, ESC, BEGUN, PRIMARY, SECONDARY, SECONDARY_REST, STRING };

static struct {
    volatile sig_atomic_t open;
    int in;
    int64_t until_ns;
    enum place place;
    bool sixel, kitty;
    size_t matched;       /* characters of kitty's answer */
    int figure, identity; /* identity is one more than what the terminal said, 0 before */
} asked;

void questions_asked(int in, int64_t now_ns)
{
    asked.in = in;
    asked.until_ns = now_ns + QUESTIONS_EXPECT_NS;
    asked.place = TEXT;
    asked.sixel = asked.kitty = false;
    asked.open = 1;
}

static enum place after(unsigned char c)
{
    enum { CSI = 0x9b, LIMIT = 100000, SIXEL = 4 };
    static const char ok[] = "Gi=31;OK";
    const bool parameter = (c >= '0' && c <= '9') || c == ';';
    if (c == '\033') return ESC;
    if (c == CSI) return BEGUN;
    switch (asked.place) {
    case TEXT: break;
    case ESC:
        asked.matched = 0;
        return c == '[' ? BEGUN : c == '_' ? STRING : TEXT;
    case STRING:
        if (asked.matched < sizeof ok - 1 && c == (unsigned char)ok[asked.matched])
            asked.matched++;
        else
            asked.matched = sizeof ok; /* another string */
        asked.kitty |= asked.matched == sizeof ok - 1;
        return STRING;
    case BEGUN:
        asked.figure = 0;
        return c == '?' ? PRIMARY : c == '>' ? SECONDARY : TEXT;
    case PRIMARY:
        if (c == ';' || c == 'c') asked.sixel |= asked.figure == SIXEL;
        if (c == ';')
            asked.figure = 0;
        else if (parameter && asked.figure < LIMIT)
            asked.figure = asked.figure * 10 + c - '0';
        if (parameter) return PRIMARY;
        if (c == 'c') asked.open = 0;
        break;
    case SECONDARY:
        if (c == ';') return SECONDARY_REST;
        if (parameter && asked.figure < LIMIT) asked.figure = asked.figure * 10 + c - '0';
        if (parameter) return SECONDARY;
        if (c == 'c') asked.identity = asked.figure + 1;
        break;
    case SECONDARY_REST:
        if (parameter) return SECONDARY_REST;
        if (c == 'c') asked.identity = asked.figure + 1;
        break;
    }
    return TEXT;
}

void questions_heard(const char *bytes, size_t n)
{
    for (size_t i = 0; i < n && asked.open; i++) asked.place = after((unsigned char)bytes[i]);
}

bool questions_open(void)
{
    return asked.open && clock_ns() < asked.until_ns;
}

int questions_identity(void)
{
    return asked.identity - 1;
}

bool questions_may_ask_kitty(const char *term, bool within)
{
    static const char *const not_these[] = {"linux", "screen", "tmux", "vt", "dumb", "ansi", "cons", "xterm-mono"};
    if (!term || within) return false;
    for (size_t i = 0; i < sizeof not_these / sizeof *not_these; i++)
        if (!strncmp(term, not_these[i], strlen(not_these[i]))) return false;
    return true;
}

enum questions_pictures questions_pictures(void)
{
    return asked.kitty ? QUESTIONS_KITTYS : asked.sixel ? QUESTIONS_SIXEL : QUESTIONS_NO_PICTURES;
}

/* Lines that aren't ended would not be read, and answers would be shown. */
static bool make_raw(struct termios *before)
{
    if (tcgetattr(asked.in, before) || !(before->c_lflag & (tcflag_t)(ICANON | ECHO))) return false;
    struct termios raw = *before;
    raw.c_lflag &= ~(tcflag_t)(ICANON | ECHO);
    raw.c_cc[VMIN] = 1;
    raw.c_cc[VTIME] = 0;
    return tcsetattr(asked.in, TCSANOW, &raw) == 0;
}

size_t questions_wait(char *out, size_t room, int64_t patience_ns)
{
    const int64_t most = clock_ns() + patience_ns, until = most < asked.until_ns ? most : asked.until_ns;
    struct termios before;
    size_t n = 0;
    if (!questions_open() || !restore_in_front(asked.in)) return 0; /* behind, what is typed is another's */
    const bool changed = make_raw(&before);
    while (asked.open && n < room) {
        struct pollfd fd = {.fd = asked.in, .events = POLLIN};
        const int64_t left = until - clock_ns(); /* what has come by then is taken, however late we get to it */
        const int ready = poll(&fd, 1, left > 0 ? (int)(left / 1000000) + 1 : 0);
        if (ready == 0) break;
        if (ready < 0 && errno == EINTR) continue;
        const ssize_t got = read(asked.in, out + n, room - n);
        if (got > 0) {
            questions_heard(out + n, (size_t)got);
            n += (size_t)got;
        } else if (!file_again(got)) {
            break; /* it has gone */
        }
    }
    if (changed) tcsetattr(asked.in, TCSANOW, &before);
    return n;
}

void questions_end(void)
{
    char gone[1024];
    const int64_t until = clock_ns() + QUESTIONS_END_NS;
    for (int64_t left; questions_open() && (left = until - clock_ns()) > 0;)
        if (!questions_wait(gone, sizeof gone, left)) break;
    asked.open = 0;
}
