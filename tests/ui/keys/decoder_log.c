#include "tests/ui/keys/decoder_log.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void add(struct decoder_log *log, const char *data, size_t n)
{
    if (log->length + n + 1 > log->size) {
        log->size = (log->length + n + 1) * 2;
        log->text = realloc(log->text, log->size);
        if (!log->text) abort();
    }
    memcpy(log->text + log->length, data, n);
    log->length += n;
    log->text[log->length] = 0;
}

static void addf(struct decoder_log *log, const char *format, ...)
{
    char text[128];
    va_list args;
    va_start(args, format);
    int n = vsnprintf(text, sizeof text, format, args);
    va_end(args);
    add(log, text, (size_t)n);
}

static void add_escaped(struct decoder_log *log, const char *data, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        unsigned char c = (unsigned char)data[i];
        if (c < 0x20)
            addf(log, "^%c", c + 64);
        else if (c == 127)
            addf(log, "^?");
        else
            add(log, data + i, 1);
    }
}

void decoder_log_drain(struct decoder_log *log, struct decoder *d)
{
    struct decoder_event e;
    if (!log->text) add(log, "", 0);
    while (decoder_next(d, &e)) {
        bool bytes = e.kind == DECODER_BYTES;
        if (log->in_bytes && !bytes) add(log, ")", 1);
        if (log->length && !(log->in_bytes && bytes)) add(log, " ", 1);
        switch (e.kind) {
        case DECODER_BYTES:
            if (!log->in_bytes) add(log, "bytes(", 6);
            add_escaped(log, e.data, e.length);
            break;
        case DECODER_KEY: addf(log, "key(%d,%u)", (int)e.code, e.mods); break;
        case DECODER_ESC: add(log, "esc", 3); break;
        case DECODER_PASTE:
            add(log, "paste(", 6);
            add_escaped(log, e.data, e.length);
            addf(log, "%s%s)", e.dropped ? " dropped" : "", e.more ? " more" : "");
            break;
        case DECODER_MOUSE: addf(log, "mouse(%d,%d,%d,%d,%u)", e.mouse, e.button, e.row, e.column, e.mods); break;
        case DECODER_ANSWER:
            addf(log, "answer(%d", e.answer);
            for (int i = 0; i < e.param_count; i++) addf(log, ",%d", e.params[i]);
            if (e.data) {
                add(log, ":", 1);
                add_escaped(log, e.data, e.length);
            }
            add(log, ")", 1);
            break;
        }
        log->in_bytes = bytes;
    }
}

void decoder_log_free(struct decoder_log *log)
{
    free(log->text);
    *log = (struct decoder_log){0};
}
