/* Makes the demo's two runs, on a thread of its own: the same script, on the same model and machine, with level `off`
 * and with `full`, each in a chat of its own. A chat that is open on the machine is suspended meanwhile and continues
 * afterwards; so is the first run: its first turn is played, then all of the second run, then its other turns. As soon
 * as both have their first turn, these form a show of their own, with the same figures as in the whole one. The time
 * between a run's parts is left out of its take.
 *
 * With the built-in model, whose waits are too short to notice, the measurements are also shown scaled to a 4B Q4_K on
 * this machine (scale.h), or to a smaller model if that would take minutes. Its runs are typed DEMO_QUICK times as fast
 * as they are shown, so that they take seconds; so less can be read ahead than while a user types.
 *
 * With a second pair of units the runs are one on each pair, both with level `full`, and are shown only as measured,
 * since scaling needs the figures of a single machine.
 *
 * A picture is attached before the first key: when reading ahead it is encoded while the question is typed. Each run
 * encodes it.
 *
 * One thread, the front end's, calls these functions. */
#ifndef TANDEM_SRC_DEMO_RUN_H
#define TANDEM_SRC_DEMO_RUN_H

#include <stdatomic.h>

#include "src/cli/options.h"
#include "src/demo/show.h"
#include "src/models/ceilings.h"
#include "src/play/script.h"
#include "src/process/task.h"

enum { DEMO_QUICK = 8 };

typedef enum { DEMO_MEASURED, DEMO_SCALED, DEMO_TIMINGS } demo_timing;

/* The demo's input, which the caller keeps unchanged until demo_run_end. */
typedef struct {
    const options *o;
    const script *script;
    const tdm_model *model, *prefill; /* as for tdm_chat_options.prefill_model */
    tdm_machine *machine;
    tdm_picture *picture; /* goes before the first message, for a model with a vision tower; NULL: none */
    const char *pair; /* "gpu+cores": the units of the second run; NULL: the machine's */
    bool builtin;  /* the model is the built-in one */
    bool adapts;   /* replies may end before the script's count of tokens, so that a slow model takes no minutes */
    bool private;  /* measured limits of the machine are not stored */
    ceilings ceilings;
    int wake; /* the thread writes a byte there when it is done */
} demo_wants;

/* The shows of both timings, measured and scaled. */
typedef struct {
    demo_show all[DEMO_TIMINGS]; /* n 0: there is no such timing */
    char origins[DEMO_TIMINGS][240];
    char heads[DEMO_SIDES][64]; /* the pairs of units of the sides; "": the sides differ in when they read */
} demo_shows;

typedef struct {
    demo_wants wants;
    task task;
    atomic_int run;                 /* 0: the machine is being measured; 1, 2: the run that is being made */
    atomic_int done_of[DEMO_SIDES]; /* thousandths of each */
    atomic_bool first_made;         /* `first` is complete, and no longer changes */
    demo_shows first;               /* the first turn, if there are more */
    /* Used by the thread alone until demo_run_take: */
    tdm_machine *second; /* of the second run, with a pair */
    ceilings ceilings;   /* as wanted, or measured */
    int dispatch;      /* most tokens of a forward pass that reads, in the recording */
    int which;         /* index of the model to which the built-in one is scaled */
    bool made;         /* `whole` is complete */
    demo_shows whole;
    tdm_error err; /* why it is missing */
} demo_run;

/* The path of the installed script, malloc'ed; NULL: it isn't installed. */
char *demo_run_script(void);
/* Can the demo play it? Its turns are typed one after the other, so a script must not send messages while a reply is
 * written, or change earlier turns (TDM_E_UNSUPPORTED). */
tdm_status demo_run_check(const script *s, const char *name, tdm_error *err);

/* Parses a pair; TDM_E_ARG if it is none. prefill, decode: values for --prefill-unit and --decode-unit; "": cores, in
 * the default split; each has `room` bytes. */
tdm_status demo_run_pair(const char *pair, char *prefill, char *decode, size_t room, tdm_error *err);

tdm_status demo_run_begin(demo_run *r, const demo_wants *wants, tdm_error *err);
/* Has the thread just ended? Then it is joined, and `whole` or err is its result. */
bool demo_run_take(demo_run *r);
/* Stops the thread, waits for it, and frees what it made. Returns the measured waits as lines of text, malloc'ed; NULL:
 * there are none. */
char *demo_run_end(demo_run *r);

#endif
