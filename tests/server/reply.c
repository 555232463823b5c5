#include "tests/server/reply.h"

#include <stdlib.h>
#include <string.h>

#include "engine/base/clock.h"

void reply_free(reply *r)
{
    for (int i = 0; i < r->n_stops; i++) free(r->stops[i]);
    tdm_ids_free(&r->ids);
    buffer_free(&r->text);
}

/* Bytes of the text without a character at its end that has only begun. */
static size_t whole(const char *text, size_t n)
{
    size_t back = 0;
    while (back < 3 && back < n && ((unsigned char)text[n - 1 - back] & 0xc0) == 0x80) back++;
    if (back == n) return n;
    unsigned char lead = (unsigned char)text[n - 1 - back];
    size_t needs = lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : lead >= 0xc0 ? 2 : 1;
    return needs > back + 1 ? n - back - 1 : n;
}

/* Bytes at the text's end that may become a stop string. */
static size_t held(const reply *r, size_t n)
{
    size_t most = 0;
    for (int i = 0; i < r->n_stops; i++)
        for (size_t k = strlen(r->stops[i]); k > most; k--)
            if (k <= n && !memcmp(r->text.bytes + n - k, r->stops[i], k)) most = k;
    return most;
}

/* The text of all ids, up to the first stop string. */
static void take_text(reply *r)
{
    char *text = NULL;
    size_t n = 0;
    if (tdm_detokenize(slots_model(r->slots), r->ids.ids, r->ids.n, &text, &n, NULL)) {
        r->end = REPLY_FAILED;
        return;
    }
    buffer_clear(&r->text);
    if (buffer_append(&r->text, text, n, NULL)) r->end = REPLY_FAILED;
    free(text);
    for (int i = 0; i < r->n_stops && n; i++) {
        char *at = memmem(r->text.bytes, r->text.n, r->stops[i], strlen(r->stops[i]));
        if (!at) continue;
        r->text.n = (size_t)(at - r->text.bytes);
        r->end = REPLY_STOP;
        r->stop = r->stops[i];
    }
}

static bool is_end(const reply *r, tdm_id id)
{
    return id == r->ends[0] || id == r->ends[1];
}

/* One token: drawn, kept, evaluated for the next. */
static void write_one(reply *r)
{
    tdm_id id = slot_draw(r->slot, &r->sampling, r->tokens);
    if (id < 0) {
        r->end = REPLY_FAILED;
        return;
    }
    r->tokens++;
    if (is_end(r, id) && !r->ignore_eos) {
        r->end = REPLY_EOS;
        return;
    }
    if (r->ids.n == r->ids.capacity) {
        size_t room = 2 * r->ids.capacity + 64;
        tdm_id *grown = realloc(r->ids.ids, room * sizeof *grown);
        if (!grown) {
            r->end = REPLY_FAILED;
            return;
        }
        r->ids.ids = grown;
        r->ids.capacity = room;
    }
    r->ids.ids[r->ids.n++] = id;
    take_text(r);
    if (r->end) return;
    if (r->most >= 0 && r->tokens >= r->most)
        r->end = REPLY_LIMIT;
    else if (r->tokens >= r->room)
        r->end = REPLY_FULL;
    else if (slot_append(r->slot, id, NULL))
        r->end = REPLY_FAILED;
}

bool reply_step(reply *r, struct buffer *piece)
{
    int64_t begun = clock_ns();
    buffer_clear(piece);
    if (!r->end && r->most == 0) r->end = REPLY_LIMIT;
    if (!r->end) write_one(r);
    size_t sure = r->end ? r->text.n : whole(r->text.bytes, r->text.n);
    if (!r->end) sure -= held(r, sure) < sure - r->told ? held(r, sure) : sure - r->told;
    if (sure > r->told) {
        buffer_append(piece, r->text.bytes + r->told, sure - r->told, NULL);
        r->told = sure;
    }
    r->ms += (double)(clock_ns() - begun) / 1e6;
    return !r->end;
}
