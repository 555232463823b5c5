/* Shared by input.c (queue, view, life), input_commands.c (the commands of keys) and past.c (the history under the
 * draft); see input.h. */
#ifndef TANDEM_UI_INPUT_PRIVATE_H
#define TANDEM_UI_INPUT_PRIVATE_H

#include <stdio.h>
#include <readline/history.h>
#include <readline/readline.h>

#include "ui/edit/input.h"

struct input_item {
    struct input_item *next;
    enum decoder_kind kind;
    int64_t time_ns;
    enum key_code code;
    unsigned mods;
    size_t dropped, length, used;
    char data[];
};

enum input_searching {
    SEARCHING_NOT,
    SEARCHING_ON,    /* incremental search: every key continues it */
    SEARCHING_WORDS, /* search for words that readline asks for, or has asked for */
};

/* Of past.c: the draft, while an entry of the history is shown in its place, and the searches in the history. */
struct input_past {
    struct edited *edited;
    char *draft;     /* while another line is shown and during a search; else NULL */
    UNDO_LIST *undo; /* the draft's */
    int point;       /* the cursor's place in the line that was last put aside */
    int groups;      /* undo groups that it had open */
    enum input_searching searching;
    int from;        /* where the search began */
    char *words;     /* the text before the cursor, which matching entries begin with or contain */
    int at;          /* the entry at which that search began, or which it found last */
    int next;        /* the entry to show once the line has been taken, as history_base counts; 0: none */
};

struct input {
    struct input_options options;
    struct {
        struct input_item *head, *tail;
        struct input_item *handed_back; /* by input_unread(), until the next call */
        const unsigned char *at, *end;  /* the bytes that readline may read now */
        rl_command_func_t *slot;        /* a command to run as if a key were bound to it; see input_run() */
        Keymap slot_map, user_map;
    } feed; /* what comes in */
    struct {
        struct input_action *actions; /* an array, not a ring, since few are ever queued */
        size_t count, size;
        char *submitted; /* text of the last SUBMIT */
    } out;
    struct input_past past;
    int64_t now; /* time of the event being worked on */
    struct {
        bool any;   /* the draft's first byte came from a paste */
        char first; /* as it was then */
        int where;
        const char *text; /* for the slot that inserts it */
        bool replaces;
    } paste;
    struct {
        int columns;   /* of a row on the screen; 0: endless */
        int goal;      /* column of Up and Down, -1: the cursor's */
        bool was_move; /* the last command was one of them */
    } lines;
    struct {
        int64_t since;
        char keys[64];
    } prefix; /* of an unfinished sequence */
    struct {
        struct completion list;
        bool open;
        size_t ask;
    } tab;
    struct {
        bool any;
        bool marked, was_marked; /* the last attachment is marked by the last key; by the one before it */
    } chip;                      /* attachments */
    struct {
        const char *const *texts;
        size_t n, at;
        bool shown; /* the draft may still be the last suggestion */
    } tips;         /* the suggestions of Tab on the empty draft */
    struct {
        size_t synced; /* entries of the history file that readline has */
        unsigned long generation;
        bool once;
    } history;
    bool queued, esc_stops;
    FILE *sink, *source;
    uint64_t version, bells;
    char *message;
};

extern struct input *input_self; /* readline's hooks have no argument */

/* input.c */
void input_push_action(struct input *in, enum key_action action, int count);
/* A command that has no effect. */
int input_do_nothing(int count, int key);
void input_run(struct input *in, rl_command_func_t *function);
void input_cancel(struct input *in);
void input_close_list(struct input *in);
void input_sync_history(struct input *in);
void input_read_init_file(struct input *in, int (*read)(void));

/* input_commands.c */
void input_name_commands(void); /* before inputrc is read */
void input_bind_commands(void); /* after it */
bool input_is_unbound(const char *bytes, size_t n); /* in the present map */
void input_do_key(struct input *in, const struct input_item *item);
/* The command of readline that its search recognises in place of a replacement of ours; NULL: none. */
rl_command_func_t *input_own_command(rl_command_func_t *by);
int input_command_insert(int count, int key);
int input_command_accept(int count, int key);
void input_replace_line(const char *text); /* one undo step */
char **input_complete(const char *text, int start, int end);
void input_show_matches(char **matches, int count, int longest);
char *input_word_breaks(void);
void input_feed_raw(struct input *in, const char *bytes, size_t n);

/* past.c */
int past_previous(int count, int key);
int past_next(int count, int key);
/* The replacement of a command of readline, or the command itself if it is one; NULL: readline's own is used. *walks
 * (may be NULL): it moves in the history, for which Up and Down have commands of ours. */
rl_command_func_t *past_stand_in(rl_command_func_t *of, bool *walks);
/* The incremental search of readline that `by` replaces; NULL: `by` replaces none. */
rl_command_func_t *past_searches_own(rl_command_func_t *by);
/* After each step of readline: restores the line and draft after a search has ended. */
void past_settle(struct input *in);
/* The line was sent or cleared: restores the history entry that it may have been. */
void past_line_over(struct input *in);
/* The same for all entries: before the list is replaced. */
void past_forget(struct input *in);
/* Shows the entry that operate-and-get-next requested with the line that was taken. */
void past_take_next(struct input *in);
void past_close(struct input *in);

#endif
