#include "src/chat/prompt.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/base/error.h"
#include "engine/base/utf8.h"
#include "src/cli/words.h"

/* The file and the line that failures begin with. */
typedef struct {
    const char *name;
    int line;
} place;

/* ---- Characters ------------------------------------------------------------------------------------------------ */

/* Control characters would reach the terminal, the model and saved sessions by way of the draft: none is let in. */
static tdm_status check_characters(const char *name, const char *bytes, size_t n, tdm_error *err)
{
    int line = 1;
    for (size_t i = 0, length; i < n; i += length) {
        int32_t code;
        length = utf8_decode(bytes + i, n - i, &code);
        if (code < 0)
            return error_set(err, TDM_E_FORMAT, "%s:%d: expected UTF-8, found the byte 0x%02x", name, line,
                             (unsigned char)bytes[i]);
        bool ends_line = code == '\r' && i + 1 < n && bytes[i + 1] == '\n';
        bool control = code < 0x20 || (code >= 0x7f && code < 0xa0);
        if (control && code != '\n' && code != '\t' && !ends_line)
            return error_set(err, TDM_E_FORMAT, "%s:%d: expected text, found the control character 0x%02x", name, line,
                             (unsigned)code);
        line += code == '\n';
    }
    return TDM_OK;
}

/* The bytes without the carriage returns at line ends and a mark of byte order at the beginning; malloc'ed. */
static char *copy_plain(const char *bytes, size_t n)
{
    char *copy = malloc(n + 1), *to = copy;
    if (!copy) return NULL;
    for (size_t i = n >= 3 && !memcmp(bytes, "\xef\xbb\xbf", 3) ? 3 : 0; i < n; i++)
        if (bytes[i] != '\r') *to++ = bytes[i];
    *to = 0;
    return copy;
}

/* ---- Settings -------------------------------------------------------------------------------------------------- */

bool prompt_takes(option_id id)
{
    switch (id) {
    case OPTION_MODEL:
    case OPTION_SYSTEM:
    case OPTION_THINK:
    case OPTION_KEEP_THINKING:
    case OPTION_MAX_TOKENS:
        return true;
    default:
        return option_table[id].section == SECTION_SAMPLING;
    }
}

static tdm_status unknown_name(place at, const char *name, tdm_error *err)
{
    nearest best = {0};
    nearest_offer(&best, name, "description");
    for (option_id id = 0; id < OPTION_COUNT; id++)
        if (prompt_takes(id)) nearest_offer(&best, name, option_table[id].name);
    if (best.name)
        return error_set(err, TDM_E_FORMAT, "%s:%d: expected the name of a setting, found '%.60s'; did you mean '%s'?",
                         at.name, at.line, name, best.name);
    return error_set(err, TDM_E_FORMAT,
                     "%s:%d: expected description, model, system, think, keep-thinking, max-tokens or an option of "
                     "sampling, found '%.60s'",
                     at.name, at.line, name);
}

/* `name = value`; the line is changed. */
static tdm_status read_setting(prompt_file *p, place at, char *line, tdm_error *err)
{
    line = trim(line);
    if (!*line || *line == '#') return TDM_OK;
    char *equals = strchr(line, '=');
    if (!equals)
        return error_set(err, TDM_E_FORMAT, "%s:%d: expected 'name = value', found '%.60s'", at.name, at.line, line);
    *equals = 0;
    char *name = trim(line), *value = trim(equals + 1);
    bool description = !strcmp(name, "description");
    option_id id = 0;
    while (id < OPTION_COUNT && (!prompt_takes(id) || strcmp(option_table[id].name, name))) id++;
    if (!description && id == OPTION_COUNT) return unknown_name(at, name, err);
    if (description ? p->description != NULL : options_given(&p->settings, id))
        return error_set(err, TDM_E_FORMAT, "%s:%d: expected each setting once, found '%s' again", at.name, at.line,
                         name);
    if (!*value)
        return error_set(err, TDM_E_FORMAT, "%s:%d: expected a value for %s, found none", at.name, at.line, name);
    if (description) {
        p->description = value;
        return TDM_OK;
    }
    tdm_error why;
    if (option_set_line(&p->settings, id, value, FROM_FILE, &why)) return TDM_OK;
    if (why.code == TDM_E_NOMEM) return error_set(err, TDM_E_NOMEM, "%s", why.text);
    char range[200];
    option_range(id, range, sizeof range);
    return error_set(err, TDM_E_FORMAT, "%s:%d: %s: expected %s, found '%.60s'", at.name, at.line, name, range, value);
}

static bool is_fence(const char *line, size_t n)
{
    while (n && isspace((unsigned char)line[n - 1])) n--;
    return n == 3 && !memcmp(line, "---", 3);
}

/* Reads the lines between the fences, if there are any; *text: the text behind them. */
static tdm_status read_head(prompt_file *p, place *at, char **text, tdm_error *err)
{
    char *line = *text;
    if (!is_fence(line, strcspn(line, "\n"))) return TDM_OK;
    for (;;) {
        line += strcspn(line, "\n");
        if (!*line)
            return error_set(err, TDM_E_FORMAT,
                             "%s:%d: expected a line '---' that ends the settings, found the end of "
                             "the file",
                             at->name, at->line);
        line++;
        at->line++;
        size_t n = strcspn(line, "\n");
        if (is_fence(line, n)) {
            *text = line + n + (line[n] == '\n');
            at->line++;
            return TDM_OK;
        }
        bool more = line[n] == '\n';
        line[n] = 0;
        tdm_status status = read_setting(p, *at, line, err);
        if (status) return status;
        line += n;
        if (more) *line = '\n';
    }
}

/* ---- The text -------------------------------------------------------------------------------------------------- */

static tdm_status add_part(prompt_file *p, prompt_part part, tdm_error *err)
{
    if (part.kind == PROMPT_TEXT && !part.n) return TDM_OK;
    if (!(p->n & (p->n - 1))) { /* a power of two: as much room again */
        prompt_part *larger = realloc(p->parts, (size_t)(p->n ? 2 * p->n : 1) * sizeof *larger);
        if (!larger) return error_set(err, TDM_E_NOMEM, "out of memory");
        p->parts = larger;
    }
    p->parts[p->n++] = part;
    return TDM_OK;
}

/* Reads the field between the braces. */
static tdm_status read_field(place at, char *field, size_t n, prompt_part *out, tdm_error *err)
{
    static const char file[] = "file:";
    while (n && (*field == ' ' || *field == '\t')) field++, n--;
    while (n && (field[n - 1] == ' ' || field[n - 1] == '\t')) n--;
    *out = (prompt_part){.text = field, .n = n, .line = at.line};
    if (n == 5 && !memcmp(field, "input", n)) {
        out->kind = PROMPT_INPUT;
        return TDM_OK;
    }
    if (n == 9 && !memcmp(field, "clipboard", n)) {
        out->kind = PROMPT_CLIPBOARD;
        return TDM_OK;
    }
    size_t skip = sizeof file - 1;
    if (n > skip && !memcmp(field, file, skip)) {
        while (skip < n && (field[skip] == ' ' || field[skip] == '\t')) skip++;
        out->kind = PROMPT_FILE;
        out->text += skip;
        out->n -= skip;
        return TDM_OK;
    }
    return error_set(err, TDM_E_FORMAT,
                     "%s:%d: expected {{input}}, {{clipboard}} or {{file:PATH}}, found '{{%.*s}}'; "
                     "\\{{ is two braces",
                     at.name, at.line, n < 60 ? (int)n : 60, field);
}

static tdm_status read_text(prompt_file *p, place at, char *text, tdm_error *err)
{
    char *from = text;
    int began = at.line; /* of the text from `from` on */
    tdm_status status = TDM_OK;
    for (char *c = text; !status; c++) {
        if (*c == '\n') at.line++;
        bool braces = c[0] == '{' && c[1] == '{';
        if (*c && !braces) continue;
        bool escaped = *c && c > from && c[-1] == '\\';
        size_t before = (size_t)(c - from) - escaped;
        status = add_part(p, (prompt_part){.text = from, .n = before, .line = began}, err);
        if (!*c) break;
        began = at.line;
        if (escaped) { /* the braces begin the next text */
            from = c++;
            continue;
        }
        size_t n = strcspn(c + 2, "}\n");
        if (!status && strncmp(c + 2 + n, "}}", 2))
            status = error_set(err, TDM_E_FORMAT, "%s:%d: expected }} behind '{{%.*s', found none in this line",
                               at.name, at.line, n < 60 ? (int)n : 60, c + 2);
        prompt_part part;
        if (!status) status = read_field(at, c + 2, n, &part, err);
        if (!status) status = add_part(p, part, err);
        from = c + n + 4;
        c = from - 1;
    }
    return status;
}

tdm_status prompt_parse(prompt_file *out, const char *name, const char *bytes, size_t n, tdm_error *err)
{
    *out = (prompt_file){0};
    if (n > PROMPT_LARGEST)
        return error_set(err, TDM_E_FORMAT, "%s:1: expected at most %d bytes, found %zu", name, PROMPT_LARGEST, n);
    tdm_status status = check_characters(name, bytes, n, err);
    if (status) return status;
    if (!(out->bytes = copy_plain(bytes, n))) return error_set(err, TDM_E_NOMEM, "out of memory");
    char *text = out->bytes;
    place at = {name, 1};
    status = read_head(out, &at, &text, err);
    if (!status) status = read_text(out, at, text, err);
    if (!status && !out->n)
        status = error_set(err, TDM_E_FORMAT, "%s:%d: expected a text, found the end of the file", name, at.line);
    if (status) prompt_free(out);
    return status;
}

void prompt_free(prompt_file *p)
{
    options_free(&p->settings);
    free(p->bytes);
    free(p->parts);
    *p = (prompt_file){0};
}

/* ---- The message ----------------------------------------------------------------------------------------------- */

static tdm_status append(struct buffer *out, size_t from, size_t most, const char *text, size_t n, tdm_error *err)
{
    if (n > most || out->n - from > most - n)
        return error_set(err, TDM_E_CONTEXT, "the prompt and its input are longer than %zu bytes", most);
    return buffer_append(out, text, n, err);
}

tdm_status prompt_compose(const prompt_file *p, const char *input, size_t n, size_t most, struct buffer *out,
                          tdm_error *err)
{
    size_t from = out->n;
    bool placed = false;
    tdm_status status = TDM_OK;
    for (int i = 0; i < p->n && !status; i++) {
        const prompt_part *part = &p->parts[i];
        const char *slash = part->kind == PROMPT_FILE ? memrchr(part->text, '/', part->n) : NULL;
        const char *text = part->kind == PROMPT_INPUT ? input : slash ? slash + 1 : part->text;
        size_t length = part->kind == PROMPT_INPUT ? n : part->n - (size_t)(text - part->text);
        placed = placed || part->kind == PROMPT_INPUT;
        if (length) status = append(out, from, most, text, length, err);
    }
    while (!status && out->n > from && isspace((unsigned char)out->bytes[out->n - 1])) out->n--;
    if (!status && !placed && n) {
        status = out->n > from ? append(out, from, most, "\n\n", 2, err) : TDM_OK;
        if (!status) status = append(out, from, most, input, n, err);
    }
    if (!status) status = buffer_reserve(out, 0, err);
    if (!status) out->bytes[out->n] = 0;
    return status;
}
