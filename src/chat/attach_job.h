/* Reads files and runs commands on a thread of its own, one after the other as they were asked for, and counts their
 * tokens: the screen never waits for a disk, a command or a tokenizer. One thread, the front end's, calls these
 * functions; the job's touches nothing but the request that it is at, and the model while it counts. */
#ifndef TANDEM_SRC_ATTACH_JOB_H
#define TANDEM_SRC_ATTACH_JOB_H

#include "src/chat/attach.h"

typedef struct attach_job attach_job;

typedef struct {
    attach_kind kind;  /* ATTACH_FILE or ATTACH_COMMAND */
    char *what;        /* the path, or the command */
    bool of_draft;
    tdm_status status;
    tdm_error err;
    attachment one;    /* where status is TDM_OK; not counted if there was no model */
    char note[100];    /* what is to be known of it; "": nothing */
} attach_result;

/* The job writes a byte to `wake` when something has been done. NULL without memory. */
attach_job *attach_job_open(int wake);
/* Stops what it is at, and waits for that. */
void attach_job_close(attach_job *j);

/* Counts with this model from now on; NULL: with none. Once it returns the model before is no longer used. */
void attach_job_model(attach_job *j, const tdm_model *model);

tdm_status attach_job_ask(attach_job *j, attach_kind kind, const char *what, bool of_draft, tdm_error *err);
/* Hands over what has been done, one at a time; false: nothing has. Free what it holds with attach_result_free. */
bool attach_job_take(attach_job *j, attach_result *out);
void attach_result_free(attach_result *r);

/* What is asked for and not taken yet, the one at work first; false: there is no number `i`. What `what` points to
 * lives until the next call. */
bool attach_job_waiting(const attach_job *j, int i, attach_kind *kind, const char **what);
bool attach_job_busy(const attach_job *j);
/* The command that is running, or waits to be; NULL: there is none. */
const char *attach_job_command(const attach_job *j);
/* Gives up whatever is asked for; what is at work ends as TDM_E_CANCELLED. */
void attach_job_stop(attach_job *j);

#endif
