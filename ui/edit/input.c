/* Life, queue and view of the input; what the keys do is in input_commands.c.
 *
 * Invariants: readline's callback handler is installed from open to close. rl_callback_read_char() is only called with
 * at least one byte in the burst, and never from within one of its own callbacks. Every command runs inside it (through
 * input_run() where no key is bound to it), since readline's abort is a longjmp to its frame.
 */
#include "ui/edit/input.h"

#include <fcntl.h>
#include <locale.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "engine/base/clean.h"
#include "engine/base/error.h"
#include "engine/base/harmless.h"
#include "engine/base/utf8.h"
#include "ui/edit/input_private.h"
#include "ui/readline/clusters.h"
#include "ui/readline/setup.h"
#include "ui/readline/stand_in.h"
#include "ui/unicode/cluster.h"

struct input *input_self;

enum { PENDING = RL_STATE_ISEARCH | RL_STATE_NSEARCH | RL_STATE_MULTIKEY | RL_STATE_NUMERICARG | RL_STATE_VIMOTION |
                 RL_STATE_CHARSEARCH };
enum {
    SLOT_KEY = 1,       /* the one key of the slot map */
    MACRO_STEPS = 1000, /* a macro that calls itself ends, too */
    MAX_TIMES = 1000,   /* a numeric argument; readline would insert a character ten million times */
};

/* -- readline's hooks --------------------------------------------------------------------------------------------- */

static int next_byte(FILE *stream)
{
    (void)stream;
    struct input *in = input_self;
    if (in->feed.at < in->feed.end) return *in->feed.at++;
    return RL_ISSTATE(RL_STATE_READCMD) ? SLOT_KEY : EOF; /* nothing left: see end_pending_read() */
}

/* Returns 0. If it returned more, readline would read ahead while letters come, run the command behind them in the same
 * step, and leave them out of a macro that is being recorded: keys would mean something else when they come fast. */
static int bytes_waiting(void)
{
    return 0;
}

/* The place's character begins there or before it. */
static int whole_character(int place)
{
    while (place > 0 && utf8_continues(rl_line_buffer[place])) place--;
    return place;
}

/* Called after each command, in macros, too. A mark, or a place that was kept, may lie within a character of a line
 * that has changed: gone to, it would let the next key insert or delete there. */
static void redisplay(void)
{
    if (rl_point > rl_end) rl_point = rl_end;
    if (rl_mark > rl_end) rl_mark = rl_end;
    rl_point = whole_character(rl_point);
    rl_mark = whole_character(rl_mark);
    clusters_settle();
    input_self->version++;
}

static void prepare_terminal(int meta)
{
    (void)meta;
}

static void restore_terminal(void) {}

/* Only input_command_accept() comes here, and what readline takes for the end of the input (Ctrl-D within a macro). */
static void accept_line(char *line)
{
    free(line);
    past_line_over(input_self);
}

/* -- running readline --------------------------------------------------------------------------------------------- */

/* Does the draft still begin with the byte that was pasted? */
static bool still_pasted(const struct input *in)
{
    return in->paste.any && rl_end && rl_line_buffer[0] == in->paste.first && where_history() == in->paste.where;
}

/* After each step of readline: what the step changed besides the line. */
static void settle(struct input *in)
{
    in->version++;
    past_settle(in);
    if (RL_ISSTATE(RL_STATE_NUMERICARG) && rl_numeric_arg > MAX_TIMES) rl_numeric_arg = MAX_TIMES;
    in->paste.any = still_pasted(in);
    char prefix[sizeof in->prefix.keys];
    size_t n = 0;
    if (RL_ISSTATE(RL_STATE_MULTIKEY))
        for (int i = 0; i < rl_key_sequence_length && n + 4 < sizeof prefix; i++) {
            unsigned char c = (unsigned char)rl_executing_keyseq[i];
            if (c < 0x20 || c == 0x7f) {
                prefix[n++] = '^';
                c ^= 0x40;
            }
            prefix[n++] = (char)c;
        }
    prefix[n] = 0;
    if (strcmp(prefix, in->prefix.keys)) {
        memcpy(in->prefix.keys, prefix, n + 1);
        in->prefix.since = in->now;
    }
    if (RL_ISSTATE(RL_STATE_ISEARCH) && rl_display_prompt && !strncmp(rl_display_prompt, "(failed", 7)) in->bells++;
}

static void step(struct input *in)
{
    in->chip.was_marked = in->chip.marked && in->chip.any;
    in->chip.marked = false; /* any other key unmarks it */
    stand_in_read(in->feed.at < in->feed.end ? *in->feed.at : -1, input_own_command);
    if (RL_ISSTATE(RL_STATE_INPUTPENDING)) rl_callback_read_char(); /* a key that a numeric argument has read too far */
    /* It returns in the middle of a macro that holds a numeric argument. */
    for (int i = 0; i < MACRO_STEPS && RL_ISSTATE(RL_STATE_MACROINPUT) && rl_executing_macro; i++)
        rl_callback_read_char();
    settle(in);
}

void input_feed_raw(struct input *in, const char *bytes, size_t n)
{
    in->feed.at = (const unsigned char *)bytes;
    in->feed.end = in->feed.at + n;
    while (in->feed.at < in->feed.end) step(in);
}

static int run_slot(int count, int key)
{
    rl_set_keymap(input_self->feed.user_map);
    return input_self->feed.slot(count, key);
}

int input_do_nothing(int count, int key)
{
    (void)count, (void)key;
    return 0;
}

/* One step with the slot's command in place of the next key. */
static void step_slot(struct input *in, rl_command_func_t *function)
{
    static const unsigned char slot_key[] = {SLOT_KEY};
    int recording = RL_ISSTATE(RL_STATE_MACRODEF); /* this key exists only here: it must not be recorded */
    RL_UNSETSTATE(RL_STATE_MACRODEF);
    in->feed.slot = function;
    in->feed.user_map = rl_get_keymap();
    rl_set_keymap(in->feed.slot_map);
    in->feed.at = slot_key;
    in->feed.end = slot_key + (function != input_do_nothing);
    step(in);
    if (rl_get_keymap() == in->feed.slot_map) rl_set_keymap(in->feed.user_map);
    if (recording) RL_SETSTATE(RL_STATE_MACRODEF);
}

/* A command may wait for one more character (^V, vi's r and f), which readline doesn't tell. It is stepped without one:
 * a command that waits meets the end of the input and gives up; if none does, the command reader gets the slot's key.
 * vi's r doesn't give up by itself. */
static void end_pending_read(struct input *in)
{
    step_slot(in, input_do_nothing);
    rl_callback_sigcleanup();
}

void input_run(struct input *in, rl_command_func_t *function)
{
    if (RL_ISSTATE(PENDING & ~RL_STATE_NUMERICARG)) input_cancel(in);
    step_slot(in, function);
}

void input_close_list(struct input *in)
{
    if (in->tab.open || in->tab.ask) in->version++;
    in->tab.open = false;
    in->tab.ask = 0;
}

/* Ends whatever waits for more keys; a search puts the draft back. */
void input_cancel(struct input *in)
{
    input_close_list(in);
    if (RL_ISSTATE(RL_STATE_VIMOTION | RL_STATE_CHARSEARCH)) input_feed_raw(in, "\033", 1);
    if (RL_ISSTATE(RL_STATE_ISEARCH | RL_STATE_NSEARCH | RL_STATE_MULTIKEY | RL_STATE_NUMERICARG))
        input_feed_raw(in, "\007", 1);
    if (RL_ISSTATE(PENDING)) rl_callback_sigcleanup(); /* an inputrc without an abort key */
    end_pending_read(in);
    settle(in);
}

bool input_close_top(struct input *in)
{
    bool open = in->tab.open || in->tab.ask || RL_ISSTATE(PENDING);
    input_cancel(in);
    return open;
}

/* inputrc's complaints go to stderr, that is, onto the screen: they are caught and become the message. */
void input_read_init_file(struct input *in, int (*read_it)(void))
{
    FILE *caught = tmpfile(), *standard = stderr;
    tdm_error odd;
    if (setup_inputrc(&odd)) input_set_message(in, odd.text);
    if (caught) stderr = caught; /* the stream alone: what ends the program still has its descriptor */
    read_it();
    stderr = standard;
    if (caught) {
        char line[256];
        rewind(caught);
        if (fgets(line, sizeof line, caught)) {
            line[strcspn(line, "\n")] = 0;
            static const char name[] = "readline: ";
            input_set_message(in, strncmp(line, name, sizeof name - 1) ? line : line + sizeof name - 1);
        }
    }
    if (caught) fclose(caught);
}

/* -- life --------------------------------------------------------------------------------------------------------- */

/* readline sets LC_CTYPE from the environment for every line; where the program has chosen another locale than the
 * environment names (C.UTF-8 instead of C), the environment has to say so too. */
static void agree_on_locale(void)
{
    static const char *const names[] = {"LC_ALL", "LC_CTYPE", "LANG"};
    const char *locale = setlocale(LC_CTYPE, NULL), *value = NULL;
    int i = 0;
    while (i < 3 && !((value = getenv(names[i])) && *value)) i++;
    if (locale && i < 3 && strcmp(value, locale)) setenv(i == 0 ? "LC_ALL" : "LC_CTYPE", locale, 1);
}

struct input *input_open(const struct input_options *options, tdm_error *err)
{
    static bool named;
    if (input_self) {
        error_set(err, TDM_E_BUSY, "the line editor is open already");
        return NULL;
    }
    struct input *in = calloc(1, sizeof *in);
    if (!in) goto no_memory;
    if (options) in->options = *options;
    in->lines.goal = -1;
    in->sink = fopen("/dev/null", "we");
    in->source = fopen("/dev/null", "re");
    if (!in->sink || !in->source) {
        error_errno(err, TDM_E_IO, "/dev/null");
        goto failed;
    }
    in->feed.slot_map = rl_make_bare_keymap();
    if (!in->feed.slot_map) goto no_memory;
    rl_bind_key_in_map(SLOT_KEY, run_slot, in->feed.slot_map);
    input_self = in;

    rl_readline_name = "tandem";
    rl_instream = in->source;
    rl_outstream = in->sink;
    rl_catch_signals = 0;
    rl_catch_sigwinch = 0;
    rl_change_environment = 0;
    rl_prep_term_function = prepare_terminal;
    rl_deprep_term_function = restore_terminal;
    rl_redisplay_function = redisplay;
    rl_getc_function = next_byte;
    rl_input_available_hook = bytes_waiting;
    rl_attempted_completion_function = input_complete;
    rl_completion_display_matches_hook = input_show_matches;
    rl_completion_word_break_hook = input_word_breaks;
    rl_sort_completion_matches = 0;
    using_history();
    if (!named) {
        named = true;
        input_name_commands();
        agree_on_locale();
        rl_variable_bind("show-all-if-ambiguous", "on"); /* what Tab lists is chosen from; inputrc may say otherwise */
        input_read_init_file(in, rl_initialize);
        input_bind_commands();
    }
    rl_callback_handler_install("", accept_line);
    input_sync_history(in);
    in->version = 1;
    return in;

no_memory:
    error_set(err, TDM_E_NOMEM, "no memory for the line editor");
failed:
    if (in && in->sink) fclose(in->sink);
    if (in && in->source) fclose(in->source);
    free(in);
    return NULL;
}

static void free_items(struct input_item *item)
{
    while (item) {
        struct input_item *next = item->next;
        free(item);
        item = next;
    }
}

void input_close(struct input *in)
{
    if (!in) return;
    input_cancel(in);
    past_close(in);
    rl_callback_handler_remove();
    rl_free_undo_list();
    rl_clear_history();
    free_items(in->feed.head);
    free(in->feed.handed_back);
    completion_free(&in->tab.list);
    rl_free_keymap(in->feed.slot_map);
    rl_instream = stdin; /* never read: no handler is installed */
    rl_outstream = stdout;
    fclose(in->sink);
    fclose(in->source);
    free(in->out.actions);
    free(in->out.submitted);
    free(in->message);
    free(in);
    input_self = NULL;
}

/* -- history ------------------------------------------------------------------------------------------------------ */

/* Brings readline's list up to the file's, when the user isn't in the middle of it. */
void input_sync_history(struct input *in)
{
    struct history_file *h = in->options.history;
    if (!h || rl_end || RL_ISSTATE(PENDING) || where_history() != history_length) return;
    history_file_refresh(h);
    size_t n = history_file_count(h);
    if (in->history.once && in->history.generation == history_file_generation(h) && in->history.synced == n) return;
    if (!in->history.once || in->history.generation != history_file_generation(h) || n < in->history.synced) {
        past_forget(in);
        rl_clear_history();
        in->history.synced = 0;
    }
    for (; in->history.synced < n; in->history.synced++) add_history(history_file_entry(h, in->history.synced));
    in->history.generation = history_file_generation(h);
    in->history.once = true;
    using_history(); /* add_history leaves the place behind */
}

void input_add_history(struct input *in, const char *text, bool persist)
{
    if (in->options.history) {
        tdm_error err;
        if (history_file_add(in->options.history, text, persist, &err) != TDM_OK) input_set_message(in, err.text);
        input_sync_history(in);
    } else if (text[strspn(text, " \t\r\n")]) {
        bool at_end = where_history() == history_length;
        HIST_ENTRY **list = history_list();
        if (!list || !history_length || strcmp(list[history_length - 1]->line, text)) add_history(text);
        if (at_end) using_history();
    }
}

/* -- the queue ---------------------------------------------------------------------------------------------------- */

void input_push_action(struct input *in, enum key_action action, int count)
{
    if (in->out.count == in->out.size) {
        size_t size = in->out.size ? in->out.size * 2 : 8;
        struct input_action *actions = realloc(in->out.actions, size * sizeof *actions);
        if (!actions) return;
        in->out.actions = actions;
        in->out.size = size;
    }
    in->out.actions[in->out.count++] =
        (struct input_action){.action = action, .time_ns = in->now, .count = count, .pasted = still_pasted(in)};
}

/* How many bytes of data[0..n) are whole characters; the rest may be completed by the next event. */
static size_t whole_characters(const char *data, size_t n)
{
    for (size_t k = 1; k <= 3 && k <= n; k++) {
        unsigned char c = (unsigned char)data[n - k];
        if (c < 0x80) break;
        if (c < 0xc0) continue;
        size_t length = c >= 0xf0 ? 4 : c >= 0xe0 ? 3 : 2;
        return length > k ? n - k : n;
    }
    return n;
}

/* Keys as bytes, with U+FFFD in place of what is no UTF-8: readline's commands for words may never end on such bytes.
 * What the event before or after may complete stays, and is seen again when they are joined. Returns the new length. */
static size_t keep_valid(const struct input *in, const char *data, size_t n, char *out)
{
    const struct input_item *before = in->feed.tail;
    size_t at = 0, i = 0, whole = whole_characters(data, n);
    bool goes_on =
        before && before->kind == DECODER_BYTES && before->used < before->length &&
        whole_characters(before->data + before->used, before->length - before->used) < before->length - before->used;
    while (goes_on && i < whole && utf8_continues(data[i])) out[at++] = data[i++];
    while (i < whole) {
        int32_t c;
        size_t length = utf8_decode(data + i, whole - i, &c);
        memcpy(out + at, c < 0 ? "\357\277\275" : data + i, c < 0 ? 3 : length);
        at += c < 0 ? 3 : length;
        i += length;
    }
    memcpy(out + at, data + whole, n - whole);
    return at + n - whole;
}

bool input_feed_event(struct input *in, const struct decoder_event *e)
{
    if (e->kind == DECODER_MOUSE || e->kind == DECODER_ANSWER) return true;
    bool keys = e->kind == DECODER_BYTES;
    if (e->length > PTRDIFF_MAX / 4) return false;
    struct input_item *item = malloc(sizeof *item + (keys ? 3 : 1) * e->length + 1);
    if (!item) return false;
    *item = (struct input_item){.kind = e->kind, .time_ns = e->time_ns, .code = e->code, .mods = e->mods,
                                .dropped = e->dropped, .length = e->length};
    if (keys) item->length = keep_valid(in, e->data, e->length, item->data);
    else if (e->length) memcpy(item->data, e->data, e->length);
    item->data[item->length] = 0;
    if (in->feed.tail)
        in->feed.tail->next = item;
    else
        in->feed.head = item;
    in->feed.tail = item;
    return true;
}

static struct input_item *pop_item(struct input *in)
{
    struct input_item *item = in->feed.head;
    in->feed.head = item->next;
    if (!in->feed.head) in->feed.tail = NULL;
    item->next = NULL;
    return item;
}

static void interrupt(struct input *in)
{
    /* An Esc that still waits for the key behind it shows nowhere, so it is nothing that Ctrl-C could close. */
    if (!strcmp(in->prefix.keys, "^[")) input_cancel(in);
    if (!input_close_top(in)) input_push_action(in, ACTION_INTERRUPT, 1);
}

/* The answer to 'display all?'. True when the key was one. */
static bool answer(struct input *in, unsigned char c)
{
    if (!in->tab.ask || !strchr("yY \tnN\177\007", c) || !c) return false;
    bool yes = strchr("yY \t", c) != NULL;
    input_close_list(in);
    in->tab.open = yes;
    return true;
}

/* Does a longer key sequence begin with this byte? A search looks in the insertion map. */
static bool is_prefix(unsigned char c)
{
    Keymap map = rl_editing_mode == 0 ? vi_insertion_keymap : rl_get_keymap();
    return map[c].type == ISKMAP;
}

/* Gives readline a step's worth of the bytes of the first item. False when its last character is not complete yet. */
static bool work_on_bytes(struct input *in)
{
    struct input_item *item = in->feed.head;
    const char *data = item->data + item->used;
    size_t n = item->length - item->used;
    bool quoted = rl_last_func == rl_quoted_insert && !RL_ISSTATE(PENDING);
    unsigned char c = (unsigned char)*data;

    if (quoted && whole_characters(data, n)) {
        input_feed_raw(in, data, 1);
        if (rl_last_func == rl_quoted_insert) rl_last_func = rl_insert;
        item->used++;
    } else if (c == 3 || c == 26) {
        item->used++;
        if (c == 3) interrupt(in);
        else input_push_action(in, ACTION_SUSPEND, 1);
    } else if (c == 4 && !rl_end && !RL_ISSTATE(PENDING)) {
        item->used++;
        input_push_action(in, ACTION_LEAVE, 1);
    } else if (answer(in, c)) {
        item->used++;
    } else {
        size_t end = 1;
        while (end < n && data[end] != 3 && data[end] != 4 && data[end] != 26) end++;
        if (end == n && !(end = whole_characters(data, n))) {
            if (!item->next) return false;
            struct input_item *next = item->next;
            char *both = next->kind == DECODER_BYTES ? malloc(n + next->length) : NULL;
            if (!both) { /* nothing completes it */
                free(pop_item(in));
                return true;
            }
            /* The character goes on there. */
            memcpy(both, data, n);
            memcpy(both + n, next->data, next->length);
            struct decoder_event joined = {
                .kind = DECODER_BYTES, .time_ns = next->time_ns, .data = both, .length = n + next->length};
            struct input_item *rest = next->next, *tail = in->feed.tail;
            free(next);
            free(item);
            in->feed.head = in->feed.tail = NULL;
            input_feed_event(in, &joined);
            if (in->feed.head && rest) {
                in->feed.head->next = rest;
                in->feed.tail = tail;
            }
            free(both);
            return true;
        }
        input_close_list(in);
        /* A prefix ends a search. readline would push it back behind the search, see make_safe(). */
        if (RL_ISSTATE(RL_STATE_ISEARCH) && is_prefix(c)) rl_callback_sigcleanup();
        bool vi_command = rl_editing_mode == 0 && rl_get_keymap() == vi_movement_keymap && !RL_ISSTATE(PENDING);
        if (c == 27 && n > 1 && vi_command && input_is_unbound(data, 2)) { /* Esc and a command, typed fast */
            item->used++;
            return true;
        }
        bool sequence = c == 27 || RL_ISSTATE(RL_STATE_MULTIKEY);
        in->feed.at = (const unsigned char *)data;
        in->feed.end = in->feed.at + end;
        step(in);
        size_t took = (size_t)((const char *)in->feed.at - data);
        item->used += took ? took : 1;
        /* Alt with a character of several bytes: where nothing is bound to it, its rest is no text. */
        if (sequence && took && (unsigned char)data[took - 1] >= 0xc0 && !RL_ISSTATE(RL_STATE_MULTIKEY))
            while (item->used < item->length && utf8_continues(item->data[item->used])) item->used++;
        in->feed.at = in->feed.end = NULL;
    }
    if (item->used == item->length) free(pop_item(in));
    return true;
}

static void work_on_esc(struct input *in)
{
    bool vi_command = rl_editing_mode == 0 && rl_get_keymap() == vi_movement_keymap;
    if (in->tab.open || in->tab.ask) {
        input_close_list(in);
    } else if (rl_last_func == rl_quoted_insert && !RL_ISSTATE(PENDING)) {
        input_feed_raw(in, "\033", 1);
        rl_last_func = rl_insert;
    } else if (RL_ISSTATE(RL_STATE_MULTIKEY)) {
        if (!strcmp(in->prefix.keys, "^["))
            input_feed_raw(in, "\033", 1);
        else input_cancel(in);
    } else if (RL_ISSTATE(RL_STATE_NSEARCH)) {
        input_cancel(in);
    } else if (RL_ISSTATE(RL_STATE_ISEARCH)) {
        rl_callback_sigcleanup(); /* keeps what was found */
        settle(in);
    } else if (in->esc_stops && !rl_end) {
        input_push_action(in, ACTION_STOP, 1);
    } else if (vi_command) { /* nothing begins with Esc there but the keys, which are events */
        if (!input_close_top(in)) in->bells++;
    } else {
        input_feed_raw(in, "\033", 1);
    }
}

/* Pasted text during a search goes to the search string, as far as it has no control character. */
static void paste_into_search(struct input *in, const char *text)
{
    size_t n = 0;
    while ((unsigned char)text[n] >= 0x20 && text[n] != 0x7f) n++;
    if (n) input_feed_raw(in, text, n);
}

static void insert_text(struct input *in, const char *text, bool replaces, bool pasted)
{
    in->paste.text = text;
    in->paste.replaces = replaces;
    bool first = replaces || rl_point == 0;
    input_run(in, input_command_insert);
    in->paste.text = NULL;
    if (first && *text) {
        in->paste.any = pasted;
        in->paste.first = *text;
        in->paste.where = where_history();
    }
}

void input_insert_paste(struct input *in, const char *data, size_t n)
{
    char *text = clean_text(data, n, NULL);
    if (!text) {
        input_set_message(in, "no memory for this paste");
        return;
    }
    if (RL_ISSTATE(RL_STATE_ISEARCH | RL_STATE_NSEARCH)) {
        paste_into_search(in, text);
    } else {
        input_cancel(in);
        if (*text) insert_text(in, text, false, true);
    }
    free(text);
}

/* Esc alone makes the next key Meta for as long as readline's keyseq-timeout says (0: for ever), then it is dropped. */
static int64_t meta_until(const struct input *in)
{
    if (strncmp(in->prefix.keys, "^[", 2)) return INT64_MAX;
    const char *ms = rl_variable_value("keyseq-timeout");
    long timeout = ms ? strtol(ms, NULL, 10) : 0;
    return timeout > 0 ? in->prefix.since + timeout * 1000000 : INT64_MAX;
}

/* False when nothing can be done until more events come. */
static bool work(struct input *in)
{
    struct input_item *item = in->feed.head;
    if (!item) return false;
    if (item->time_ns >= meta_until(in)) input_cancel(in);
    in->now = item->time_ns;
    in->lines.was_move = false;
    if (in->message) input_set_message(in, NULL);
    if (!rl_end) input_sync_history(in);
    bool done = true;
    if (item->kind == DECODER_BYTES && item->length) {
        done = work_on_bytes(in);
    } else {
        item = pop_item(in);
        if (item->kind == DECODER_KEY) input_do_key(in, item);
        if (item->kind == DECODER_ESC) work_on_esc(in);
        if (item->kind == DECODER_PASTE) {
            input_insert_paste(in, item->data, item->length);
            if (item->dropped) input_set_message(in, "the paste was too large and has been cut");
        }
        free(item);
    }
    if (!in->lines.was_move) in->lines.goal = -1;
    return done;
}

bool input_next_action(struct input *in, struct input_action *action)
{
    free(in->feed.handed_back);
    in->feed.handed_back = NULL;
    while (!in->out.count)
        if (!work(in)) return false;
    *action = in->out.actions[0];
    memmove(in->out.actions, in->out.actions + 1, --in->out.count * sizeof *in->out.actions);
    if (action->action == ACTION_SUBMIT) {
        action->text = in->out.submitted ? in->out.submitted : "";
        action->length = strlen(action->text);
    }
    return true;
}

bool input_unread(struct input *in, struct decoder_event *e)
{
    free(in->feed.handed_back);
    in->feed.handed_back = NULL;
    if (!in->feed.head) return false;
    struct input_item *item = in->feed.handed_back = pop_item(in);
    *e = (struct decoder_event){.kind = item->kind, .time_ns = item->time_ns, .code = item->code, .mods = item->mods,
                                .dropped = item->dropped, .data = item->data + item->used,
                                .length = item->length - item->used};
    return true;
}

/* -- the draft ---------------------------------------------------------------------------------------------------- */

/* Ends the line the way readline does, so that changed history lines are put back and undo lists freed. */
static void end_line(struct input *in)
{
    input_cancel(in);
    input_run(in, input_command_accept);
    in->paste.any = in->tips.shown = false;
    in->lines.goal = -1;
}

char *input_take(struct input *in, size_t *length, bool remember, bool persist)
{
    input_cancel(in);
    char *text = clean_text(rl_line_buffer, (size_t)rl_end, length);
    if (!text) return NULL;
    end_line(in);
    if (remember) input_add_history(in, text, persist);
    input_sync_history(in);
    past_take_next(in);
    return text;
}

void input_set_text(struct input *in, const char *text)
{
    char *clean = clean_text(text, strlen(text), NULL);
    if (!clean) return;
    end_line(in);
    if (*clean) {
        insert_text(in, clean, true, false);
        rl_free_undo_list();
    }
    free(clean);
}

void input_replace(struct input *in, const char *text)
{
    char *clean = clean_text(text, strlen(text), NULL);
    if (!clean) return;
    input_cancel(in);
    if (strlen(clean) != (size_t)rl_end || memcmp(clean, rl_line_buffer, (size_t)rl_end))
        insert_text(in, clean, true, false);
    free(clean);
}

void input_set_cursor(struct input *in, size_t byte)
{
    struct input_view now;
    input_view(in, 0, &now);
    if (!now.is_draft) return;
    input_cancel(in);
    rl_point = (int)cluster_start(rl_line_buffer, (size_t)rl_end, byte);
    in->lines.goal = -1;
    in->version++;
}

void input_set_message(struct input *in, const char *text)
{
    free(in->message);
    in->message = text ? strdup(text) : NULL;
    if (in->message) harmless_line(in->message);
    in->version++;
}

void input_set_queued(struct input *in, bool queued)
{
    in->queued = queued;
}

void input_set_chips(struct input *in, bool any)
{
    in->chip.any = any;
}

void input_set_columns(struct input *in, int columns)
{
    in->lines.columns = columns > 0 ? columns : 0;
}

void input_set_esc_stops(struct input *in, bool on)
{
    in->esc_stops = on;
}

void input_set_suggestions(struct input *in, const char *const *texts, size_t n)
{
    in->tips.texts = texts;
    in->tips.n = n;
    in->tips.at = 0;
    in->tips.shown = false;
}

/* -- the view ----------------------------------------------------------------------------------------------------- */

void input_view(struct input *in, int64_t now_ns, struct input_view *v)
{
    bool vi = rl_editing_mode == 0;
    bool prompted = rl_display_prompt && *rl_display_prompt && rl_display_prompt != rl_prompt;
    *v = (struct input_view){
        .version = in->version,
        .text = rl_line_buffer,
        .length = (size_t)rl_end,
        .cursor = (size_t)rl_point,
        .is_draft = !RL_ISSTATE(RL_STATE_ISEARCH | RL_STATE_NSEARCH),
        .pasted = in->paste.any,
        .prompt = prompted ? rl_display_prompt : NULL,
        .vi_mode = !vi                                     ? 0
                   : rl_get_keymap() == vi_movement_keymap ? 'c'
                   : RL_ISSTATE(RL_STATE_OVERWRITE)        ? 'r'
                                                           : 'i',
        .overwrite = !vi && RL_ISSTATE(RL_STATE_OVERWRITE),
        .recording = RL_ISSTATE(RL_STATE_MACRODEF) != 0,
        .prefix = in->prefix.keys[0] && now_ns < meta_until(in) ? in->prefix.keys : NULL,
        .menu = !strcmp(in->prefix.keys, "^X") && now_ns - in->prefix.since >= INPUT_MENU_NS,
        .list = in->tab.open ? &in->tab.list : NULL,
        .ask = in->tab.ask,
        .chip_marked = in->chip.marked && in->chip.any,
        .message = in->message,
        .bells = in->bells,
        .bell = rl_variable_value("bell-style"),
    };
}

int64_t input_deadline(const struct input *in, int64_t now_ns)
{
    int64_t at = strcmp(in->prefix.keys, "^X") ? meta_until(in) : in->prefix.since + INPUT_MENU_NS;
    return now_ns < at ? at : INT64_MAX; /* passed: the view shows it already */
}
