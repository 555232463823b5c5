/* Recordings of `tandem monitor`: files of the lines that it received, which it can play back. The file holds the lines
 * of src/watch/monitor_json.h with the lanes. The first line is unchanged; each later line has only the changes from
 * the line before, {"changes":{...}} (src/watch/difference.h). Lines hold counts, times and speeds alone, no words.
 * Files are untrusted: it must be a regular file whose lines are objects of this schema, or changes, each of at most
 * FRAMES_LONGEST bytes. In files of older versions every line is unchanged. One thread. */
#ifndef TANDEM_SRC_RECORDING_H
#define TANDEM_SRC_RECORDING_H

#include <stdbool.h>
#include <stdio.h>

#include "engine/json/json.h"
#include "engine/tandem.h"
#include "src/io/frames.h"

typedef struct {
    int fd;
    const char *path;      /* for messages; of the caller */
    frames lines;
    int line;              /* number of `next` */
    json_object *next;     /* the next object, whole; NULL: none is left */
    json_object *whole;    /* the object that the next line changes; NULL before the first line */
    bool begun;
    int64_t ahead_ns;      /* this clock minus the recording's */
    int64_t last_ns;       /* time of the line that was taken last, of the recording's clock */
} replay;

/* Opens a file and reads its first line. */
tdm_status replay_open(replay *r, const char *path, tdm_error *err);
void replay_close(replay *r);
/* Takes the next line if it is due at now_ns, at the original pace; the caller frees it (json_free). NULL with
 * TDM_OK: none is due. The clock of the recording begins with the first call. */
tdm_status replay_take(replay *r, int64_t now_ns, json_object **out, tdm_error *err);
/* When the next line is due; INT64_MAX: none is left. */
int64_t replay_deadline(const replay *r);
/* The recording's clock, which stops at its last line. */
int64_t replay_clock(const replay *r, int64_t now_ns);

typedef struct {
    FILE *out;         /* NULL: there is none */
    const char *path;  /* for messages; of the caller */
    json_object *last; /* the object that was written last, whole; NULL before the first line */
} recording;

/* Creates the file or truncates it, readable by its owner alone. */
tdm_status recording_open(recording *r, const char *path, tdm_error *err);
/* Writes one line, unless it has no time: such a line was sent before the lanes were asked for. */
tdm_status recording_add(recording *r, json_object *o, tdm_error *err);
/* Closes the file. False: not all lines are in it. */
bool recording_close(recording *r);

#endif
