/* The list of models as it is shown: the columns' texts, and the details of the selected model. */
#include <ctype.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "src/io/number.h"
#include "src/tui/lists/models.h"
#include "ui/text/format.h"

enum { ROW = TUI_LIST_ROW, WIDE = 100 };

/* ---- Cells ----------------------------------------------------------------------------------------------------- */

static const models_row *at(const void *owner, size_t row) { return &((const tui_models *)owner)->list.rows[row]; }

const char *tui_models_mark(const void *owner, size_t row, char *room)
{
    (void)room;
    return at(owner, row)->in_use ? "*" : "";
}

/* The last part of a row's name, and in that of the hub's the colon before the tag, or NULL. */
static const char *last_part(const models_row *r, const char **colon)
{
    const char *end = strrchr(r->name, '/'), *begin = r->builtin ? "built-in" : end ? end + 1 : r->name;
    *colon = r->in_hub || r->offered ? strchr(begin, ':') : NULL;
    return begin;
}

/* "Qwen3.5-4B" of "unsloth/Qwen3.5-4B-GGUF:Q4_K_M"; of a path its end. In a wide row it is the name as -m takes it. */
const char *tui_models_short(const void *owner, size_t row, char *room)
{
    static const char suffix[] = "-GGUF";
    const models_row *r = at(owner, row);
    const char *colon, *begin = last_part(r, &colon);
    size_t n = colon ? (size_t)(colon - begin) : strlen(begin), end = sizeof suffix - 1;
    if (((const tui_models *)owner)->choice.cols >= WIDE && !r->builtin) return r->name;
    if ((r->in_hub || r->offered) && n > end + 1 && !strncasecmp(begin + n - end, suffix, end)) n -= end;
    snprintf(room, ROW, "%.*s", (int)(n < ROW ? n : ROW - 1), begin);
    return room;
}

/* "Q4_K_M" of that name; of a path the type of the weights. */
const char *tui_models_type(const void *owner, size_t row, char *room)
{
    const char *colon;
    last_part(at(owner, row), &colon);
    if (colon) return colon + 1;
    snprintf(room, ROW, "%s", at(owner, row)->type);
    for (char *c = room; *c; c++) *c = (char)toupper((unsigned char)*c);
    return room;
}

const char *tui_models_disk(const void *owner, size_t row, char *room)
{
    const models_row *r = at(owner, row);
    return r->reason || r->host ? "" : bytes_words(room, r->disk_bytes);
}

const char *tui_models_needs(const void *owner, size_t row, char *room)
{
    const models_row *r = at(owner, row);
    return r->reason || r->host ? "" : bytes_words(room, r->needs_bytes);
}

const char *tui_models_speed(const void *owner, size_t row, char *room)
{
    return at(owner, row)->tps > 0 ? format_rate(room, at(owner, row)->tps) : "-";
}

const char *tui_models_verdict(const void *owner, size_t row, char *room)
{
    models_verdict(at(owner, row), room, ROW);
    return room;
}

/* ---- What is told below the rows --------------------------------------------------------------------------------- */

static char *next_note(tui_models *m)
{
    char *note = m->notes[m->choice.n_notes];
    note[0] = 0;
    m->choice.notes[m->choice.n_notes++] = note;
    return note;
}

static void seconds_words(double s, char out[40])
{
    if (s < 1)
        snprintf(out, 40, "in less than a second");
    else if (s < 90)
        snprintf(out, 40, "in about %.0f s", s);
    else
        snprintf(out, 40, "in about %.0f min", s / 60);
}

/* What using a model would take, as far as it was measured here. */
static void tell_use(const tui_models *m, const models_row *r, char out[ROW])
{
    const tui_models_facts *f = &m->facts;
    char loads[40] = "", reads[40] = "", count[FORMAT_SIZE];
    size_t n = (size_t)snprintf(out, ROW, "%s: ", r->name);
    if (f->load_rate > 0) seconds_words((double)r->disk_bytes / f->load_rate, loads);
    if (f->prefill_tps > 0 && r->token_flops && f->token_flops) /* a token's work scales with its products */
        seconds_words(f->context / f->prefill_tps * (double)r->token_flops / (double)f->token_flops, reads);
    if (n < ROW && f->name)
        n += (size_t)snprintf(out + n, ROW - n, "Enter loads it%s%s; %s answers until then.", loads[0] ? " " : "",
                              loads, f->name);
    else if (n < ROW)
        n += (size_t)snprintf(out + n, ROW - n, "Enter loads it%s%s.", loads[0] ? " " : "", loads);
    if (n < ROW && f->context)
        snprintf(out + n, ROW - n, " Then %s tokens of this conversation are read again%s%s; you can type meanwhile.",
                 format_count(count, (long)f->context), reads[0] ? ", " : "", reads);
}

static void tell_too_large(const tui_models *m, const models_row *r, char out[ROW])
{
    char needs[BYTES_ROOM], left[BYTES_ROOM];
    bool alone = m->facts.current.resident && r->needs_bytes <= m->list.memory_free + m->facts.current.resident;
    snprintf(out, ROW, "%s: needs %s of memory, and %s are free%s", r->name, bytes_words(needs, r->needs_bytes),
             bytes_words(left, m->list.memory_free),
             alone ? " beside the model in use; Enter closes that one first" : "");
}

static void tell_row(const tui_models *m, const models_row *r, char out[ROW])
{
    if (r->reason)
        snprintf(out, ROW, "%s: %s%s", r->name, models_refused(r), r->reason);
    else if (r->in_use)
        snprintf(out, ROW, "%s: in use", r->name);
    else if (r->offered)
        snprintf(out, ROW,
                 "%s isn't here, its figures are estimates: p asks the hub what it takes, and then fetches it",
                 r->name);
    else if (r->host)
        snprintf(out, ROW, "%s: Enter goes on with it on %s, which gets what you write", r->name, r->host);
    else if (r->fit == MODELS_TOO_LARGE)
        tell_too_large(m, r, out);
    else
        tell_use(m, r, out);
}

static void tell_plan(const tui_pull *p, char out[ROW])
{
    char size[BYTES_ROOM], here[BYTES_ROOM], left[BYTES_ROOM];
    if (!p->planned) {
        snprintf(out, ROW, "%s: asking what there is ...", p->name);
        return;
    }
    size_t n =
        (size_t)snprintf(out, ROW, "%s from %s: %s (%s)", p->name, p->host, bytes_words(size, p->bytes), p->reason);
    if (n < ROW && p->missing_bytes < p->bytes)
        n += (size_t)snprintf(out + n, ROW - n, ", %s of it here already",
                              bytes_words(here, p->bytes - p->missing_bytes));
    if (n < ROW && p->free_bytes)
        n += (size_t)snprintf(out + n, ROW - n, "; %s free on the disk", bytes_words(left, p->free_bytes));
    if (n < ROW && !p->fits_memory) snprintf(out + n, ROW - n, "; it may not fit the memory");
}

/* Whether the question is open that this key answers: y to delete, Enter to fetch; 0: that for a name. */
static bool asks(const tui_models *m, char yes) { return m->choice.question && m->choice.question->yes == yes; }

static void fill_notes(tui_models *m)
{
    const models_row *r = tui_models_selected(m);
    tui_list *l = &m->choice;
    l->n_notes = 0;
    if (asks(m, 0)) return;
    if (m->pull.runs && !m->pull.dry) {
        progress_figures figures = m->pull.figures;
        figures.name = m->pull.name;
        progress_line(&figures, l->cols, next_note(m), ROW);
        if (m->pull.note[0]) snprintf(next_note(m), ROW, "%s", m->pull.note);
    }
    if (l->said[0])
        tui_list_note(l, l->said);
    else if (asks(m, '\r'))
        tell_plan(&m->pull, next_note(m));
    else if (asks(m, 'y') && r) {
        char size[BYTES_ROOM];
        snprintf(next_note(m), ROW, "delete %s, %s, from the hub's cache? What other revisions use stays.", r->name,
                 bytes_words(size, r->disk_bytes));
    } else if (m->have && r)
        tell_row(m, r, next_note(m));
    else if (m->have && l->filter[0])
        tui_list_note(l, "no model's name holds these words");
    else if (!m->have)
        tui_list_note(l, "looking at the files ...");
    for (size_t i = 0; i < TUI_LIST_NOTES; i++) tui_list_harmless(m->notes[i]);
}

/* ---- The frame --------------------------------------------------------------------------------------------------- */

static void fill_aside(tui_models *m)
{
    const models_list *l = &m->list;
    char total[BYTES_ROOM], left[BYTES_ROOM], speed[BYTES_ROOM], date[40] = "";
    m->aside[0] = 0;
    if (!m->have) return;
    size_t n = (size_t)snprintf(m->aside, sizeof m->aside, "%s, %s free", bytes_words(total, l->memory_total),
                                bytes_words(left, l->memory_free));
    if (m->facts.measuring->task.running) {
        snprintf(m->aside + n, sizeof m->aside - n, "; measuring its speed");
    } else if (l->speed.bytes_per_s > 0) {
        struct tm at;
        time_t when = (time_t)l->speed.when;
        strftime(date, sizeof date, "%d %b %H:%M", localtime_r(&when, &at));
        bytes_words(speed, (uint64_t)l->speed.bytes_per_s);
        snprintf(m->aside + n, sizeof m->aside - n, "; memory %s/s (%s)", speed, date);
    }
}

void tui_models_adapt(void *owner, struct view_popup *v)
{
    tui_models *m = owner;
    fill_aside(m);
    fill_notes(m);
    v->aside = m->aside;
    v->header = m->have ? m->choice.header : NULL;
    v->n_notes = m->choice.n_notes;
    if (asks(m, '\r') && m->pull.planned) v->footer = "Enter fetches  Esc back";
    if (!m->choice.question && !m->choice.filtering && m->pull.runs)
        v->footer = "x stop  Enter use  q close  a always  d delete  i info  / filter  s sort";
}
