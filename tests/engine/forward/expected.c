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

void expected_compare_drafts(const char *folder, uint32_t n, uint32_t most, uint32_t vocab, expected_draft *draft,
                             void *ctx)
{
    enum { CHAIN = 3 };
    const double tolerance = 2e-3;
    char path[1100], what[32];
    struct safetensors *golden;
    tdm_error err;
    snprintf(path, sizeof path, "%s/mtp-golden-%u.safetensors", folder, n);
    if (safetensors_open(&golden, path, &err)) {
        CHECK_FAIL("%s", err.text);
        return;
    }
    const tdm_id *ids = expected_tensor(golden, "prompt_ids", "I32", n),
                 *chain = expected_tensor(golden, "chain_ids", "I32", CHAIN);
    const float *rows = expected_tensor(golden, "logits", "F32", (uint64_t)(n - 1) * vocab);
    const float *chain_rows = expected_tensor(golden, "chain_logits", "F32", (uint64_t)CHAIN * vocab);
    float *logits = malloc((1 + CHAIN) * (size_t)vocab * sizeof *logits);
    tdm_id drafts[1 + CHAIN];
    for (uint32_t at = 0; at + 1 < n && !check_failures;) {
        uint32_t some = n - 1 - at < most ? n - 1 - at : most;
        const tdm_id *next = ids + at + some;
        draft(ctx, ids + at, some, *next, next + 1 < ids + n ? 1 : 1 + CHAIN, drafts, logits);
        at += some;
        snprintf(what, sizeof what, "logits, row %u", at - 1);
        expected_compare(what, logits, rows + (size_t)(at - 1) * vocab, vocab, tolerance, false);
    }
    for (uint32_t i = 0; i < CHAIN && !check_failures; i++) {
        CHECK_INT(chain[i], drafts[i]);
        const float *found = logits + (size_t)(1 + i) * vocab;
        snprintf(what, sizeof what, "chain, row %u", i);
        expected_compare(what, found, chain_rows + (size_t)i * vocab, vocab, tolerance, false);
    }
    free(logits);
    safetensors_close(golden);
}
