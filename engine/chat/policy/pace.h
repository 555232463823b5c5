/* Two paces, as pure functions.
 *
 * That of tokens: when the next token of a reply may be decoded, to keep a given number of tokens per second. Tokens
 * follow a schedule: each is due one interval after the previous one was due, not after it was decoded. A delay of up
 * to PACE_BEHIND_MS is therefore caught up and the rate is kept; a longer one is not, so that the text does not come in
 * a burst after a stall.
 *
 * That of carrying: how long to wait after copying bytes to the decode unit's memory while a reply is decoded, so that
 * copies take at most PACE_CARRYING_PERCENT of the bandwidth that decoding has. Copies for drafts that are deleted
 * again count too.
 */
#ifndef TANDEM_CHAT_PACE_H
#define TANDEM_CHAT_PACE_H

#include <stdint.h>

/* The longest delay that is caught up: to the reader it still looks like steady writing. */
enum { PACE_BEHIND_MS = 250 };

/* When the next token is due. due_ns: when the token that came at now_ns was due; 0: it was the first one, or there was
 * no pace. tps: above 0. The result is never 0. */
int64_t pace_next(int64_t due_ns, int64_t now_ns, double tps);

/* How many tokens after the next one are late as well, if that one was due at due_ns (0: it has no due time): they may
 * be decoded together with it. */
uint32_t pace_late(int64_t due_ns, int64_t now_ns, double tps);

enum { PACE_CARRYING_PERCENT = 3 };

/* bytes: copied just now; read_bytes, read_ns: bytes that decoding read, and its time. 0: no wait is needed, or nothing
 * was decoded. */
int64_t pace_carrying_ns(uint64_t bytes, uint64_t read_bytes, uint64_t read_ns);

#endif
