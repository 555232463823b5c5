/* Any bytes as a configuration file: it is read or refused with a line that says why, and one option changed in it
 * leaves the file as good as it was, with that value. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "src/cli/options.h"
#include "src/files/config_file.h"
#include "tests/fuzzed.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static bool reads(const char *path, char seed[32])
{
    char *argv[] = {(char *)"tandem", (char *)"chat"};
    tdm_error err = {0};
    options o;
    if (!options_parse(&o, 2, argv, &err)) abort();
    bool good = options_read_file(&o, path, &err);
    if (good == (err.text[0] != 0) || strchr(err.text, '\n')) abort();
    const char *text = options_text(&o, OPTION_MODEL);
    strcpy(seed, text && strlen(text) < 32 ? text : "");
    options_free(&o);
    return good;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char path[400], before[32], after[32];
    strcpy(path, fuzzed_file("config", data, size));
    bool good = reads(path, before);
    if (config_file_set(path, "model", "a/b:Q4_K_M", NULL)) abort();
    if (!good) return 0;
    if (!reads(path, after) || strcmp(after, "a/b:Q4_K_M")) abort();
    return 0;
}
