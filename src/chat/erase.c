/* Erasing a session also removes its texts from the history of sent messages. An entry there is a text as it was typed:
 * a message; one of several messages that were joined while a reply was written; a command that made a message (/p NAME
 * TEXT, /system TEXT, !COMMAND); or one with the session's name (/delete NAME --now), which is made of the session's
 * first words. */
#include "src/chat/app_parts.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "engine/base/error.h"
#include "src/files/files.h"
#include "ui/edit/history.h"

static const char blanks[] = " \t\r\n";
enum { SHORT = 4 }; /* bytes; a shorter argument is in many a text */

/* A part of a text. */
typedef struct {
    const char *text;
    size_t n;
} words;

static words without_blanks(const char *text, size_t n)
{
    while (n && strchr(blanks, *text)) text++, n--;
    while (n && strchr(blanks, text[n - 1])) n--;
    return (words){text, n};
}

/* Whether they are whole lines of the text, but for blanks around them. */
static bool are_lines(const char *text, size_t n, words w)
{
    if (!w.n || !text) return false;
    for (const char *at = text, *found; (found = memmem(at, n - (size_t)(at - text), w.text, w.n)); at = found + 1) {
        const char *begin = found, *end = found + w.n;
        while (begin > text && (begin[-1] == ' ' || begin[-1] == '\t')) begin--;
        while (end < text + n && (*end == ' ' || *end == '\t' || *end == '\r')) end++;
        if ((begin == text || begin[-1] == '\n') && (end == text + n || *end == '\n')) return true;
    }
    return false;
}

static bool is_text(const char *text, words w)
{
    return text && are_lines(text, strlen(text), w);
}

/* Whether the words are, as lines, the user's own in this session. */
static bool are_of(const session *s, words w)
{
    if (is_text(s->draft, w) || is_text(s->name, w) || are_lines(s->system, s->system_length, w)) return true;
    for (int i = 0; i < s->n; i++) {
        size_t attached = s->attached && s->attached[i] < s->nodes[i].length ? s->attached[i] : 0;
        if (s->nodes[i].role != TDM_USER) continue;
        if (are_lines(s->nodes[i].text + attached, s->nodes[i].length - attached, w)) return true;
    }
    return false;
}

/* Whether one of its messages holds the words anywhere, in what was attached too. */
static bool are_in(const session *s, words w)
{
    for (int i = 0; w.n && i < s->n; i++)
        if (s->nodes[i].role == TDM_USER && memmem(s->nodes[i].text, s->nodes[i].length, w.text, w.n)) return true;
    return false;
}

/* What stands behind the first word. */
static words behind_word(words w)
{
    size_t n = 0;
    while (n < w.n && !strchr(blanks, w.text[n])) n++;
    return without_blanks(w.text + n, w.n - n);
}

/* Whether they hold a name, or begin one, as a user may write it. */
static bool names(const char *name, words w)
{
    size_t n = name ? strlen(name) : 0;
    return n && w.n && (memmem(w.text, w.n, name, n) || (w.n <= n && !strncasecmp(name, w.text, w.n)));
}

/* A history_file_choice. */
static bool is_of(void *ctx, const char *entry)
{
    const session *s = ctx;
    words w = without_blanks(entry, strlen(entry));
    if (are_of(s, w)) return true;
    if (*entry == '!') return are_in(s, without_blanks(w.text + 1, w.n - 1));
    if (*entry != '/') return false;
    words argument = behind_word(w);
    if (are_of(s, argument) || names(s->name, argument)) return true;
    return are_in(s, behind_word(argument)) || (argument.n >= SHORT && are_in(s, argument));
}

static tdm_status forget(const session *s, tdm_error *err)
{
    char *path = files_path(FILES_STATE, "history");
    tdm_status status = path ? history_file_erase(path, is_of, (void *)s, err) : TDM_OK;
    free(path);
    return status;
}

/* Frees the session. A message that waits for its turn is none of its own yet. */
static tdm_status forget_open(const app *a, session *s, tdm_error *err)
{
    const char *queued = app_queued(a);
    tdm_status status = forget(s, err);
    if (!status && queued) {
        free(s->draft);
        s->draft = strdup(queued);
        status = s->draft ? forget(s, err) : error_set(err, TDM_E_NOMEM, "out of memory");
    }
    session_free(s);
    return status;
}

void app_forget_session(void *ctx, const session *s)
{
    (void)ctx;
    forget(s, NULL);
}

tdm_status app_forget_words(app *a, const char *id, bool open, tdm_error *err)
{
    session s;
    tdm_status status = TDM_OK;
    if (open && a->chat) {
        status = app_snapshot(a, &s, err);
        if (!status) status = forget_open(a, &s, err);
    }
    if (status || store_peek(id, false, &s, NULL)) return status; /* a damaged one can't be read */
    status = forget(&s, err);
    session_free(&s);
    return status;
}
