/* Any bytes as a Link header, as the path of a file, and as a name of a repository and of a GGUF file. */
#include <stdlib.h>
#include <string.h>

#include "engine/hub/hub.h"
#include "src/pull/repository.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static char next[REPOSITORY_URL_ROOM];
    struct hub_name name;
    struct hub_gguf gguf;
    char *text = malloc(size + 1);
    if (!text) return 0;
    memcpy(text, data, size);
    text[size] = 0;
    if (repository_next_page(text, size, next) && (!next[0] || strlen(next) >= sizeof next)) __builtin_trap();
    if (repository_path_is_safe(text, size) && (strlen(text) != size || !size)) __builtin_trap();
    if (hub_name_parse(&name, text)) {
        char folder[HUB_REPOSITORY_ROOM + 16];
        hub_folder(folder, name.repository);
        if (strstr(folder, "/") || strstr(name.tag, "/")) __builtin_trap();
    }
    if (hub_gguf_parse(&gguf, text) && (gguf.stem >= size || !gguf.tag[0] || !hub_tag_is(&gguf, text, gguf.tag)))
        __builtin_trap();
    free(text);
    return 0;
}
