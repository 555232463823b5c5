/* A file mapped read-only. Its pages are never dirty, so they can be dropped at any time. */
#ifndef TANDEM_MODEL_MAP_H
#define TANDEM_MODEL_MAP_H

#include "engine/tandem.h"

struct json_object;

struct map {
    const uint8_t *data; /* NULL when size is 0 */
    uint64_t size;
    uint64_t stamp; /* a hash of the file's size and modification time */
    struct mapped *mapped; /* the open file, listed as mapped; NULL when size is 0 */
};

tdm_status map_open(struct map *m, const char *path, tdm_error *err);
void map_close(struct map *m);

/* Call it after the last read that needs the file: TDM_OK if the file has not changed since it was opened. It is the
 * only way to notice that the file shrank by less than a page: the missing part of its last page reads as zeros. */
tdm_status map_check(const struct map *m, tdm_error *err);

/* A whole file as one object of JSON (engine/json/json.h). */
tdm_status map_json(struct json_object **out, const char *path, tdm_error *err);

/* Copies bytes that lie within a mapped file, with read calls and not through the map: TDM_E_IO, and no signal, if the
 * file became shorter or can't be read any more. Bytes outside mapped files are copied from memory. */
tdm_status map_copy(const void *from, uint64_t bytes, void *to, tdm_error *err);

/* For error lines about a file that ends too early: "incomplete download? 12 of 42 MB are there; ". need: the length
 * according to the file's header; 0: it ends before that is known; UINT64_MAX: impossible. The text is "" for
 * UINT64_MAX, and if the file is long enough. Returns text. */
enum { MAP_INCOMPLETE_ROOM = 96 };
const char *map_incomplete(char text[MAP_INCOMPLETE_ROOM], uint64_t have, uint64_t need);

/* Drops the pages that are wholly or partly within [data, data+bytes), and those that reading them may have mapped as
 * well: Linux maps whole folios of its page cache, of up to 2 MiB. They are read again when touched. Addresses outside
 * the map are ignored. */
void map_release(const struct map *m, const void *data, uint64_t bytes);
/* The system's cache need not keep what has been read of the file: it drops the pages that no program has mapped, so
 * map_release comes first. */
void map_forget(const struct map *m);
/* Asks the system to read the pages of [data, data+bytes) soon. */
void map_will_read(const void *data, uint64_t bytes);

#endif
