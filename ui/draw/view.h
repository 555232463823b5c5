/* The contents of the screen as plain data: the contract between the program and the drawing code.
 *
 * The program fills a `struct view` before each frame and hands it to screen_draw(). Drawing never samples, waits or
 * keeps a pointer of the view past the call: what it needs later (wrapped lines, the picture of the lanes) it copies.
 * Strings are UTF-8 and untrusted; the drawing code makes them harmless. NULL stands for 'not there'. Times are
 * nanoseconds of one clock (CLOCK_MONOTONIC, or a pinned one in tests), `now_ns` included.
 *
 * Nothing here knows the engine: this header includes neither its types nor a terminal's.
 */
#ifndef TANDEM_UI_VIEW_H
#define TANDEM_UI_VIEW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* ---- Figures -------------------------------------------------------------------------------------------------- */

/* A figure that may be absent. Without one, `why` says the reason (shown as 'n/a: reason'). */
struct view_figure {
    double value;
    bool valid;
    const char *why;
};

/* How much of a turn was read when Enter was pressed. */
enum view_ttft_kind {
    VIEW_TTFT_NONE,
    VIEW_TTFT_FIRST,   /* of the session */
    VIEW_TTFT_RESUMED, /* the first after resuming one */
    VIEW_TTFT_WARM,    /* part of it was read before Enter */
    VIEW_TTFT_COLD,    /* nothing of it was */
};

/* Why its time to the first token enters no median. */
enum view_ttft_mark { VIEW_TTFT_UNMARKED, VIEW_TTFT_QUEUED, VIEW_TTFT_CUT, VIEW_TTFT_HEAD_START };

struct view_ttft {
    enum view_ttft_kind kind;
    enum view_ttft_mark mark;
    double ms; /* Enter to the first glyph */
};

/* ---- The conversation ----------------------------------------------------------------------------------------- */

enum view_role {
    VIEW_USER,
    VIEW_ASSISTANT,
    VIEW_NOTE, /* the output of a command: markdown, part of the screen, not of the conversation */
};

enum view_turn_state {
    VIEW_TURN_DONE,
    VIEW_TURN_QUEUED,    /* a user's message that waits for the reply to end */
    VIEW_TURN_THINKING,  /* `thinking` grows */
    VIEW_TURN_ANSWERING, /* `text` grows */
    VIEW_TURN_STOPPED,   /* by the user; /continue goes on */
    VIEW_TURN_LENGTH,    /* at the length limit; /continue goes on */
    VIEW_TURN_REPEATS,   /* it only repeated itself; /continue goes on */
    VIEW_TURN_FULL,      /* at the end of the context */
    VIEW_TURN_FAILED,    /* `why` is the reason */
};

struct view_turn_stats {
    bool valid;
    struct view_ttft ttft;
    double engine_ms;     /* the engine's share; card form only */
    bool paced;           /* the speed was limited by /pace */
    int in, read_before;  /* tokens of the user's turn with the suffix; of these, read before Enter */
    int read_again;       /* tokens that a server evaluated after Enter since it had dropped earlier turns; else 0 */
    bool estimated;       /* the tokens are counted by a tokenizer that may not be the server's */
    int out;
    double tok_s;         /* 0: not known */
    double seconds;
    double answer_ms;     /* Enter to the first character of the answer, if the turn thought first; else 0 */
};

/* A picture, in a small form for the terminal. Immutable. */
struct view_picture {
    uint64_t id; /* the same for the same picture, never 0 */
    const char *name;
    uint32_t width, height;           /* its own pixels */
    uint32_t view_width, view_height; /* those of the small form ... */
    const uint8_t *rgb;               /* ... 3 bytes each, rows from the top */
};

/* One message. While it streams, `text` and `thinking` only grow: any other change (an edit, another branch) raises
 * `revision`, so that the transcript renders the turn again. */
struct view_turn {
    uint64_t id; /* unique, permanent, ascending, never 0: the view and the selection keep their places by it */
    uint32_t revision;
    enum view_role role;
    enum view_turn_state state;
    int number; /* as /edit N counts; 0 for notes */
    const char *text;
    size_t text_len;
    size_t attached; /* bytes at the beginning of the text that are files, not the user's own words */
    const struct view_picture *pictures; /* shown before the text */
    size_t n_pictures;
    const char *thinking;
    size_t thinking_len;
    int thought_tokens;
    double thought_s;
    int64_t start_ns; /* when its first text came; the limit of 5 lines a second counts from here */
    struct view_turn_stats stats;
    int branch, branches; /* shown as 2/3 when branches > 1 */
    const char *why;      /* VIEW_TURN_FAILED */
};

enum { VIEW_ANSWERS_MAX = 8 };

/* Several answers to the last message; n 0: there is one, the last turn. */
struct view_answers {
    const struct view_turn *turns; /* [n] in their order; the selected one is also the last turn of the conversation */
    const int *tokens;             /* [n] written so far */
    size_t n;
    size_t looked;                 /* Enter replies to this one */
    int writing;                   /* how many are being written */
};

/* ---- The draft ------------------------------------------------------------------------------------------------ */

enum view_mark {
    VIEW_MARK_NONE,
    VIEW_MARK_AFTER_REPLY,
    VIEW_MARK_FOLLOWING,
    VIEW_MARK_TO_READ, /* `to_read` tokens */
    VIEW_MARK_READY,
    VIEW_MARK_QUEUED,
    VIEW_MARK_TOO_LONG,
    VIEW_MARK_OFF,
    VIEW_MARK_NOT_READ, /* it can't be read: a line said why */
    VIEW_MARK_AGAIN,    /* the draft is read again, since an attachment that came later precedes it */
    VIEW_MARK_RUNS,     /* the draft is a command of the shell */
    VIEW_MARK_RUNNING,  /* such a command is running */
    VIEW_MARK_SENDS,    /* it is sent once its attachments are read */
};

/* A text or pictures that go before the message. */
struct view_attachment {
    const char *name;
    const struct view_picture *pictures; /* the first of them is shown */
    size_t n_pictures;
    const char *doing; /* "encoded" or "read", with `percent` of its pictures; NULL: no progress to show */
    int percent;
    const char *failed; /* why one of its pictures can't be encoded; NULL: they can */
    int tokens;    /* negative: it is being read */
    bool read;     /* the prefill unit has evaluated all of it */
    bool changed;  /* its file has changed on the disk since */
    bool too_long; /* there is no room for it in the context */
    bool marked;   /* the next Backspace removes it */
};

struct view_draft {
    const char *text;
    size_t len;
    size_t cursor;             /* byte offset of the insertion point */
    size_t read_bytes;         /* the prefill unit has evaluated the draft up to here; shown up to the end of a word */
    size_t mark_from, mark_to; /* readline's active region or the match of Ctrl-R; empty when equal */
    enum view_mark mark;
    int to_read;
    bool command;       /* it may be a command, so it is not read */
    bool compacts;      /* it is a summary, with which Enter replaces older turns */
    int editing;        /* the rule says 'editing turn N'; 0 for none */
    const char *prompt; /* "> " when NULL; Ctrl-R and the argument prompt replace it */
    const char *mode;   /* vi: "vi command" ..., shown in the rule */
    const char *queued; /* the queued message, shown in one row above the rule */
    const struct view_attachment *attached; /* shown in one row above the rule, numbered from 1 */
    size_t n_attached; /* including files that are being read, which come last */
    int attached_left;  /* tokens of the context that they leave free */
    bool streaming;     /* a reply is being written: Enter queues, Ctrl-C stops */
};

/* ---- State ---------------------------------------------------------------------------------------------------- */

enum view_state {
    VIEW_NO_MODEL,
    VIEW_LOADING, /* done_bytes of total_bytes */
    VIEW_PACKING, /* the same */
    VIEW_TESTING, /* a GPU's driver: done_bytes of total_bytes are trials */
    VIEW_COPYING, /* to a GPU: done_bytes of total_bytes */
    VIEW_MEASURING, /* on a GPU: done_bytes of total_bytes are layers */
    VIEW_COMPILING, /* for a GPU: done_bytes of total_bytes are programs */
    VIEW_WAITING, /* for a server that loads its model: done_bytes of total_bytes are seconds */
    VIEW_FAILED,  /* `detail` is the one line */
    VIEW_IDLE,
    VIEW_READING, /* done_tokens of total_tokens, seconds_left (negative: not known yet) */
    VIEW_THINKING,
    VIEW_ANSWERING,
    VIEW_STOPPED,
    VIEW_UNANSWERED, /* the reply has no text */
    VIEW_LENGTH,
    VIEW_REPEATS, /* the reply only repeated itself and was ended */
    VIEW_QUEUED,
    VIEW_CONTEXT, /* nearly full; the program shows it once */
    VIEW_FULL,
    VIEW_STATES,
};

/* Conditions that last beside the state; each has a sentence that stays until it ends. */
enum {
    VIEW_WARN_ONE_CORE = 1 << 0,
    VIEW_WARN_UNIT_FAILED = 1 << 1, /* or a server: `consequence` says what works without it */
    VIEW_WARN_NO_CHECKPOINTS = 1 << 2,
    VIEW_WARN_NOT_SAVED = 1 << 3, /* `unsaved`: why */
    VIEW_WARN_SYNTHETIC = 1 << 4,
    VIEW_WARNINGS = 5,
};

struct view_status {
    enum view_state state;
    unsigned warnings;
    const char *detail, *consequence, *unsaved;
    uint64_t done_bytes, total_bytes;
    int done_tokens, total_tokens;
    double seconds_left;
    int draft_tokens, room_tokens;
    bool drops_oldest;      /* VIEW_FULL: all older turns are left out already */
    struct view_ttft ttft;   /* of the turn under way, once its reply has begun, else of the last one */
    int read_after_enter;    /* tokens that it read after Enter */
    bool answered;           /* the first glyph came within the last seconds: the sentence says 'Answered after' */
    double tok_s;            /* of the running or last reply, from its first token on; 0 for none */
    double pace;             /* tokens a second of /pace; 0 when off */
    int ctx_used, ctx_size;
    const char *speculation; /* off, history, draft, full; on battery: at pauses */
    const char *pipeline;    /* shown unless "tandem" */
    const char *model;       /* short: "0.8b q8_0" */
    const char *session;
    bool private_session;
    const char *host;        /* of the server to which messages are sent; NULL: none */
    const char *background;  /* a line about a conversation that was left while a reply was written; NULL: there is
                                none */
};

/* ---- Monitor -------------------------------------------------------------------------------------------------- */

enum view_kind {
    VIEW_K_HISTORY,
    VIEW_K_DRAFT,
    VIEW_K_SUFFIX,
    VIEW_K_PROMPT,
    VIEW_K_DECODE,
    VIEW_K_HANDOVER,
    VIEW_K_CHECKPOINT,
    VIEW_K_RESTORE,
    VIEW_K_PICTURE,
    VIEW_K_LENT,
    VIEW_K_CARRY,
    VIEW_KINDS,
};

struct view_span {
    int64_t start_ns, end_ns; /* end_ns of a span that still runs: now_ns */
    enum view_kind kind;
    int tokens;
    uint64_t bytes;
};

enum { VIEW_CHART_S = 2, VIEW_CHART_POINTS = 300 }; /* of the charts: ten minutes */

/* The GPU that a unit is. */
struct view_gpu {
    const char *device;     /* the device's own name; NULL: the unit is cores */
    bool shared;            /* both units are on it */
    int64_t lost_ns;        /* when it was lost; the cores do its work since. 0: it works */
    const char *why;        /* why the figures below are absent; NULL: the sensors report them */
    struct view_figure busy;      /* percent, of all programs */
    struct view_figure memory;    /* GiB: of all programs where the system reports that, else of this one */
    struct view_figure total;     /* GiB */
    struct view_figure ghz, celsius, watts;
};

struct view_unit {
    const char *name;              /* "cpu:1", "gpu:0" */
    const char *kind;              /* "native", "blas", "gpu" */
    struct view_gpu gpu;
    const char *failed;            /* why the unit is out of service; NULL while it works */
    const struct view_span *spans; /* oldest first */
    size_t n_spans;
    bool resting;            /* idle: tok_s is its last value */
    struct view_figure tok_s, gb_s, gflop_s; /* tok_s of the decoder: of the running or last reply, as in the status */
    struct view_figure gb_share, gflop_share; /* percent of the measured ceilings */
    struct view_figure kept;                  /* decode speed kept while prefill works, percent, of the newest tokens */
    const uint8_t *history;                   /* busy percent, one a second, newest last */
    size_t n_history;
    const float *speeds, *shares; /* a value each VIEW_CHART_S seconds, newest last: tok/s while at work, 0: at rest;
                                     percent of measured limits: of peak arithmetic for PREFILL, of memory speed for
                                     DECODE */
    size_t n_points;
};

/* The server with the model, and its counts of the last request. */
struct view_server {
    const char *host;            /* NULL: the model is on this machine */
    int cached, evaluated;       /* tokens of the prompt that it had cached, and those that it had to read; -1:
                                    unknown */
    double round_trip_ms, tok_s; /* tok_s: by its own clock; 0: unknown */
    bool rereads;                /* it reads whole prompts again, so that less is read ahead */
};

struct view_follower {
    int target, read, behind; /* tokens */
    int adopted;              /* of read: the decoder evaluated them, and its state was taken over */
    int ahead;                /* read beyond what has been sent */
    int wasted;
    int phase_read, phase_total; /* of the reply or draft that is followed now: 'read 128 of its 155' */
    struct view_figure handover_ms;
    int checkpoints;
    uint64_t checkpoint_bytes, checkpoint_budget;
    uint64_t replica_bytes; /* of checkpoint_bytes: the replica in DECODE's own memory */
};

struct view_enter {
    int64_t time_ns;
    double ttft_ms; /* negative while the first glyph is awaited */
};

struct view_monitor_turn {
    int number;
    struct view_ttft ttft;
    int in, after_enter; /* tokens of the message with the end of the prompt; of these, read after Enter */
    int out;
    double tok_s;
    double per_pass; /* tokens per pass, if some were drafted; 0: none was */
};

/* A core of the machine. */
struct view_core {
    int cpu;
    enum view_core_unit { VIEW_CORE_FREE, VIEW_CORE_PREFILL, VIEW_CORE_DECODE } unit;
    double busy; /* percent of the last second, of all programs */
    double ghz;  /* 0: unknown */
};

/* The replies of a conversation that was left while it was answered. */
struct view_background {
    bool writing; /* else there are no figures */
    int tokens;
    double tok_s; /* 0: not known yet */
    int every;    /* they join one in this many passes of the replies in front; 0: no replies in front */
};

struct view_median {
    double ms;
    int n;
};

enum view_form { VIEW_FORM_AUTO, VIEW_FORM_OFF, VIEW_FORM_LINE, VIEW_FORM_STRIP, VIEW_FORM_PANEL, VIEW_FORM_FULL };

struct view_monitor {
    enum view_form form; /* the user's choice */
    bool alone;          /* `tandem monitor`: there is no chat beside it */
    struct view_unit prefill, decode;
    struct view_server server;
    struct view_follower follower;
    struct view_background background;
    const struct view_enter *enters; /* oldest first */
    size_t n_enters;
    const struct view_monitor_turn *turns; /* oldest first */
    size_t n_turns;
    struct view_median warm, cold;
    double weights_gib, states_gib, free_gib; /* states: with checkpoints */
    double total_gib;                         /* of the machine; 0: unknown */
    uint64_t given_back;          /* bytes of checkpoints that were dropped because memory is short; 0: it isn't */
    int checkpointed;             /* tokens of the context that lie before the last checkpoint */
    const struct view_core *cores;
    size_t n_cores;
    struct view_figure steal;     /* percent of the last second that the host took; absent on a machine of its own */
    struct view_figure battery;   /* percent */
    double memory_gb_s;           /* measured reading speed of both units together; 0: not measured */
    int64_t measured_s;           /* when the limits were measured, in seconds since 1970 */
    struct view_figure power_w, temperature_c, energy_j; /* of both units together; energy: per token */
    const char *power_remedy; /* a line with a remedy if power is absent */
    bool turn_view;           /* the last turn, turn_start_ns to turn_end_ns, instead of the live window */
    int64_t turn_start_ns, turn_end_ns;
    double live_s;   /* length of the live window; 0 for 20 s */
    bool hold;       /* the picture stands still */
    bool inspect;    /* a cursor over the lanes shows what a span was */
    /* Writes the words that a span evaluated, as one line without control characters; "": none. unit: 0 prefill, 1
     * decode. NULL: unknown (`tandem monitor`), since words don't leave the conversation's own program. */
    void (*words)(void *ctx, int unit, const struct view_span *span, char *out, size_t room);
    void *words_ctx;
    int inspect_back; /* its column, counted from the right; beyond the lanes it stays at their edge */
    bool legend;     /* explain the letters */
    unsigned hidden; /* alone: bit n hides panel n + 1 (ui/monitor/blocks.h) */
    int pid;
    double silent_s; /* `tandem monitor`: seconds since the watched program last sent anything; 0: it sends */
};

/* ---- Popups --------------------------------------------------------------------------------------------------- */

enum view_popup_kind {
    VIEW_POPUP_NONE,
    VIEW_POPUP_MENU,       /* keys after Ctrl-X: key and text of each item */
    VIEW_POPUP_COMPLETION, /* text, and detail at its right */
    VIEW_POPUP_PAGER,      /* help: text of each line, key as a heading column; `selected` is the first line shown */
    VIEW_POPUP_QUESTION,   /* title asks; items are the answers, key chooses */
    VIEW_POPUP_PROMPT,     /* one line of input under a title: search */
    VIEW_POPUP_TABLE, /* the whole width: rows, laid out in columns, under a header; lines about the selected one */
};

struct view_item {
    const char *key, *text, *detail;
};

struct view_popup {
    enum view_popup_kind kind;
    const char *title;
    const struct view_item *items;
    size_t n_items;
    size_t selected; /* SIZE_MAX for none */
    const char *input;
    size_t input_len, input_cursor;
    const char *footer; /* keys, one line */
    const char *aside;  /* of a table: at the right of its title */
    const char *header; /* of a table; NULL: none */
    const char *const *notes; /* of a table: below its rows, broken where they are long */
    size_t n_notes;
    int rows_most;   /* of a table: how many rows are shown at once; 0: as many as there is room for */
    const char *ask; /* of a table: prompt of the line of input below the notes; NULL: there is none */
};

/* ---- The rest ------------------------------------------------------------------------------------------------- */

enum view_notice_level { VIEW_NOTICE_INFO, VIEW_NOTICE_WARN, VIEW_NOTICE_ERROR };

struct view_notice {
    enum view_notice_level level;
    const char *text;
};

struct view_session {
    const char *name, *date, *model;
    int turns;
};

/* The lines of an empty conversation: those of a first run, or the last sessions. */
struct view_card {
    bool show;
    bool first_run;
    const char *model;    /* "built-in 51M demo"; NULL: there is none */
    const char *host;     /* of the server that it is on; NULL: this computer */
    const char *missing;  /* without a model: how to get one */
    const char *good_for; /* "for trying, not for facts"; NULL: not said */
    const char *suggestion; /* a line with the command that gets a larger model; NULL: none */
    const char *const *tips; /* things to try, which Tab on the empty draft goes through */
    size_t n_tips;
    size_t tip;           /* the one that is in the draft, from 1; 0: none */
    const struct view_session *sessions; /* the last three */
    size_t n_sessions;
};

/* How pictures are shown, which depends on the terminal. */
enum view_pictures { VIEW_PICTURES_OFF, VIEW_PICTURES_BLOCKS, VIEW_PICTURES_SIXEL, VIEW_PICTURES_KITTY };
enum view_theme { VIEW_THEME_DARK, VIEW_THEME_LIGHT, VIEW_THEME_MONO, VIEW_THEME_OWN /* and more: ui/draw/theme.h */ };
enum view_stats_form { VIEW_STATS_LINE, VIEW_STATS_OFF, VIEW_STATS_CARD };
enum view_follow { VIEW_FOLLOW_AUTO, VIEW_FOLLOW_TOP, VIEW_FOLLOW_STREAM };
enum view_draft_marks { VIEW_DRAFT_FULL, VIEW_DRAFT_MARK, VIEW_DRAFT_OFF };

struct view_options {
    bool ascii;
    bool no_motion; /* lanes and figures once a second, text by line */
    enum view_theme theme;
    int colours; /* 256, 8 or 0 */
    bool strikes; /* STYLE_STRIKE is drawn */
    int width;   /* most columns of text; 0: as wide as the screen */
    enum view_draft_marks draft_marks;
    enum view_stats_form stats;
    enum view_follow follow;
    enum view_pictures pictures;
    int cell_width, cell_height; /* pixels of a cell; 0: not known */
};

struct view {
    int64_t now_ns;
    struct view_options options;
    const struct view_turn *turns;
    size_t n_turns;
    struct view_answers answers; /* shown in place of the conversation, except its last message */
    struct view_draft draft;
    struct view_status status;
    struct view_monitor monitor;
    struct view_popup popup;
    struct view_card card;
    const struct view_notice *notices;
    size_t n_notices;
    bool browse;        /* the transcript has the keys */
    const char *search; /* highlighted words of the conversation; NULL for none */
    size_t hit, hits;   /* of the search: number of the match that is shown, from 1, 0: none; and of all matches */
};

#endif
