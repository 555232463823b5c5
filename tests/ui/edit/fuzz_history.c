/* Any bytes as a history file: entries are text, and one that is added is there afterwards, after the others. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "engine/base/utf8.h"
#include "tests/fuzzed.h"
#include "ui/edit/history.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { ENTRIES = 8, LIMIT = ENTRIES + ENTRIES / 4 /* before the first ones go */ };

static void check_entry(const char *text)
{
    size_t n = strlen(text);
    if (!n) abort();
    for (size_t i = 0; i < n;) {
        int32_t code;
        i += utf8_decode(text + i, n - i, &code);
        if (code < 0) abort();
    }
}

static void open_and_check(struct history_file **h, const char *path)
{
    tdm_error err = {0};
    *h = history_file_open(path, ENTRIES, &err);
    if (!*h || err.code || history_file_count(*h) > LIMIT) abort();
    for (size_t i = 0; i < history_file_count(*h); i++) check_entry(history_file_entry(*h, i));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char added[] = "one\nmore \\ of\tthem";
    char path[400];
    struct history_file *h, *again;
    strcpy(path, fuzzed_file("history", data, size));
    open_and_check(&h, path);
    if (history_file_add(h, added, true, NULL)) abort();
    size_t n = history_file_count(h);
    if (!n || n > LIMIT || strcmp(history_file_entry(h, n - 1), added)) abort();
    open_and_check(&again, path);
    size_t m = history_file_count(again); /* the first ones may have gone from the one and not from the other */
    for (size_t i = 1; i <= n && i <= m; i++)
        if (strcmp(history_file_entry(h, n - i), history_file_entry(again, m - i))) abort();
    if (!m) abort();
    history_file_close(again);
    history_file_close(h);
    return 0;
}
