/* A decoder's events as one line of text, for the tests and the fuzz target: bytes(...) key(code,mods) esc paste(...)
 * mouse(...) answer(...). Adjacent bytes are joined, so that the log doesn't depend on how reads were cut. */
#ifndef TANDEM_TESTS_DECODER_LOG_H
#define TANDEM_TESTS_DECODER_LOG_H

#include "ui/keys/decoder.h"

struct decoder_log {
    char *text;
    size_t length, size;
    bool in_bytes;
};

void decoder_log_drain(struct decoder_log *log, struct decoder *d);
void decoder_log_free(struct decoder_log *log);

#endif
