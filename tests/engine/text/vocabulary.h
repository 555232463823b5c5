/* Vocabularies made up in a test, as GGUF metadata would give them, and random numbers for made-up texts. */
#ifndef TANDEM_TESTS_TEXT_VOCABULARY_H
#define TANDEM_TESTS_TEXT_VOCABULARY_H

#include "engine/text/tokenizer.h"

struct vocabulary {
    struct span tokens[400];
    int32_t types[400];
    uint8_t flags[400];
    size_t count;
    char alphabet[256][3];
};

/* Adds a token for each byte: ids 0 to 255 of an empty vocabulary. */
void vocabulary_bytes(struct vocabulary *v);
/* Adds a token; the text must outlive the vocabulary. */
void vocabulary_token(struct vocabulary *v, const char *text, int32_t type, uint8_t flags);
/* It as the parts of a tokenizer without merges, rule qwen35. */
struct tokenizer_parts vocabulary_parts(const struct vocabulary *v);
/* A tokenizer of the 256 bytes alone with this splitting rule. */
struct tokenizer *vocabulary_plain(const char *rule);

void vocabulary_seed(uint64_t seed);
uint32_t vocabulary_random(uint32_t below);

#endif
