/* Makes the demo's two runs, on a thread of its own: the same script, on the same model and machine, first with level
 * `off`, then with `full`, one after the other, each in a chat of its own. A chat that is open on the machine meanwhile
 * rests and goes on afterwards as it was.
 *
 * With the built-in model, whose waits are too short to be felt, what was measured is also shown as a 4B Q4_K on this
 * machine (demo_scale.h), or as a smaller one where that would take minutes. Its runs are typed DEMO_QUICK times as
 * fast as they are shown, so that they take seconds: less can be read ahead than while a person types.
 *
 * One thread, the front end's, calls these functions. */
#ifndef TANDEM_SRC_DEMO_RUN_H
#define TANDEM_SRC_DEMO_RUN_H

#include <stdatomic.h>

#include "src/chat/ceilings.h"
#include "src/chat/job.h"
#include "src/chat/script.h"
#include "src/cli/options.h"
#include "src/demo/demo_show.h"

enum { DEMO_QUICK = 8 };

typedef enum { DEMO_MEASURED, DEMO_SCALED, DEMO_TIMINGS } demo_timing;

/* What stays the caller's, and unchanged until demo_run_end. */
typedef struct {
    const options *o;
    const script *script;
    const tdm_model *model, *prefill; /* as for tdm_chat_options.prefill_model */
    tdm_machine *machine;
    bool builtin;  /* the model is the built-in one */
    bool adapts;   /* replies may end before the script's count of tokens, so that a slow model takes no minutes */
    bool private;  /* what is measured of the machine is not kept */
    ceilings ceilings;
    int wake; /* the thread writes a byte there when it is done */
} demo_wants;

typedef struct {
    demo_wants wants;
    job job;
    atomic_int run;     /* 0: the machine is being measured; 1, 2: the run that is being made */
    atomic_int done_of; /* thousandths of it */
    /* The thread's, until demo_run_take: */
    ceilings ceilings;             /* as wanted, or measured */
    int dispatch;                  /* most tokens of a forward pass that reads, in the recording */
    demo_show shows[DEMO_TIMINGS]; /* n 0: there is no such timing */
    char origins[DEMO_TIMINGS][240];
    tdm_error err;                 /* why there is none */
} demo_run;

/* The script's file that comes along, malloc'ed; NULL: it isn't installed. */
char *demo_run_script(void);
/* Can the demo play it? Its turns are typed one after the other: messages that are sent while a reply is written, and
 * what changes earlier turns, have no place in it (TDM_E_UNSUPPORTED). */
tdm_status demo_run_check(const script *s, const char *name, tdm_error *err);

tdm_status demo_run_begin(demo_run *r, const demo_wants *wants, tdm_error *err);
/* Has the thread just ended? Then it is joined, and shows or err is its result. */
bool demo_run_take(demo_run *r);
/* Stops the thread, waits for it, and frees what it made. */
void demo_run_end(demo_run *r);

#endif
