/* The slash commands of a conversation: one table for parsing, /help, completion, the man page and the functions that
 * carry out a command in each front end. */
#ifndef TANDEM_SRC_SLASHES_H
#define TANDEM_SRC_SLASHES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "engine/tandem.h"
#include "ui/edit/complete.h"

typedef enum {
    ARG_NONE,
    ARG_NUMBER, /* a whole number from 1 on; may be left out */
    ARG_CHOICE, /* one of the words in `arguments` (separated by |); may be left out */
    ARG_TEXT,   /* the rest of the line; may be left out */
    ARG_WORDS,  /* the rest of the line; needed */
} slash_argument;

/* X(ID, name, second names, argument's form, arguments as shown, completion, what is offered, functions, help)
 *
 * The completion is one of enum complete_kind; a function of complete.c offers candidates, or NULL: only files of that
 * kind. The functions carry the command out (src/slash/command.h):
 *   BOTH(f)       f in --plain and on the full screen, where it waits for the model
 *   EACH(f, g)    f on the full screen, g in --plain
 *   SCREEN(f)     f on the full screen alone */
#define SLASH_LIST(X)                                                                                                  \
    X(HELP, "help", "?", TEXT, "[COMMAND]", WORD, complete_commands, EACH(command_help, command_help),                 \
      "lists the commands, or explains one")                                                                           \
    X(NEW, "new", "clear", TEXT, "[NAME]", WORD, NULL, BOTH(command_new), "begins a new session")                      \
    X(SESSIONS, "sessions", "", NONE, "", WORD, NULL, EACH(screen_sessions, command_sessions),                         \
      "lists the saved sessions")                                                                                      \
    X(RESUME, "resume", "load", TEXT, "[NAME|N]", LINE, complete_sessions, EACH(screen_resume, command_resume),        \
      "continues a saved session: its name, or its number in the list shown last")                                     \
    X(VISIT, "visit", "", NONE, "", WORD, NULL, EACH(screen_visit, command_visit),                                     \
      "goes to the conversation that was left while it was answered, or to the one answered last")                     \
    X(RENAME, "rename", "", WORDS, "NAME", WORD, NULL, EACH(screen_rename, command_rename),                            \
      "gives this session another name")                                                                               \
    X(DELETE, "delete", "", TEXT, "[NAME|N] [--now]", LINE, complete_sessions, BOTH(command_delete),                   \
      "moves a saved session to the trash for 30 days, after asking once; --now: erases it")                           \
    X(UNDELETE, "undelete", "", TEXT, "[NAME|N]", LINE, complete_trashed, EACH(screen_undelete, command_undelete),     \
      "lists what is in the trash, or brings a session back")                                                          \
    X(SEARCH, "search", "", WORDS, "WORDS", WORD, NULL, EACH(screen_search, command_search),                           \
      "looks for words in all saved sessions")                                                                         \
    X(FIND, "find", "", WORDS, "WORDS", WORD, NULL, EACH(screen_find, command_find),                                   \
      "looks for words in this conversation")                                                                          \
    X(PRIVATE, "private", "", CHOICE, "on|off", WORD, complete_choices, BOTH(command_private),                         \
      "on: nothing of this session is written to disk")                                                                \
    X(SAVE, "save", "", TEXT, "[NAME]", WORD, NULL, BOTH(command_save), "saves now, if wanted under a name")           \
    X(EXPORT, "export", "", WORDS, "[--force] FILE", FILE, NULL, EACH(screen_export, command_export),                  \
      "writes the conversation as FILE.md, .html or .json; FILE.svg: the full screen as a picture")                    \
    X(SYSTEM, "system", "", TEXT, "[TEXT|off]", WORD, NULL, BOTH(command_system),                                      \
      "shows or changes the system prompt")                                                                            \
    X(SET, "set", "", TEXT, "[NAME VALUE]", WORD, complete_settings, BOTH(command_set), "shows or changes an option")  \
    X(THINK, "think", "", CHOICE, "on|off|low|medium|high|xhigh", WORD, complete_choices, BOTH(command_setting),       \
      "lets the model think first; on is medium where its template has efforts (Qwen3.8), whose own default, xhigh, "  \
      "writes thousands of tokens first")                                                                              \
    X(REGEN, "regen", "retry", NONE, "", WORD, NULL, BOTH(command_regen), "answers the last message once more")        \
    X(ANSWERS, "answers", "", WORDS, "N [TEXT]", WORD, NULL, BOTH(command_answers),                                    \
      "writes 2 to 8 answers at once, to TEXT or once more to the last message; ^X 1-8 looks at one")                  \
    X(CONTINUE, "continue", "", NONE, "", WORD, NULL, BOTH(command_continue),                                          \
      "goes on with a reply that was stopped, cut off, or ended for repeating itself")                                 \
    X(EDIT, "edit", "", NUMBER, "[N]", WORD, NULL, EACH(screen_edit, command_edit),                                    \
      "takes back to message N, to write it anew as a branch")                                                         \
    X(UNDO, "undo", "", NONE, "", WORD, NULL, BOTH(command_undo), "takes the last turn back")                          \
    X(REDO, "redo", "", NONE, "", WORD, NULL, BOTH(command_redo), "brings the turn back that /undo took")              \
    X(BRANCH, "branch", "", NUMBER, "[N]", WORD, NULL, EACH(screen_branch, command_branch),                            \
      "lists the branches of the conversation, to go to one; N: the one that has N/M beside it")                       \
    X(COMPARE, "compare", "", TEXT, "[N [M]]", WORD, NULL, BOTH(command_compare),                                      \
      "shows in which words two branches differ: this one and the next, this one and N, or N and M")                   \
    X(COMPACT, "compact", "", TEXT, "[TEXT|--force]", WORD, NULL, BOTH(command_compact),                               \
      "drafts a summary of all but the last two turns, to be edited; TEXT takes their place as a branch; --force: "    \
      "drafts it with the built-in model, too, which is small for that")                                               \
    X(COPY, "copy", "", TEXT, "[N|view]", WORD, complete_view, BOTH(command_copy),                                     \
      "copies the last reply or its code block N; view: all as plain text, to select from")                            \
    X(ATTACH, "attach", "", TEXT, "[FILE...]", PATHS, NULL, BOTH(command_attach),                                      \
      "puts texts, pictures, folders and what patterns name (src/main.[ch]) before the next message, as @FILE in "     \
      "it does; !COMMAND attaches what a command prints; without one: lists them")                                     \
    X(PASTE, "paste", "", NONE, "", WORD, NULL, BOTH(command_paste),                                                   \
      "puts the picture that the clipboard holds before the next message (by wl-paste or xclip)")                      \
    X(DETACH, "detach", "", TEXT, "[N|all]", WORD, complete_all, BOTH(command_detach),                                 \
      "takes attachment N back, or all")                                                                               \
    X(P, "p", "prompt", TEXT, "[[--force] NAME [TEXT]]", WORD, complete_prompts, EACH(screen_p, command_p),            \
      "puts a prompt of the library into the draft, TEXT in its place; without NAME: lists them")                      \
    X(MODEL, "model", "", TEXT, "[MODEL]", FILE, NULL, EACH(screen_model, command_model),                              \
      "lists the models on this computer and servers, to choose, fetch, delete; MODEL: goes on with it")               \
    X(PIPELINE, "pipeline", "", CHOICE, "single|slots|sequential-solo|sequential|batch-solo|batch|tandem", WORD,       \
      complete_choices, BOTH(command_setting), "how reading and writing are shared between the units")                 \
    X(SPECULATION, "speculation", "", CHOICE, "off|history|draft|full", WORD, complete_choices, BOTH(command_setting), \
      "what is read before Enter")                                                                                     \
    X(UNITS, "units", "", CHOICE, "measure", WORD, complete_choices, EACH(screen_units, command_units),                \
      "shows the units and what they have done; measure: what their cores can do at most, for the shares")             \
    X(MONITOR, "monitor", "", CHOICE, "off|line|strip|panel|full|auto|legend", WORD, complete_choices,                 \
      SCREEN(screen_monitor), "form of the monitor; legend: what the letters of its lanes mean, shown or not")         \
    X(STATS, "stats", "", TEXT, "[turn off|line|card]", WORD, NULL, BOTH(command_stats),                               \
      "figures of the last turn and of the session")                                                                   \
    X(TRACE, "trace", "", WORDS, "[--force] FILE", FILE, NULL, EACH(screen_trace, command_trace),                      \
      "writes what the units did as a Chrome trace")                                                                   \
    X(THEME, "theme", "", TEXT, "[auto|dark|light|mono|NAME]", WORD, complete_themes, SCREEN(screen_theme),            \
      "colours; NAME: of one's own, made in the configuration file; without one: the next")                            \
    X(KEYS, "keys", "", NONE, "", WORD, NULL, SCREEN(screen_keys), "lists the keys")                                   \
    X(MOUSE, "mouse", "", CHOICE, "on|off", WORD, complete_choices, SCREEN(screen_mouse),                              \
      "wheel, and clicks in lists, on chips, in the draft")                                                            \
    X(BROWSE, "browse", "", NONE, "", WORD, NULL, SCREEN(screen_browse), "moves through the transcript as less does")  \
    X(VIEW, "view", "", CHOICE, "live|turn", WORD, complete_choices, SCREEN(screen_view),                              \
      "the lanes: the last seconds, or the last turn")                                                                 \
    X(HOLD, "hold", "", NONE, "", WORD, NULL, SCREEN(screen_hold), "holds the picture of the monitor")                 \
    X(ZOOM, "zoom", "", CHOICE, "in|out", WORD, complete_choices, SCREEN(screen_zoom), "time scale of the lanes")      \
    X(FOLD, "fold", "", NONE, "", WORD, NULL, SCREEN(screen_fold), "folds or unfolds the thinking")                    \
    X(RAW, "raw", "", NONE, "", WORD, NULL, SCREEN(screen_raw), "shows the reply as it came, without Markdown")        \
    X(SENSORS, "sensors", "", NONE, "", WORD, NULL, BOTH(command_sensors),                                             \
      "power and temperature, or why they can't be read")                                                              \
    X(SEND, "send", "", NONE, "", WORD, NULL, SCREEN(screen_send), "ends the reply and sends what is queued")          \
    X(PACE, "pace", "", TEXT, "[X]", WORD, NULL, BOTH(command_setting), "holds DECODE to X tokens a second; 0: off")   \
    X(COLD, "cold", "", CHOICE, "single|slots|sequential-solo|sequential|batch-solo|batch|tandem", WORD,               \
      complete_choices, BOTH(command_cold), "asks the last message once more from an empty state and compares")        \
    X(AB, "ab", "", CHOICE, "on|off", WORD, complete_choices, BOTH(command_ab),                                        \
      "alternates between reading ahead and not, and shows both medians")                                              \
    X(DEMO, "demo", "", NONE, "", WORD, NULL, SCREEN(screen_demo),                                                     \
      "the same conversation twice, read after Enter and read ahead; your own comes back")                             \
    X(QUIT, "quit", "exit bye", NONE, "", WORD, NULL, EACH(command_quit, command_quit), "leaves")

typedef enum {
#define X(id, ...) SLASH_##id,
    SLASH_LIST(X)
#undef X
    SLASH_COUNT
} slash_id;

typedef struct slash slash;
typedef struct slash_running slash_running; /* src/slash/commands.h */

/* The completion in progress: the arguments of completer.argument. */
typedef struct {
    const slash *command;
    size_t index;
    const char *arguments;
    struct completion *out;
} slash_arguments;

/* Adds the candidates. */
typedef void slash_offer(const slash_arguments *a);
slash_offer complete_commands, complete_choices, complete_view, complete_all, complete_settings, complete_themes,
    complete_prompts, complete_sessions, complete_trashed;

/* Carries a command out. A failure is one line in err, for the front end to show. */
typedef tdm_status slash_function(slash_running *r, tdm_error *err);

struct slash {
    const char *name, *aliases; /* second names, separated by blanks */
    slash_argument argument;
    const char *arguments;      /* as shown; ARG_CHOICE: the words */
    enum complete_kind completion;
    slash_offer *offer;
    slash_function *run; /* in --plain; NULL: --plain lacks it */
    const char *help;
};

extern const slash slash_table[SLASH_COUNT];

/* The command of that name (without the slash; second names too), or SLASH_COUNT. */
slash_id slashes_find(const char *name, size_t length);

typedef struct {
    slash_id id;
    char *argument; /* the rest, trimmed, malloc'ed; NULL: none */
    long number;    /* ARG_NUMBER; 0: none */
} slash_call;

/* Parses a draft. *command false: it is text (ui/edit/slash.h). TDM_E_NOT_FOUND with the nearest name, TDM_E_ARG with
 * the allowed arguments. */
tdm_status slashes_parse(slash_call *out, bool *command, const char *draft, bool pasted, tdm_error *err);
void slashes_free(slash_call *call);

/* All names without their slash, the table's in its order and then the second names; *n how many. */
const char *const *slashes_names(size_t *n);

/* The commands' part of the man page (docs_man). */
void slashes_man(FILE *out);

#endif
