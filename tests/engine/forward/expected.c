#include "tests/engine/forward/expected.h"

#include "tests/check.h"

const void *expected_tensor(const struct safetensors *file, const char *name, const char *dtype, uint64_t elements)
{
    const struct safetensors_tensor *t = safetensors_find(file, name);
    if (!t || strcmp(t->dtype, dtype) || t->elements != elements) {
        CHECK_FAIL("%s: %s missing or of another shape", safetensors_path(file), name);
        abort();
    }
    return t->data;
}

void expected_compare(const char *what, const float *found, const float *expected, size_t n, double tolerance,
                    bool relative)
{
    double worst = 0, largest = 0;
    for (size_t i = 0; i < n; i++) {
        double d = fabs((double)found[i] - expected[i]);
        if (!(d <= worst)) worst = d; /* a NaN stays */
        if (fabs(expected[i]) > largest) largest = fabs(expected[i]);
    }
    if (!(worst <= (relative ? tolerance * largest : tolerance)))
        CHECK_FAIL("%s: differs by %g (largest value %g)", what, worst, largest);
}

void expected_compare_hidden(const struct safetensors *golden, const float *hidden, uint32_t layers, uint32_t width)
{
    const float *expected = expected_tensor(golden, "hidden_last_token", "F32", (uint64_t)(layers + 1) * width);
    for (uint32_t i = 0; i <= layers; i++) {
        char name[32];
        snprintf(name, sizeof name, "hidden after layer %u", i);
        expected_compare(name, hidden + (size_t)i * width, expected + (size_t)i * width, width, 1e-3, true);
    }
}
