#include "src/plain/line.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <readline/readline.h>

#include "engine/base/harmless.h"
#include "engine/base/utf8.h"
#include "src/io/output.h"
#include "src/models/vision.h"
#include "src/slash/commands.h"
#include "ui/readline/clusters.h"

void plain_line_draw(void)
{
    clusters_settle();
    int32_t code;
    char *kept = strdup(rl_line_buffer);
    size_t n = kept ? strlen(kept) : 0;
    for (size_t i = 0, length; i < n; i += length) {
        length = utf8_decode(kept + i, n - i, &code);
        if ((code < 0 || code >= 0x80) && !harmless_code(code)) memset(rl_line_buffer + i, '?', length);
    }
    if (kept) rl_redisplay();
    if (kept) memcpy(rl_line_buffer, kept, n);
    free(kept);
}

static char *next_completion(const char *text, int state)
{
    static struct completion c;
    static size_t next;
    (void)text;
    if (!state) {
        next = 0;
        completion_free(&c);
        if (!complete_line(&commands_completer, rl_line_buffer, (size_t)rl_point, false, getenv("HOME"), &c))
            return NULL;
        if (c.append != ' ') rl_completion_append_character = 0;
    }
    if (next >= c.count) {
        completion_free(&c);
        c = (struct completion){0};
        return NULL;
    }
    /* readline replaces the word that it found, but a candidate replaces the text from c.start on. Either may begin
     * before the other. */
    size_t word = (size_t)rl_point - strlen(text), skip = word > c.start ? word - c.start : 0;
    size_t kept = c.start > word ? c.start - word : 0;
    const char *name = c.names[next++];
    char *whole;
    return asprintf(&whole, "%.*s%s", (int)kept, text, strlen(name) >= skip ? name + skip : name) < 0 ? NULL : whole;
}

char **plain_line_complete(const char *text, int start, int end)
{
    (void)start, (void)end;
    rl_attempted_completion_over = 1; /* never readline's own file names: a message is text */
    return rl_completion_matches(text, next_completion);
}

void plain_line_set_up(void)
{
    rl_readline_name = "tandem";
    rl_catch_signals = 0;
    rl_attempted_completion_function = plain_line_complete;
    rl_completer_word_break_characters = " \t";
    rl_initialize();
    rl_redisplay_function = plain_line_draw; /* not before: readline gives up bracketed paste then */
}

bool plain_line_attach(app *a, const char *text)
{
    char **paths = attach_dropped(text, strlen(text));
    for (char **path = paths; path && *path; path++) {
        tdm_error err = {0};
        char line[400];
        int place;
        tdm_status status = attach_file(&a->attach.files, *path, a->models.model, app_room_now(a), &place, &err);
        if (status == TDM_E_UNSUPPORTED) vision_explain(a->o, a->models.model, *path, &err);
        if (!status) commands_attached(a, place, "", line, sizeof line);
        output_note("%s", status ? err.text : line);
    }
    attach_words_free(paths);
    return paths;
}
