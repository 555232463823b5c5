#include "src/chat/first_model.h"

#include <stdlib.h>

#include "engine/model/locate.h"
#include "src/chat/load.h"
#include "src/cli/bytes.h"
#include "src/cli/hub.h"
#include "src/cli/recent.h"

void first_model(options *o, char *note, size_t room)
{
    tdm_error err = {0};
    char *path = NULL;
    note[0] = 0;
    /* --prefill-model is another form of a model that is named with it. */
    bool named = options_given(o, OPTION_MODEL) || options_given(o, OPTION_PREFILL_MODEL);
    if (named || o->command != COMMAND_CHAT) return;
    char *last = recent_last();
    if (last && !load_is_builtin(last)) {
        if (locate_model(&path, last, hub_caches(), &err))
            snprintf(note, room, "the last model, %s, is gone: the built-in one talks", last);
        else
            option_set(o, OPTION_MODEL, last, FROM_FILE, &err);
    }
    free(path);
    free(last);
}

/* Sizes of the family in thousand millions of parameters. The dense 27B is left out: each of its tokens reads all of
 * its weights, which takes the memory of most computers half a second. */
static const struct {
    const char *name;
    double parameters;
} family[] = {{"unsloth/Qwen3.5-0.8B-GGUF:Q4_K_M", 0.8},
              {"unsloth/Qwen3.5-2B-GGUF:Q4_K_M", 2},
              {"unsloth/Qwen3.5-4B-GGUF:Q4_K_M", 4},
              {"unsloth/Qwen3.5-9B-GGUF:Q4_K_M", 9},
              {"unsloth/Qwen3.5-35B-A3B-GGUF:Q4_K_M", 35}};

/* Bytes that a parameter of a Q4_K_M file takes, about: some matrices are stored in larger types. */
static const double parameter_bytes = 0.65;

void first_model_suggest(uint64_t memory, char *out, size_t room)
{
    char size[BYTES_ROOM];
    size_t best = 0;
    for (size_t i = 1; i < sizeof family / sizeof *family; i++)
        if (memory > HUB_SPARE && family[i].parameters * parameter_bytes * 1e9 <= (double)(memory - HUB_SPARE))
            best = i;
    bytes_words(size, (uint64_t)(family[best].parameters * parameter_bytes * 1e9));
    snprintf(out, room, "Larger: `tandem pull %s` (about %s).", family[best].name, size);
}
