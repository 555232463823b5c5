/* A vocabulary that no model has: the bytes, some hundred pieces that are frequent in prose and in programs, and the
 * marks of ChatML. Each piece is merged from its beginning on, so that its beginnings are tokens as well. */
#include "engine/text/tokenizer.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BYTES = 256, LONGEST = 12, MAX_TOKENS = 1024, ROOM = 4 * LONGEST };

static const char *const pieces[] = {
    " the", " and", " to", " of", " in", " is", " that", " for", " it", " with", " as", " you", " be", " on", " are",
    " this", " not", " or", " was", " have", " from", " at", " by", " an", " can", " will", " if", " which", " your",
    " do", " we", " they", " one", " all", " what", " has", " but", " so", " der", " die", " und", " ein", " les",
    " des", " que", " con", " para", " re", " un", " pro", " st", " ch", " s", " a", " c", " p", " m", " d", " b",
    " f", " w", " l", " e", " g", " n", " h", " r", " I", " T", " S", " A", " C", " =", " (", " \"", "ing", "tion",
    "ation", "ment", "ence", "ance", "able", "ity", "ight", "ould", "ther", "ever", "ical", "ive", "ure", "ous",
    "ter", "er", "es", "ed", "en", "re", "or", "an", "al", "le", "ly", "ar", "st", "ou", "ch", "th", "ur", "il", "ic",
    "in", "on", "at", "it", "is", "as", "us", "el", "ro", "li", "la", "ra", "ri", "de", "se", "me", "ne", "te", "ve",
    "he", "The", "\n\n", "    ", "        ", "return", "self", "func", "import", "class", "const", "int", "str",
    "for", "();", "->", "==", "!=", "//", "--", "**", "##", "```", "://", "www", ".com", "20",
};
static const char *const control[] = {"<|endoftext|>", "<|im_start|>", "<|im_end|>"};

struct vocabulary {
    char texts[MAX_TOKENS][ROOM], rules[MAX_TOKENS][ROOM];
    struct span tokens[MAX_TOKENS], merges[MAX_TOKENS];
    int32_t types[MAX_TOKENS];
    size_t n_tokens, n_merges;
};

/* A byte in the alphabet of byte-level vocabularies: what is not printable in Latin-1 has codes from 256 on. */
static char *put_byte(char *to, unsigned byte)
{
    static const unsigned gaps[][2] = {{0, 32}, {127, 160}, {173, 173}};
    unsigned code = byte, before = 0;
    for (size_t i = 0; i < sizeof gaps / sizeof *gaps; i++) {
        if (byte >= gaps[i][0] && byte <= gaps[i][1]) code = 256 + before + byte - gaps[i][0];
        before += gaps[i][1] - gaps[i][0] + 1;
    }
    if (code < 0x80) {
        *to++ = (char)code;
    } else {
        *to++ = (char)(0xc0 | code >> 6);
        *to++ = (char)(0x80 | (code & 0x3f));
    }
    return to;
}

static void put_text(char *to, const char *text, size_t n)
{
    for (size_t i = 0; i < n; i++) to = put_byte(to, (unsigned char)text[i]);
    *to = 0;
}

static bool is_known(const struct vocabulary *v, const char *text)
{
    for (size_t i = 0; i < v->n_tokens; i++)
        if (!strcmp(v->texts[i], text)) return true;
    return false;
}

static void add(struct vocabulary *v, const char *text, int32_t type)
{
    snprintf(v->texts[v->n_tokens], ROOM, "%s", text);
    v->tokens[v->n_tokens] = (struct span){v->texts[v->n_tokens], strlen(text)};
    v->types[v->n_tokens++] = type;
}

static void add_piece(struct vocabulary *v, const char *piece)
{
    for (size_t n = 2; n <= strlen(piece); n++) {
        char whole[ROOM], left[ROOM], right[ROOM];
        put_text(whole, piece, n);
        put_text(left, piece, n - 1);
        put_text(right, piece + n - 1, 1);
        if (is_known(v, whole)) continue;
        add(v, whole, TOKENIZER_NORMAL);
        int length = snprintf(v->rules[v->n_merges], ROOM, "%s %s", left, right);
        v->merges[v->n_merges] = (struct span){v->rules[v->n_merges], (size_t)length};
        v->n_merges++;
    }
}

tdm_status tokenizer_counting(struct tokenizer **out, tdm_error *err)
{
    struct vocabulary *v = calloc(1, sizeof *v);
    if (!v) return error_set(err, TDM_E_NOMEM, "no memory for a vocabulary");
    for (unsigned byte = 0; byte < BYTES; byte++) {
        char text[ROOM];
        *put_byte(text, byte) = 0;
        add(v, text, TOKENIZER_NORMAL);
    }
    for (size_t i = 0; i < sizeof pieces / sizeof *pieces; i++) add_piece(v, pieces[i]);
    for (size_t i = 0; i < sizeof control / sizeof *control; i++) add(v, control[i], TOKENIZER_CONTROL);
    const struct tokenizer_parts parts = {.name = "the vocabulary for counting",
                                          .tokens = v->tokens,
                                          .token_count = v->n_tokens,
                                          .types = v->types,
                                          .merges = v->merges,
                                          .merge_count = v->n_merges,
                                          .pre = {"qwen2", strlen("qwen2")}};
    tdm_status status = tokenizer_load_parts(out, &parts, err);
    free(v);
    return status;
}
