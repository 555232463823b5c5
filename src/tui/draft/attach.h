/* Attachments, which go before the next message, on the screen: files are read and commands run on a thread of its own
 * (src/attach/job.h); when a result is there it is taken, a notice is shown, and it becomes a chip. */
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
    int64_t look_ns;               /* when the files are looked at next */
    size_t read_of_draft; /* most bytes of the typed words that have been read */
    bool again;           /* the files are to be read once more */
    bool told_saved;
    char *announced; /* the command that Enter runs, as the last frame has said; NULL: none */
} tui_attach;

void tui_attach_open(tui *t);
/* Makes the attachments agree with the words of the draft. over: the draft is to be sent, so no word is unfinished. */
void tui_attach_follow(tui *t, const struct input_view *in, bool over);
/* Takes the results of reading and prints a line for each. True if there were any; *failed: one of them failed. */
bool tui_attach_take(tui *t, bool *failed);
/* Whether files that the draft names, or that were asked for, are still being read. */
bool tui_attach_waits(const tui *t);
/* Notes that a frame says that Enter runs this line; NULL: that Enter runs nothing. */
void tui_attach_announce(tui *t, const char *line);
/* Whether the last frame said so of this line. */
bool tui_attach_announced(const tui *t, const char *line);
/* Runs a command and attaches its output. */
void tui_attach_run(tui *t, const char *command);
/* Attaches the files of a paste or a drop that names nothing but files. False: it is a text. */
bool tui_attach_dropped(tui *t, const char *text, size_t n);
/* Cancels reading and running commands. */
void tui_attach_stop(tui *t);
/* Removes the last attachment. */
void tui_attach_rub(tui *t);
/* Called when a message with attachments was sent: says once that they are saved with it. */
void tui_attach_sent(tui *t);

/* When the files, or a word of the draft, are to be looked at next. If that is due, the files are looked at. */
int64_t tui_attach_deadline(const tui *t);
bool tui_attach_due(tui *t, int64_t now);
/* Fills in the chips. read: bytes of the attachments and the draft that have been evaluated. */
void tui_attach_fill(tui *t, struct view_draft *d, size_t read);
void tui_attach_free(tui_attach *a);

#endif
