/* The @PATH words of a draft (ui/edit/path_word.h) and the attachments that stand for them: an attachment is added with
 * its word, and removed with it. A word that names no file is text. One thread. */
#ifndef TANDEM_SRC_MENTIONS_H
#define TANDEM_SRC_MENTIONS_H

#include "src/attach/attach.h"
#include "src/attach/job.h"

/* Zeroed: there is no draft. Lists end with NULL; NULL: nothing. */
typedef struct {
    char **named; /* the paths that the draft names, each once */
    char **text;  /* paths that the user wants as text, or that can't be attached */
} mentions;

/* Whether the draft's words are complete. */
typedef enum {
    MENTIONS_TYPING, /* the word at the cursor may be incomplete */
    MENTIONS_PAUSED, /* that word may name a file, but not a folder: it may still become a path below the folder */
    MENTIONS_OVER,   /* all words are complete */
} mentions_state;

/* Compares the draft with the attachments: removes those whose words are gone, and requests those of new words. cursor:
 * in the draft. */
void mentions_follow(mentions *m, attachments *a, attach_job *j, const char *text, size_t n, size_t cursor,
                     mentions_state state);
/* The same at once, without a job: reads, counts and attaches the named files: all of them, or only pictures if a
 * program wrote the words. On failure nothing new is attached. */
typedef enum { MENTIONS_ALL, MENTIONS_PICTURES } mentions_which;
tdm_status mentions_read(mentions *m, attachments *a, const tdm_model *model, int room, const char *text, size_t n,
                         mentions_which which, tdm_error *err);
/* Keeps all paths that this draft names as text. */
void mentions_leave(mentions *m, attachments *a, const char *text, size_t n);
/* Whether the draft names a path that is neither attached nor text: it is being read. */
bool mentions_wait(const mentions *m, const attachments *a);
/* Whether the draft still names this path. */
bool mentions_wants(const mentions *m, const char *path);
/* Makes a path of the draft text, or (on false) an attachment again; the word stays. */
void mentions_as_text(mentions *m, const char *path, bool on);
void mentions_free(mentions *m);

#endif
