/* What goes before the next message, on the screen: it is read and run on a thread of its own (src/chat/attach_job.h),
 * taken when it is there, told about, and shown as chips. */
#ifndef TANDEM_SRC_TUI_ATTACH_H
#define TANDEM_SRC_TUI_ATTACH_H

#include "ui/draw/view.h"
#include "ui/edit/input.h"

typedef struct tui tui;

/* Zeroed: nothing is attached. Only tui_attach.c changes it. */
typedef struct {
    struct view_attachment *shown;
    char (*names)[80];    /* of those that are being read */
    int64_t followed_ns;  /* when the words of the draft were looked at last */
    int64_t look_ns;      /* when the disk is looked at next */
    size_t read_of_draft; /* most bytes of the typed words that have been read */
    bool again;           /* they are read once more */
    bool told_saved;
    char *announced;      /* the command of which the last frame has said that Enter runs it; NULL: none */
} tui_attach;

void tui_attach_open(tui *t);
/* Brings the attachments into step with the words of the draft. over: it is to be sent, no word is unfinished. */
void tui_attach_follow(tui *t, const struct input_view *in, bool over);
/* Takes what has been read and tells about it. True when something was; *failed: some of it could not be. */
bool tui_attach_take(tui *t, bool *failed);
/* Whether what the draft names, or what was asked for, is still being read. */
bool tui_attach_waits(const tui *t);
/* A frame says that Enter runs this line; NULL: that it doesn't run anything. */
void tui_attach_announce(tui *t, const char *line);
/* Whether it was that line. */
bool tui_attach_announced(const tui *t, const char *line);
/* Runs a command; its output is attached. */
void tui_attach_run(tui *t, const char *command);
/* Gives up what is being read and run. */
void tui_attach_stop(tui *t);
/* The last one goes. */
void tui_attach_rub(tui *t);
/* A message with attachments has been sent: says once that they are saved with it. */
void tui_attach_sent(tui *t);

/* When the disk is to be looked at, or a word of the draft is; once it is due the disk has been. */
int64_t tui_attach_deadline(const tui *t);
bool tui_attach_due(tui *t, int64_t now);
/* read: bytes of the attachments and the draft that have been evaluated. */
void tui_attach_fill(tui *t, struct view_draft *d, size_t read);
void tui_attach_free(tui_attach *a);

#endif
