/* Any bytes as text: ids that decode to its NFC form (the text itself where no character is unsafe), or, by tokenizers
 * that keep its form, to it, by those of pieces with blanks for U+2581; ascending ends, valid UTF-8 from the
 * detokenizer, and stable parts whose ids begin those of the whole. The first byte chooses the tokenizer. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/base/utf8.h"
#include "engine/text/blanks.h"
#include "engine/text/detokenizer.h"
#include "engine/text/nfc.h"
#include "engine/text/tokenizer.h"
#include "engine/text/unicode.h"
#include "tests/engine/text/fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

enum form { FORM_C, FORM_KEPT, FORM_BLANKS };

static const struct tokenizer *choose(unsigned number, enum form *form)
{
    static const struct {
        const char *name;
        enum form form;
    } kinds[] = {{"gemma", FORM_BLANKS}, {"gpt-4o", FORM_KEPT}, {"smollm", FORM_KEPT}, {"llama-bpe", FORM_KEPT}};
    enum { KINDS = sizeof kinds / sizeof *kinds };
    static struct tokenizer *list[KINDS];
    number %= 2 * KINDS;
    *form = FORM_C;
    if (number >= KINDS) return fuzz_tokenizer();
    char path[80];
    snprintf(path, sizeof path, "tests/goldens/tokenizers/%s.json", kinds[number].name);
    if (!list[number]) must_hold(!tokenizer_load_json(&list[number], path, NULL, NULL));
    *form = kinds[number].form;
    return list[number];
}

static void check_decoding(const struct tokenizer *t, enum form form, const struct ids *ids, const char *text, size_t n)
{
    struct nfc nfc = {.text = text, .length = n};
    if (form == FORM_C) must_hold(!nfc_make(&nfc, text, n, NULL));
    if (form == FORM_BLANKS) must_hold(!blanks_make(&nfc, text, n, false, NULL));
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
    enum form form;
    const struct tokenizer *t = choose(n ? data[0] : 0, &form);
    const char *text = (const char *)data;
    struct ids whole = {0}, added = {0}, part = {0};
    must_hold(!tokenizer_encode(t, text, n, 0, 0, &whole, NULL));
    must_hold(!tokenizer_encode(t, text, n, TOKENIZE_ADDED, 0, &added, NULL));
    check_decoding(t, form, &whole, text, n);
    size_t cut = n ? data[0] % (n + 1) : 0, stable;
    must_hold(!tokenizer_stable_prefix(t, text, cut, 0, cut, &stable, NULL));
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
