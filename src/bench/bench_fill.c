#include "src/bench/bench_fill.h"

#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "engine/base/error.h"
#include "src/cli/files.h"
#include "src/cli/jsonio.h"

enum { LARGEST = 16 << 20, MODELS = 12, LISTED = 24, BESIDES = 3 };

/* What a line asks for. */
struct wish {
    char suite[24], part[24];
    char models[MODELS][96], columns[LISTED][32], rows[LISTED][96], beside[BESIDES][96], note[32];
    int n_models, n_columns, n_rows, n_beside;
    bool notes, optional, medians, turned, ceilings;
};

struct filling {
    const bench *b;
    const char *name; /* of the file */
    int line;
    struct wish wish;
    FILE *out;
    tdm_error *err;
};

static tdm_status bad(const struct filling *f, const char *format, ...) __attribute__((format(printf, 2, 3)));
static tdm_status bad(const struct filling *f, const char *format, ...)
{
    char text[300];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    return error_set(f->err, TDM_E_FORMAT, "%s: line %d: %s", f->name, f->line, text);
}

/* ---- The line ---------------------------------------------------------------------------------------------------- */

/* "a,b" into list (of `most` texts with `room` bytes each); how many, or -1. */
static int split(const char *text, char *list, int most, size_t room)
{
    int n = 0;
    for (;;) {
        size_t length = strcspn(text, ",");
        if (n == most || !length || length >= room) return -1;
        snprintf(list + (size_t)n++ * room, room, "%.*s", (int)length, text);
        if (!text[length]) return n;
        text += length + 1;
    }
}

static bool take_word(struct wish *w, int number, const char *word)
{
    const char *equals = strchr(word, '='), *value = equals ? equals + 1 : "";
    size_t key = equals ? (size_t)(equals - word) : 0;
    if (number == 0) {
        size_t n = strcspn(word, "/");
        if (n >= sizeof w->suite || strlen(word + n) > sizeof w->part) return false;
        snprintf(w->suite, sizeof w->suite, "%.*s", (int)n, word);
        snprintf(w->part, sizeof w->part, "%s", word[n] ? word + n + 1 : "");
        return true;
    }
    if (number == 1) return (w->n_models = split(word, w->models[0], MODELS, sizeof w->models[0])) > 0;
    const struct {
        const char *name;
        bool *flag;
    } flags[] = {{"notes", &w->notes}, {"optional", &w->optional}, {"medians", &w->medians}, {"turned", &w->turned},
                 {"ceilings", &w->ceilings}};
    for (size_t i = 0; i < sizeof flags / sizeof *flags; i++)
        if (!strcmp(word, flags[i].name)) return *flags[i].flag = true;
    if (!strncmp(word, "columns=", key + 1))
        return (w->n_columns = split(value, w->columns[0], LISTED, sizeof w->columns[0])) > 0;
    if (!strncmp(word, "rows=", key + 1)) return (w->n_rows = split(value, w->rows[0], LISTED, sizeof w->rows[0])) > 0;
    if (!strncmp(word, "beside=", key + 1))
        return (w->n_beside = split(value, w->beside[0], BESIDES, sizeof w->beside[0])) > 0;
    if (!strncmp(word, "note=", key + 1)) return (size_t)snprintf(w->note, sizeof w->note, "%s", value) < sizeof w->note;
    return false;
}

/* The words after "<!-- bench ", up to "-->". */
static tdm_status read_wish(struct filling *f, const char *text, size_t n)
{
    char words[1000], *save;
    f->wish = (struct wish){0};
    if (n >= sizeof words) return bad(f, "expected at most %zu bytes", sizeof words - 1);
    snprintf(words, sizeof words, "%.*s", (int)n, text);
    char *end = strstr(words, "-->");
    if (!end) return bad(f, "expected '-->' at the end of the line");
    *end = 0;
    int number = 0;
    for (char *w = strtok_r(words, " ", &save); w; w = strtok_r(NULL, " ", &save))
        if (!take_word(&f->wish, number++, w)) return bad(f, "'%s' is not understood", w);
    return number < 2 ? bad(f, "expected a suite and a model") : TDM_OK;
}

/* ---- A table ----------------------------------------------------------------------------------------------------- */

/* Do they name the same model? A line's words have '_' for blanks ("no_model"). */
static bool same_name(const char *asked, const char *name)
{
    while (*asked && (*asked == *name || (*asked == '_' && *name == ' '))) {
        asked++;
        name++;
    }
    return !*asked && !*name;
}

static bench_table *find(const struct filling *f, const char *model)
{
    for (int i = 0; i < f->b->n_tables; i++) {
        bench_table *t = f->b->tables[i];
        if (!strcmp(t->suite, f->wish.suite) && !strcmp(t->part, f->wish.part) && same_name(model, t->model)) return t;
    }
    return NULL;
}

/* What stands beside a model: "*@goal" names the model itself, without a kernel set, before the '@'. */
static bench_table *find_beside(const struct filling *f, int k, const char *model)
{
    const char *asked = f->wish.beside[k];
    char name[200];
    if (*asked != '*') return find(f, asked);
    snprintf(name, sizeof name, "%.*s%s", (int)strcspn(model, "@"), model, asked + 1);
    return find(f, name);
}

/* Do the row's parameters, with '|' between, hold one of the texts, from one '|' to another? */
static bool row_wanted(const struct wish *w, const bench_table *t, int row)
{
    char all[BENCH_PARAMETERS * 50] = "|", text[100];
    for (int p = 0; p < t->n_parameters; p++)
        snprintf(all + strlen(all), sizeof all - strlen(all), "%s|", t->rows[row].parameter[p]);
    bool wanted = !w->n_rows;
    for (int i = 0; i < w->n_rows; i++) {
        snprintf(text, sizeof text, "|%s|", w->rows[i]);
        wanted |= strstr(all, text) != NULL;
    }
    return wanted;
}

/* The row of `other` that is nearest to t's in its parameters: equal, or numbers within a factor of three; -1: none. */
static int nearest_row(const bench_table *t, int row, const bench_table *other)
{
    const double limit = log(3);
    double nearest = limit;
    int found = -1;
    for (int r = 0; r < other->n_rows; r++) {
        double distance = 0;
        for (int p = 0; p < t->n_parameters && p < other->n_parameters; p++) {
            const char *a = t->rows[row].parameter[p], *b = other->rows[r].parameter[p];
            if (!strcmp(a, b)) continue;
            double x = atof(a), y = atof(b);
            distance += x > 0 && y > 0 ? fabs(log(x / y)) : 2 * limit;
        }
        if (distance < nearest) {
            nearest = distance;
            found = r;
        }
    }
    return found;
}

/* The one that stands beside it: nearest from either side. */
static int same_row(const bench_table *t, int row, const bench_table *other)
{
    int found = nearest_row(t, row, other);
    return found >= 0 && nearest_row(other, found, t) == row ? found : -1;
}

/* What a line asks for, found: tables by model, what stands beside each, the columns and the lines of the result. */
enum { MODEL_NAME = -2, MEASURED = -1, COLUMNS = 64 }; /* else a number of what stands beside */
struct column {
    int from, parameter; /* parameter -1: none */
    const char *measure; /* NULL: the number of runs */
};
struct sheet {
    const bench_table *t[MODELS], *beside[MODELS][BESIDES];
    struct column columns[COLUMNS];
    struct {
        int model, row;
    } *lines;
    int n_columns, n_lines;
};

static void add_column(struct sheet *s, int from, int parameter, const char *measure)
{
    if (s->n_columns < COLUMNS) s->columns[s->n_columns++] = (struct column){from, parameter, measure};
}

/* Its number in a table, as in bench_table_text; -1: the table has no such measure, as when an older program wrote it. */
static int number_in(const bench_table *t, const struct column *column)
{
    if (column->parameter >= 0) return column->parameter;
    for (int m = 0; column->measure && m < t->n_measures; m++)
        if (!strcmp(t->measure[m].name, column->measure)) return t->n_parameters + m;
    return column->measure ? -1 : t->n_parameters + t->n_measures;
}

/* Does a parameter of the rows beside differ somewhere, so that it has to be shown? */
static bool differs(const struct sheet *s, int k, int p)
{
    for (int i = 0; i < s->n_lines; i++) {
        const bench_table *t = s->t[s->lines[i].model], *other = s->beside[s->lines[i].model][k];
        int beside = other ? same_row(t, s->lines[i].row, other) : -1;
        if (beside >= 0 && strcmp(t->rows[s->lines[i].row].parameter[p], other->rows[beside].parameter[p])) return true;
    }
    return false;
}

/* Has a measure of what stands beside a value in some line; the number of runs: is it more than one somewhere? */
static bool beside_used(const struct sheet *s, int k, const char *measure)
{
    for (int i = 0; i < s->n_lines; i++) {
        const bench_table *t = s->t[s->lines[i].model], *other = s->beside[s->lines[i].model][k];
        int row = other ? same_row(t, s->lines[i].row, other) : -1;
        for (int m = 0; row >= 0 && m < other->n_measures; m++)
            if (measure ? !strcmp(other->measure[m].name, measure) && other->rows[row].value[m].n
                        : other->rows[row].value[m].n > 1)
                return true;
    }
    return false;
}

static void pick_beside(const struct filling *f, struct sheet *s, int k)
{
    const struct wish *w = &f->wish;
    const bench_table *other = NULL;
    for (int m = 0; m < w->n_models && !other; m++) other = s->beside[m][k];
    if (!other) return;
    for (int p = 0; p < other->n_parameters && p < s->t[0]->n_parameters; p++)
        if (differs(s, k, p)) add_column(s, k, p, NULL);
    for (int i = 0; i < (w->n_columns ? w->n_columns : other->n_measures); i++) {
        const char *measure = w->n_columns ? w->columns[i] : other->measure[i].name;
        if (beside_used(s, k, measure)) add_column(s, k, -1, measure);
    }
    if (beside_used(s, k, NULL)) add_column(s, k, -1, NULL);
}

static tdm_status pick(struct filling *f, struct sheet *s)
{
    const struct wish *w = &f->wish;
    const bench_table *t = s->t[0];
    if (w->n_models > 1) add_column(s, MODEL_NAME, 0, NULL);
    for (int p = 0; p < t->n_parameters; p++) add_column(s, MEASURED, p, NULL);
    for (int m = 0; m < t->n_measures && !w->n_columns; m++)
        if (bench_table_used(t, t->n_parameters + m)) add_column(s, MEASURED, -1, t->measure[m].name);
    for (int i = 0; i < w->n_columns; i++) {
        const struct column column = {MEASURED, -1, w->columns[i]};
        bool there = false;
        for (int m = 0; m < w->n_models; m++) there |= number_in(s->t[m], &column) >= 0;
        if (!there && !w->optional) return bad(f, "there is no measure '%s'", w->columns[i]);
        if (there) add_column(s, MEASURED, -1, w->columns[i]);
    }
    add_column(s, MEASURED, -1, NULL);
    for (int k = 0; k < w->n_beside; k++) pick_beside(f, s, k);
    return TDM_OK;
}

/* Rows by the number that is their first parameter, where it is one: files of several runs were joined. */
static void in_order(const bench_table *t, int order[BENCH_ROWS])
{
    int n = t->n_rows < BENCH_ROWS ? t->n_rows : BENCH_ROWS;
    for (int i = 0; i < n; i++) {
        int at = i;
        while (at && atof(t->rows[order[at - 1]].parameter[0]) > atof(t->rows[i].parameter[0])) {
            order[at] = order[at - 1];
            at--;
        }
        order[at] = i;
    }
}

static tdm_status find_tables(struct filling *f, struct sheet *s)
{
    const struct wish *w = &f->wish;
    size_t rows = 0;
    for (int m = 0; m < w->n_models; m++) {
        const bench_table *t = s->t[m] = find(f, w->models[m]);
        if (!t) return bad(f, "nothing was measured of %s %s with %s", w->suite, w->part, w->models[m]);
        if (t->n_parameters != s->t[0]->n_parameters)
            return bad(f, "the rows of %s and %s are about other things", s->t[0]->model, t->model);
        for (int k = 0; k < w->n_beside; k++) {
            s->beside[m][k] = find_beside(f, k, t->model);
            if (!s->beside[m][k] && !w->optional)
                return bad(f, "nothing is known of %s %s with %s", w->suite, w->part, w->beside[k]);
        }
        rows += (size_t)t->n_rows;
    }
    if (!(s->lines = calloc(rows + 1, sizeof *s->lines))) return error_set(f->err, TDM_E_NOMEM, "out of memory");
    for (int m = 0; m < w->n_models; m++) {
        int order[BENCH_ROWS];
        in_order(s->t[m], order);
        for (int i = 0; i < s->t[m]->n_rows && i < BENCH_ROWS; i++) {
            if (!row_wanted(w, s->t[m], order[i])) continue;
            s->lines[s->n_lines].model = m;
            s->lines[s->n_lines++].row = order[i];
        }
    }
    return s->n_lines ? TDM_OK : bad(f, "no row was measured");
}

/* A heading: of the first table that has the column. */
static void put_heading(const struct filling *f, const struct sheet *s, const struct column *column)
{
    const char *beside = column->from >= 0 ? f->wish.beside[column->from] : "", *at = strchr(beside, '@');
    char text[BENCH_CELL] = "model";
    for (int m = 0; m < f->wish.n_models && column->from != MODEL_NAME; m++) {
        const bench_table *t = column->from >= 0 ? s->beside[m][column->from] : s->t[m];
        int c = t ? number_in(t, column) : -1;
        if (c < 0) continue;
        bench_table_text(t, -1, c, text);
        break;
    }
    fprintf(f->out, " %s%s%s |", at ? at + 1 : beside, *beside ? ": " : "", text);
}

/* What stands in a line and column; a single figure beside is quoted with all its digits. */
static void put_cell(const struct filling *f, const struct sheet *s, int line, const struct column *column)
{
    const bench_table *t = s->t[s->lines[line].model];
    int row = s->lines[line].row;
    char cell[BENCH_CELL] = "-";
    if (column->from == MODEL_NAME) {
        fprintf(f->out, " %s |", t->model);
        return;
    }
    if (column->from >= 0) {
        const bench_table *other = s->beside[s->lines[line].model][column->from];
        row = other ? same_row(t, row, other) : -1;
        t = other;
    }
    int c = row >= 0 ? number_in(t, column) : -1, m = c >= 0 ? c - t->n_parameters : -1;
    if (c >= 0) bench_table_text(t, row, c, cell);
    if (column->from >= 0 && m >= 0 && m < t->n_measures && t->rows[row].value[m].n == 1) {
        double value = t->rows[row].value[m].values[0];
        if (fabs(value) < 1000) snprintf(cell, sizeof cell, "%.10g", value);
    }
    char *range = f->wish.medians && m >= 0 ? strstr(cell, " (") : NULL;
    if (range) *range = 0;
    fprintf(f->out, " %s |", cell);
}

/* Names and parameters stand at the left of their column, figures at the right. */
static bool left(const struct column *column)
{
    return column->from == MODEL_NAME || (column->from == MEASURED && column->parameter >= 0);
}

/* The heading, the rule below it, the lines; with the word 'turned' a line of the file is a column. */
static void put_cells(const struct filling *f, const struct sheet *s)
{
    bool turned = f->wish.turned;
    int down = turned ? s->n_columns : s->n_lines + 1, across = turned ? s->n_lines + 1 : s->n_columns;
    for (int y = 0; y < down; y++) {
        fputc('|', f->out);
        for (int x = 0; x < across; x++) {
            int line = (turned ? x : y) - 1;
            const struct column *column = &s->columns[turned ? y : x];
            if (line < 0)
                put_heading(f, s, column);
            else
                put_cell(f, s, line, column);
        }
        fputc('\n', f->out);
        if (y) continue;
        fputc('|', f->out);
        for (int x = 0; x < across; x++) fputs((turned ? !x : left(&s->columns[x])) ? "---|" : "---:|", f->out);
        fputc('\n', f->out);
    }
}

static void put_notes(const struct filling *f, const bench_table *t)
{
    for (int i = 0; i < t->n_notes && f->wish.notes; i++) fprintf(f->out, "%s- %s\n", i ? "" : "\n", t->notes[i]);
}

/* The command that measured one of these models, or what stands beside them, by what a suite ran on; NULL: another one. */
static const char *command_of(const struct filling *f, const struct sheet *s, json_object *o)
{
    const struct wish *w = &f->wish;
    const char *command = jsonio_text(o, "command", NULL), *name = jsonio_text(o, "model", NULL);
    bool ours = !strcmp(jsonio_text(o, "suite", NULL), w->suite), model = false;
    for (int m = 0; m < w->n_models; m++) {
        model |= !strcmp(name, s->t[m]->model);
        for (int k = 0; k < w->n_beside; k++) model |= s->beside[m][k] && !strcmp(name, s->beside[m][k]->model);
    }
    /* One that asked for rows of another part did not measure this one. */
    if (command && strstr(command, "--rows") && !strstr(command, w->part)) return NULL;
    return ours && model ? command : NULL;
}

/* "; memory was read at 20.1 to 24.0 GB/s" */
static void put_range(const struct filling *f, const char *before, double low, double high, const char *unit)
{
    char number[2][32];
    if (high <= 0) return;
    fprintf(f->out, "%s ", before);
    if (high - low >= 0.05 * high) fprintf(f->out, "%s to ", bench_number(low, number[0]));
    fprintf(f->out, "%s %s", bench_number(high, number[1]), unit);
}

/* The commands, and the ceilings measured meanwhile: of reading, and with the word 'ceilings' of arithmetic. */
static void put_commands(const struct filling *f, const struct sheet *s)
{
    static const struct {
        const char *key, *before, *unit;
    } ceilings[] = {{"read_gbs", "; memory was read at", "GB/s"},
                    {"int8_gops", "; arithmetic on vector registers: int8", "Gop/s"},
                    {"fp32_gops", ", fp32", "Gop/s"},
                    {"matrix_int8_gops", "; on the matrix unit: int8", "Gop/s"},
                    {"matrix_bf16_gops", ", bf16", "Gop/s"}};
    enum { CEILINGS = sizeof ceilings / sizeof *ceilings };
    double low[CEILINGS] = {0}, high[CEILINGS] = {0}, least = 1, most = 0;
    int shown = 0;
    for (int i = 0; i < f->b->n_ran_on; i++) {
        json_object *o = f->b->ran_on[i];
        const char *command = command_of(f, s, o);
        bool before = false;
        if (!command) continue;
        for (int c = 0; c < CEILINGS; c++) {
            double value = jsonio_real(jsonio_member(o, "ceilings", json_type_object), ceilings[c].key, 0);
            if (value > 0 && (low[c] <= 0 || value < low[c])) low[c] = value;
            if (value > high[c]) high[c] = value;
        }
        double stolen = jsonio_real(o, "stolen", -1);
        if (stolen >= 0 && stolen < least) least = stolen; /* where it was told */
        if (stolen > most) most = stolen;
        for (int k = 0; k < i; k++) {
            const char *other = command_of(f, s, f->b->ran_on[k]);
            before |= other && !strcmp(other, command);
        }
        if (!before) fprintf(f->out, "%s`%s`", shown++ ? ", " : "\n_", command);
    }
    if (!shown) return;
    for (int c = 0; c < (f->wish.ceilings ? CEILINGS : 1); c++)
        put_range(f, ceilings[c].before, low[c], high[c], ceilings[c].unit);
    if (most >= 0.005 && most - least >= 0.01)
        fprintf(f->out, "; the host took %.0f to %.0f %% of the CPU time", 100 * least, 100 * most);
    else if (most >= 0.005)
        fprintf(f->out, "; the host took %.0f %% of the CPU time", 100 * most);
    fputs("_\n", f->out);
}

/* Were all tables measured that it is about? */
static bool measured(const struct filling *f)
{
    bool all = true;
    for (int m = 0; m < f->wish.n_models; m++) {
        const bench_table *t = find(f, f->wish.models[m]);
        all &= t && t->n_rows;
    }
    return all;
}

static tdm_status put_table(struct filling *f)
{
    struct sheet s = {0};
    tdm_status status = find_tables(f, &s);
    if (!status) status = pick(f, &s);
    if (!status) {
        fputc('\n', f->out);
        put_cells(f, &s);
        for (int m = 0; m < f->wish.n_models; m++) put_notes(f, s.t[m]);
        put_commands(f, &s);
        fputc('\n', f->out);
    }
    free(s.lines);
    return status;
}

/* "**Warm 0.1 ms ...**" */
static tdm_status put_note(struct filling *f)
{
    const struct wish *w = &f->wish;
    const bench_table *t = find(f, w->models[0]);
    for (int i = 0; t && i < t->n_notes; i++)
        if (!strncmp(t->notes[i], w->note, strlen(w->note))) {
            char first = t->notes[i][0];
            fprintf(f->out, "\n**%c%s**\n\n", first >= 'a' && first <= 'z' ? first - 32 : first, t->notes[i] + 1);
            return TDM_OK;
        }
    if (w->optional) fputc('\n', f->out);
    return w->optional ? TDM_OK : bad(f, "there is no note that begins with '%s'", w->note);
}

/* ---- The file ---------------------------------------------------------------------------------------------------- */

static const char opens[] = "<!-- bench ", closes[] = "<!-- end -->";

tdm_status bench_fill_text(const bench *b, const char *name, const char *text, char **out, tdm_error *err)
{
    struct filling f = {.b = b, .name = name, .err = err};
    tdm_status status = TDM_OK;
    size_t n;
    bool inside = false;
    *out = NULL;
    if (!(f.out = open_memstream(out, &n))) return error_set(err, TDM_E_NOMEM, "out of memory");
    while (*text && !status) {
        size_t length = strcspn(text, "\n");
        length += text[length] == '\n';
        f.line++;
        bool open = !strncmp(text, opens, sizeof opens - 1);
        if (inside && open) status = bad(&f, "expected '%s' before", closes);
        inside = inside && strncmp(text, closes, sizeof closes - 1);
        if (!inside) fwrite(text, 1, length, f.out);
        if (!status && open) {
            status = read_wish(&f, text + sizeof opens - 1, length - (sizeof opens - 1));
            if (!status && f.wish.optional && !measured(&f))
                fputs("\n_Not measured._\n\n", f.out);
            else if (!status)
                status = f.wish.note[0] ? put_note(&f) : put_table(&f);
            inside = true;
        }
        text += length;
    }
    if (!status && inside) status = bad(&f, "expected '%s' at the end", closes);
    fclose(f.out);
    if (!status) return TDM_OK;
    free(*out);
    *out = NULL;
    return status;
}

tdm_status bench_fill_file(const bench *b, const char *path, tdm_error *err)
{
    char *before, *after = NULL;
    size_t n;
    tdm_status status = files_read(path, LARGEST, &before, &n, err);
    if (status) return status;
    status = bench_fill_text(b, path, before, &after, err);
    if (!status && strcmp(before, after)) {
        FILE *out = fopen(path, "we");
        bool good = out && fputs(after, out) >= 0;
        if (out && fclose(out)) good = false;
        if (!good) status = error_errno(err, TDM_E_IO, "%s: can't be written", path);
    }
    free(before);
    free(after);
    return status;
}
