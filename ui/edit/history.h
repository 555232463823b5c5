/* The history of sent messages, in a file that several running programs share.
 *
 * One entry a line; \n, \r, \\ and other control characters are escaped, so that an entry with many lines is one line
 * of the file. Entries are appended with one write under an exclusive lock; history_file_refresh() takes over entries
 * that other programs appended. When the file grows past the limits, it is rewritten beside the old one and renamed.
 * Mode 0600. A damaged line (not UTF-8, a stray escape, too long, a write cut short) is skipped, never fatal; a path to
 * anything but a regular file is left alone. Without a path, or when the file can't be written, the history lives in
 * memory.
 *
 * Not thread-safe: one thread per object. (readline's own names begin with history_, hence the longer prefix.)
 */
#ifndef TANDEM_UI_HISTORY_H
#define TANDEM_UI_HISTORY_H

#include <stdbool.h>
#include <stddef.h>

#include "engine/tandem.h"

#define HISTORY_FILE_ENTRIES   2000       /* default limit */
#define HISTORY_FILE_ENTRY_MAX (64u << 10) /* bytes; a longer message is remembered only by this program */
#define HISTORY_FILE_BYTES     (8u << 20)  /* of the file */

struct history_file;

/* path: XDG_STATE_HOME/tandem/history as the caller finds it, or NULL for memory only. A file that is not there is made
 * with the first entry, with its folders (0700).
 * entries: 0 for the default. Returns NULL only without memory; *err says if the file can't be read or written
 * (err->code != TDM_OK), and the object works in memory. */
struct history_file *history_file_open(const char *path, size_t entries, tdm_error *err);
void history_file_close(struct history_file *h);

/* Oldest first. The string lives until the next call that changes h. */
size_t history_file_count(const struct history_file *h);
const char *history_file_entry(const struct history_file *h, size_t i);

/* Adds a message; one that is empty, blank or equal to the newest is left out. persist = false (private sessions): to
 * memory only. TDM_E_IO: it is in memory but not in the file. */
tdm_status history_file_add(struct history_file *h, const char *text, bool persist, tdm_error *err);

/* Removes entries from the file: those for which chosen() returns true, and damaged lines, which might be a part of
 * one. Other programs notice it as they notice additions. TDM_OK without a file. */
typedef bool (*history_file_choice)(void *ctx, const char *text);
tdm_status history_file_erase(const char *path, history_file_choice chosen, void *ctx, tdm_error *err);

/* Takes over the entries that other programs have added. Costs one stat() when nothing changed. */
void history_file_refresh(struct history_file *h);

/* Changes when entries have moved or gone (file replaced, limit reached); while it stays, entries are only appended. */
unsigned long history_file_generation(const struct history_file *h);

#endif
