#include "src/cli/output.h"

#include "src/cli/interrupt.h"

#include <errno.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static struct {
    int error;    /* errno of the first write that failed */
    int terminal; /* 0: not asked yet, 1: yes, 2: no */
    output_held held;
    char waiting[8192]; /* not written yet. Not stdio's buffer: that is lost when a signal (Ctrl-C) interrupts a write */
    size_t n_waiting;
} out;

bool output_is_terminal(void)
{
    if (!out.terminal) out.terminal = isatty(STDOUT_FILENO) ? 1 : 2;
    return out.terminal == 1;
}

bool output_good(void)
{
    return !out.error;
}

bool output_read(void)
{
    struct pollfd reader = {.fd = STDOUT_FILENO};
    if (!out.error && poll(&reader, 1, 0) > 0 && reader.revents & POLLERR) out.error = EPIPE;
    return !out.error;
}

void output_flush(void)
{
    for (size_t done = 0; done < out.n_waiting && !out.error;) {
        ssize_t n = write(STDOUT_FILENO, out.waiting + done, out.n_waiting - done);
        if (n >= 0) {
            done += (size_t)n;
        } else if (errno == EAGAIN) { /* somebody else made the terminal non-blocking */
            poll(&(struct pollfd){.fd = STDOUT_FILENO, .events = POLLOUT}, 1, -1);
        } else if (errno != EINTR || interrupt_leaving()) { /* a reader that doesn't read can't keep us from ending */
            out.error = errno;
        }
    }
    out.n_waiting = 0;
}

static void put(const char *text, size_t n)
{
    while (n) {
        if (out.n_waiting == sizeof out.waiting) output_flush();
        size_t room = sizeof out.waiting - out.n_waiting, piece = n < room ? n : room;
        memcpy(out.waiting + out.n_waiting, text, piece);
        out.n_waiting += piece;
        text += piece;
        n -= piece;
    }
}

void output_print(const char *format, ...)
{
    char *text;
    va_list args;
    va_start(args, format);
    int n = vasprintf(&text, format, args);
    va_end(args);
    if (n < 0) {
        if (!out.error) out.error = ENOMEM;
        return;
    }
    put(text, (size_t)n);
    free(text);
}

/* How many bytes the sequence that begins with `lead` has; 0: none begins so. */
static int sequence_length(unsigned char lead)
{
    return lead < 0x80 ? 1 : lead < 0xc2 ? 0 : lead < 0xe0 ? 2 : lead < 0xf0 ? 3 : lead < 0xf5 ? 4 : 0;
}

/* Whether b (n bytes, perhaps not all yet) can begin or be a valid sequence. */
static bool sequence_good(const unsigned char *b, int n)
{
    for (int i = 1; i < n; i++)
        if ((b[i] & 0xc0) != 0x80) return false;
    if (n < 2) return true;
    if ((b[0] == 0xe0 && b[1] < 0xa0) || (b[0] == 0xed && b[1] > 0x9f)) return false; /* overlong, surrogates */
    return !((b[0] == 0xf0 && b[1] < 0x90) || (b[0] == 0xf4 && b[1] > 0x8f));
}

/* C1 controls, and the characters that turn the direction of what follows. */
static bool sequence_harmful(const unsigned char *b, int n)
{
    if (n == 2) return b[0] == 0xc2 && b[1] < 0xa0;
    if (n != 3 || b[0] != 0xe2) return false;
    return (b[1] == 0x80 && b[2] >= 0xaa && b[2] <= 0xae) || (b[1] == 0x81 && b[2] >= 0xa6 && b[2] <= 0xa9);
}

static char *replacement(char *to)
{
    memcpy(to, "\xef\xbf\xbd", 3);
    return to + 3;
}

size_t output_harmless(output_held *held, const char *text, size_t n, char *out_text)
{
    char *to = out_text;
    for (size_t i = 0; i < n; i++) {
        unsigned char c = (unsigned char)text[i];
        if (held->n) {
            held->bytes[held->n] = c;
            if (!sequence_good(held->bytes, held->n + 1)) {
                held->n = 0;
                to = replacement(to); /* and c begins something new, below */
            } else if (++held->n < sequence_length(held->bytes[0])) {
                continue;
            } else {
                if (sequence_harmful(held->bytes, held->n)) {
                    to = replacement(to);
                } else {
                    memcpy(to, held->bytes, (size_t)held->n);
                    to += held->n;
                }
                held->n = 0;
                continue;
            }
        }
        if (c >= 0x80) {
            if (sequence_length(c)) {
                held->bytes[0] = c;
                held->n = 1;
            } else {
                to = replacement(to);
            }
        } else if ((c < 0x20 && c != '\n' && c != '\t') || c == 0x7f) {
            *to++ = '^';
            *to++ = (char)(c ^ 0x40);
        } else {
            *to++ = (char)c;
        }
    }
    return (size_t)(to - out_text);
}

size_t output_valid(const char *text, size_t n, char *out_text)
{
    const unsigned char *from = (const unsigned char *)text;
    char *to = out_text;
    for (size_t i = 0; i < n;) {
        int length = sequence_length(from[i]);
        if (length && (size_t)length <= n - i && sequence_good(from + i, length)) {
            memcpy(to, from + i, (size_t)length);
            to += length;
            i += (size_t)length;
        } else {
            to = replacement(to);
            i++;
        }
    }
    return (size_t)(to - out_text);
}

void output_text(const char *text, size_t n)
{
    if (!output_is_terminal()) {
        put(text, n);
        return;
    }
    /* A held sequence of up to 3 bytes may come out with the first byte of a piece. */
    char safe[3 * 256 + 3];
    while (n) {
        size_t piece = n < 256 ? n : 256;
        put(safe, output_harmless(&out.held, text, piece, safe));
        text += piece;
        n -= piece;
    }
}

int output_end(void)
{
    output_flush();
    if (!out.error) {
        errno = 0;
        if (fclose(stdout)) out.error = errno ? errno : EIO;
    }
    if (!out.error) return 0;
    if (out.error != EPIPE) fprintf(stderr, "tandem: standard output: %s\n", strerror(out.error));
    return 1;
}
