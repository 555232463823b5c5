#include "engine/backend/known.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "engine/base/error.h"
#include "engine/base/fnv.h"
#include "engine/os/atomic_file.h"
#include "engine/os/file.h"

enum { MAX_BYTES = 64 << 10 };

static void path_of(char *out, size_t room, const char *folder, const struct gpu_info *info, const char *subject)
{
    uint64_t key = fnv_bytes(gpu_shaders_hash(), info->name, strlen(info->name));
    key = fnv_bytes(key, info->driver, strlen(info->driver));
    snprintf(out, room, "%s/%016llx%s.txt", folder, (unsigned long long)key, subject);
}

/* Writes the lines before the text. */
static int heading(char *out, size_t room, const struct gpu_info *info)
{
    return snprintf(out, room, "%s\n%s\nshaders %016llx\n", info->name, info->driver,
                    (unsigned long long)gpu_shaders_hash());
}

char *known_text(const char *folder, const struct gpu_info *info, const char *subject)
{
    char path[1024], expected[400];
    path_of(path, sizeof path, folder, info, subject);
    size_t n = (size_t)heading(expected, sizeof expected, info);
    int fd;
    char *found = file_open(path, &fd, NULL) ? NULL : malloc(MAX_BYTES);
    ssize_t read_bytes = found ? read(fd, found, MAX_BYTES - 1) : 0;
    size_t got = read_bytes > 0 ? (size_t)read_bytes : 0;
    if (fd >= 0) close(fd);
    if (!found || got <= n || memcmp(found, expected, n) != 0) {
        free(found);
        return NULL;
    }
    memmove(found, found + n, got - n);
    found[got - n] = 0;
    return found;
}

tdm_status known_keep(const char *folder, const struct gpu_info *info, const char *subject, const char *text,
                      tdm_error *err)
{
    char path[1024];
    size_t room = 400 + strlen(text) + 1;
    char *all = malloc(room);
    if (!all) return error_set(err, TDM_E_NOMEM, "no memory for what is known of %s", info->name);
    path_of(path, sizeof path, folder, info, subject);
    int n = heading(all, room, info);
    n += snprintf(all + n, room - (size_t)n, "%s", text);
    tdm_status status = file_make_folders(folder, 0777, err);
    if (!status) status = atomic_file_put(path, all, (size_t)n, err);
    free(all);
    return status;
}

/* ---- How products are tiled -------------------------------------------------------------------------------------- */

static const char products[] = "-products";

void known_take_choices(struct gpu *g, const char *folder, const struct gpu_info *info)
{
    char *text = known_text(folder, info, products);
    if (text) gpu_take_choices(g, text);
    free(text);
}

void known_keep_choices(struct gpu *g, const char *folder)
{
    struct gpu_info info;
    char *text = malloc(GPU_CHOICES_BYTES);
    gpu_about(g, &info);
    char *before = known_text(folder, &info, products);
    if (text && gpu_choices(g, text, GPU_CHOICES_BYTES) && (!before || strcmp(before, text) != 0))
        known_keep(folder, &info, products, text, NULL);
    free(before);
    free(text);
}
