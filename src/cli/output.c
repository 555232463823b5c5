#include "src/cli/output.h"

#include "engine/base/harmless.h"
#include "engine/base/utf8.h"
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
    /* Not written yet. Not stdio's buffer: that is lost when a signal (Ctrl-C) interrupts a write. */
    char waiting[8192];
    size_t n_waiting;
} out;

bool output_is_terminal(void)
{
    if (!out.terminal) out.terminal = isatty(STDOUT_FILENO) ? 1 : 2;
    return out.terminal == 1;
}

void output_fail(int error)
{
    if (!out.error) out.error = error;
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
        } else if ((errno != EINTR && errno != EAGAIN) || interrupt_leaving()) {
            out.error = errno; /* a reader that doesn't read can't keep us from ending */
        } else if (errno == EAGAIN) { /* somebody else made the terminal non-blocking */
            struct pollfd fds[] = {{STDOUT_FILENO, POLLOUT, 0}, {interrupt_seen() ? -1 : interrupt_fd(), POLLIN, 0}};
            poll(fds, 2, interrupt_seen() ? 100 : -1);
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
        output_fail(ENOMEM);
        return;
    }
    output_text(text, (size_t)n); /* names and figures of models, files and servers are among the words */
    free(text);
}

void output_escape(const char *sequence)
{
    put(sequence, strlen(sequence));
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
            int32_t code;
            size_t whole = (size_t)held->n + 1;
            held->bytes[held->n] = text[i];
            if (utf8_incomplete(held->bytes, whole) == whole) {
                held->n++;
                continue;
            }
            held->n = 0;
            if (utf8_decode(held->bytes, whole, &code) == whole) {
                bool harmful = !harmless_code(code);
                if (!harmful) memcpy(to, held->bytes, whole);
                to = harmful ? replacement(to) : to + whole;
                continue;
            }
            to = replacement(to); /* and c begins something new, below */
        }
        if (c >= 0x80) {
            if (utf8_incomplete(text + i, 1)) {
                held->bytes[0] = text[i];
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
    char *to = out_text;
    int32_t code;
    for (size_t i = 0, length; i < n; i += length) {
        length = utf8_decode(text + i, n - i, &code);
        if (code >= 0) memcpy(to, text + i, length);
        to = code < 0 ? replacement(to) : to + length;
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
