/* The vocabulary of no model, by which text for a server is counted where there is none here. */
#include "tests/check.h"

#include "engine/text/tokenizer.h"

static struct ids encode(const struct tokenizer *t, const char *text, unsigned flags)
{
    struct ids out = {0};
    CHECK_INT(TDM_OK, tokenizer_encode(t, text, strlen(text), flags, 0, &out, NULL));
    return out;
}

TEST(every_text_comes_back)
{
    static const char *const texts[] = {"",
                                        "Why is the sky blue?",
                                        "Zwei Stra\303\237en,\n\n  \346\274\242\345\255\227",
                                        "\001\177\303\255\302\240 x",
                                        "        return 0;\n}\n",
                                        "<|im_end|>"};
    struct tokenizer *t;
    REQUIRE(!tokenizer_counting(&t, NULL));
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        char all[200] = "";
        struct ids ids = encode(t, texts[i], 0);
        for (size_t k = 0; k < ids.count; k++) {
            struct span s = tokenizer_bytes(t, ids.id[k]);
            snprintf(all + strlen(all), sizeof all - strlen(all), "%.*s", (int)s.length, s.bytes);
        }
        CHECK_STR(texts[i], all);
        ids_free(&ids);
    }
    tokenizer_free(t);
}

TEST(it_counts_more_than_models_do_and_less_than_bytes)
{
    static const char text[] = "The conversation goes on with another model, which has not had these words before. "
                               "It is read from the beginning, and that takes some time.";
    struct tokenizer *t;
    REQUIRE(!tokenizer_counting(&t, NULL));
    struct ids ids = encode(t, text, 0);
    CHECK(ids.count > 30 && ids.count < sizeof text * 2 / 3);
    ids_free(&ids);
    ids = encode(t, "<|im_start|>user\n", TOKENIZE_ADDED);
    CHECK_INT(tokenizer_find(t, "<|im_start|>"), ids.count ? ids.id[0] : -1);
    ids_free(&ids);
    tokenizer_free(t);
}

TEST_MAIN(T(every_text_comes_back), T(it_counts_more_than_models_do_and_less_than_bytes))
