/* Any bytes as the answer of each kind of server: counts stay in bounds, texts are owned, what is told of an end or an
 * error is a harmless line. */
#include <stdlib.h>
#include <string.h>

#include "engine/base/harmless.h"
#include "src/server/refusal.h"
#include "src/server/dialect.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    dialect_piece p = {0};
    tdm_error err;
    struct span bytes = {(const char *)data, size};
    for (dialect d = 0; d < DIALECTS; d++) {
        dialect_read(d, bytes, &p, &err);
        if (p.text.n > size || p.thinking.n > size || p.refusal.n > size || p.tool.n > size) __builtin_trap();
        if (!harmless_text(p.reason, strlen(p.reason)) || (p.end && p.finish == TDM_FINISH_FAILED && !p.reason[0]))
            __builtin_trap();
        int64_t counts[] = {p.prompt_tokens, p.cached_tokens, p.evaluated_tokens, p.reply_tokens, p.slot};
        for (size_t i = 0; i < sizeof counts / sizeof *counts; i++)
            if (counts[i] < -1 || counts[i] > INT32_MAX) __builtin_trap();
        if (!(p.prompt_ms >= -1 && p.prompt_ms <= 1e9 && p.reply_ms >= -1 && p.reply_ms <= 1e9)) __builtin_trap();
    }
    dialect_failure(500, bytes, &err);
    char words[REFUSAL_ROOM];
    if (refusal_read(bytes, words) && (!words[0] || !harmless_text(words, strlen(words)))) __builtin_trap();
    dialect_piece_free(&p);
    return 0;
}
