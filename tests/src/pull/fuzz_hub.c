/* Any bytes as the hub's answers (the first one says which): a revision, an index, or lists of files, from which a
 * model is then chosen. */
#include <string.h>

#include "src/pull/choose.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void must_be_safe(const char *path)
{
    if (path[0] == '/' || strstr(path, "//") || strchr(path, '\\') || strchr(path, 27)) __builtin_trap();
    for (const char *c = path; (c = strstr(c, "..")); c++)
        if ((c == path || c[-1] == '/') && (!c[2] || c[2] == '/')) __builtin_trap();
}

static void choose_with(const repository *r, const char *tag, uint64_t memory)
{
    choice c;
    tdm_error err;
    if (choose(&c, r, &(choice_wish){tag, memory, true}, &err)) return;
    uint64_t bytes = 0;
    for (size_t i = 0; i < c.n; i++) bytes += c.files[i]->size;
    if (!c.n || bytes != c.bytes) __builtin_trap();
    choose_free(&c);
}

/* From a repository that has the files which the index names. */
static void choose_of(repository *r)
{
    static repository_file files[REPOSITORY_MAX_WEIGHTS + 3] = {
        {.path = "config.json"}, {.path = "tokenizer.json"}, {.path = "model.safetensors.index.json"}};
    for (size_t i = 0; i < r->index.n; i++) files[3 + i] = (repository_file){.path = r->index.paths[i], .size = i};
    repository made = {.files = files, .n = 3 + r->index.n, .index = r->index};
    choose_with(&made, "", 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    repository r = {0};
    tdm_error err;
    if (size < 1) return 0;
    if (data[0] == 'r') {
        if (!repository_take_revision(&r, data + 1, size - 1, "fuzz", &err) && strlen(r.commit) != 40) __builtin_trap();
    } else if (data[0] == 'i') {
        if (repository_take_index(&r, data + 1, size - 1, "fuzz", &err) == TDM_OK) {
            if (!r.index.n || r.index.n > REPOSITORY_MAX_WEIGHTS) __builtin_trap();
            for (size_t i = 0; i < r.index.n; i++) must_be_safe(r.index.paths[i]);
            choose_of(&r);
        } else if (r.index.n) {
            __builtin_trap();
        }
    } else {
        repository_take_files(&r, data + 1, size - 1, "fuzz", &err);
        for (size_t i = 0; i < r.n; i++) {
            must_be_safe(r.files[i].path);
            if (strlen(r.files[i].digest) != (r.files[i].large ? 64 : 40)) __builtin_trap();
        }
        choose_with(&r, "", 8000000000);
        choose_with(&r, "", 0);
        choose_with(&r, "Q4_K_M", 0);
    }
    repository_free(&r);
    return 0;
}
