/* What keys do in the draft: our readline commands, their bindings, keys that come as events, completion.
 *
 * Commands run inside rl_callback_read_char(). They may use readline's functions, but not feed it bytes.
 */
#include <stdlib.h>
#include <string.h>

#include "engine/base/clean.h"
#include "ui/edit/input_private.h"
#include "ui/edit/rows.h"
#include "ui/readline/clusters.h"
#include "ui/unicode/cluster.h"

#define KEY_CTRL(c) ((c) & 0x1f)

enum { LONGEST_DRAFT = 16 << 20 };

/* -- Enter and new lines ------------------------------------------------------------------------------------------ */

static void insert_newline(int count)
{
    for (int i = 0; i < count && i < 100; i++) rl_insert_text("\n");
}

static int command_newline(int count, int key)
{
    (void)key;
    insert_newline(count);
    return 0;
}

static int command_enter(int count, int key)
{
    (void)count, (void)key;
    struct input *in = input_self;
    size_t n = (size_t)rl_end;
    in->past.next = 0;
    if (n && rl_line_buffer[n - 1] == '\\') {
        if (n < 2 || rl_line_buffer[n - 2] != '\\') {
            rl_begin_undo_group();
            rl_delete_text(rl_end - 1, rl_end);
            rl_point = rl_end;
            rl_insert_text("\n");
            rl_end_undo_group();
            return 0;
        }
        n--;
    }
    char *text = clean_text(rl_line_buffer, n, NULL);
    if (!text) {
        input_set_message(in, "no memory to send this");
        return 0;
    }
    free(in->out.submitted);
    in->out.submitted = text;
    input_push_action(in, ACTION_SUBMIT, 1);
    return 0;
}

/* -- text as one undo step ---------------------------------------------------------------------------------------- */

void input_replace_line(const char *text)
{
    rl_begin_undo_group();
    rl_delete_text(0, rl_end);
    rl_point = 0;
    rl_insert_text(text);
    rl_end_undo_group();
}

int input_command_insert(int count, int key)
{
    (void)count, (void)key;
    if (input_self->paste.replaces) {
        input_replace_line(input_self->paste.text);
        return 0;
    }
    rl_begin_undo_group();
    rl_insert_text(input_self->paste.text);
    rl_end_undo_group();
    return 0;
}

int input_command_accept(int count, int key)
{
    past_line_over(input_self);
    using_history(); /* so that readline takes it for no line of the history */
    return rl_newline(count, key);
}

/* -- entries of the history ---------------------------------------------------------------------------------------- */

bool input_is_past(const struct input *in)
{
    return in->past.edited || where_history() != history_length;
}

bool input_is_entry(const struct input *in)
{
    return !in->past.edited && where_history() < history_length && !strcmp(current_history()->line, rl_line_buffer);
}

void input_mend_past(struct input *in)
{
    past_forget(in);
    input_sync_history(in);
}

/* -- moving by row ------------------------------------------------------------------------------------------------
 *
 * A row is what the screen shows as one: a line of the draft, or the part of it that fits into the input's columns
 * (ui/edit/rows.h). */

static int line_start(int at)
{
    while (at > 0 && rl_line_buffer[at - 1] != '\n') at--;
    return at;
}

static int line_end(int at)
{
    while (at < rl_end && rl_line_buffer[at] != '\n') at++;
    return at;
}

/* Columns of the character at a byte that begins in `column`, and its length. */
static int character(int at, int column, int *length)
{
    struct width_glyph glyph;
    int width;
    *length =
        (int)rows_next(rl_line_buffer, (size_t)rl_end, (size_t)at, column, input_self->lines.columns, &glyph, &width);
    return width;
}

struct row {
    int start, end; /* bytes; end is the newline's, or the next row's start */
    int column;     /* of the place that was asked for */
};

/* The row of a place. The place behind a full row is the next row's first. */
static struct row row_of(int place)
{
    int columns = input_self->lines.columns, line = line_end(place), length;
    struct row row = {.start = line_start(place)};
    while ((row.end = (int)rows_end(rl_line_buffer, (size_t)rl_end, (size_t)row.start, columns, 0)) < line &&
           row.end <= place)
        row.start = row.end;
    int column = 0;
    for (int at = row.start; at < place; at += length) column += character(at, column, &length);
    if (place == line && columns && column >= columns) return (struct row){.start = line, .end = line};
    row.column = column;
    return row;
}

static void go_to_column(struct row row, int goal)
{
    bool wraps = row.end < rl_end && rl_line_buffer[row.end] != '\n';
    int length, at = row.start;
    for (int column = 0; at < row.end; at += length) {
        int width = character(at, column, &length);
        if (column + width > goal || (wraps && at + length >= row.end)) break;
        column += width;
    }
    rl_point = (int)cluster_start(rl_line_buffer, (size_t)rl_end, (size_t)at);
}

static bool can_move_lines(int direction)
{
    struct row row = row_of(rl_point);
    return direction < 0 ? row.start > 0 : row.end < rl_end;
}

static void move_line(int direction)
{
    struct input *in = input_self;
    struct row row = row_of(rl_point);
    if (in->lines.goal < 0) in->lines.goal = row.column;
    int next = row.end + (rl_line_buffer[row.end] == '\n');
    go_to_column(row_of(direction < 0 ? row.start - 1 : next), in->lines.goal);
    in->lines.was_move = true;
}

/* Does Up do something of its own, instead of going into the history? */
static bool up_is_ours(void)
{
    return (!rl_end && input_self->queued) || can_move_lines(-1);
}

static int command_up(int count, int key)
{
    if (!rl_end && input_self->queued) {
        input_push_action(input_self, ACTION_TAKE_BACK, 1);
        return 0;
    }
    if (count < 0 || !can_move_lines(-1)) return past_previous(count, key);
    while (count-- > 0 && can_move_lines(-1)) move_line(-1);
    return 0;
}

static int command_down(int count, int key)
{
    if (count < 0 || !can_move_lines(1)) return past_next(count, key);
    while (count-- > 0 && can_move_lines(1)) move_line(1);
    return 0;
}

static int command_home(int count, int key)
{
    int start = line_start(rl_point);
    if (start == rl_point) return rl_beg_of_line(count, key);
    rl_point = start;
    return 0;
}

static int command_end(int count, int key)
{
    int end = line_end(rl_point);
    if (end == rl_point) return rl_end_of_line(count, key);
    rl_point = end;
    return 0;
}

/* -- completion --------------------------------------------------------------------------------------------------- */

/* The whole line up to the cursor is the word: where a candidate begins is the completer's business. */
char *input_word_breaks(void)
{
    static char none[1];
    return none;
}

static char *joined(const char *head, size_t head_length, const char *tail, size_t tail_length)
{
    char *s = malloc(head_length + tail_length + 1);
    if (!s) return NULL;
    memcpy(s, head, head_length);
    memcpy(s + head_length, tail, tail_length);
    s[head_length + tail_length] = 0;
    return s;
}

char **input_complete(const char *text, int start, int end)
{
    struct input *in = input_self;
    (void)text, (void)start;
    rl_attempted_completion_over = 1;
    completion_free(&in->tab.list);
    const char *ignore = rl_variable_value("completion-ignore-case");
    bool ignores = ignore && !strcmp(ignore, "on"), any;
    if (in->paste.any)
        any = complete_path(rl_line_buffer, (size_t)end, ignores, in->options.home, &in->tab.list);
    else
        any =
            complete_line(in->options.completer, rl_line_buffer, (size_t)end, ignores, in->options.home, &in->tab.list);
    if (!any) {
        in->bells++;
        return NULL;
    }
    const struct completion *c = &in->tab.list;
    rl_completion_append_character = c->append;
    rl_completion_suppress_append = !c->append;
    char **matches = calloc(c->count + 2, sizeof *matches);
    if (!matches) return NULL;
    size_t common = completion_common(c), typed = (size_t)end - c->start;
    /* Candidates that differ in case only may agree on less than was typed. */
    matches[0] = common < typed ? joined(rl_line_buffer, (size_t)end, "", 0)
                                : joined(rl_line_buffer, c->start, c->names[0], common);
    bool complete = matches[0] != NULL;
    for (size_t i = 0; complete && c->count > 1 && i < c->count; i++) {
        matches[i + 1] = joined(rl_line_buffer, c->start, c->names[i], strlen(c->names[i]));
        complete = matches[i + 1] != NULL;
    }
    if (complete) return matches;
    for (size_t i = 0; matches[i]; i++) free(matches[i]);
    free(matches);
    return NULL;
}

void input_show_matches(char **matches, int count, int longest)
{
    struct input *in = input_self;
    (void)matches, (void)longest;
    in->version++;
    if (rl_completion_query_items > 0 && count >= rl_completion_query_items)
        in->tab.ask = (size_t)count;
    else
        in->tab.open = true;
}

static int command_complete(int count, int key)
{
    struct input *in = input_self;
    const char *last = in->tips.shown ? in->tips.texts[in->tips.at] : NULL;
    if (in->tips.n && (!rl_end || (last && !strcmp(last, rl_line_buffer)))) {
        in->tips.at = last ? (in->tips.at + 1) % in->tips.n : in->tips.at;
        in->tips.shown = true;
        input_replace_line(in->tips.texts[in->tips.at]);
        return 0;
    }
    if (rl_last_func == command_complete) rl_last_func = rl_complete; /* it lists when it is called twice in a row */
    return rl_complete(count, key);
}

/* -- what readline can't be left to --------------------------------------------------------------------------------
 *
 * readline's abort is a longjmp. When the key that aborts isn't the first of its rl_callback_read_char() call (a macro,
 * input pushed back), 8.2 jumps to a frame that has returned. So no sequence is left unbound, for which readline would
 * abort, and Ctrl-G within a macro doesn't. */

static int command_unbound(int count, int key)
{
    (void)count, (void)key;
    input_self->bells++;
    return 0;
}

static int command_abort(int count, int key)
{
    if (!rl_executing_macro) return rl_abort(count, key);
    return rl_discard_argument();
}

/* readline's ways to accept the line are Enter: it is the program that takes the line or refuses it. */
static int command_send_and_next(int count, int key)
{
    int next = history_base + where_history() + 1;
    command_enter(1, key);
    input_self->past.next = rl_explicit_arg ? count : next;
    return 0;
}

static int command_comment(int count, int key)
{
    const char *begin = rl_variable_value("comment-begin");
    (void)count;
    rl_point = 0;
    rl_insert_text(begin ? begin : "#");
    return command_enter(1, key);
}

/* A text that is killed and put back again and again doubles each time: a line that would become larger than any paste
 * is left alone. readline's own way to the text killed before it asks which command was the last one. */
static int within_bounds(struct input *in, rl_command_func_t *command, int count, int key)
{
    int result = 0;
    for (int i = 0; i < count && !result; i++) {
        result = command(1, key);
        if (rl_end <= LONGEST_DRAFT) continue;
        rl_do_undo();
        input_set_message(in, "the draft would become too large");
        return 1;
    }
    return result;
}

static int command_yank(int count, int key)
{
    return within_bounds(input_self, rl_yank, count > 0, key);
}

static int command_put(int count, int key)
{
    return within_bounds(input_self, rl_vi_put, count, key);
}

static int command_yank_pop(int count, int key)
{
    if (rl_last_func == command_yank || rl_last_func == command_yank_pop) rl_last_func = rl_yank_pop;
    return within_bounds(input_self, rl_yank_pop, count > 0, key);
}

static int command_put_pop(int count, int key)
{
    if (rl_last_func == command_put || rl_last_func == command_put_pop) rl_last_func = rl_vi_yank_pop;
    return within_bounds(input_self, rl_vi_yank_pop, count > 0, key);
}

/* Where nothing is left to delete, the last attachment is marked; the next key, if it is the same, takes it back. */
static int command_rubout(int count, int key)
{
    struct input *in = input_self;
    if (rl_point || !in->chip.any || rl_explicit_arg) return clusters_rubout(count, key);
    if (in->chip.was_marked)
        input_push_action(in, ACTION_RUB_CHIP, 1);
    else
        in->chip.marked = true;
    return 0;
}

/* The command that stands in for one of readline's, whatever key the user has bound it to. */
static rl_command_func_t *stand_in(rl_command_func_t *of)
{
    static const struct {
        rl_command_func_t *of, *by;
    } rows[] = {{rl_newline, command_enter},
                {rl_vi_eof_maybe, command_enter},
                {rl_operate_and_get_next, command_send_and_next},
                {rl_insert_comment, command_comment},
                {rl_yank, command_yank},
                {rl_yank_pop, command_yank_pop},
                {rl_vi_put, command_put},
                {rl_vi_yank_pop, command_put_pop},
                {rl_rubout, command_rubout},
                {rl_arrow_keys, command_unbound}}; /* reads a key by itself */
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (rows[i].of == of) return rows[i].by;
    rl_command_func_t *by = past_stand_in(of, NULL);
    if (!by) by = clusters_stand_in(of);
    return by ? by : of;
}

rl_command_func_t *input_own_command(rl_command_func_t *by)
{
    if (by == command_rubout) return rl_rubout;
    return by == command_yank ? rl_yank : past_searches_own(by);
}

/* Leaves no gap in a map behind a prefix. One behind a shadowed key (vi's Esc) keeps its gaps: what isn't bound there
 * falls back to that key, whose command stands in the last place. */
static void make_safe(Keymap map, bool fill)
{
    for (int c = 0; c <= ANYOTHERKEY; c++) {
        if (map[c].type == ISKMAP) {
            Keymap sub = (Keymap)map[c].function;
            if (sub) make_safe(sub, !sub[ANYOTHERKEY].function);
        } else if (map[c].type == ISFUNC && !map[c].function) {
            if (fill && c < ANYOTHERKEY) map[c].function = command_unbound;
        } else if (map[c].type == ISFUNC && map[c].function == rl_abort && (c & 0x7f) == KEY_CTRL('G')) {
            map[c].function = command_abort;
        } else if (map[c].type == ISFUNC) {
            map[c].function = stand_in(map[c].function);
        }
    }
}

static void make_keymaps_safe(void)
{
    make_safe(emacs_standard_keymap, false);
    make_safe(vi_insertion_keymap, false);
    make_safe(vi_movement_keymap, false);
}

bool input_is_unbound(const char *bytes, size_t n)
{
    int type = ISFUNC;
    rl_command_func_t *f = rl_function_of_keyseq_len(bytes, n, NULL, &type);
    return !f || (type == ISFUNC && f == command_unbound);
}

static int read_again(void)
{
    int result = rl_re_read_init_file(1, 0);
    make_keymaps_safe();
    return result;
}

static int command_read_inputrc(int count, int key)
{
    (void)count, (void)key;
    input_read_init_file(input_self, read_again);
    return 0;
}

/* -- commands that only tell the program -------------------------------------------------------------------------- */

#define OWN_COMMANDS(X)                                                                                               \
    X(SEND_NOW) X(EDITOR) X(REDRAW) X(PAGE_UP) X(PAGE_DOWN) X(TOP) X(BOTTOM) X(KEYS) X(BROWSE) X(FIND) X(MONITOR)      \
    X(VIEW) X(HOLD) X(ZOOM_IN) X(ZOOM_OUT) X(INSPECT) X(LEGEND) X(FOLD) X(RAW) X(COPY) X(COPY_VIEW)             \
    X(SPECULATION) X(SESSIONS) X(VISIT) X(PROMPTS) X(SENSORS) X(ATTACHMENTS) X(STOP_ANSWER)

#define DEFINE(name)                                                                                                  \
    static int tell_##name(int count, int key)                                                                        \
    {                                                                                                                 \
        (void)key;                                                                                                    \
        input_push_action(input_self, ACTION_##name, count);                                                          \
        return 0;                                                                                                     \
    }
OWN_COMMANDS(DEFINE)

/* The digit says which answer. */
static int tell_LOOK(int count, int key)
{
    (void)count;
    if (key >= '1' && key <= '8') input_push_action(input_self, ACTION_LOOK, key - '0');
    return 0;
}

static rl_command_func_t *own_command(enum key_action action)
{
#define CASE(name) case ACTION_##name: return tell_##name;
    switch (action) {
        OWN_COMMANDS(CASE)
        CASE(LOOK)
    default: return NULL;
    }
}

/* -- bindings ----------------------------------------------------------------------------------------------------- */

void input_name_commands(void)
{
    size_t n;
    const struct key_row *rows = keys_table(&n);
    for (size_t i = 0; i < n; i++)
        if (rows[i].function) rl_add_defun(rows[i].function, own_command(rows[i].action), -1);
    rl_add_defun("tandem-enter", command_enter, -1);
    rl_add_defun("tandem-newline", command_newline, -1);
    rl_add_defun("tandem-up", command_up, -1);
    rl_add_defun("tandem-down", command_down, -1);
    rl_add_defun("tandem-line-start", command_home, -1);
    rl_add_defun("tandem-line-end", command_end, -1);
    rl_add_defun("tandem-complete", command_complete, -1);
}

/* Binds where the map still has readline's default, which is one of a, b or nothing. */
static void bind_default(Keymap map, const char *sequence, rl_command_func_t *own, rl_command_func_t *a,
                         rl_command_func_t *b)
{
    char bytes[64];
    int n, type;
    if (strlen(sequence) * 2 >= sizeof bytes || rl_translate_keyseq(sequence, bytes, &n)) return;
    rl_command_func_t *found = rl_function_of_keyseq_len(bytes, (size_t)n, map, &type);
    if (found && (type != ISFUNC || (found != a && found != b))) return;
    rl_bind_keyseq_in_map(sequence, own, map);
}

void input_bind_commands(void)
{
    size_t n;
    const struct key_row *rows = keys_table(&n);
    Keymap maps[] = {emacs_standard_keymap, vi_insertion_keymap, vi_movement_keymap};
    for (int m = 0; m < 3; m++) {
        Keymap map = maps[m];
        /* vi's Ctrl-X, which inserts itself, becomes a prefix; one that the user has bound stays what it is. */
        KEYMAP_ENTRY *x = &map[KEY_CTRL('X')];
        if (map == vi_insertion_keymap && x->type == ISFUNC && x->function == rl_insert) x->function = NULL;
        bool prefix = x->type == ISKMAP || !x->function;
        for (size_t i = 0; i < n; i++) {
            if (!rows[i].function || !rows[i].sequence) continue;
            const char *key;
            if (keys_in_menu(&rows[i], &key) && !prefix) continue;
            bind_default(map, rows[i].sequence, own_command(rows[i].action), rl_clear_screen, rl_insert);
        }
        for (int digit = '2'; prefix && digit <= '8'; digit++) { /* the table has the first */
            const char sequence[] = {'\\', 'C', '-', 'x', (char)digit, 0};
            bind_default(map, sequence, tell_LOOK, NULL, NULL);
        }
        bind_default(map, "\\C-m", command_enter, rl_newline, NULL);
        bind_default(map, "\\C-j", command_newline, rl_newline, NULL);
        if (map != vi_insertion_keymap) {
            bind_default(map, "\\C-p", command_up, rl_get_previous_history, NULL);
            bind_default(map, "\\C-n", command_down, rl_get_next_history, NULL);
        }
        if (map != vi_movement_keymap) bind_default(map, "\\C-i", command_complete, rl_complete, NULL);
        /* Pastes come as events. What a broken sequence brings here must not begin readline's own, which reads past its
         * buffer when it ends early. */
        rl_bind_keyseq_in_map("\\e[200~", input_do_nothing, map);
    }
    bind_default(emacs_standard_keymap, "\\e\\C-m", command_newline, rl_vi_editing_mode, NULL);
    bind_default(emacs_standard_keymap, "\\C-x\\C-r", command_read_inputrc, rl_re_read_init_file, NULL);
    bind_default(vi_movement_keymap, "k", command_up, rl_get_previous_history, NULL);
    bind_default(vi_movement_keymap, "j", command_down, rl_get_next_history, NULL);
    bind_default(vi_movement_keymap, "v", tell_EDITOR, NULL, NULL);
    make_keymaps_safe();
}

/* -- keys that come as events ------------------------------------------------------------------------------------- */

/* What a key does when nothing is bound to the bytes that it sent. */
static rl_command_func_t *usual_command(enum key_code code, unsigned mods)
{
    bool word = mods & (KEYMOD_CTRL | KEYMOD_ALT);
    switch (code) {
    case KEYCODE_UP: return command_up;
    case KEYCODE_DOWN: return command_down;
    case KEYCODE_LEFT:
        return word ? rl_backward_word : clusters_backward;
    case KEYCODE_RIGHT:
        return word ? rl_forward_word : clusters_forward;
    case KEYCODE_HOME: return command_home;
    case KEYCODE_END: return command_end;
    case KEYCODE_INSERT: return mods ? NULL : rl_overwrite_mode;
    case KEYCODE_DELETE:
        return word ? rl_kill_word : clusters_delete;
    case KEYCODE_BACKSPACE: return word ? rl_backward_kill_word : command_rubout;
    case KEYCODE_ENTER: return command_newline;
    default: return NULL;
    }
}

/* Is this binding one that readline comes with, so that the key's own meaning goes first? */
static bool is_usual(enum key_code code, unsigned mods, rl_command_func_t *bound)
{
    switch (code) {
    case KEYCODE_HOME: return !mods && bound == rl_beg_of_line;
    case KEYCODE_END: return !mods && bound == rl_end_of_line;
    case KEYCODE_ENTER: return bound == rl_vi_editing_mode || bound == command_newline || bound == command_enter;
    default: return false;
    }
}

void input_do_key(struct input *in, const struct input_item *item)
{
    const char *raw = item->data;
    size_t n = item->length;
    input_close_list(in);
    if (rl_last_func == rl_quoted_insert && !RL_ISSTATE(RL_STATE_MULTIKEY)) { /* ^V Up inserts what Up sends */
        input_feed_raw(in, raw, n);
        if (rl_last_func == rl_quoted_insert) rl_last_func = rl_insert;
        return;
    }
    if (RL_ISSTATE(RL_STATE_NSEARCH)) {
        if (item->code == KEYCODE_BACKSPACE) input_feed_raw(in, "\177", 1);
        else in->bells++;
        return;
    }
    if (RL_ISSTATE(RL_STATE_ISEARCH)) {
        if (item->code == KEYCODE_BACKSPACE) {
            input_feed_raw(in, "\177", 1);
            return;
        }
        rl_callback_sigcleanup(); /* the search ends where it is, as with any editing key */
    }
    if (RL_ISSTATE(RL_STATE_MULTIKEY)) {
        char sequence[96];
        size_t before = (size_t)rl_key_sequence_length;
        if (before + n <= sizeof sequence) {
            memcpy(sequence, rl_executing_keyseq, before);
            memcpy(sequence + before, raw, n);
            if (!input_is_unbound(sequence, before + n)) {
                input_feed_raw(in, raw, n);
                return;
            }
        }
        input_cancel(in);
    }
    int type = ISFUNC;
    rl_command_func_t *bound = n ? rl_function_of_keyseq_len(raw, n, NULL, &type) : NULL;
    if (type == ISKMAP || bound == command_unbound) bound = NULL;
    bool walks = false;
    if (bound && type == ISFUNC) past_stand_in(bound, &walks);
    bool up = item->code == KEYCODE_UP && !item->mods, down = item->code == KEYCODE_DOWN && !item->mods;
    if (((up && up_is_ours()) || (down && can_move_lines(1))) && (!bound || walks)) {
        input_run(in, up ? command_up : command_down);
        return;
    }
    if (bound && !(type == ISFUNC && is_usual(item->code, item->mods, bound))) {
        input_feed_raw(in, raw, n);
        return;
    }
    const struct key_row *row = keys_find_code(KEYS_CHAT, item->code, item->mods);
    rl_command_func_t *own = row ? own_command(row->action) : NULL;
    if (!own) own = usual_command(item->code, item->mods);
    if (own) input_run(in, own);
    else in->bells++;
}
