/* Completion of commands, their arguments and file names, from the caller's lists; draws nothing.
 *
 * A draft that may be a command is completed (ui/edit/slash.h), and in text a word that begins with @ and names a file
 * (ui/edit/path_word.h). UI thread.
 */
#ifndef TANDEM_UI_COMPLETE_H
#define TANDEM_UI_COMPLETE_H

#include <stdbool.h>
#include <stddef.h>

/* How an argument is completed: completer.argument returns it after adding its candidates. */
enum complete_kind {
    COMPLETE_WORD, /* the candidates replace the last word */
    COMPLETE_LINE, /* the candidates replace everything after the command (names with blanks) */
    COMPLETE_PATHS, /* the last word is a file name, as ui/edit/path_word.h writes it; no candidates are needed */
    COMPLETE_FILE, /* the rest of the line is a file name, including blanks; no candidates are needed */
};

struct completion {
    size_t start;  /* byte of the line where the candidates begin */
    char append;   /* the character to append after an only match: ' ', or 0 (a folder, or an argument that goes on) */
    char **names;  /* complete replacements of line[start, cursor), sorted as added; files: sorted by name */
    char **notes;  /* one short text each ("stop the reply"), or NULL */
    size_t count, size;
    const char *word; /* what the candidates must begin with; used by completion_add */
    bool ignore_case;
};

struct completer {
    void *context;
    /* The name (without its slash) and help of command i in the order of the help page; NULL ends the list. */
    const char *(*command)(void *context, size_t i, const char **help);
    /* The candidates of a command's argument by completion_add(out, ...). index: number of whole words before the one
     * that is being completed; arguments: everything after the command up to the cursor. May be NULL. */
    enum complete_kind (*argument)(void *context, const char *command, size_t index, const char *arguments,
                                   struct completion *out);
};

/* Adds a candidate when it begins with out->word. False without memory. */
bool completion_add(struct completion *out, const char *name, const char *note);

/* Completes line up to the cursor. *out is set anew and to be freed with completion_free, whatever the result; true
 * when there is at least one candidate. home: for ~ (may be NULL). */
bool complete_line(const struct completer *completer, const char *line, size_t cursor, bool ignore_case,
                   const char *home, struct completion *out);
/* The same for a word of text that begins with @ and ends at the cursor. */
bool complete_path(const char *line, size_t cursor, bool ignore_case, const char *home, struct completion *out);
void completion_free(struct completion *c);

/* The length of the longest common start of all candidates. */
size_t completion_common(const struct completion *c);

#endif
