/* Attachments, which go before the next message, on the screen: files are read and commands run on a thread of its own
 * (src/attach/job.h); for each result a notice is shown, and it becomes a chip. */
#ifndef TANDEM_SRC_TUI_ATTACH_H
#define TANDEM_SRC_TUI_ATTACH_H

#include "ui/draw/view.h"
#include "ui/edit/input.h"

typedef struct tui tui;

/* Zeroed: nothing is attached. Only attach.c changes it. */
typedef struct {
    struct view_attachment *shown;
    char (*names)[80];             /* names of attachments that are being read */
    struct view_picture *pictures; /* of all attachments */
    char why[160];                 /* why one of the pictures can't be encoded */
    bool works;                    /* one of the pictures is being encoded or read */
    int64_t followed_ns;           /* when the words of the draft were last compared with the attachments */
    int64_t look_ns;               /* when the files are checked next */
    size_t read_of_draft; /* most bytes of the typed words that have been read */
    bool again;           /* the files must be read again */
    bool told_saved;
    char *announced; /* the command that Enter runs according to the last frame; NULL: none */
} tui_attach;

void tui_attach_open(tui *t);
/* Makes the attachments agree with the words of the draft. over: the draft is being sent, so no word is unfinished. */
void tui_attach_follow(tui *t, const struct input_view *in, bool over);
/* Takes the results of reading and prints a line for each. True if there were any; *failed: one of them failed. */
bool tui_attach_take(tui *t, bool *failed);
/* Whether files that the draft or a command names are still being read. */
bool tui_attach_waits(const tui *t);
/* Notes that the present frame announces that Enter runs this line; NULL: that it runs nothing. */
void tui_attach_announce(tui *t, const char *line);
/* Whether the last frame announced this line. */
bool tui_attach_announced(const tui *t, const char *line);
/* Runs a command and attaches its output. */
void tui_attach_run(tui *t, const char *command);
/* Attaches the files of a paste or a drop that names nothing but files. False: it is a text. */
bool tui_attach_dropped(tui *t, const char *text, size_t n);
/* Removes the last attachment. */
void tui_attach_rub(tui *t);
/* Called when a message with attachments was sent: says once that they are saved with it. */
void tui_attach_sent(tui *t);

/* When to check the files, or a word of the draft, next. tui_attach_due checks the files if that is due. */
int64_t tui_attach_deadline(const tui *t);
bool tui_attach_due(tui *t, int64_t now);
/* Fills in the chips. read: bytes of the attachments and the draft that have been evaluated. */
void tui_attach_fill(tui *t, struct view_draft *d, size_t read);
void tui_attach_free(tui_attach *a);

#endif
