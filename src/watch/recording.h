/* What `tandem monitor` was told, kept in a file and played back: the lines of src/watch/monitor_json.h with the lanes,
 * as they came. They hold counts, times and speeds alone. A file that is read is untrusted: it must be a regular file
 * whose lines are objects of this schema, each at most MONITOR_LONGEST_LINE bytes. One thread. */
#ifndef TANDEM_SRC_RECORDING_H
#define TANDEM_SRC_RECORDING_H

#include <json-c/json_object.h>
#include <stdbool.h>
#include <stdio.h>

#include "engine/tandem.h"
#include "src/watch/monitor_stream.h"

typedef struct {
    int fd;
    const char *path;      /* for messages; of the caller */
    monitor_stream lines;
    int line;              /* number of `next` */
    json_object *next;     /* the line that is shown next; NULL: none is left */
    bool begun;
    int64_t ahead_ns;      /* this clock minus the recording's */
    int64_t last_ns;       /* time of the line that was taken last, of the recording's clock */
} replay;

/* Opens a file and reads its first line. */
tdm_status replay_open(replay *r, const char *path, tdm_error *err);
void replay_close(replay *r);
/* Takes the next line if it is due at now_ns, at the pace in which the lines came; the caller puts it. NULL with
 * TDM_OK: none is due. The clock of the recording begins with the first call. */
tdm_status replay_take(replay *r, int64_t now_ns, json_object **out, tdm_error *err);
/* When the next line is due; INT64_MAX: none is left. */
int64_t replay_deadline(const replay *r);
/* The recording's clock; it stands at its last line. */
int64_t replay_clock(const replay *r, int64_t now_ns);

/* A new file, or an old one emptied, readable by its owner alone. */
tdm_status recording_open(FILE **out, const char *path, tdm_error *err);
/* Writes one line, unless it has no time: such a one was on its way before the lanes were asked for. */
tdm_status recording_add(FILE *out, const char *path, json_object *o, tdm_error *err);

#endif
