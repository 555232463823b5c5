/* Reads files and runs commands on a thread of its own, one after the other as they were asked for, and counts their
 * tokens: the screen never waits for a disk, a command or a tokenizer. One thread, the front end's, calls these
 * functions; the job's thread touches only the request at hand, and the model while it counts. */
#ifndef TANDEM_SRC_ATTACH_JOB_H
#define TANDEM_SRC_ATTACH_JOB_H

#include "src/attach/attach.h"

typedef struct attach_job attach_job;

typedef struct {
    attach_kind kind; /* ATTACH_CLIPBOARD: its picture */
    char *what;       /* the path, the command, or "clipboard" */
    bool of_draft;
    tdm_status status;
    tdm_error err;
    attachment one; /* set if status is TDM_OK; not counted without a model, or if it has pictures and the model no
                       vision */
    char note[100]; /* a line about it for the user; "": none */
} attach_result;

/* The job writes a byte to `wake` after each request. NULL without memory. */
attach_job *attach_job_open(int wake);
/* Cancels the running request, and waits for its end. */
void attach_job_close(attach_job *j);

/* Counts with this model from now on (NULL: with none) and this bound of a picture's tokens (0: none). When it returns,
 * the previous model is no longer used. */
void attach_job_model(attach_job *j, const tdm_model *model, uint32_t picture_tokens);

tdm_status attach_job_ask(attach_job *j, attach_kind kind, const char *what, bool of_draft, tdm_error *err);
/* Hands over the results, one at a time; false: there is none. Free it with attach_result_free. */
bool attach_job_take(attach_job *j, attach_result *out);
void attach_result_free(attach_result *r);

/* Request number `i` of those that wait, the running one first; false: there is none. `what` is valid until the next
 * call. */
bool attach_job_waiting(const attach_job *j, int i, attach_kind *kind, const char **what);
bool attach_job_busy(const attach_job *j);
/* The command that is running or waits to run; NULL: there is none. */
const char *attach_job_command(const attach_job *j);
/* Cancels all requests; the running one ends with TDM_E_CANCELLED. */
void attach_job_stop(attach_job *j);

#endif
