/* The decoder on arbitrary bytes: it stays within bounds, always ends, and how the bytes were cut into reads makes no
 * difference to the events as long as no pause lies between them. The first byte chooses the cuts. */
#include <stdlib.h>
#include <string.h>

#include "tests/ui/keys/decoder_log.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static struct decoder_log run(const char *bytes, size_t n, size_t cut)
{
    static const struct decoder_options options = {.paste_limit = 1000};
    struct decoder_log log = {0};
    struct decoder *d = decoder_open(&options);
    if (!d) abort();
    decoder_add_sequence(d, "\033[5$x", KEYCODE_F1, 0);
    int64_t now = 1;
    for (size_t i = 0; i < n; i += cut) {
        decoder_feed(d, bytes + i, n - i < cut ? n - i : cut, now);
        decoder_log_drain(&log, d);
    }
    for (int i = 0; i < 8 && decoder_deadline(d) != INT64_MAX; i++) {
        now = decoder_deadline(d);
        decoder_feed(d, NULL, 0, now);
        decoder_log_drain(&log, d);
    }
    if (decoder_deadline(d) != INT64_MAX) abort(); /* nothing waits for ever */
    decoder_close(d);
    return log;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < 1) return 0;
    size_t cut = 1 + data[0] % 16;
    struct decoder_log whole = run((const char *)data + 1, size - 1, size),
                       parts = run((const char *)data + 1, size - 1, cut);
    if (whole.length != parts.length || (whole.length && memcmp(whole.text, parts.text, whole.length))) abort();
    decoder_log_free(&whole);
    decoder_log_free(&parts);
    return 0;
}
