#include "src/tui/draft/consent.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "src/chat/consent.h"
#include "src/files/files.h"
#include "src/tui/private.h"

/* True: the question is asked, or could not be for lack of memory. Its first word is the host. */
static bool ask(tui *t, tui_consent_kind kind, const char *name, const char *prompt, const char *question)
{
    tui_consent_free(&t->consent);
    t->consent = (tui_consent){.kind = kind, .name = strdup(name), .prompt = prompt ? strdup(prompt) : NULL};
    char title[300];
    snprintf(title, sizeof title, "send to %.*s?", (int)strcspn(question, " "), question);
    if (t->consent.name) tui_popup_consent(&t->lists.popup, title, question, "send it", "send nothing");
    t->face.dirty = t->face.urgent = true;
    return true;
}

/* What the user has just agreed to. */
static bool is_answered(tui *t, const char *name)
{
    tui_consent *c = &t->consent;
    bool is = c->answered && c->name && !strcmp(c->name, name);
    c->answered = false;
    return is;
}

bool tui_consent_start(tui *t)
{
    char question[CONSENT_ROOM];
    return consent_to_start(t->o, question) &&
           ask(t, TUI_CONSENT_MODEL, options_text(t->o, OPTION_MODEL), NULL, question);
}

bool tui_consent_model(tui *t, const char *model, const char *prompt)
{
    char question[CONSENT_ROOM];
    if (is_answered(t, model) || !consent_to_model(&t->app, model, question)) return false;
    return ask(t, TUI_CONSENT_MODEL, model, prompt, question);
}

void tui_consent_plain_http(tui *t, const char *model, const char *prompt)
{
    char question[CONSENT_ROOM];
    consent_to_plain_http(t->o, model, question);
    ask(t, TUI_CONSENT_PLAIN_HTTP, model, prompt, question);
}

bool tui_consent_resume(tui *t, const char *wanted)
{
    char question[CONSENT_ROOM];
    if (is_answered(t, wanted) || !consent_to_resume(&t->app, wanted, question)) return false;
    return ask(t, TUI_CONSENT_RESUME, wanted, NULL, question);
}

bool tui_consent_overwrite(tui *t, slash_id command, const char *argument)
{
    char question[CONSENT_ROOM];
    if (!files_would_overwrite(argument)) return false;
    tui_consent_free(&t->consent);
    t->consent = (tui_consent){.kind = TUI_CONSENT_OVERWRITE, .command = command};
    if (asprintf(&t->consent.name, "--force %s", argument) < 0) t->consent.name = NULL;
    snprintf(question, sizeof question, "%.300s is there already.", argument);
    tui_list_harmless(question);
    if (t->consent.name) tui_popup_consent(&t->lists.popup, "overwrite the file?", question, "overwrite it", "keep it");
    t->face.dirty = t->face.urgent = true;
    return true;
}

void tui_consent_answer(tui *t, bool agreed)
{
    tui_consent *c = &t->consent;
    c->answered = agreed;
    if (agreed && c->kind == TUI_CONSENT_MODEL) consent_keep(t->o, c->name);
    if (agreed && c->kind == TUI_CONSENT_PLAIN_HTTP) {
        consent_keep_plain_http(t->o, c->name);
        t->jobs.load.plain_http = true;
    }
    if (agreed || c->kind == TUI_CONSENT_OVERWRITE) return;
    if (app_talks(&t->app))
        tui_notices_add(&t->notices, VIEW_NOTICE_INFO, "nothing was sent");
    else if (t->jobs.load.state != TUI_LOAD_RUNNING)
        tui_load_fail(&t->jobs.load, "nothing was sent");
}

void tui_consent_free(tui_consent *c)
{
    free(c->name);
    free(c->prompt);
    *c = (tui_consent){0};
}
