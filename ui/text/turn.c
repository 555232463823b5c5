#include "ui/text/turn.h"

#include <stdio.h>
#include <string.h>

#include "ui/preview/draw.h"
#include "ui/text/format.h"

enum { LAST_LINES = 3, TAIL_BYTES = 16 << 10, STATS_MARGIN = 3, LONG_LINES = 16, FIRST_SHOWN = 4, LAST_SHOWN = 1 };

void turn_free(struct turn_lines *lines)
{
    for (int i = 0; i < TURN_PARTS; i++) lines_free(&lines->part[i]);
    memset(lines, 0, sizeof *lines);
}

static bool streams(enum view_turn_state state) { return state == VIEW_TURN_THINKING || state == VIEW_TURN_ANSWERING; }

static void clear(struct lines *lines)
{
    lines_cut(lines, (struct lines_mark){0});
    lines->failed = false;
}

static bool same_options(const struct view_options *a, const struct view_options *b)
{
    return a->ascii == b->ascii && a->no_motion == b->no_motion && a->theme == b->theme && a->colours == b->colours &&
           a->strikes == b->strikes && a->stats == b->stats && a->pictures == b->pictures &&
           a->cell_width == b->cell_width && a->cell_height == b->cell_height;
}

static struct lines_prefix thinking_prefix(bool ascii)
{
    const char *bar = ascii ? "| " : "\xe2\x94\x82 ";
    return (struct lines_prefix){bar, bar, STYLE_RULE};
}

static void render_thinking(struct turn_lines *l, const struct view_turn *turn)
{
    struct lines *out = &l->part[TURN_HEAD];
    char text[160], tokens[FORMAT_SIZE];
    clear(out);
    bool running = turn->state == VIEW_TURN_THINKING;
    if (turn->thinking_len == 0 && !running) return;
    int n = snprintf(text, sizeof text, "%s %.0f s", running ? "thinking" : "thought", turn->thought_s);
    if (turn->thought_tokens) /* counted at the end */
        snprintf(text + n, sizeof text - (size_t)n, ", %s tokens", format_count(tokens, turn->thought_tokens));
    lines_one(out, text, STYLE_THINKING, l->width, false);
    if (running || l->open) {
        /* While it runs only the last lines are shown, wrapped from a paragraph's start so that they stand still. */
        size_t from = 0, end = turn->thinking_len;
        while (end && (turn->thinking[end - 1] == '\n' || turn->thinking[end - 1] == ' ')) end--;
        if (running && !l->open) {
            int newlines = 0;
            for (from = end; from > 0 && end - from < TAIL_BYTES; from--)
                if (turn->thinking[from - 1] == '\n' && ++newlines > LAST_LINES) break;
        }
        struct lines_mark head = lines_mark(out);
        size_t start = out->len;
        if (end > from) lines_add_tabs(out, turn->thinking + from, end - from, from, STYLE_THINKING);
        lines_wrap(out, start, l->width, thinking_prefix(l->options.ascii), LINES_WORDS);
        if (running && !l->open && out->n - head.n > LAST_LINES) {
            memmove(out->line + head.n, out->line + out->n - LAST_LINES, LAST_LINES * sizeof *out->line);
            out->n = head.n + LAST_LINES;
        }
    }
    if (turn->text_len) lines_wrap(out, out->len, l->width, (struct lines_prefix){"", "", STYLE_TEXT}, LINES_WORDS);
}

/* Side by side as far as there is room, with their names below: blank lines, onto which they are drawn. */
static void render_pictures(struct turn_lines *l, const struct view_turn *turn)
{
    enum { INDENT = 2, GAP = 2, CAPTION = 400 };
    struct lines *out = &l->part[TURN_HEAD];
    clear(out);
    l->n_pictures = turn->n_pictures < TURN_PICTURES ? turn->n_pictures : TURN_PICTURES;
    for (size_t i = 0; i < l->n_pictures;) {
        char caption[CAPTION] = "";
        int col = INDENT, most = 0;
        size_t line = out->n, n = 0;
        for (size_t first = i; i < l->n_pictures; i++) {
            const struct view_picture *p = &turn->pictures[i];
            struct turn_picture *at = &l->pictures[i];
            *at = (struct turn_picture){.line = line, .col = col};
            preview_cells_of(p, &l->options, l->width - INDENT, PREVIEW_ROWS, &at->cols, &at->rows);
            if (i > first && col + (at->cols ? at->cols : 1) > l->width) break;
            col += at->cols + GAP;
            most = at->rows > most ? at->rows : most;
            if (n < CAPTION) /* what has no room is cut off at the line's end */
                n += (size_t)snprintf(caption + n, CAPTION - n, "%s%s %ux%u", n ? ", " : "  ", p->name, p->width,
                                      p->height);
        }
        for (int row = 0; row < most; row++) lines_one(out, "", STYLE_TEXT, l->width, false);
        lines_one(out, caption, STYLE_QUIET, l->width, false);
    }
    char rest[40];
    snprintf(rest, sizeof rest, "  and %zu more", turn->n_pictures - l->n_pictures);
    if (turn->n_pictures > l->n_pictures) lines_one(out, rest, STYLE_QUIET, l->width, false);
}

static void render_plain(struct turn_lines *l, const struct view_turn *turn, struct lines_prefix prefix, style_t style)
{
    struct lines *out = &l->part[TURN_BODY];
    clear(out);
    size_t end = turn->text_len;
    while (end && turn->text[end - 1] == '\n') end--;
    lines_add_tabs(out, turn->text, end, 0, style);
    lines_wrap(out, 0, l->width, prefix, LINES_WORDS);
}

/* Lines that show nothing but the first `bytes` of the text. */
static size_t lines_within(const struct lines *lines, size_t bytes, size_t text_len)
{
    size_t n = 0;
    while (n < lines->n && (n + 1 < lines->n ? lines_source(lines, n + 1) : text_len) <= bytes) n++;
    return n;
}

/* Of long files only the first lines are shown, and the last one, which is the blank one before the user's words. The
 * text stays whole for the search. */
static void fold_attached(struct turn_lines *l, const struct view_turn *turn)
{
    enum { MAX_MADE = LONG_LINES - FIRST_SHOWN - LAST_SHOWN };
    struct lines *out = &l->part[TURN_BODY];
    struct lines_line made[MAX_MADE];
    char text[100];
    size_t n = out->n, from = out->len, within = turn->attached ? lines_within(out, turn->attached, turn->text_len) : 0;
    if (l->open || within <= LONG_LINES) return;
    size_t hidden = within - FIRST_SHOWN - LAST_SHOWN, rest = n - FIRST_SHOWN - hidden;
    snprintf(text, sizeof text, "%zu more lines: ^X b, then t unfolds", hidden);
    lines_add_made(out, text, strlen(text), lines_source(out, FIRST_SHOWN), STYLE_QUIET);
    lines_wrap(out, from, l->width, (struct lines_prefix){"  ", "  ", STYLE_QUIET}, LINES_WORDS);
    size_t n_made = out->n - n < MAX_MADE ? out->n - n : MAX_MADE;
    memcpy(made, out->line + n, n_made * sizeof *made);
    memmove(out->line + FIRST_SHOWN + n_made, out->line + n - rest, rest * sizeof *made);
    memcpy(out->line + FIRST_SHOWN, made, n_made * sizeof *made);
    out->n = FIRST_SHOWN + n_made + rest;
}

static void render_body(struct turn_lines *l, const struct view_turn *turn, bool afresh)
{
    if (turn->role == VIEW_USER) {
        render_plain(l, turn, (struct lines_prefix){"> ", "  ", STYLE_USER}, STYLE_USER);
        fold_attached(l, turn);
    } else if (l->raw) {
        render_plain(l, turn, (struct lines_prefix){"", "", STYLE_TEXT}, STYLE_TEXT);
    } else {
        if (afresh) {
            clear(&l->part[TURN_BODY]);
            bool colour = l->options.colours >= 8 && l->options.theme != VIEW_THEME_MONO;
            const struct blocks_look look = {l->width, l->options.ascii, colour, l->options.strikes};
            markdown_start(&l->md, &l->part[TURN_BODY], look);
        }
        markdown_update(&l->md, turn->text, turn->text_len);
    }
}

/* "300 in, 300 read before Enter, 12 after it"; unit: what stands behind the first number. */
static void tell_read(char *out, size_t room, const struct view_turn_stats *s, const char *unit)
{
    char in[FORMAT_SIZE], before[FORMAT_SIZE], again[FORMAT_SIZE];
    const char *about = s->estimated ? "~" : "";
    int n = snprintf(out, room, "%s%s %s, %s%s read before Enter", about, format_count(in, s->in), unit, about,
                     format_count(before, s->read_before));
    if (s->read_again && n < (int)room)
        snprintf(out + n, room - (size_t)n, ", %s after it", format_count(again, s->read_again));
}

/* The groups of the quiet line; those that do not fit are left out from the right. */
static void stats_line(struct turn_lines *l, const struct view_turn *turn)
{
    const struct view_turn_stats *s = &turn->stats;
    enum { GROUPS = 6 };
    char group[GROUPS][128], a[FORMAT_SIZE], b[FORMAT_SIZE], c[FORMAT_SIZE], line[sizeof group + GROUPS * 3] = "";
    const char *about = s->estimated ? "~" : "";
    int n = 0;
    if (turn->state == VIEW_TURN_STOPPED) snprintf(group[n++], sizeof *group, "stopped");
    if (turn->state == VIEW_TURN_LENGTH) snprintf(group[n++], sizeof *group, "length limit");
    if (turn->state == VIEW_TURN_REPEATS) snprintf(group[n++], sizeof *group, "only repeated itself");
    if (turn->state == VIEW_TURN_FULL) snprintf(group[n++], sizeof *group, "context full");
    if (turn->branches > 1) snprintf(group[n++], sizeof *group, "%d/%d", turn->branch, turn->branches);
    if (s->valid && l->options.stats != VIEW_STATS_OFF) {
        if (s->answer_ms > 0)
            snprintf(group[n++], sizeof *group, "%s %s to thinking, %s to the answer%s%s",
                     format_ttft_kind(s->ttft.kind), format_ms(a, s->ttft.ms), format_ms(b, s->answer_ms),
                     s->ttft.mark ? ", " : "", format_ttft_mark(s->ttft.mark));
        else if (s->ttft.kind != VIEW_TTFT_NONE)
            snprintf(group[n++], sizeof *group, "%s", format_ttft(a, &s->ttft));
        tell_read(group[n++], sizeof *group, s, "in");
        snprintf(group[n++], sizeof *group, "%s%s out%s%s%s, %s", about, format_count(a, s->out),
                 s->tok_s > 0 ? ", " : "", s->tok_s > 0 ? format_rate(b, s->tok_s) : "", s->paced ? " paced" : "",
                 format_seconds(c, s->seconds));
    }
    int width = l->width - (l->width > 60 ? STATS_MARGIN - 1 : 0);
    for (int i = 0; i < n; i++) {
        size_t len = strlen(line);
        if ((int)(len + (i ? 3 : 0) + strlen(group[i])) > width) break;
        snprintf(line + len, sizeof line - len, "%s%s", i ? " | " : "", group[i]);
    }
    if (line[0]) lines_one(&l->part[TURN_TAIL], line, STYLE_QUIET, width, true);
}

static void stats_card(struct turn_lines *l, const struct view_turn *turn)
{
    const struct view_turn_stats *s = &turn->stats;
    struct lines *out = &l->part[TURN_TAIL];
    char a[FORMAT_SIZE], b[FORMAT_SIZE], read[128], text[200];
    snprintf(text, sizeof text, "  first glyph  %s (engine %s)", format_ttft(a, &s->ttft), format_ms(b, s->engine_ms));
    if (s->ttft.kind == VIEW_TTFT_NONE) snprintf(text, sizeof text, "  first glyph  -");
    lines_one(out, text, STYLE_QUIET, l->width, false);
    tell_read(read, sizeof read, s, "tokens");
    snprintf(text, sizeof text, "  in           %s", read);
    lines_one(out, text, STYLE_QUIET, l->width, false);
    snprintf(text, sizeof text, "  out          %s%s tokens", s->estimated ? "~" : "", format_count(a, s->out));
    lines_one(out, text, STYLE_QUIET, l->width, false);
    snprintf(text, sizeof text, "  speed        %s%s", s->tok_s > 0 ? format_rate(a, s->tok_s) : "-",
             s->paced ? " paced" : "");
    lines_one(out, text, STYLE_QUIET, l->width, false);
    snprintf(text, sizeof text, "  time         %s", format_seconds(a, s->seconds));
    lines_one(out, text, STYLE_QUIET, l->width, false);
}

static void render_tail(struct turn_lines *l, const struct view_turn *turn)
{
    clear(&l->part[TURN_TAIL]);
    if (turn->state == VIEW_TURN_FAILED) {
        struct lines *out = &l->part[TURN_TAIL];
        const char *why = turn->why ? turn->why : "no reason given";
        lines_add(out, "failed: ", 8, 0, STYLE_ERROR);
        lines_add(out, why, strlen(why), 0, STYLE_ERROR);
        lines_wrap(out, 0, l->width, (struct lines_prefix){"", "", STYLE_ERROR}, LINES_WORDS);
        return;
    }
    if (turn->state == VIEW_TURN_QUEUED) lines_one(&l->part[TURN_TAIL], "  queued", STYLE_QUIET, l->width, false);
    if (streams(turn->state)) return;
    if (turn->stats.valid && l->options.stats == VIEW_STATS_CARD) stats_card(l, turn);
    struct view_turn shown = *turn;
    if (l->options.stats == VIEW_STATS_CARD) shown.stats.valid = false;
    stats_line(l, &shown);
}

void turn_render(struct turn_lines *l, const struct view_turn *turn, int width, const struct view_options *options)
{
    bool afresh = !l->valid || l->revision != turn->revision || l->width != width || l->was_raw != l->raw ||
                  !same_options(&l->options, options) || turn->text_len < l->text_len ||
                  (turn->role == VIEW_USER && l->was_open != l->open);
    bool head = afresh || l->was_open != l->open || l->state != turn->state || l->thinking_len != turn->thinking_len ||
                (l->text_len == 0) != (turn->text_len == 0) || l->thought_tokens != turn->thought_tokens ||
                l->thought_s != (int)turn->thought_s;
    bool body = afresh || l->text_len != turn->text_len;
    bool tail = afresh || l->state != turn->state || memcmp(&l->stats, &turn->stats, sizeof l->stats) != 0 ||
                l->branch != turn->branch || l->branches != turn->branches;
    if (!head && !body && !tail) return;
    size_t head_lines = l->part[TURN_HEAD].n;
    l->width = width;
    l->options = *options;
    if (head && turn->role == VIEW_USER)
        render_pictures(l, turn);
    else if (head)
        render_thinking(l, turn);
    if (body) render_body(l, turn, afresh);
    if (tail) render_tail(l, turn);
    if (afresh || head_lines != l->part[TURN_HEAD].n) l->generation++;
    l->valid = true; /* unless there was no memory for a part: then all is rendered again with the next frame */
    for (int part = 0; part < TURN_PARTS; part++) l->valid = l->valid && !l->part[part].failed;
    l->revision = turn->revision;
    l->was_open = l->open;
    l->was_raw = l->raw;
    l->state = turn->state;
    l->stats = turn->stats;
    l->branch = turn->branch;
    l->branches = turn->branches;
    l->text_len = turn->text_len;
    l->thinking_len = turn->thinking_len;
    l->thought_s = (int)turn->thought_s;
    l->thought_tokens = turn->thought_tokens;
}

bool turn_shows(const struct turn_lines *l, enum turn_part part, size_t at, size_t *line)
{
    const struct lines *lines = &l->part[part];
    *line = 0;
    /* The line about a fold was made last: its text stands behind all other text. */
    for (size_t i = 0; i < lines->n; i++)
        if (lines->line[i].from <= at) *line = i;
    return lines->n && at < lines->line[*line].to;
}

size_t turn_height(const struct turn_lines *l)
{
    size_t n = l->part[TURN_HEAD].n + l->part[TURN_BODY].n + l->part[TURN_TAIL].n;
    if (l->options.no_motion && l->state == VIEW_TURN_ANSWERING && l->part[TURN_BODY].n) n--;
    return n;
}

enum turn_part turn_part_at(const struct turn_lines *l, size_t i, size_t *line)
{
    int part = TURN_HEAD;
    while (part < TURN_TAIL && i >= l->part[part].n) i -= l->part[part++].n;
    *line = i;
    return (enum turn_part)part;
}

size_t turn_part_start(const struct turn_lines *l, enum turn_part part)
{
    size_t start = 0;
    for (int p = TURN_HEAD; p < (int)part; p++) start += l->part[p].n;
    return start;
}
