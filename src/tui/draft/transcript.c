#include "src/tui/draft/transcript.h"

#include <stdlib.h>
#include <string.h>

#include "src/tui/frame/view.h"
#include "src/tui/external.h"
#include "src/tui/private.h"
#include "ui/text/markdown.h"

tui_action tui_browse_event(tui_browse *b, const struct decoder_event *e)
{
    const struct key_row *row = NULL;
    unsigned char byte = e->kind == DECODER_ESC ? 0x1b : e->length == 1 ? (unsigned char)e->data[0] : 0;
    if (e->kind == DECODER_KEY) {
        row = keys_find_code(KEYS_BROWSE, e->code, e->mods);
        if (e->code == KEYCODE_F1 + 1) row = keys_find_action(KEYS_BROWSE, ACTION_BACK);
        if (!row) row = keys_find_code(KEYS_CHAT, e->code, e->mods);
    } else if (byte) {
        if (byte >= '0' && byte <= '9') { /* a count, as in less */
            if (b->count < 1000) b->count = 10 * b->count + (byte - '0');
            return (tui_action){0};
        }
        row = keys_find_byte(KEYS_BROWSE, byte);
    }
    int count = b->count;
    b->count = 0;
    return row ? tui_action_key(row->action, count) : (tui_action){0};
}

static void browse(tui *t)
{
    struct transcript *transcript = screen_transcript(t->face.screen);
    if (!t->turns.n) {
        tui_notices_add(&t->notices, VIEW_NOTICE_INFO, "there is nothing to browse yet");
        return;
    }
    t->lists.browse = (tui_browse){.on = true};
    if (!transcript_marked(transcript)) transcript_mark(transcript, t->turns.turns[t->turns.n - 1].v.id);
    term_set_mouse(t->face.term, t->keys.mouse, true);
}

static void leave(tui *t)
{
    t->lists.browse = (tui_browse){0};
    transcript_mark(screen_transcript(t->face.screen), 0);
    term_set_mouse(t->face.term, t->keys.mouse, false);
}

/* Says that the words of the last search are nowhere; or ends that notice, when the next search begins. */
static void say_missing(tui *t, bool missing)
{
    char text[sizeof t->lists.search + 40];
    snprintf(text, sizeof text, "'%s' is not in this conversation", t->lists.search);
    if (missing)
        tui_notices_add(&t->notices, VIEW_NOTICE_WARN, "%s", text);
    else
        tui_notices_end_text(&t->notices, text);
}

void tui_transcript_find(tui *t, const char *words, int direction)
{
    say_missing(t, false);
    if (words) snprintf(t->lists.search, sizeof t->lists.search, "%s", words);
    if (!t->lists.search[0]) return;
    struct transcript *transcript = screen_transcript(t->face.screen);
    if (!transcript_find(transcript, tui_view_turns(t), t->lists.search, direction)) {
        t->lists.browse.hit = t->lists.browse.hits = 0;
        say_missing(t, true);
        return;
    }
    if (!t->lists.browse.on) browse(t);
    t->lists.browse.hits = transcript_hits(transcript, tui_view_turns(t), t->lists.search, &t->lists.browse.hit);
}

static const tui_turn *marked(tui *t)
{
    uint64_t id = transcript_marked(screen_transcript(t->face.screen));
    const tui_turn *turn = id ? tui_turns_find(t, id) : NULL;
    return turn ? turn : t->turns.n ? &t->turns.turns[t->turns.n - 1] : NULL;
}

static void copy_code(tui *t, const tui_turn *turn, int n)
{
    size_t length;
    char what[40];
    snprintf(what, sizeof what, "code block %d: ", n);
    char *code = markdown_code_block(turn->text.bytes, turn->text.n, n, &length);
    if (code)
        tui_external_copy(t, what, code, length);
    else tui_notices_add(&t->notices, VIEW_NOTICE_WARN, "there is no code block %d in this turn", n);
    free(code);
}

static void open_link(tui *t, const tui_turn *turn, int n)
{
    char *address = markdown_link(turn->text.bytes, turn->text.n, n);
    if (address)
        tui_external_open(t, address);
    else tui_notices_add(&t->notices, VIEW_NOTICE_WARN, "there is no link %d in this turn", n);
    free(address);
}

void tui_transcript_branch(tui *t, int node)
{
    tdm_error err = {0};
    if (app_select(&t->app, node, &err)) {
        tui_notices_add(&t->notices, VIEW_NOTICE_ERROR, "%s", err.text);
        return;
    }
    tui_turns_events(t);
    tui_turns_sync(t);
}

/* The branch before or after the marked turn's. */
static void go_branch(tui *t, const tui_turn *turn, int direction)
{
    tdm_node node, other;
    tdm_error err = {0};
    int found = 0, all = app_nodes(&t->app);
    if (!all || app_node(&t->app, turn->node, &node, &err)) return;
    for (int i = 1; i <= all && !found; i++) {
        if (app_node(&t->app, i, &other, NULL)) continue;
        bool beside = other.parent == node.parent && other.role == node.role;
        if (beside && other.branch == node.branch + direction) found = i;
        tdm_node_free(&other);
    }
    tdm_node_free(&node);
    if (!found) {
        tui_notices_add(&t->notices, VIEW_NOTICE_INFO, "no other branch there");
    } else {
        tui_transcript_branch(t, found);
        for (size_t i = 0; i < t->turns.n; i++)
            if (t->turns.turns[i].node == found)
                transcript_mark(screen_transcript(t->face.screen), t->turns.turns[i].v.id);
    }
}

static void scroll(tui *t, enum key_action action, int n)
{
    struct view own;
    const struct view *view = tui_view_turns(t);
    struct transcript *transcript = screen_scrolled(t->face.screen, &view, &own);
    switch (action) {
    case ACTION_PAGE_UP: transcript_page(transcript, view, -n); break;
    case ACTION_PAGE_DOWN: transcript_page(transcript, view, n); break;
    case ACTION_LINE_DOWN: transcript_scroll(transcript, view, n); break;
    case ACTION_LINE_UP: transcript_scroll(transcript, view, -n); break;
    case ACTION_TOP: transcript_home(transcript, view); break;
    case ACTION_BOTTOM: transcript_end(transcript, view); break;
    case ACTION_TURN_PREVIOUS: transcript_turn(transcript, view, -1); break;
    case ACTION_TURN_NEXT: transcript_turn(transcript, view, 1); break;
    case ACTION_FOLD: transcript_toggle_fold(transcript, view, transcript_marked(transcript)); break;
    case ACTION_RAW: transcript_toggle_raw(transcript, view, transcript_marked(transcript)); break;
    default: break;
    }
}

tui_action tui_transcript_act(tui *t, enum key_action action, int n)
{
    const tui_turn *turn = marked(t);
    switch (action) {
    case ACTION_COPY_TURN:
        if (turn) tui_external_copy(t, "", turn->text.bytes ? turn->text.bytes : "", turn->text.n);
        break;
    case ACTION_COPY_CODE:
        if (turn) copy_code(t, turn, n);
        break;
    case ACTION_OPEN_LINK:
        if (turn) open_link(t, turn, n);
        break;
    case ACTION_BRANCH_PREVIOUS:
    case ACTION_BRANCH_NEXT:
        if (turn) go_branch(t, turn, action == ACTION_BRANCH_NEXT ? 1 : -1);
        break;
    case ACTION_EDIT_TURN:
        if (!turn) break;
        leave(t);
        return tui_action_number(SLASH_EDIT, turn->v.number);
    case ACTION_REGENERATE:
        leave(t);
        return tui_action_command(SLASH_REGEN, NULL);
    case ACTION_BROWSE: browse(t); break;
    case ACTION_BACK: leave(t); break;
    default: scroll(t, action, n); break;
    }
    return (tui_action){0};
}
