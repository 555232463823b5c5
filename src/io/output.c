#include "src/io/output.h"

#include "engine/base/harmless.h"
#include "engine/base/utf8.h"
#include "src/process/streams.h"

#include <errno.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { LONGEST_NOTE = 2000 };

static struct {
    int error;    /* errno of the first write that failed */
    int terminal; /* 0: not asked yet, 1: yes, 2: no */
    bool passing; /* a line of output_passing() stands on standard error */
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
    if (out.n_waiting && !out.error && !streams_write(STDOUT_FILENO, out.waiting, out.n_waiting)) out.error = errno;
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
    char room[HARMLESS_USUAL];
    va_list args;
    va_start(args, format);
    char *text = harmless_usual(room, format, args);
    va_end(args);
    if (text)
        put(text, strlen(text));
    else
        output_fail(ENOMEM);
    if (text != room) free(text);
}

/* Works without memory too, since the line may be about a lack of it. */
static void put_error(const char *before, const char *format, va_list args, const char *behind)
{
    char text[LONGEST_NOTE];
    output_flush();
    if (vsnprintf(text, sizeof text, format, args) < 0) return;
    harmless_line(text);
    fprintf(stderr, "%s%s%s", before, text, behind);
}

void output_note(const char *format, ...)
{
    va_list args;
    va_start(args, format);
    put_error(out.passing ? "\r\x1b[K" : "", format, args, "\n");
    va_end(args);
    out.passing = false;
}

void output_passing(const char *format, ...)
{
    va_list args;
    va_start(args, format);
    put_error("\r", format, args, "\x1b[K");
    va_end(args);
    out.passing = true;
}

void output_passing_end(bool stays)
{
    if (out.passing) fputs(stays ? "\n" : "\r\x1b[K", stderr);
    out.passing = false;
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
    if (out.error != EPIPE) output_note("tandem: standard output: %s", strerror(out.error));
    return 1;
}
