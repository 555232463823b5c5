/* Any bytes as a draft with @PATH words, in a folder with a few files: words that name one of them stand for it as
 * long as the draft has them. */
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "src/attach/mentions.h"
#include "tests/check.h"
#include "tests/fuzzed.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* libFuzzer's own paths are relative, so this program is in the folder only as long as it looks at a draft. */
static void be_in_the_folder(bool on)
{
    static int from = -1, to = -1;
    if (to < 0) {
        fuzzed_file("a.md", "a", 1);
        fuzzed_file("my notes.md", "b", 1);
        from = open(".", O_PATH | O_CLOEXEC);
        to = open(check_tmp(), O_PATH | O_CLOEXEC);
        if (from < 0 || to < 0 || mkdirat(to, "folder", 0700)) abort();
    }
    if (fchdir(on ? to : from)) abort();
}

static bool holds(char **list, const char *path)
{
    while (list && *list && strcmp(*list, path)) list++;
    return list && *list;
}

static void check_all(mentions *m, const attachments *a)
{
    /* What is named is text, and nothing else is. */
    for (char **path = m->named; path && *path; path++)
        if (!holds(m->text, *path) || mentions_wants(m, *path)) abort();
    for (char **path = m->text; path && *path; path++)
        if (!holds(m->named, *path)) abort();
    if (mentions_wait(m, a)) abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    mentions m = {0};
    attachments a = {0};
    char *text = malloc(size + 1);
    if (!text) return 0;
    memcpy(text, data, size);
    text[size] = 0;
    be_in_the_folder(true);
    mentions_leave(&m, &a, text, size);
    check_all(&m, &a);
    /* A part of it, as when its end is deleted. */
    mentions_leave(&m, &a, text, size / 2);
    check_all(&m, &a);
    mentions_leave(&m, &a, "", 0);
    if (m.named && m.named[0]) abort();
    if (m.text && m.text[0]) abort();
    mentions_free(&m);
    be_in_the_folder(false);
    free(text);
    return 0;
}
