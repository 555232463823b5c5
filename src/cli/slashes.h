/* The commands of a conversation, those that begin with a slash: one table for parsing, /help, completion and the man
 * page. What they do is in src/chat/commands.h (conversation) and in the front end that shows it (screen). */
#ifndef TANDEM_SRC_SLASHES_H
#define TANDEM_SRC_SLASHES_H

#include <stdbool.h>
#include <stddef.h>

#include "engine/tandem.h"

typedef enum {
    ARG_NONE,
    ARG_NUMBER,  /* a whole number in [low, high]; may be left out */
    ARG_CHOICE,  /* one of the words in `arguments` (separated by |); may be left out */
    ARG_TEXT,    /* the rest of the line; may be left out */
    ARG_WORDS,   /* the rest of the line; needed */
    ARG_FILE,    /* a file name; needed */
    ARG_FILES,   /* names of files, as ui/edit/path_word.h takes them apart; may be left out */
    ARG_SESSION, /* the name of a saved session; may be left out */
    ARG_TRASHED, /* the name of a session in the trash; may be left out */
    ARG_SETTING, /* NAME VALUE of a live option (src/cli/options.h) or of the screen; may be left out */
    ARG_MODEL,   /* as -m; may be left out */
    ARG_THEME,   /* a value of the option theme; may be left out */
    ARG_PROMPT,  /* the name of a prompt of the library, then text; may be left out */
} slash_argument;

/* Who carries it out: the conversation (src/chat/commands.h, in every front end) or the full-screen front end alone. */
typedef enum { BY_CONVERSATION, BY_SCREEN } slash_owner;

/* X(ID, name, second names, argument kind, arguments as shown, low, high, owner, help) */
#define SLASH_LIST(X)                                                                                                 \
    X(HELP, "help", "?", TEXT, "[COMMAND]", 0, 0, CONVERSATION, "lists the commands, or explains one")                \
    X(NEW, "new", "clear", TEXT, "[NAME]", 0, 0, CONVERSATION, "begins a new session")                                \
    X(SESSIONS, "sessions", "", NONE, "", 0, 0, CONVERSATION, "lists the saved sessions")                             \
    X(RESUME, "resume", "load", SESSION, "[NAME|N]", 0, 0, CONVERSATION,                                              \
      "continues a saved session: its name, or its number in the list shown last")                                    \
    X(VISIT, "visit", "", NONE, "", 0, 0, CONVERSATION,                                                               \
      "goes to the conversation that was left while it was answered, or to the one answered last")                    \
    X(RENAME, "rename", "", WORDS, "NAME", 0, 0, CONVERSATION, "gives this session another name")                     \
    X(DELETE, "delete", "", SESSION, "[NAME|N] [--now]", 0, 0, CONVERSATION,                                          \
      "moves a saved session to the trash for 30 days, after asking once; --now: erases it")                          \
    X(UNDELETE, "undelete", "", TRASHED, "[NAME|N]", 0, 0, CONVERSATION,                                              \
      "lists what is in the trash, or brings a session back")                                                         \
    X(SEARCH, "search", "", WORDS, "WORDS", 0, 0, CONVERSATION, "looks for words in all saved sessions")              \
    X(FIND, "find", "", WORDS, "WORDS", 0, 0, CONVERSATION, "looks for words in this conversation")                   \
    X(PRIVATE, "private", "", CHOICE, "on|off", 0, 0, CONVERSATION, "on: nothing of this session is written to disk") \
    X(SAVE, "save", "", TEXT, "[NAME]", 0, 0, CONVERSATION, "saves now, if wanted under a name")                      \
    X(EXPORT, "export", "", FILE, "[--force] FILE", 0, 0, CONVERSATION,                                               \
      "writes the conversation as FILE.md, .html or .json; FILE.svg: the full screen as a picture")                   \
    X(SYSTEM, "system", "", TEXT, "[TEXT|off]", 0, 0, CONVERSATION, "shows or changes the system prompt")             \
    X(SET, "set", "", SETTING, "[NAME VALUE]", 0, 0, CONVERSATION, "shows or changes an option")                      \
    X(THINK, "think", "", CHOICE, "on|off|low|medium|xhigh", 0, 0, CONVERSATION,                                      \
      "lets the model think first; on is medium where its template has efforts (Qwen3.8), whose own default, xhigh, " \
      "writes thousands of tokens first")                                                                             \
    X(REGEN, "regen", "retry", NONE, "", 0, 0, CONVERSATION, "answers the last message once more")                    \
    X(ANSWERS, "answers", "", WORDS, "N [TEXT]", 0, 0, CONVERSATION,                                                  \
      "writes 2 to 8 answers at once, to TEXT or once more to the last message; ^X 1-8 looks at one")                 \
    X(CONTINUE, "continue", "", NONE, "", 0, 0, CONVERSATION,                                                         \
      "goes on with a reply that was stopped, cut off, or ended for repeating itself")                                \
    X(EDIT, "edit", "", NUMBER, "[N]", 1, 1000000, CONVERSATION,                                                      \
      "takes back to message N, to write it anew as a branch")                                                        \
    X(UNDO, "undo", "", NONE, "", 0, 0, CONVERSATION, "takes the last turn back")                                     \
    X(REDO, "redo", "", NONE, "", 0, 0, CONVERSATION, "brings the turn back that /undo took")                         \
    X(BRANCH, "branch", "", NUMBER, "[N]", 1, 1000000, CONVERSATION,                                                  \
      "lists the branches of the conversation, to go to one; N: number N of this place")                              \
    X(COMPARE, "compare", "", TEXT, "[N [M]]", 0, 0, CONVERSATION,                                                    \
      "shows in which words two branches differ: this one and the next, this one and N, or N and M")                  \
    X(COMPACT, "compact", "", TEXT, "[TEXT|--force]", 0, 0, CONVERSATION,                                             \
      "drafts a summary of all but the last two turns, to be edited; TEXT takes their place as a branch; --force: "   \
      "drafts it with the built-in model, too, which is small for that")                                              \
    X(COPY, "copy", "", TEXT, "[N|view]", 0, 0, CONVERSATION,                                                         \
      "copies the last reply or its code block N; view: all as plain text, to select from")                           \
    X(ATTACH, "attach", "", FILES, "[FILE...]", 0, 0, CONVERSATION,                                                   \
      "puts text files, folders and what patterns name (src/main.[ch]) before the next message, as @FILE in it does; " \
      "!COMMAND attaches what a command prints; without one: lists them")                                             \
    X(DETACH, "detach", "", TEXT, "[N|all]", 0, 0, CONVERSATION, "takes attachment N back, or all")                   \
    X(P, "p", "prompt", PROMPT, "[NAME [TEXT]]", 0, 0, CONVERSATION,                                                  \
      "puts a prompt of the library into the draft, TEXT in its place; without NAME: lists them")                     \
    X(MODEL, "model", "", MODEL, "[MODEL]", 0, 0, CONVERSATION, \
      "lists the models on this computer and servers, to choose, fetch, delete; MODEL: goes on with it")              \
    X(PIPELINE, "pipeline", "", CHOICE, "single|slots|sequential-solo|sequential|batch-solo|batch|tandem", 0, 0,      \
      CONVERSATION, "how reading and writing are shared between the units")                                            \
    X(SPECULATION, "speculation", "", CHOICE, "off|history|draft|full", 0, 0, CONVERSATION,                           \
      "what is read before Enter")                                                                                    \
    X(UNITS, "units", "", CHOICE, "measure", 0, 0, CONVERSATION,                                                      \
      "shows the units and what they have done; measure: what their cores can do at most, for the shares")            \
    X(MONITOR, "monitor", "", CHOICE, "off|line|strip|panel|full|auto|legend", 0, 0, SCREEN,                          \
      "form of the monitor; legend: what the letters of its lanes mean, shown or not")                                \
    X(STATS, "stats", "", TEXT, "[turn off|line|card]", 0, 0, CONVERSATION,                                           \
      "figures of the last turn and of the session")                                                                  \
    X(TRACE, "trace", "", FILE, "[--force] FILE", 0, 0, CONVERSATION, "writes what the units did as a Chrome trace")  \
    X(THEME, "theme", "", THEME, "[auto|dark|light|mono|NAME]", 0, 0, SCREEN,                                         \
      "colours; NAME: of one's own, made in the configuration file; without one: the next")                           \
    X(KEYS, "keys", "", NONE, "", 0, 0, SCREEN, "lists the keys")                                                     \
    X(MOUSE, "mouse", "", CHOICE, "on|off", 0, 0, SCREEN, "wheel, and clicks in lists, on chips, in the draft")       \
    X(BROWSE, "browse", "", NONE, "", 0, 0, SCREEN, "moves through the transcript as less does")                      \
    X(VIEW, "view", "", CHOICE, "live|turn", 0, 0, SCREEN, "the lanes: the last seconds, or the last turn")           \
    X(HOLD, "hold", "", NONE, "", 0, 0, SCREEN, "holds the picture of the monitor")                                   \
    X(ZOOM, "zoom", "", CHOICE, "in|out", 0, 0, SCREEN, "time scale of the lanes")                                    \
    X(FOLD, "fold", "", NONE, "", 0, 0, SCREEN, "folds or unfolds the thinking")                                      \
    X(RAW, "raw", "", NONE, "", 0, 0, SCREEN, "shows the reply as it came, without Markdown")                         \
    X(SENSORS, "sensors", "", NONE, "", 0, 0, CONVERSATION, "power and temperature, or why they can't be read")       \
    X(SEND, "send", "", NONE, "", 0, 0, SCREEN, "ends the reply and sends what is queued")                            \
    X(PACE, "pace", "", TEXT, "[X]", 0, 0, CONVERSATION, "holds DECODE to X tokens a second; 0: off")                 \
    X(COLD, "cold", "", CHOICE, "single|slots|sequential-solo|sequential|batch-solo|batch|tandem", 0, 0,              \
      CONVERSATION, "asks the last message once more from an empty state and compares")                               \
    X(AB, "ab", "", CHOICE, "on|off", 0, 0, CONVERSATION, "reads ahead, or not, by turns; with both medians")         \
    X(DEMO, "demo", "", NONE, "", 0, 0, SCREEN,                                                                       \
      "the same conversation twice, read after Enter and read ahead; your own comes back")                            \
    X(QUIT, "quit", "exit bye", NONE, "", 0, 0, CONVERSATION, "leaves")

typedef enum {
#define X(id, ...) SLASH_##id,
    SLASH_LIST(X)
#undef X
    SLASH_COUNT
} slash_id;

typedef struct {
    const char *name, *aliases; /* second names, separated by blanks */
    slash_argument argument;
    const char *arguments;      /* as shown; ARG_CHOICE: the words */
    long low, high;
    slash_owner owner;
    const char *help;
} slash;

extern const slash slash_table[SLASH_COUNT];

/* The command of that name (without the slash; second names too), or SLASH_COUNT. */
slash_id slashes_find(const char *name, size_t length);

typedef struct {
    slash_id id;
    char *argument; /* the rest, trimmed, malloc'ed; NULL: none */
    long number;    /* ARG_NUMBER; 0: none */
} slash_call;

/* Takes a draft apart. *command false: it is text (ui/edit/slash.h says when). TDM_E_NOT_FOUND with the nearest name,
 * TDM_E_ARG with what is allowed. */
tdm_status slashes_parse(slash_call *out, bool *command, const char *draft, bool pasted, tdm_error *err);
void slashes_free(slash_call *call);

/* All names without their slash, the table's in its order and then the second names; *n how many. */
const char *const *slashes_names(size_t *n);

#endif
