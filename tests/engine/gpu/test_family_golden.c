/* Models of other families on a GPU against their goldens (families.h): all but Gemma (test_gemma.c) and GPT
 * (test_gpt.c). */
#include "tests/check.h"
#include "tests/engine/gpu/families.h"

TEST(families)
{
    static const struct families_case list[] = {
        {"qwen3next", false, LEFT_OUT},    {"qwen3", true, LEFT_OUT},      {"qwen3-yarn", true, LEFT_OUT},
        {"llama", true, LEFT_OUT},         {"mistral", true, LEFT_OUT},    {"ministral3", true, PROMPT},
        {"smollm3", true, LEFT_OUT},       {"llama-tied", true, LEFT_OUT}, {"qwen2", true, LEFT_OUT},
        {"qwen3moe", false, WHOLE},        {"granite", true, LEFT_OUT},    {"phi3", true, LEFT_OUT},
        {"mistral-window", true, LEFT_OUT}};
    families_check(list, sizeof list / sizeof *list);
    families_check_one("qwen3moe-plain", 24, 0, false, GPU_RIG_CONTEXT);
    /* Two sets of divisors, by the room that a state has. */
    families_check_one("phi3-longrope", 40, 0, false, 64);
    families_check_one("phi3-longrope", 150, 0, false, GPU_RIG_CONTEXT);
}

TEST_MAIN(T(families))
