#include "tests/engine/model/family.h"

#include "tests/check.h"

static const char *find_plain(char room[FAMILY_ROOM])
{
    char command[4000], own[300];
    const char *shared = check_shared("goldens/families/qwen3moe");
    if (!shared) return NULL;
    snprintf(room, FAMILY_ROOM, "%s/plain", check_tmp());
    snprintf(own, sizeof own, "%s", check_data("goldens/families/qwen3moe-plain/golden-24.safetensors"));
    snprintf(command, sizeof command,
             "mkdir -p '%s' && cp '%s/model.safetensors' '%s'/*.json '%s' '%s' && chmod -R u+w '%s' &&"
             "sed -i 's/\"norm_topk_prob\": true/\"norm_topk_prob\": false/' '%s/config.json'",
             room, shared, shared, own, room, room, room);
    if (system(command)) CHECK_FAIL("%s failed", command);
    return room;
}

const char *family_find(const char *name, char room[FAMILY_ROOM])
{
    char below[200], command[4000];
    if (!strcmp(name, "qwen3moe-plain")) return find_plain(room);
    snprintf(below, sizeof below, "goldens/families/%s", name);
    snprintf(room, FAMILY_ROOM, "%s", check_data(below));
    snprintf(command, sizeof command, "test -e '%s/model.safetensors.gz'", room);
    if (!system(command)) {
        const char *to = check_tmp();
        snprintf(command, sizeof command, "cp -r '%s/.' '%s' && gzip -df '%s/model.safetensors.gz'", room, to, to);
        snprintf(room, FAMILY_ROOM, "%s", to);
        if (system(command)) CHECK_FAIL("%s failed", command);
        return room;
    }
    const char *shared = check_shared(below);
    if (!shared) return NULL;
    snprintf(room, FAMILY_ROOM, "%s", shared);
    return room;
}
