/* Any bytes as text: ids that decode to its NFC form (the text itself where no character is unsafe), ascending ends,
 * valid UTF-8 from the detokenizer, and stable parts whose ids begin those of the whole. */
#include <stdlib.h>
#include <string.h>

#include "engine/base/utf8.h"
#include "engine/text/detokenizer.h"
#include "engine/text/nfc.h"
#include "engine/text/tokenizer.h"
#include "engine/text/unicode.h"
#include "tests/engine/text/fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

static void check_decoding(const struct tokenizer *t, const struct ids *ids, const char *text, size_t n)
{
    struct nfc nfc;
    must_hold(!nfc_make(&nfc, text, n, NULL));
    struct detokenizer d;
    detokenizer_init(&d, t, false);
    size_t at = 0;
    struct span piece;
    for (size_t i = 0; i < ids->count; i++) {
        struct span bytes = tokenizer_bytes(t, ids->id[i]);
        must_hold(at + bytes.length <= nfc.length && !memcmp(nfc.text + at, bytes.bytes, bytes.length));
        at += bytes.length;
        must_hold(!detokenizer_push(&d, ids->id[i], &piece, NULL));
        for (size_t k = 0; k < piece.length;) {
            int32_t code;
            k += utf8_decode(piece.bytes + k, piece.length - k, &code);
            must_hold(code >= 0);
        }
        must_hold(i == 0 || ids->end[i - 1] <= ids->end[i]);
    }
    must_hold(at == nfc.length);
    must_hold(!ids->count || ids->end[ids->count - 1] == n);
    detokenizer_free(&d);
    nfc_free(&nfc);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    const struct tokenizer *t = fuzz_tokenizer();
    const char *text = (const char *)data;
    struct ids whole = {0}, added = {0}, part = {0};
    must_hold(!tokenizer_encode(t, text, n, 0, 0, &whole, NULL));
    must_hold(!tokenizer_encode(t, text, n, TOKENIZE_ADDED, 0, &added, NULL));
    check_decoding(t, &whole, text, n);
    size_t cut = n ? data[0] % (n + 1) : 0, stable;
    must_hold(!tokenizer_stable_prefix(t, text, cut, cut, &stable, NULL));
    must_hold(stable <= cut);
    must_hold(!tokenizer_encode(t, text, stable, 0, 0, &part, NULL));
    must_hold(part.count <= whole.count);
    for (size_t i = 0; i < part.count; i++) must_hold(part.id[i] == whole.id[i] && part.end[i] == whole.end[i]);
    must_hold(!tokenizer_encode(t, text + stable, n - stable, 0, stable, &part, NULL));
    must_hold(part.count == whole.count && (!n || !memcmp(part.id, whole.id, part.count * sizeof *part.id)));
    ids_free(&whole);
    ids_free(&added);
    ids_free(&part);
    return 0;
}
