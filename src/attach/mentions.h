/* The @PATH words of a draft (ui/edit/path_word.h) and the attachments that stand for them: one comes when its word
 * does, and goes with it. A word that names nothing is text. One thread. */
#ifndef TANDEM_SRC_MENTIONS_H
#define TANDEM_SRC_MENTIONS_H

#include "src/attach/attach.h"
#include "src/attach/job.h"

/* Zeroed: there is no draft. Lists end with NULL; NULL: nothing. */
typedef struct {
    char **named; /* the paths that the draft names, each once */
    char **text;  /* those that the user wants as text, or that can't be attached */
} mentions;

/* How far the draft is. */
typedef enum {
    MENTIONS_TYPING, /* the word at the cursor may go on */
    MENTIONS_PAUSED, /* that word may name a file, but no folder yet: it may still become a path below that */
    MENTIONS_OVER,   /* all words are */
} mentions_state;

/* Compares the draft with the attachments: those whose words have gone are removed, those of new words are requested.
 * cursor: in the draft. */
void mentions_follow(mentions *m, attachments *a, attach_job *j, const char *text, size_t n, size_t cursor,
                     mentions_state state);
/* The same at once, without a job: files that are named are read, counted and attached; all of them, or only pictures
 * if a program wrote the words. On failure nothing new is attached. */
typedef enum { MENTIONS_ALL, MENTIONS_PICTURES } mentions_which;
tdm_status mentions_read(mentions *m, attachments *a, const tdm_model *model, int room, const char *text, size_t n,
                         mentions_which which, tdm_error *err);
/* All paths that this draft names stay text. */
void mentions_leave(mentions *m, attachments *a, const char *text, size_t n);
/* Whether the draft names a path that is neither attached nor text: it is being read. */
bool mentions_wait(const mentions *m, const attachments *a);
/* Whether the draft still names it. */
bool mentions_wants(const mentions *m, const char *path);
/* The draft's word stays, but it is text from now on, or no longer so. */
void mentions_as_text(mentions *m, const char *path, bool on);
void mentions_free(mentions *m);

#endif
