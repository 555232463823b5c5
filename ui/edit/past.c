/* The history under the draft: walking it, searching it, and lines of it that are edited.
 *
 * readline 8.2 shares an undo list between the line, the history entry and its own copy of the draft, and its commands
 * disagree on who owns it: a search that is given up, a line sent from within the history or an undo between them frees
 * one twice, or leaves the cursor behind the end of a shorter line. Here a list has one owner, always:
 *
 * - no history entry carries one (entry->data is NULL). What was changed in an entry is its text; the list, with the
 *   entry's first text, is kept here, and the draft with its list, too, while another line is shown.
 * - walking and searching by prefix are ours. readline's two searches that ask for words begin with the line put aside
 *   and no list at all; past_settle() puts in order what they leave when they end.
 * - so readline's copy of the draft exists only while one of its searches runs.
 */
#include <stdlib.h>
#include <string.h>

#include "engine/base/utf8.h"
#include "ui/edit/input_private.h"

/* A history entry that was edited. */
struct edited {
    struct edited *next;
    int number;     /* history_base and its offset; a bounded history drops entries at its head */
    char *original;
    UNDO_LIST *undo;
};

/* -- who owns what ------------------------------------------------------------------------------------------------ */

static void drop_undo(UNDO_LIST *list)
{
    UNDO_LIST *line = rl_undo_list;
    rl_undo_list = list;
    rl_free_undo_list();
    rl_undo_list = line;
}

static struct edited **find_edited(struct input *in, int place)
{
    struct edited **e = &in->past.edited;
    while (*e && (*e)->number != history_base + place) e = &(*e)->next;
    return e;
}

static void set_entry(int place, const char *text)
{
    HIST_ENTRY *old = replace_history_entry(place, text, NULL);
    if (old) free_history_entry(old);
}

/* Gives the entry its first text back. */
static void forget_edited(struct edited **e)
{
    struct edited *gone = *e;
    *e = gone->next;
    set_entry(gone->number - history_base, gone->original);
    drop_undo(gone->undo);
    free(gone->original);
    free(gone);
}

/* Keeps the line and its undo list; the list that readline goes on with is empty. False without memory. */
static bool put_aside(struct input *in)
{
    int place = where_history();
    if (place >= history_length) {
        char *text = strdup(rl_line_buffer);
        if (!text) return false;
        free(in->past.draft);
        in->past.draft = text;
        in->past.undo = rl_undo_list;
    } else {
        struct edited **e = find_edited(in, place);
        const char *text = current_history()->line;
        if (!*e && strcmp(text, rl_line_buffer)) {
            struct edited *new = calloc(1, sizeof *new);
            if (!new || !(new->original = strdup(text))) {
                free(new);
                return false;
            }
            new->number = history_base + place;
            *e = new;
        }
        if (*e) {
            set_entry(place, rl_line_buffer);
            (*e)->undo = rl_undo_list;
        } else {
            drop_undo(rl_undo_list);
        }
    }
    in->past.point = rl_point;
    rl_undo_list = NULL;
    return true;
}

/* Groups of the line's list that are open: vi's insert mode closes them when it ends, in whatever line. */
static void close_groups(struct input *in)
{
    in->past.groups = 0;
    for (const UNDO_LIST *u = rl_undo_list; u; u = u->next)
        in->past.groups += (u->what == UNDO_BEGIN) - (u->what == UNDO_END);
    for (int i = 0; i < in->past.groups; i++) rl_end_undo_group();
}

static void reopen_groups(struct input *in)
{
    for (int i = 0; i < in->past.groups; i++) rl_begin_undo_group();
    in->past.groups = 0;
}

static const char *text_at(const struct input *in, int place)
{
    return place < history_length ? history_get(history_base + place)->line : in->past.draft ? in->past.draft : "";
}

/* The undo list that was kept for a place; its owner is now the caller. */
static UNDO_LIST *take_undo(struct input *in, int place)
{
    struct edited *e = place < history_length ? *find_edited(in, place) : NULL;
    UNDO_LIST **kept = e ? &e->undo : &in->past.undo;
    if (place < history_length && !e) return NULL;
    UNDO_LIST *list = *kept;
    *kept = NULL;
    return list;
}

/* Shows the line of the place that the history stands at. */
static void show_line(struct input *in)
{
    rl_replace_line(text_at(in, where_history()), 0);
    rl_undo_list = take_undo(in, where_history());
}

static int fail(struct input *in)
{
    in->bells++;
    return 1;
}

static int go_to(struct input *in, int place)
{
    int point = rl_point, end = rl_end;
    close_groups(in);
    bool went = put_aside(in);
    if (went) {
        history_set_pos(place);
        show_line(in);
        const char *keep = rl_variable_value("history-preserve-point");
        bool vi_command = rl_editing_mode == 0 && rl_get_keymap() == vi_movement_keymap;
        rl_point = keep && !strcmp(keep, "on") && point < end && point < rl_end ? point : rl_end;
        while (rl_point && utf8_continues(rl_line_buffer[rl_point])) rl_point--;
        if (vi_command) rl_point = 0;
        rl_mark = rl_point == rl_end ? 0 : rl_end;
    }
    reopen_groups(in);
    return went ? 0 : fail(in);
}

/* -- what readline's searches leave ------------------------------------------------------------------------------- */

/* Drops readline's copy of the draft, if it has one; the line is then that copy. */
static void drop_copy(void)
{
    rl_maybe_save_line();
    rl_maybe_unsave_line();
}

/* An incremental search: the line shown may have been edited already, by the key that ended it. */
static void end_incremental(struct input *in, const char *text)
{
    UNDO_LIST *edits = rl_undo_list, **tail = &rl_undo_list;
    int point = rl_point;
    drop_copy();
    rl_replace_line(text, 0);
    rl_point = point;
    rl_undo_list = edits;
    while (*tail) tail = &(*tail)->next;
    *tail = take_undo(in, where_history());
}

/* A search for words that were typed: in emacs mode it copies what it finds into the line, in vi mode it goes there. A
 * text of NULL (no memory) brings the line back. */
static void end_search(struct input *in, const char *text)
{
    int point = rl_point, from = in->past.from;
    rl_free_undo_list();
    rl_clear_message(); /* the prompt, which stays when there were no words */
    drop_copy();
    bool found = text && !strcmp(rl_line_buffer, text) && strcmp(text, text_at(in, from));
    bool went = where_history() != from;
    show_line(in);
    if (found && !went) input_replace_line(text);
    rl_point = found || went ? point : in->past.point;
}

void past_settle(struct input *in)
{
    if (!in->past.searching || RL_ISSTATE(RL_STATE_ISEARCH | RL_STATE_NSEARCH)) return;
    bool incremental = in->past.searching == SEARCHING_ON;
    in->past.searching = SEARCHING_NOT;
    char *text = strdup(rl_line_buffer);
    if (incremental && text) end_incremental(in, text);
    else end_search(in, text);
    free(text);
    reopen_groups(in);
    rl_redisplay_function(); /* puts the cursor and the mark in order */
}

/* Lets readline search. It gets the draft where it would take the line for the draft. */
static int search(rl_command_func_t *command, enum input_searching kind, int count, int key)
{
    struct input *in = input_self;
    past_settle(in);
    close_groups(in);
    if (!put_aside(in)) {
        reopen_groups(in);
        return fail(in);
    }
    in->past.searching = kind;
    in->past.from = where_history();
    if (kind == SEARCHING_ON && in->past.from < history_length) {
        rl_replace_line(text_at(in, history_length), 0);
        rl_maybe_save_line();
        rl_replace_line(text_at(in, in->past.from), 0);
        rl_point = in->past.point;
    }
    int result = command(count, key);
    past_settle(in);
    return result;
}

/* -- walking ------------------------------------------------------------------------------------------------------ */

int past_previous(int count, int key)
{
    struct input *in = input_self;
    if (count < 0) return past_next(-count, key);
    past_settle(in);
    int place = where_history();
    if (!place && count) return fail(in);
    return count ? go_to(in, count < place ? place - count : 0) : 0;
}

int past_next(int count, int key)
{
    struct input *in = input_self;
    if (count < 0) return past_previous(-count, key);
    past_settle(in);
    int place = where_history(), rest = history_length - place;
    if (!rest && count) return fail(in);
    return count ? go_to(in, count < rest ? place + count : history_length) : 0;
}

static int first_entry(int count, int key)
{
    (void)count;
    return past_previous(1 + where_history(), key);
}

static int the_draft(int count, int key)
{
    (void)count;
    past_settle(input_self);
    return where_history() < history_length ? past_next(history_length - where_history(), key) : 0;
}

/* With an argument the entry of that number, or counted from the end when it is negative. */
static int entry_of_number(int count, int key)
{
    if (!rl_explicit_arg) return first_entry(1, key);
    past_settle(input_self);
    int place = count < 0 ? history_length + count : count - history_base;
    if (place >= 0 && place < history_length) return place == where_history() ? 0 : go_to(input_self, place);
    return rl_editing_mode == 0 ? fail(input_self) : first_entry(1, key);
}

/* -- searching by what stands before the cursor ------------------------------------------------------------------- */

static bool holds(const char *line, const char *words, bool anchored, int *at)
{
    size_t n = strlen(words);
    const char *found = anchored ? strncmp(line, words, n) ? NULL : line : strstr(line, words);
    *at = found ? (int)(found - line) + (anchored ? (int)n : 0) : 0;
    return found;
}

static int search_words(rl_command_func_t *const family[2], bool anchored, int count, int direction)
{
    struct input *in = input_self;
    past_settle(in);
    if (count < 0) {
        count = -count;
        direction = -direction;
    }
    if (rl_last_func != family[0] && rl_last_func != family[1]) {
        char *words = strndup(rl_line_buffer, (size_t)rl_point);
        if (!words) return fail(in);
        free(in->past.words);
        in->past.words = words;
        in->past.at = where_history();
    }
    if (!in->past.words || !*in->past.words)
        return direction < 0 ? past_previous(count, 0) : past_next(count, 0);
    int point = 0, found = -1, column;
    const char *last = rl_line_buffer;
    for (int i = in->past.at + direction; count > 0 && i >= 0 && i < history_length; i += direction) {
        const char *line = text_at(in, i);
        if (!holds(line, in->past.words, anchored, &column) || !strcmp(line, last)) continue;
        last = line;
        found = i;
        point = column;
        count--;
    }
    if (found < 0) return fail(in);
    in->past.at = found;
    input_replace_line(text_at(in, found));
    rl_point = point;
    rl_mark = rl_end;
    return 0;
}

static int prefix_back(int count, int key);
static int prefix_on(int count, int key);
static int words_back(int count, int key);
static int words_on(int count, int key);
static rl_command_func_t *const prefix_family[] = {prefix_back, prefix_on};
static rl_command_func_t *const words_family[] = {words_back, words_on};

static int prefix_back(int count, int key)
{
    (void)key;
    return search_words(prefix_family, true, count, -1);
}

static int prefix_on(int count, int key)
{
    (void)key;
    return search_words(prefix_family, true, count, 1);
}

static int words_back(int count, int key)
{
    (void)key;
    return search_words(words_family, false, count, -1);
}

static int words_on(int count, int key)
{
    (void)key;
    return search_words(words_family, false, count, 1);
}

/* -- readline's commands and ours --------------------------------------------------------------------------------- */

/* name, readline's command, how it searches */
#define SEARCHES(X)                                                                                                   \
    X(isearch_back, rl_reverse_search_history, SEARCHING_ON)                                                          \
    X(isearch_on, rl_forward_search_history, SEARCHING_ON)                                                            \
    X(search_back, rl_noninc_reverse_search, SEARCHING_WORDS)                                                         \
    X(search_on, rl_noninc_forward_search, SEARCHING_WORDS)                                                           \
    X(again_back, rl_noninc_reverse_search_again, SEARCHING_WORDS)                                                    \
    X(again_on, rl_noninc_forward_search_again, SEARCHING_WORDS)                                                      \
    X(vi_search, rl_vi_search, SEARCHING_WORDS)                                                                       \
    X(vi_again, rl_vi_search_again, SEARCHING_WORDS)

#define DEFINE(name, command, kind)                                                                                   \
    static int name(int count, int key)                                                                               \
    {                                                                                                                 \
        return search(command, kind, count, key);                                                                     \
    }
SEARCHES(DEFINE)

/* Those that undo need the list that belongs to the line. */
static int undo(int count, int key)
{
    past_settle(input_self);
    return rl_undo_command(count, key);
}

static int revert(int count, int key)
{
    past_settle(input_self);
    return rl_revert_line(count, key);
}

rl_command_func_t *past_stand_in(rl_command_func_t *of, bool *walks)
{
#define ROW(name, command, kind) {command, name, false},
    static const struct {
        rl_command_func_t *of, *by;
        bool walks;
    } rows[] = {
        {rl_get_previous_history, past_previous, true},
        {rl_get_next_history, past_next, true},
        {rl_history_search_backward, prefix_back, true},
        {rl_history_search_forward, prefix_on, true},
        {rl_history_substr_search_backward, words_back, true},
        {rl_history_substr_search_forward, words_on, true},
        {rl_beginning_of_history, first_entry, false},
        {rl_end_of_history, the_draft, false},
        {rl_fetch_history, entry_of_number, false},
        {rl_vi_fetch_history, entry_of_number, false},
        {rl_undo_command, undo, false},
        {rl_vi_undo, undo, false},
        {rl_revert_line, revert, false},
        SEARCHES(ROW)
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        if (rows[i].of != of && rows[i].by != of) continue;
        if (walks) *walks = rows[i].walks;
        return rows[i].by;
    }
    return NULL;
}

rl_command_func_t *past_searches_own(rl_command_func_t *by)
{
    return by == isearch_back ? rl_reverse_search_history : by == isearch_on ? rl_forward_search_history : NULL;
}

/* -- life of a line ----------------------------------------------------------------------------------------------- */

void past_line_over(struct input *in)
{
    past_settle(in);
    const char *all = rl_variable_value("revert-all-at-newline");
    struct edited **e = find_edited(in, where_history());
    if (all && !strcmp(all, "on")) past_forget(in);
    else if (*e) forget_edited(e);
    drop_undo(in->past.undo);
    free(in->past.draft);
    in->past.draft = NULL;
    in->past.undo = NULL;
}

void past_forget(struct input *in)
{
    while (in->past.edited) forget_edited(&in->past.edited);
}

void past_take_next(struct input *in)
{
    int place = in->past.next - history_base;
    if (in->past.next && place >= 0 && place < history_length) go_to(in, place);
    in->past.next = 0;
}

void past_close(struct input *in)
{
    past_line_over(in);
    past_forget(in);
    free(in->past.words);
    in->past.words = NULL;
}
