/* Gemma on a GPU against its goldens (families.h): windows in some layers, with heads of a shape of their own in Gemma
 * 4; experts beside a dense network; layers that share keys and values and are told of the token. */
#include "tests/check.h"
#include "tests/engine/gpu/families.h"

TEST(gemma)
{
    static const struct families_case list[] = {{"gemma2", true, WHOLE},
                                                {"gemma3", true, LEFT_OUT},
                                                {"gemma4-dense", false, LEFT_OUT},
                                                {"gemma4-moe", false, LEFT_OUT},
                                                {"gemma4-e", false, WHOLE}};
    families_check(list, sizeof list / sizeof *list);
}

TEST_MAIN(T(gemma))
