/* Carrying: how long to wait after copying this many bytes to the decode unit's memory while a reply is decoded, so
 * that copies take at most CARRYING_PERCENT of the bandwidth that decoding has. Copies for drafts that are deleted
 * again count too.
 *
 * Threads: a pure function.
 */
#ifndef TANDEM_CHAT_CARRYING_H
#define TANDEM_CHAT_CARRYING_H

#include <stdint.h>

enum { CARRYING_PERCENT = 3 };

/* bytes: copied just now; read_bytes, read_ns: bytes that decoding read, and its time. 0: no wait is needed, or nothing
 * was decoded. */
int64_t carrying_rest_ns(uint64_t bytes, uint64_t read_bytes, uint64_t read_ns);

#endif
