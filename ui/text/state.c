#include "ui/text/state.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "ui/text/format.h"

enum { BAR = 16 };

static double percent_done(const struct view_status *s)
{
    return s->total_bytes ? 100.0 * (double)s->done_bytes / (double)s->total_bytes : 0;
}

static double context_percent(const struct view_status *s)
{
    return s->ctx_size > 0 ? 100.0 * s->ctx_used / s->ctx_size : 0;
}

static const char *tokens(int n) { return n == 1 ? "token" : "tokens"; }

/* ", 3 s left"; nothing before there is a speed. */
static const char *time_left(char out[FORMAT_SIZE], const struct view_status *s)
{
    out[0] = 0;
    if (s->seconds_left >= 0) snprintf(out, FORMAT_SIZE, ", %.0f s left", ceil(s->seconds_left));
    return out;
}

const char *state_word(char out[STATE_SIZE], const struct view *view)
{
    const struct view_status *s = &view->status;
    char a[FORMAT_SIZE], b[FORMAT_SIZE], left[FORMAT_SIZE];
    static const char *const plain[VIEW_STATES] = {
        [VIEW_NO_MODEL] = "NO MODEL", [VIEW_FAILED] = "FAILED",     [VIEW_IDLE] = "IDLE",
        [VIEW_THINKING] = "THINKING", [VIEW_ANSWERING] = "ANSWERING", [VIEW_STOPPED] = "STOPPED",
        [VIEW_UNANSWERED] = "UNANSWERED",
        [VIEW_LENGTH] = "LENGTH",     [VIEW_REPEATS] = "REPEATS",   [VIEW_QUEUED] = "QUEUED",
        [VIEW_FULL] = "FULL",
    };
    static const char *const verbs[VIEW_STATES] = {
        [VIEW_LOADING] = "LOADING",     [VIEW_PACKING] = "PACKING",     [VIEW_COPYING] = "COPYING",
        [VIEW_TESTING] = "TESTING GPU", [VIEW_MEASURING] = "MEASURING", [VIEW_COMPILING] = "COMPILING",
        [VIEW_WAITING] = "WAITING",
    };
    switch (s->state) {
    case VIEW_LOADING:
    case VIEW_PACKING:
    case VIEW_COPYING:
        snprintf(out, STATE_SIZE, "%s %.0f%% %.1f of %.1f GB", verbs[s->state], floor(percent_done(s)),
                 (double)s->done_bytes / 1e9, (double)s->total_bytes / 1e9);
        if (!s->total_bytes) out[strlen("LOADING")] = 0; /* nothing is known yet */
        break;
    case VIEW_TESTING:
    case VIEW_MEASURING:
    case VIEW_COMPILING:
        snprintf(out, STATE_SIZE, "%s %d of %d", verbs[s->state], (int)s->done_bytes + 1, (int)s->total_bytes);
        break;
    case VIEW_WAITING:
        snprintf(out, STATE_SIZE, "%s %d of %d s", verbs[s->state], (int)s->done_bytes, (int)s->total_bytes);
        break;
    case VIEW_READING:
        snprintf(out, STATE_SIZE, "READING %s of %s%s", format_count(a, s->done_tokens),
                 format_count(b, s->total_tokens), time_left(left, s));
        break;
    case VIEW_CONTEXT: snprintf(out, STATE_SIZE, "CONTEXT %.0f%%", context_percent(s)); break;
    default:
        snprintf(out, STATE_SIZE, "%s", (size_t)s->state < VIEW_STATES ? plain[s->state] : "");
        if (view->answers.writing && (s->state == VIEW_ANSWERING || s->state == VIEW_THINKING))
            snprintf(out + strlen(out), STATE_SIZE - strlen(out), " %d of %zu", view->answers.writing, view->answers.n);
    }
    return out;
}

static void progress(char out[BAR * 3 + 4], const struct view *view)
{
    int full = (int)(percent_done(&view->status) / 100 * BAR + 0.5);
    size_t at = 0;
    for (int i = 0; i < BAR; i++)
        at += (size_t)sprintf(out + at, "%s",
                              view->options.ascii ? (i < full ? "#" : ".")
                                                  : (i < full ? "\xe2\xa3\xbf" : "\xe2\xa3\x80"));
}

static void idle_sentence(char out[STATE_SIZE], const struct view *view)
{
    const struct view_status *s = &view->status;
    const struct view_follower *f = &view->monitor.follower;
    char a[FORMAT_SIZE], b[FORMAT_SIZE];
    if (view->draft.command)
        snprintf(out, STATE_SIZE, "A command: Enter runs it");
    else if (view->draft.mark == VIEW_MARK_TOO_LONG && !s->draft_tokens)
        snprintf(out, STATE_SIZE, "The draft is far too long, there is room for %s tokens",
                 format_count(b, s->room_tokens));
    else if (view->draft.mark == VIEW_MARK_TOO_LONG)
        snprintf(out, STATE_SIZE, "The draft has %s tokens, there is room for %s", format_count(a, s->draft_tokens),
                 format_count(b, s->room_tokens));
    else if (view->draft.len && (s->warnings & VIEW_WARN_UNIT_FAILED))
        snprintf(out, STATE_SIZE, "What is unread of your words is read after Enter");
    else if (view->draft.mark == VIEW_MARK_READY && view->draft.len)
        snprintf(out, STATE_SIZE, "All read: Enter answers at once");
    else if (view->draft.mark == VIEW_MARK_TO_READ)
        /* More than a dispatch. */
        snprintf(out, STATE_SIZE, "%s tokens are still to be read; Enter need not wait for them",
                 format_count(a, view->draft.to_read));
    else if (view->draft.mark == VIEW_MARK_OFF && s->host)
        snprintf(out, STATE_SIZE, "What you type stays here until Enter");
    else if (view->draft.mark == VIEW_MARK_OFF)
        snprintf(out, STATE_SIZE, "Reading ahead is off: %s is read after Enter",
                 s->speculation && !strcmp(s->speculation, "history") ? "what you type" : "all");
    else if (view->draft.len && f->phase_total > 0 && f->phase_read >= f->phase_total)
        snprintf(out, STATE_SIZE, "Your words are read; the end follows at a pause");
    else if (view->draft.len && f->phase_total > 0)
        snprintf(out, STATE_SIZE, "Your words are read as you type: %s of %s %s", format_count(a, f->phase_read),
                 format_count(b, f->phase_total), tokens(f->phase_total));
    else if (view->draft.len)
        snprintf(out, STATE_SIZE, "Your words are read as you type");
    else if (f->behind > 0)
        snprintf(out, STATE_SIZE, "Reading the reply for the next turn: %s %s to go", format_count(a, f->behind),
                 tokens(f->behind));
    else
        snprintf(out, STATE_SIZE, "All is read: what you type is read as you type it");
}

/* "3 answers, 2 being written; PREFILL reads answer 2" */
static void answers_sentence(char out[STATE_SIZE], const struct view *view)
{
    const struct view_answers *a = &view->answers;
    int n = snprintf(out, STATE_SIZE, "%zu answers, %d being written", a->n, a->writing);
    enum view_turn_state looked = a->turns[a->looked].state;
    bool reads = view->monitor.follower.behind > 0 && (looked == VIEW_TURN_ANSWERING || looked == VIEW_TURN_THINKING);
    if (reads) snprintf(out + n, STATE_SIZE - (size_t)n, "; PREFILL reads answer %zu", a->looked + 1);
}

const char *state_sentence(char out[STATE_SIZE], const struct view *view)
{
    const struct view_status *s = &view->status;
    const struct view_follower *f = &view->monitor.follower;
    char a[FORMAT_SIZE], b[FORMAT_SIZE], left[FORMAT_SIZE], bar[BAR * 3 + 4];
    bool thinks = s->state == VIEW_THINKING;
    const char *what = thinks ? "The model is thinking" : "Reply is being written";
    const char *began = thinks ? "Thinking began" : "Answered";
    static const char *const steps[VIEW_STATES] = {
        [VIEW_LOADING] = "The model is loading, ^C stops; type ahead",
        [VIEW_PACKING] = "Weights are being packed for this machine",
        [VIEW_TESTING] = "The GPU's driver is tested, once; type ahead",
        [VIEW_COPYING] = "Weights are being copied to the GPU; type ahead",
        [VIEW_MEASURING] = "What is fastest on the GPU is measured; type ahead",
        [VIEW_COMPILING] = "Programs are compiled for the GPU; type ahead",
        [VIEW_WAITING] = "The server loads its model, ^C stops; type ahead",
    };
    out[0] = 0;
    switch (s->state) {
    case VIEW_NO_MODEL: snprintf(out, STATE_SIZE, "No model: /model FILE loads one; what you type is kept"); break;
    case VIEW_LOADING:
    case VIEW_PACKING:
    case VIEW_TESTING:
    case VIEW_COPYING:
    case VIEW_MEASURING:
    case VIEW_COMPILING:
    case VIEW_WAITING:
        progress(bar, view);
        snprintf(out, STATE_SIZE, "%s %s", bar, steps[s->state]);
        break;
    case VIEW_FAILED:
        snprintf(out, STATE_SIZE, "/model tries another: %s", s->detail ? s->detail : "this one could not be loaded");
        break;
    case VIEW_READING:
        snprintf(out, STATE_SIZE, "Reading the conversation: %s of %s tokens%s", format_count(a, s->done_tokens),
                 format_count(b, s->total_tokens), time_left(left, s));
        break;
    case VIEW_THINKING:
    case VIEW_ANSWERING:
        if (view->answers.n)
            answers_sentence(out, view);
        else if (s->answered && s->read_after_enter > 0)
            snprintf(out, STATE_SIZE, "%s after %s: %s %s read after Enter", began, format_ms(a, s->ttft.ms),
                     format_count(b, s->read_after_enter), s->read_after_enter == 1 ? "token was" : "tokens were");
        else if (s->answered)
            snprintf(out, STATE_SIZE, "%s after %s: all was read before Enter", began, format_ms(a, s->ttft.ms));
        else if (f->adopted > 0)
            snprintf(out, STATE_SIZE, "%s; PREFILL takes over its state and need not read it", what);
        else if (f->phase_total > 0)
            snprintf(out, STATE_SIZE, "%s; PREFILL has read %s of its %s tokens", what, format_count(a, f->phase_read),
                     format_count(b, f->phase_total));
        else
            snprintf(out, STATE_SIZE, "%s", what);
        break;
    case VIEW_STOPPED: snprintf(out, STATE_SIZE, "Stopped: /continue goes on"); break;
    case VIEW_UNANSWERED: snprintf(out, STATE_SIZE, "There is no reply: /regen asks again"); break;
    case VIEW_LENGTH: snprintf(out, STATE_SIZE, "The reply reached its length limit: /continue goes on"); break;
    case VIEW_REPEATS: snprintf(out, STATE_SIZE, "The reply only repeated itself: /continue goes on"); break;
    case VIEW_QUEUED: snprintf(out, STATE_SIZE, "Your message waits for the reply; Enter again sends it now"); break;
    case VIEW_CONTEXT:
        snprintf(out, STATE_SIZE, "Context %.0f%% full: /compact, /new, /undo or /edit N makes room",
                 context_percent(s));
        break;
    case VIEW_FULL:
        snprintf(out, STATE_SIZE, "%s",
                 s->drops_oldest ? "The context is full of this turn: --context N, /new, /undo; draft kept"
                                 : "The context is full: /compact, /new, /undo, /edit N; draft kept");
        break;
    default: idle_sentence(out, view);
    }
    return out;
}

bool state_matters(const struct view *view)
{
    switch (view->status.state) {
    case VIEW_THINKING:
    case VIEW_ANSWERING: return view->answers.n > 0;
    case VIEW_IDLE: return view->draft.mark == VIEW_MARK_TOO_LONG;
    default: return true;
    }
}

const char *state_warning(char out[STATE_SIZE], const struct view *view, int n)
{
    const struct view_status *s = &view->status;
    if (!(s->warnings & (1u << n))) return NULL;
    switch (1 << n) {
    case VIEW_WARN_ONE_CORE: snprintf(out, STATE_SIZE, "both units share one core"); break;
    case VIEW_WARN_UNIT_FAILED:
        snprintf(out, STATE_SIZE, "%s", s->consequence ? s->consequence : "a unit failed");
        break;
    case VIEW_WARN_NO_CHECKPOINTS:
        snprintf(out, STATE_SIZE, "no memory for checkpoints: an edit reads the conversation again");
        break;
    case VIEW_WARN_NOT_SAVED:
        snprintf(out, STATE_SIZE, "session not saved%s%s", s->unsaved ? ": " : "", s->unsaved ? s->unsaved : "");
        break;
    default: snprintf(out, STATE_SIZE, "made-up weights: the text is noise, the times are real");
    }
    return out;
}

/* The word of the state, and where what is written goes, which stands there at any width. */
static int draw_word(struct canvas *canvas, int row, int col, int end, const char *word, const struct view_status *s)
{
    char host[STATE_SIZE];
    if (!s->host) return canvas_puts(canvas, row, col, end, word, STYLE_STATE);
    snprintf(host, sizeof host, "%ssent to %s", s->private_session ? "private on disk, " : "", s->host);
    int room = end - 3 - width_text(host, strlen(host)), least = col + 9;
    col = canvas_puts(canvas, row, col, room > least ? room : least, word, STYLE_STATE);
    col = canvas_puts(canvas, row, col, end, " | ", STYLE_RULE);
    return canvas_puts(canvas, row, col, end, host, STYLE_NOTICE);
}

void state_draw_status(const struct view *view, struct canvas *canvas, struct rect area)
{
    const struct view_status *s = &view->status;
    char word[STATE_SIZE], a[FORMAT_SIZE], b[FORMAT_SIZE], part[9][STATE_SIZE];
    int n = 0, col = area.col, end = area.col + area.cols;
    if (rect_empty(area)) return;
    if (view->browse) col = canvas_puts(canvas, area.row, col, end, "BROWSE | ", STYLE_STATE);
    col = draw_word(canvas, area.row, col, end, state_word(word, view), s);
    if (s->background) snprintf(part[n++], STATE_SIZE, "%s", s->background);
    if (s->ttft.kind != VIEW_TTFT_NONE) snprintf(part[n++], STATE_SIZE, "%s", format_ttft(a, &s->ttft));
    if (s->pace > 0)
        snprintf(part[n++], STATE_SIZE, "paced %s", format_rate(a, s->pace));
    else if (s->tok_s > 0)
        snprintf(part[n++], STATE_SIZE, "%s%s", format_rate(a, s->tok_s), view->answers.writing > 1 ? " each" : "");
    if (s->ctx_size > 0)
        snprintf(part[n++], STATE_SIZE, "ctx %s/%s %.0f%%", format_count(a, s->ctx_used), format_count(b, s->ctx_size),
                 context_percent(s));
    /* It stays where the rest is dropped. */
    if (s->private_session && !s->host) snprintf(part[n++], STATE_SIZE, "private");
    if (s->speculation) snprintf(part[n++], STATE_SIZE, "ahead %s", s->speculation);
    if (s->pipeline && strcmp(s->pipeline, "tandem") != 0) snprintf(part[n++], STATE_SIZE, "%s", s->pipeline);
    if (s->model) snprintf(part[n++], STATE_SIZE, "%s", s->model);
    if (s->session && !s->private_session)
        snprintf(part[n++], STATE_SIZE, "%s", s->session);
    for (int i = 0; i < n; i++) {
        if (col + 3 + width_text(part[i], strlen(part[i])) > end) break;
        col = canvas_puts(canvas, area.row, col, end, " | ", STYLE_RULE);
        col = canvas_puts(canvas, area.row, col, end, part[i], STYLE_STATUS);
    }
}
