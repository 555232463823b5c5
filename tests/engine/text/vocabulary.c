#include "tests/engine/text/vocabulary.h"

#include "tests/check.h"

static uint64_t random_state = 1;

void vocabulary_token(struct vocabulary *v, const char *text, int32_t type, uint8_t flags)
{
    v->tokens[v->count] = (struct span){text, strlen(text)};
    v->types[v->count] = type;
    v->flags[v->count++] = flags;
}

void vocabulary_bytes(struct vocabulary *v)
{
    int next = 256;
    for (int b = 0; b < 256; b++) {
        bool printable = (b >= 33 && b <= 126) || (b >= 161 && b <= 172) || b >= 174;
        int code = printable ? b : next++;
        if (code < 0x80)
            snprintf(v->alphabet[b], 3, "%c", code);
        else
            snprintf(v->alphabet[b], 3, "%c%c", 0xC0 | code >> 6, 0x80 | (code & 63));
        vocabulary_token(v, v->alphabet[b], TOKENIZER_NORMAL, 0);
    }
}

struct tokenizer_parts vocabulary_parts(const struct vocabulary *v)
{
    return (struct tokenizer_parts){
        .name = "parts",
        .tokens = v->tokens,
        .token_count = v->count,
        .types = v->types,
        .added_flags = v->flags,
        .pre = {"qwen35", 6},
    };
}

struct tokenizer *vocabulary_plain(const char *rule)
{
    struct vocabulary v = {0};
    vocabulary_bytes(&v);
    struct tokenizer_parts parts = vocabulary_parts(&v);
    parts.pre = (struct span){rule, strlen(rule)};
    struct tokenizer *t;
    tdm_error err;
    if (tokenizer_load_parts(&t, &parts, &err)) CHECK_FAIL("%s", err.text);
    return t;
}

void vocabulary_seed(uint64_t seed)
{
    random_state = seed;
}

uint32_t vocabulary_random(uint32_t below)
{
    random_state = random_state * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)((random_state >> 33) * below >> 31);
}
