/* Any bytes as the stream of a reply, from the wire to what is shown: events, deltas, characters in pieces, thinking
 * and answer, stop strings. What is shown is valid and no longer than what came (a broken byte is three), and nothing
 * is shown behind a stop string. The first byte picks the kind of server and how the reply begins. */
#include <stdlib.h>
#include <string.h>

#include "engine/base/utf8.h"
#include "engine/chat/dialogue/reply.h"
#include "src/net/stream.h"
#include "src/server/dialect.h"
#include "src/server/joined.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct shown {
    dialect kind;
    struct reply reply;
    dialect_piece piece;
    joined text, thinking;
    struct buffer whole;
    size_t bytes;
    bool stopped;
};

static void show(struct shown *s, const struct buffer *text, bool thought)
{
    struct reply_piece out;
    if (!text->n || s->stopped) return;
    buffer_clear(&s->whole);
    if (joined_add(thought ? &s->thinking : &s->text, text->bytes, text->n, &s->whole, NULL)) __builtin_trap();
    int32_t code;
    for (size_t i = 0; i < s->whole.n;) {
        i += utf8_decode(s->whole.bytes + i, s->whole.n - i, &code);
        if (code < 0) __builtin_trap();
    }
    if (!s->whole.n) return;
    if (reply_push_text(&s->reply, (struct span){s->whole.bytes, s->whole.n}, thought, &out, NULL)) __builtin_trap();
    s->bytes += out.thinking.length + out.answer.length;
    s->stopped = out.stopped;
    if (out.answer.length && memmem(out.answer.bytes, out.answer.length, "STOP", 4)) __builtin_trap();
}

static tdm_status on_value(void *ctx, struct span data, tdm_error *err)
{
    struct shown *s = ctx;
    tdm_status status = dialect_read(s->kind, data, &s->piece, err);
    if (status) return status;
    show(s, &s->piece.thinking, true);
    show(s, &s->piece.text, false);
    return TDM_OK;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char *const stops[] = {"STOP", NULL};
    if (!size) return 0;
    struct shown s = {.kind = data[0] % DIALECTS};
    stream values = {0};
    tdm_error err;
    struct reply_piece rest;
    const char *text = (const char *)data + 1;
    static const struct template_facts facts = {0}; /* the usual marks */
    s.reply = (struct reply){
        .facts = &facts, .thinking = (data[0] & 96) == 64, .opens = (data[0] & 96) == 96, .stops = stops};
    for (size_t at = 0; at + 1 < size; at += 97) { /* as it comes from a socket */
        size_t n = size - 1 - at < 97 ? size - 1 - at : 97;
        if (stream_read(&values, text + at, n, on_value, &s, &err)) break;
    }
    if (!s.stopped && reply_finish(&s.reply, &rest, &err) == TDM_OK)
        s.bytes += rest.thinking.length + rest.answer.length;
    if (s.bytes > 3 * size) __builtin_trap();
    reply_free(&s.reply);
    dialect_piece_free(&s.piece);
    buffer_free(&s.whole);
    stream_free(&values);
    return 0;
}
