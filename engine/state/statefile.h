/* States as bytes: in a file beside a saved conversation, and in memory as the bridge between units that share neither
 * memory nor precision. One encoding serves both.
 *
 * Layout, version 4, all numbers little-endian, no padding:
 *   header   "TDMSTATE"; u32 version; u32 flags (1: logits); u64 fingerprint; u64 bytes in all, checksum included;
 *            u32 each: key/value type (0 f32, 1 f16, 2 q8_0), tokens, linear layers, key heads, value heads, key dim,
 *            value dim, convolution channels, taps, vocabulary, kinds of attention layers, width of the MTP head (0:
 *            nothing is kept for one), entries of the head, pictures; then of each kind, and of the head if there is
 *            one: window (0: none), KV heads, head dim, layers
 *   tokens   i32 [tokens], -1 where a picture stands
 *   pictures per picture, in order: u32 each: place of its first token, tokens that are there (fewer than its grid has
 *            only at the end), rows and columns of the grid; u64 [2] its hash (pads.h)
 *   keys and values   per kind, layer, KV head, position from the first page on that the next token sees: the key, then
 *            the value, head_dim elements each:
 *            f32; f16; or q8_0: per 32 elements (the last block of a row may be shorter) an f16 scale and i8 each
 *                     then those of the MTP head's entries as if it were a layer
 *   waiting           f32 [tokens - entries][width of the MTP head]
 *   recurrent         f32 [linear layer][value head][key dim][value dim]
 *   convolution       f32 [linear layer][taps-1][channels], oldest first
 *   logits            f32 [vocabulary], if flagged
 *   checksum u64 of all bytes before it (engine/base/checksum.h) Value heads, and the channels that belong to them, are
 *   in the order of the original checkpoints (head h is served by key head h / (value heads / key heads)) whatever
 *   order the model's file has, so that a model's GGUF file can use a state that its Hugging Face checkpoint made.
 *
 * Input is untrusted: sizes, counts and ids are checked before use, memory is bounded by the destination's pool, and a
 * damaged input leaves the destination empty. Older versions, without pictures, are refused. Between kernel sets or
 * key/value types the contents are converted; with equal ones the loaded state has the bits of the saved one.
 */
#ifndef TANDEM_STATE_STATEFILE_H
#define TANDEM_STATE_STATEFILE_H

#include "engine/state/state.h"

/* Writes the state atomically (a temporary file beside it, then renamed), readable by its owner only. */
tdm_status statefile_save(const char *path, const struct state *s, uint64_t fingerprint, tdm_error *err);

/* Replaces the contents of s. TDM_E_FORMAT: damaged, another version, shape or fingerprint; TDM_E_CONTEXT: more tokens
 * than s holds; TDM_E_NOT_FOUND, TDM_E_IO, TDM_E_NOMEM. After an error s is empty. */
tdm_status statefile_load(const char *path, struct state *s, uint64_t fingerprint, tdm_error *err);

/* The bridge. The buffer is kept and reused: zero-initialise it before first use, free it with state_bytes_free. */
struct state_bytes {
    uint8_t *data;
    size_t size, room;
};
void state_bytes_free(struct state_bytes *b);
tdm_status state_save_memory(const struct state *s, uint64_t fingerprint, struct state_bytes *out, tdm_error *err);
tdm_status state_load_memory(struct state *s, uint64_t fingerprint, const void *data, size_t size, tdm_error *err);

#endif
