#include "src/bench_fill.h"

#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "engine/base/error.h"
#include "src/files.h"
#include "src/jsonio.h"

enum { LARGEST = 16 << 20, MODELS = 12, LISTED = 16 };

/* What a line asks for. */
struct wish {
    char suite[24], part[24];
    char models[MODELS][96], columns[LISTED][32], rows[LISTED][96], beside[96], note[32];
    int n_models, n_columns, n_rows;
    bool notes, optional;
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
    if (!strcmp(word, "notes")) return w->notes = true;
    if (!strcmp(word, "optional")) return w->optional = true;
    if (!strncmp(word, "columns=", key + 1))
        return (w->n_columns = split(value, w->columns[0], LISTED, sizeof w->columns[0])) > 0;
    if (!strncmp(word, "rows=", key + 1)) return (w->n_rows = split(value, w->rows[0], LISTED, sizeof w->rows[0])) > 0;
    if (!strncmp(word, "beside=", key + 1)) return (size_t)snprintf(w->beside, sizeof w->beside, "%s", value) < sizeof w->beside;
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

static bench_table *find(const struct filling *f, const char *model)
{
    for (int i = 0; i < f->b->n_tables; i++) {
        bench_table *t = f->b->tables[i];
        if (!strcmp(t->suite, f->wish.suite) && !strcmp(t->part, f->wish.part) && !strcmp(t->model, model)) return t;
    }
    return NULL;
}

static bool row_wanted(const struct wish *w, const bench_table *t, int row)
{
    char all[BENCH_PARAMETERS * 50] = "";
    for (int p = 0; p < t->n_parameters; p++)
        snprintf(all + strlen(all), sizeof all - strlen(all), "%s%s", p ? "|" : "", t->rows[row].parameter[p]);
    bool wanted = !w->n_rows;
    for (int i = 0; i < w->n_rows; i++) wanted |= strstr(all, w->rows[i]) != NULL;
    return wanted;
}

/* The columns that are shown, in the order asked for; how many, or -1 with an error. */
static int pick(struct filling *f, const bench_table *t, int columns[BENCH_MEASURES])
{
    const struct wish *w = &f->wish;
    int n = 0;
    for (int m = 0; m < t->n_measures && !w->n_columns; m++)
        if (bench_table_used(t, t->n_parameters + m)) columns[n++] = t->n_parameters + m;
    for (int i = 0; i < w->n_columns; i++) {
        int m = 0;
        while (m < t->n_measures && strcmp(t->measure[m].name, w->columns[i])) m++;
        if (m == t->n_measures || n == BENCH_MEASURES) {
            bad(f, "there is no measure '%s'", w->columns[i]);
            return -1;
        }
        columns[n++] = t->n_parameters + m;
    }
    return n;
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

/* Does a parameter of the row beside differ somewhere, so that it has to be shown? */
static bool differs(const struct filling *f, const bench_table *t, const bench_table *other, int p)
{
    for (int r = 0; r < t->n_rows; r++) {
        int beside = row_wanted(&f->wish, t, r) ? same_row(t, r, other) : -1;
        if (beside >= 0 && strcmp(t->rows[r].parameter[p], other->rows[beside].parameter[p])) return true;
    }
    return false;
}

/* A single figure is quoted with all its digits. */
static void beside_text(const bench_table *t, int row, int c, char out[BENCH_CELL])
{
    int m = c - t->n_parameters;
    bench_table_text(t, row, c, out);
    if (row < 0 || m < 0 || t->rows[row].value[m].n != 1) return;
    double value = t->rows[row].value[m].values[0];
    if (fabs(value) < 1000) snprintf(out, BENCH_CELL, "%.10g", value);
}

/* Cells of a row (-1: the heading, -2: the rule below it). */
static void put_row(struct filling *f, const bench_table *t, int row, const int *columns, int n, const bench_table *other,
                    const char *model)
{
    char cell[BENCH_CELL];
    FILE *out = f->out;
    int beside = row >= 0 && other ? same_row(t, row, other) : row;
    fputc('|', out);
    if (f->wish.n_models > 1) fprintf(out, row == -2 ? "---|" : " %s |", row == -1 ? "model" : model);
    for (int c = -t->n_parameters; c <= n; c++) {
        int column = c < 0 ? t->n_parameters + c : c < n ? columns[c] : t->n_parameters + t->n_measures;
        if (row == -2) {
            fputs(c < 0 ? "---|" : "---:|", out);
            continue;
        }
        bench_table_text(t, row, column, cell);
        fprintf(out, " %s |", cell);
    }
    for (int c = 0; other && c < other->n_parameters + other->n_measures; c++) {
        if (c < other->n_parameters ? !differs(f, t, other, c) : !bench_table_used(other, c)) continue;
        if (row == -2) {
            fputs("---:|", out);
            continue;
        }
        snprintf(cell, sizeof cell, "-");
        if (beside >= 0 || row == -1) beside_text(other, beside, c, cell);
        fprintf(out, " %s%s%s |", row < 0 ? f->wish.beside : "", row < 0 ? ": " : "", cell);
    }
    fputc('\n', out);
}

static void put_notes(const struct filling *f, const bench_table *t)
{
    for (int i = 0; i < t->n_notes && f->wish.notes; i++) fprintf(f->out, "%s- %s\n", i ? "" : "\n", t->notes[i]);
}

/* The command that measured these models by what a suite ran on; NULL: another suite or model. */
static const char *command_of(const struct wish *w, json_object *o)
{
    const char *command = jsonio_text(o, "command", NULL);
    bool ours = !strcmp(jsonio_text(o, "suite", NULL), w->suite), model = false;
    for (int m = 0; m < w->n_models; m++) model |= !strcmp(jsonio_text(o, "model", NULL), w->models[m]);
    /* One that asked for rows of another part did not measure this one. */
    if (command && strstr(command, "--rows") && !strstr(command, w->part)) return NULL;
    return ours && model ? command : NULL;
}

/* The commands, and the speeds at which memory was read meanwhile. */
static void put_commands(const struct filling *f)
{
    const struct wish *w = &f->wish;
    double low = INFINITY, high = 0;
    char number[2][32];
    int shown = 0;
    for (int i = 0; i < f->b->n_ran_on; i++) {
        json_object *o = f->b->ran_on[i];
        const char *command = command_of(w, o);
        bool before = false;
        if (!command) continue;
        double read = jsonio_real(jsonio_member(o, "ceilings", json_type_object), "read_gbs", 0);
        low = read > 0 && read < low ? read : low;
        high = read > high ? read : high;
        for (int k = 0; k < i; k++) {
            const char *other = command_of(w, f->b->ran_on[k]);
            before |= other && !strcmp(other, command);
        }
        if (!before) fprintf(f->out, "%s`%s`", shown++ ? ", " : "\n_", command);
    }
    if (!shown) return;
    if (high > 0 && high - low < 0.05 * high)
        fprintf(f->out, "; memory was read at %s GB/s", bench_number(high, number[0]));
    else if (high > 0)
        fprintf(f->out, "; memory was read at %s to %s GB/s", bench_number(low, number[0]), bench_number(high, number[1]));
    fputs("_\n", f->out);
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
    const struct wish *w = &f->wish;
    bench_table *first = NULL;
    int columns[BENCH_MEASURES], n = 0, rows = 0;
    for (int m = 0; m < w->n_models; m++) {
        bench_table *t = find(f, w->models[m]);
        const bench_table *other = w->beside[0] ? find(f, w->beside) : NULL;
        if (!t) return bad(f, "nothing was measured of %s %s with %s", w->suite, w->part, w->models[m]);
        if (w->beside[0] && !other) return bad(f, "nothing is known of %s %s with %s", w->suite, w->part, w->beside);
        if (!first) {
            if ((n = pick(f, t, columns)) < 0) return f->err->code;
            fputc('\n', f->out);
            for (int line = -1; line >= -2; line--) put_row(f, t, line, columns, n, other, "");
            first = t;
        }
        if (t->n_parameters != first->n_parameters || t->n_measures != first->n_measures)
            return bad(f, "the tables of %s and %s have different columns", first->model, t->model);
        int order[BENCH_ROWS];
        in_order(t, order);
        for (int i = 0; i < t->n_rows && i < BENCH_ROWS; i++) {
            if (!row_wanted(w, t, order[i])) continue;
            put_row(f, t, order[i], columns, n, other, t->model);
            rows++;
        }
    }
    if (!rows) return bad(f, "no row was measured");
    for (int m = 0; m < w->n_models; m++) put_notes(f, find(f, w->models[m]));
    put_commands(f);
    fputc('\n', f->out);
    return TDM_OK;
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
