/* Types of weights of model files (types.h); the built-in model with a short prompt. */
#include "tests/check.h"
#include "tests/engine/gpu/types.h"

TEST(q8_0_file)
{
    types_compare("tests/goldens/gguf/tiny-a-q8_0.gguf", TYPE_F32, NULL, 0.005);
}
TEST(built_in)
{
    types_compare("assets/tandem-demo-51m-q6_k.gguf", TYPE_F32, NULL, 0.03);
}

TEST_MAIN(T(q8_0_file), T(built_in))
