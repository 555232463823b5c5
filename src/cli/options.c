#include "src/cli/options.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "engine/base/error.h"
#include "engine/os/file.h"
#include "engine/os/path.h"
#include "src/cli/words.h"
#include "src/files/files.h"
#include "src/io/number.h"

const command_info command_table[COMMAND_COUNT] = {
#define X(id, name, arguments, summary, text) [COMMAND_##id] = {name, arguments, summary, text},
    COMMAND_LIST(X)
#undef X
};

static const char *const page_names[PAGE_COUNT] = {
#define X(id, name) [PAGE_##id] = name,
    PAGE_LIST(X)
#undef X
};

const char *const option_section_names[SECTION_COUNT] = {
    "Model", "Reply", "Sampling", "Units", "Chat", "Input and output",
};

const option option_table[OPTION_COUNT] = {
#define X(id, name, letter, kind, argument, low, high, initial, section, flags, commands, help)                        \
    [OPTION_##id] = {name, letter, KIND_##kind, argument, low, high, initial, SECTION_##section, flags, commands, help},
    OPTION_LIST(X)
#undef X
};

/* ---- The table ------------------------------------------------------------------------------------------------- */

bool option_belongs(option_id id, command_id command)
{
    if (command == COMMAND_CONFIG) return option_table[id].flags & KEEP;
    return option_table[id].commands >> command & 1;
}

option_id option_find(command_id command, const char *name)
{
    for (option_id id = 0; id < OPTION_COUNT; id++)
        if (option_belongs(id, command) && !strcmp(option_table[id].name, name)) return id;
    return OPTION_COUNT;
}

static option_id find_letter(command_id command, char letter)
{
    for (option_id id = 0; id < OPTION_COUNT; id++)
        if (option_belongs(id, command) && option_table[id].letter == letter) return id;
    return OPTION_COUNT;
}

void option_range(option_id id, char *out, size_t room)
{
    const option *o = &option_table[id];
    switch (o->kind) {
    case KIND_FLAG: snprintf(out, room, "on or off"); break;
    case KIND_INT: snprintf(out, room, "%.0f to %.0f", o->low, o->high); break;
    case KIND_FULL: snprintf(out, room, "%.0f to %.0f, or full", o->low, o->high); break;
    case KIND_AUTO: snprintf(out, room, "%.0f to %.0f, or auto", o->low, o->high); break;
    case KIND_SEED: snprintf(out, room, "a whole number below 2^64"); break;
    case KIND_REAL: snprintf(out, room, "%g to %g", o->low, o->high); break;
    case KIND_SIZE: snprintf(out, room, "bytes, or a number with K, M, G or T"); break;
    case KIND_THEME:
    case KIND_CHOICE:
    case KIND_SWITCH: {
        size_t n = 0;
        out[0] = 0;
        for (const char *c = o->argument; *c && n + 3 < room; c++) {
            if (*c == '|') out[n++] = ',';
            out[n++] = *c == '|' ? ' ' : *c;
            out[n] = 0;
        }
        break;
    }
    case KIND_MAYBE: snprintf(out, room, "a name, or nothing"); break;
    default: snprintf(out, room, strcmp(o->argument, "FILE") ? "a text" : "the name of a file"); break;
    }
}

/* Which of the words between the bars `text` is, or -1. */
static int choice_find(const char *words, const char *text)
{
    size_t length = strlen(text);
    for (int i = 0;; i++) {
        size_t n = strcspn(words, "|");
        if (n == length && !memcmp(words, text, n)) return i;
        if (!words[n]) return -1;
        words += n + 1;
    }
}

/* ---- Values ---------------------------------------------------------------------------------------------------- */

static void value_free(option_value *v)
{
    for (int i = 0; i < v->n; i++) free(v->list[i]);
    free(v->list);
    free(v->text);
    *v = (option_value){0};
}

static bool list_append(option_value *v, const char *text)
{
    char **list = realloc(v->list, sizeof *list * ((size_t)v->n + 2));
    if (!list) return false;
    v->list = list;
    if (!(list[v->n] = strdup(text))) return false;
    list[++v->n] = NULL;
    return true;
}

static const char *shown_name(option_id id, option_origin origin, char room[64])
{
    snprintf(room, 64, "%s%s", origin == FROM_COMMAND_LINE ? "--" : "", option_table[id].name);
    return room;
}

/* Reads text into *v by the kind of the option. */
static bool value_read(option_id id, const char *text, option_value *v)
{
    const option *o = &option_table[id];
    switch (o->kind) {
    case KIND_FLAG: v->number = !strcmp(text, "on"); return v->number || !strcmp(text, "off");
    case KIND_AUTO:
        if ((v->automatic = !strcmp(text, "auto"))) return true;
        return number_int(text, (int64_t)o->low, (int64_t)o->high, &v->number);
    case KIND_FULL:
        if (!strcmp(text, "full") || !strcmp(text, "0")) return v->number = 0, true;
        return number_int(text, (int64_t)o->low, (int64_t)o->high, &v->number);
    case KIND_INT: return number_int(text, (int64_t)o->low, (int64_t)o->high, &v->number);
    case KIND_SEED: return number_whole(text, &v->whole);
    case KIND_SIZE: return number_size(text, &v->whole);
    case KIND_REAL: return number_real(text, o->low, o->high, &v->real);
    case KIND_CHOICE:
    case KIND_SWITCH: return (v->number = choice_find(o->argument, text)) >= 0;
    case KIND_MAYBE: return text[0];
    case KIND_LIST:
    case KIND_FILE: return text[0] || strcmp(o->argument, "FILE"); /* a MODEL is judged where it is loaded */
    default: return true;
    }
}

/* Behind what is not allowed: "; did you mean 'draft'?", or "". */
static void write_meant(char out[80], const nearest *best)
{
    out[0] = 0;
    if (best->name) snprintf(out, 80, "; did you mean '%.50s'?", best->name);
}

/* The same for a value, whose words are few and short: of two letters only what begins a word counts. `no` is not a
 * slip of `on`. */
static void write_meant_value(char out[80], const options *o, option_id id, const char *text)
{
    const option *of = &option_table[id];
    char words[200], *rest;
    nearest best = {0};
    size_t length = strlen(text);
    switch (of->kind) {
    case KIND_CHOICE:
    case KIND_SWITCH:
    case KIND_THEME:
        snprintf(words, sizeof words, "%s", of->argument);
        break;
    default:
        snprintf(words, sizeof words, "%s",
                 of->kind == KIND_FLAG   ? "on|off"
                 : of->kind == KIND_AUTO ? "auto"
                 : of->kind == KIND_FULL ? "full"
                                         : "");
    }
    for (char *word = strtok_r(words, "|", &rest); word; word = strtok_r(NULL, "|", &rest))
        if (length > 2 || !strncmp(word, text, length)) nearest_offer(&best, text, word);
    for (int i = 0; of->kind == KIND_THEME && i < o->n_themes; i++) nearest_offer(&best, text, o->themes[i].name);
    write_meant(out, &best);
}

/* Of KIND_THEME: whether there is one of that name. */
static bool theme_is_known(const options *o, const char *name)
{
    return choice_find(option_table[OPTION_THEME].argument, name) >= 0 || theme_own_find(o->themes, o->n_themes, name);
}

/* where: "config: " or "". */
static bool unknown_theme(const options *o, const char *where, option_origin origin, const char *text, tdm_error *err)
{
    char name[64], range[200], more[200] = "", meant[80];
    option_range(OPTION_THEME, range, sizeof range);
    write_meant_value(meant, o, OPTION_THEME, text);
    for (int i = 0; i < o->n_themes; i++) {
        size_t at = strlen(more);
        snprintf(more + at, sizeof more - at, ", %s", o->themes[i].name);
    }
    if (!o->n_themes) snprintf(more, sizeof more, " or one that theme.NAME.ROLE lines of the configuration file make");
    error_set(err, TDM_E_ARG, "%s%s: '%s' is not allowed; expected %s%s%s", where,
              shown_name(OPTION_THEME, origin, name), text, range, more, meant);
    return false;
}

/* Whether its value, or each, names a file. */
static bool option_is_path(option_id id)
{
    const option *o = &option_table[id];
    bool of_files = o->kind == KIND_LIST && (!strcmp(o->argument, "FILE") || !strcmp(o->argument, "MODEL"));
    return o->kind == KIND_FILE || of_files;
}

void option_set_flag(options *o, option_id id, bool on)
{
    o->values[id].number = on;
}

bool option_set(options *o, option_id id, const char *text, option_origin origin, tdm_error *err)
{
    char name[64];
    shown_name(id, origin, name);
    option_value fresh = {.origin = origin};
    if (option_table[id].kind == KIND_THEME && origin == FROM_CONVERSATION && !theme_is_known(o, text))
        return unknown_theme(o, "", origin, text, err);
    if (text && !value_read(id, text, &fresh)) {
        char range[200], meant[80];
        option_range(id, range, sizeof range);
        write_meant_value(meant, o, id, text);
        error_set(err, TDM_E_ARG, "%s: '%s' is not allowed; expected %s%s", name, text, range, meant);
        return false;
    }
    option_value *v = &o->values[id];
    if (option_table[id].kind == KIND_LIST) {
        if (v->origin != origin) value_free(v);
        v->origin = origin;
        char *path = text && option_is_path(id) ? path_expand(text, strlen(text), getenv("HOME")) : NULL;
        bool good = (path || !option_is_path(id)) && list_append(v, path ? path : text);
        free(path);
        if (good) return true;
        error_set(err, TDM_E_NOMEM, "out of memory");
        return false;
    }
    bool is_path = option_is_path(id);
    if (text && !(fresh.text = is_path ? path_expand(text, strlen(text), getenv("HOME")) : strdup(text))) {
        error_set(err, TDM_E_NOMEM, "out of memory");
        return false;
    }
    value_free(v);
    *v = fresh;
    return true;
}

bool option_set_line(options *o, option_id id, const char *text, option_origin origin, tdm_error *err)
{
    if (!option_is_path(id)) return option_set(o, id, text, origin, err);
    char *path = path_read(text, strlen(text), getenv("HOME"));
    if (path) {
        bool good = option_set(o, id, path, origin, err);
        free(path);
        return good;
    }
    error_set(err, TDM_E_NOMEM, "out of memory");
    return false;
}

bool options_given(const options *o, option_id id)
{
    return o->values[id].origin != FROM_DEFAULT;
}

bool options_flag(const options *o, option_id id)
{
    return o->values[id].number != 0;
}

const char *options_text(const options *o, option_id id)
{
    return o->values[id].text;
}

int64_t options_int(const options *o, option_id id, int64_t fallback)
{
    return options_given(o, id) && !o->values[id].automatic ? o->values[id].number : fallback;
}

double options_real(const options *o, option_id id, double fallback)
{
    return options_given(o, id) ? o->values[id].real : fallback;
}

uint64_t options_whole(const options *o, option_id id, uint64_t fallback)
{
    return options_given(o, id) ? o->values[id].whole : fallback;
}

void options_free(options *o)
{
    for (option_id id = 0; id < OPTION_COUNT; id++) value_free(&o->values[id]);
    free(o->arguments);
    o->arguments = NULL;
    o->n_arguments = 0;
    free(o->themes);
    o->themes = NULL;
    o->n_themes = 0;
    free(o->servers);
    o->servers = NULL;
    o->n_servers = 0;
}

/* ---- The command line ------------------------------------------------------------------------------------------ */

/* dashes: those that stood before it. */
static bool unknown_option(const options *o, const char *dashes, const char *given, tdm_error *err)
{
    const char *command_name = command_table[o->command].name;
    nearest best = {0};
    nearest_offer(&best, given, "help");
    nearest_offer(&best, given, "version");
    for (option_id id = 0; id < OPTION_COUNT; id++)
        if (option_belongs(id, o->command)) nearest_offer(&best, given, option_table[id].name);
    for (page_id page = 0; o->command == COMMAND_CHAT && page < PAGE_COUNT; page++)
        if (!strncmp(page_names[page], "--", 2)) nearest_offer(&best, given, page_names[page] + 2);
    if (best.name)
        error_set(err, TDM_E_ARG, "%s: unknown option '%s%s'; did you mean '--%s'?", command_name, dashes, given,
                  best.name);
    else
        error_set(err, TDM_E_ARG, "%s: unknown option '%s%s'; 'tandem %s --help' lists them", command_name, dashes,
                  given, command_name);
    return false;
}

/* One `--name`, `--name=value` or `--name value` at argv[*i]; *i moves past what was used. */
static bool parse_long(options *o, int argc, char **argv, int *i, tdm_error *err)
{
    char *given = argv[*i] + 2, *equals = strchr(given, '=');
    char name[64];
    size_t length = equals ? (size_t)(equals - given) : strlen(given);
    snprintf(name, sizeof name, "%.*s", (int)(length < sizeof name ? length : sizeof name - 1), given);
    if (!strcmp(given, "help") || !strcmp(given, "help=all")) {
        o->help_all = equals;
        return o->help = true;
    }
    if (!equals && !strcmp(name, "version")) return o->version = true;
    option_id id = option_find(o->command, name);
    if (id == OPTION_COUNT) return unknown_option(o, "--", name, err);
    option_kind kind = option_table[id].kind;
    const char *value = equals ? equals + 1 : NULL;
    if (!value && (kind == KIND_FLAG || kind == KIND_SWITCH)) value = "on";
    if (!value && kind == KIND_MAYBE) {
        if (*i + 1 < argc && argv[*i + 1][0] != '-') value = argv[++*i];
    } else if (!value) {
        if (*i + 1 >= argc) {
            error_set(err, TDM_E_ARG, "--%s needs a value (%s)", name, option_table[id].argument);
            return false;
        }
        value = argv[++*i];
    }
    return option_set(o, id, value, FROM_COMMAND_LINE, err);
}

/* A group of letters such as -vm FILE at argv[*i]. */
static bool parse_letters(options *o, int argc, char **argv, int *i, tdm_error *err)
{
    const char *group = argv[*i] + 1;
    /* -model x is no model named odel. */
    if (option_find(o->command, group) != OPTION_COUNT) return unknown_option(o, "-", group, err);
    for (const char *c = group; *c; c++) {
        if (*c == 'h') {
            o->help = true;
            continue;
        }
        option_id id = find_letter(o->command, *c);
        if (id == OPTION_COUNT) return unknown_option(o, "-", group, err);
        if (option_table[id].kind == KIND_FLAG) {
            if (!option_set(o, id, "on", FROM_COMMAND_LINE, err)) return false;
            continue;
        }
        if (!c[1] && *i + 1 >= argc) {
            error_set(err, TDM_E_ARG, "-%c needs a value (%s)", *c, option_table[id].argument);
            return false;
        }
        return option_set(o, id, c[1] ? c + 1 : argv[++*i], FROM_COMMAND_LINE, err);
    }
    return true;
}

/* The first word, when it isn't an option, names the command. */
static bool parse_command(options *o, int argc, char **argv, tdm_error *err)
{
    o->command = COMMAND_CHAT;
    if (argc < 2 || argv[1][0] == '-') return true;
    nearest best = {0};
    for (command_id c = 0; c < COMMAND_COUNT; c++) {
        if (!strcmp(argv[1], command_table[c].name)) {
            o->command = c;
            return true;
        }
        nearest_offer(&best, argv[1], command_table[c].name);
    }
    nearest_offer(&best, argv[1], page_names[PAGE_HELP_WORD]);
    if (best.name)
        error_set(err, TDM_E_ARG, "unknown command '%s'; did you mean '%s'?", argv[1], best.name);
    else
        error_set(err, TDM_E_ARG, "unknown command '%s'; 'tandem --help' lists them ('tandem run' answers a prompt)",
                  argv[1]);
    return false;
}

static page_id page_of(const char *word)
{
    page_id page = 0;
    while (page < PAGE_COUNT && strcmp(word, page_names[page])) page++;
    return page;
}

page_id page_asked(int argc, char **argv)
{
    page_id page = argc > 1 ? page_of(argv[1]) : PAGE_COUNT;
    bool of_itself = page == PAGE_HELP_WORD && argc == 3 && !strcmp(argv[2], argv[1]);
    return argc == 2 || of_itself ? page : PAGE_COUNT;
}

/* False: more than it takes stands behind a page that is no option. */
static bool page_is_alone(int argc, char **argv, tdm_error *err)
{
    page_id page = argc > 2 ? page_of(argv[1]) : PAGE_COUNT;
    int most = page == PAGE_HELP_WORD ? 3 : 2;
    bool is_option = page == PAGE_HELP || page == PAGE_H || page == PAGE_VERSION;
    if (page == PAGE_COUNT || is_option || argc <= most) return true;
    error_set(err, TDM_E_ARG, "'%s' is not expected behind '%s'", argv[most], page_names[page]);
    return false;
}

bool options_parse(options *o, int argc, char **argv, tdm_error *err)
{
    *o = (options){0};
    if (!page_is_alone(argc, argv, err)) return false;
    if (argc == 3 && !strcmp(argv[1], page_names[PAGE_HELP_WORD])) { /* tandem help run */
        o->help = true;
        return parse_command(o, 2, argv + 1, err);
    }
    if (!parse_command(o, argc, argv, err)) return false;
    if (!(o->arguments = calloc((size_t)argc + 1, sizeof *o->arguments))) {
        error_set(err, TDM_E_NOMEM, "out of memory");
        return false;
    }
    bool only_arguments = false;
    for (int i = argc > 1 && argv[1][0] != '-' ? 2 : 1; i < argc; i++) {
        char *word = argv[i];
        if (only_arguments || word[0] != '-' || !word[1]) {
            o->arguments[o->n_arguments++] = word;
        } else if (!strcmp(word, "--")) {
            only_arguments = true;
        } else if (word[1] == '-') {
            if (!parse_long(o, argc, argv, &i, err)) return false;
        } else if (!parse_letters(o, argc, argv, &i, err)) {
            return false;
        }
    }
    return true;
}

/* ---- The configuration file ------------------------------------------------------------------------------------ */

/* "theme.NAME.ROLE = colour", "server.NAME.url = ...". */
static bool dotted_line(options *o, const char *path, int number, const char *name, const char *value, tdm_error *err)
{
    tdm_error why = {.text = "out of memory"};
    const char *rest = strchr(name, '.') + 1;
    tdm_status status = name[0] == 't' ? theme_own_set(&o->themes, &o->n_themes, rest, value, &why)
                                       : servers_set(&o->servers, &o->n_servers, rest, value, &why);
    if (!status) return true;
    error_set(err, status == TDM_E_NOMEM ? status : TDM_E_FORMAT, "%s:%d: %s: %s", path, number, name, why.text);
    return false;
}

static bool file_line(options *o, const char *path, int number, char *line, tdm_error *err)
{
    line = trim(line);
    if (!*line || *line == '#') return true;
    char *equals = strchr(line, '=');
    if (!equals) {
        error_set(err, TDM_E_FORMAT, "%s:%d: expected 'name = value', found '%s'", path, number, line);
        return false;
    }
    *equals = 0;
    char *name = trim(line), *value = trim(equals + 1);
    if (!strncmp(name, "theme.", 6) || !strncmp(name, "server.", 7))
        return dotted_line(o, path, number, name, value, err);
    option_id id = option_find(COMMAND_CONFIG, name);
    if (id == OPTION_COUNT) {
        nearest best = {0};
        char meant[80];
        for (option_id other = 0; other < OPTION_COUNT; other++)
            if (option_table[other].flags & KEEP) nearest_offer(&best, name, option_table[other].name);
        write_meant(meant, &best);
        error_set(err, TDM_E_FORMAT, "%s:%d: unknown option '%s'%s", path, number, name, meant);
        return false;
    }
    if (o->values[id].origin == FROM_COMMAND_LINE) {
        /* The value of the command line stays, but a wrong line is reported all the same. */
        option_value ignored = {0};
        if (value_read(id, value, &ignored)) return true;
    } else if (option_set_line(o, id, value, FROM_FILE, err)) {
        return true;
    } else if (err && err->code == TDM_E_NOMEM) {
        return false;
    }
    char range[200], meant[80];
    option_range(id, range, sizeof range);
    write_meant_value(meant, o, id, value);
    error_set(err, TDM_E_FORMAT, "%s:%d: %s: '%s' is not allowed; expected %s%s", path, number, name, value, range,
              meant);
    return false;
}

static bool read_lines(options *o, const char *path, tdm_error *err)
{
    int fd;
    tdm_status status = file_open(path, &fd, err);
    if (status) return status == TDM_E_NOT_FOUND;
    FILE *f = fdopen(fd, "r");
    if (!f) {
        error_errno(err, TDM_E_IO, "%s: can't be opened", path);
        close(fd);
        return false;
    }
    char *line = NULL;
    size_t room = 0;
    bool good = true;
    ssize_t n;
    for (int number = 1; good && (n = getline(&line, &room, f)) >= 0; number++) {
        bool mark = number == 1 && !strncmp(line, "\357\273\277", 3); /* an editor's byte order mark */
        good = !memchr(line, 0, (size_t)n);
        if (good)
            good = file_line(o, path, number, line + (mark ? 3 : 0), err);
        else
            error_set(err, TDM_E_FORMAT, "%s:%d: expected text in UTF-8, found a zero byte", path, number);
    }
    if (good && !feof(f)) {
        error_errno(err, errno == ENOMEM ? TDM_E_NOMEM : TDM_E_IO, "%s: can't be read", path);
        good = false;
    }
    free(line);
    fclose(f);
    return good;
}

bool options_read_file(options *o, const char *path, tdm_error *err)
{
    if (!read_lines(o, path, err)) return false;
    tdm_error why;
    if (servers_check(o->servers, o->n_servers, &why)) {
        error_set(err, TDM_E_FORMAT, "%s: %s", path, why.text);
        return false;
    }
    const option_value *theme = &o->values[OPTION_THEME];
    if (!theme->text || theme_is_known(o, theme->text)) return true;
    char where[400];
    snprintf(where, sizeof where, "%.390s: ", path);
    return unknown_theme(o, theme->origin == FROM_FILE ? where : "", theme->origin, theme->text, err);
}
