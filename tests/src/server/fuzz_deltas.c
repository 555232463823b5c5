/* Any bytes as the stream of a reply, from the wire to what is shown: events, deltas, thinking and answer, stop
 * strings. What is shown is no longer than what came, and nothing is shown behind a stop string. The first byte picks
 * the kind of server and whether the reply thinks. */
#include <stdlib.h>
#include <string.h>

#include "engine/chat/reply.h"
#include "src/net/sse.h"
#include "src/server/dialect.h"
#include "src/server/prompt_turns.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct shown {
    dialect kind;
    struct reply reply;
    dialect_piece piece;
    size_t bytes;
    bool stopped;
};

static void show(struct shown *s, const struct buffer *text, bool thought)
{
    struct reply_piece out;
    if (!text->n || s->stopped) return;
    if (reply_push_text(&s->reply, (struct span){text->bytes, text->n}, thought, &out, NULL)) __builtin_trap();
    s->bytes += out.thinking.length + out.answer.length;
    s->stopped = out.stopped;
    if (out.answer.length && memmem(out.answer.bytes, out.answer.length, "STOP", 4)) __builtin_trap();
}

static tdm_status on_event(void *ctx, struct span data, tdm_error *err)
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
    sse stream = {0};
    tdm_error err;
    struct reply_piece rest;
    prompt_turns turns;
    const char *text = (const char *)data + 1;
    s.reply = (struct reply){.thinking = data[0] & 64, .stops = stops};
    for (size_t at = 0; at + 1 < size; at += 97) { /* as it comes from a socket */
        size_t n = size - 1 - at < 97 ? size - 1 - at : 97;
        if (sse_read(&stream, text + at, n, on_event, &s, &err)) break;
    }
    if (!s.stopped && reply_finish(&s.reply, &rest, &err) == TDM_OK)
        s.bytes += rest.thinking.length + rest.answer.length;
    if (s.bytes > size) __builtin_trap();
    if (prompt_turns_read(&turns, (struct span){text, size - 1}, &err) == TDM_OK) {
        for (size_t i = 0; i < turns.n; i++)
            if (turns.list[i].text < text || turns.list[i].text + turns.list[i].length > text + size) __builtin_trap();
        prompt_turns_free(&turns);
    }
    reply_free(&s.reply);
    dialect_piece_free(&s.piece);
    sse_free(&stream);
    return 0;
}
