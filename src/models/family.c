#include "src/models/family.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/base/error.h"
#include "src/hub/environment.h"
#include "src/io/number.h"

/* Sizes in thousand millions of parameters: all of them, and those that a token of a reply reads. Dense models of more
 * than 20 are left out: each of their tokens reads all of their weights, which takes the memory of most computers half
 * a second. `other`: of another family than the one of which the largest that fits is suggested. */
static const struct {
    const char *name;
    double parameters, active;
    bool other;
} family[] = {{"unsloth/Qwen3.5-0.8B-GGUF:Q4_K_M", 0.8, 0.8, false},
              {"unsloth/Qwen3.5-2B-GGUF:Q4_K_M", 2, 2, false},
              {"unsloth/Qwen3.5-4B-GGUF:Q4_K_M", 4, 4, false},
              {"unsloth/Qwen3.5-9B-GGUF:Q4_K_M", 9, 9, false},
              {"unsloth/Qwen3.5-35B-A3B-GGUF:Q4_K_M", 35, 3, false},
              {"unsloth/Llama-3.2-3B-Instruct-GGUF:Q4_K_M", 3.2, 3.2, true},
              {"unsloth/SmolLM3-3B-GGUF:Q4_K_M", 3.1, 3.1, true},
              {"unsloth/Qwen3-30B-A3B-Instruct-2507-GGUF:Q4_K_M", 30.5, 3.3, true}};

enum { FAMILY = sizeof family / sizeof *family };

/* Bytes that a parameter of a Q4_K_M file takes, about: some matrices are stored in larger types. */
static const double parameter_bytes = 0.65;
/* Keys and values of both units, about. */
static const double states_bytes = 0.5e9;

static uint64_t bytes_of(double parameters)
{
    return (uint64_t)(parameters * parameter_bytes * 1e9);
}

/* The largest whose weights fit. */
static size_t fitting(uint64_t memory)
{
    size_t best = 0;
    for (size_t i = 1; i < FAMILY; i++)
        if (!family[i].other && memory > HUB_SPARE && bytes_of(family[i].parameters) <= memory - HUB_SPARE) best = i;
    return best;
}

void family_suggest_seeing(uint64_t memory, char *out, size_t room)
{
    char size[BYTES_ROOM];
    size_t best = fitting(memory);
    snprintf(out, room, "`tandem pull %s` fetches one that does (about %s)", family[best].name,
             bytes_words(size, bytes_of(family[best].parameters)));
}

void family_suggest(uint64_t memory, char *out, size_t room)
{
    char size[BYTES_ROOM];
    size_t best = fitting(memory);
    snprintf(out, room, "Larger: `tandem pull %s` (about %s).", family[best].name,
             bytes_words(size, bytes_of(family[best].parameters)));
}

static bool has_another(const models_list *l)
{
    for (size_t i = 0; i < l->n; i++)
        if (!l->rows[i].builtin && !l->rows[i].reason) return true;
    return false;
}

tdm_status family_offer(models_list *l, tdm_error *err)
{
    if (has_another(l)) return TDM_OK;
    models_row *larger = realloc(l->rows, (l->n + FAMILY) * sizeof *larger);
    if (!larger) return error_set(err, TDM_E_NOMEM, "out of memory");
    l->rows = larger;
    for (size_t i = 0; i < FAMILY; i++) {
        models_row *r = &l->rows[l->n++];
        *r = (models_row){.name = strdup(family[i].name), .path = strdup(""), .type = strdup("q4_k"), .offered = true};
        r->disk_bytes = bytes_of(family[i].parameters);
        r->needs_bytes = r->disk_bytes + (uint64_t)states_bytes;
        r->token_bytes = bytes_of(family[i].active);
        r->expert_bytes = bytes_of(family[i].parameters - family[i].active);
        if (!r->name || !r->path || !r->type) return error_set(err, TDM_E_NOMEM, "out of memory");
    }
    return TDM_OK;
}
