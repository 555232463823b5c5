/* Any bytes as the index of a checkpoint's files, two of which are there: each tensor is taken once, from a file that
 * has it, or the folder is refused. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/model/hf/shards.h"
#include "tests/fuzzed.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* A file of tensors of one byte. */
static void put(const char *folder, const char *name, const char *header)
{
    char path[400];
    uint64_t length = strlen(header);
    snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *f = fopen(path, "wb");
    if (!f || fwrite(&length, 8, 1, f) != 1 || fprintf(f, "%s12", header) < 0 || fclose(f)) abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static bool made;
    char folder[300];
    snprintf(folder, sizeof folder, "%s", fuzzed_file("model.safetensors.index.json", data, size));
    *strrchr(folder, '/') = 0;
    if (!made) {
        put(folder, "a.safetensors",
            "{\"x\":{\"dtype\":\"U8\",\"shape\":[1],\"data_offsets\":[0,1]},"
            "\"y\":{\"dtype\":\"U8\",\"shape\":[1],\"data_offsets\":[1,2]}}");
        put(folder, "b.safetensors",
            "{\"y\":{\"dtype\":\"U8\",\"shape\":[1],\"data_offsets\":[0,1]},"
            "\"z\":{\"dtype\":\"U8\",\"shape\":[1],\"data_offsets\":[1,2]}}");
        made = true;
    }
    struct shards s;
    struct notes notes = {.n = 0};
    tdm_error err = {0};
    tdm_status status = shards_open(&s, folder, &notes, &err);
    if (status && (!err.text[0] || strchr(err.text, '\n'))) __builtin_trap();
    for (size_t i = 0; !status && i < s.n_tensors; i++) {
        if (safetensors_find(s.tensors[i].file, s.tensors[i].tensor->name) != s.tensors[i].tensor) __builtin_trap();
        for (size_t k = 0; k < i; k++)
            if (!strcmp(s.tensors[i].tensor->name, s.tensors[k].tensor->name)) __builtin_trap();
    }
    for (size_t i = 0; !status && i < s.n_missed; i++)
        if (!s.missed[i].name || !s.missed[i].file) __builtin_trap();
    shards_close(&s);
    return 0;
}
