#include "engine/hub/snapshots.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "engine/os/file.h"

bool snapshots_main(int repository, char revision[HUB_REVISION_ROOM])
{
    char text[HUB_REVISION_ROOM + 8];
    struct stat st;
    int fd = openat(repository, HUB_MAIN, O_RDONLY | O_CLOEXEC | O_NONBLOCK); /* it may be a FIFO */
    ssize_t n = fd < 0 || fstat(fd, &st) || !S_ISREG(st.st_mode) ? -1 : read(fd, text, sizeof text);
    if (fd >= 0) close(fd);
    return n > 0 && hub_revision_parse(revision, text, (size_t)n);
}

/* The one of refs/main first, then the newest. */
static int by_age(const void *a, const void *b)
{
    const struct snapshot *x = a, *y = b;
    if (x->main != y->main) return x->main ? -1 : 1;
    if (x->made.tv_sec != y->made.tv_sec) return x->made.tv_sec > y->made.tv_sec ? -1 : 1;
    if (x->made.tv_nsec != y->made.tv_nsec) return x->made.tv_nsec > y->made.tv_nsec ? -1 : 1;
    return strcmp(x->path, y->path);
}

/* Adds the folder, if it is one, to the list of n, or of one more then. Takes over path. False: out of memory. */
static bool add_folder(struct snapshot **list, size_t *n, char *path, bool main)
{
    struct stat st;
    if (!path) return false;
    if (stat(path, &st) || !S_ISDIR(st.st_mode)) {
        free(path);
        return true;
    }
    struct snapshot *larger = realloc(*list, (*n + 1) * sizeof **list);
    if (larger) {
        *list = larger;
        larger[(*n)++] = (struct snapshot){.path = path, .main = main, .made = st.st_mtim};
    } else {
        free(path);
    }
    return larger;
}

struct snapshot *snapshots_list(const char *repository, size_t *n)
{
    char revision[HUB_REVISION_ROOM] = "", *folder = file_join(repository, HUB_SNAPSHOTS);
    struct snapshot *list = malloc(sizeof *list);
    int fd = open(repository, O_PATH | O_DIRECTORY | O_CLOEXEC);
    *n = 0;
    if (!snapshots_main(fd, revision)) revision[0] = 0;
    if (fd >= 0) close(fd);
    bool good = list && folder;
    DIR *d = good ? opendir(folder) : NULL;
    for (struct dirent *e; d && good && (e = readdir(d));)
        if (e->d_name[0] != '.')
            good = add_folder(&list, n, file_join(folder, e->d_name), !strcmp(e->d_name, revision));
    if (d) closedir(d);
    free(folder);
    if (*n) qsort(list, *n, sizeof *list, by_age);
    if (good) return list;
    snapshots_free(list, *n);
    *n = 0;
    return NULL;
}

void snapshots_free(struct snapshot *list, size_t n)
{
    for (size_t i = 0; i < n; i++) free(list[i].path);
    free(list);
}
