#include "src/chat/consent.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "src/files/agreed.h"
#include "src/server/server_alias.h"

static bool same_server(const options *o, const char *a, const char *b)
{
    server_alias one, other;
    if (!server_alias_is_server(o, a) || !server_alias_is_server(o, b)) return false;
    return !server_alias_find(&one, o, a, NULL) && !server_alias_find(&other, o, b, NULL) &&
           !strcmp(one.address.url, other.address.url);
}

/* The parts of a conversation that the server has not had. */
typedef struct {
    int turns, pictures;
} unsent;

/* attached: the pictures that wait for the next message, too. */
static bool ask(const options *o, const char *model, const unsent *its, int attached, char question[CONSENT_ROOM])
{
    int turns = its->turns, pictures = its->pictures + attached;
    server_alias n;
    if (!server_alias_is_server(o, model) || server_alias_find(&n, o, model, NULL))
        return false; /* loading reports what is wrong */
    if (!turns && !pictures && agreed_with(n.address.url)) return false;
    size_t at = (size_t)snprintf(question, CONSENT_ROOM, "%s gets what you write", n.address.host);
    if (turns == 1)
        at += (size_t)snprintf(question + at, CONSENT_ROOM - at, ", and the one turn of this conversation");
    else if (turns)
        at += (size_t)snprintf(question + at, CONSENT_ROOM - at, ", and the %d turns of this conversation", turns);
    if (pictures && at < CONSENT_ROOM)
        snprintf(question + at, CONSENT_ROOM - at, turns ? " with %d picture%s" : ", and %d picture%s", pictures,
                 pictures == 1 ? "" : "s");
    return true;
}

/* User messages on the current path, and the pictures in them. */
static unsent unsent_of(const app *a)
{
    session s;
    if (a->left) return (unsent){session_turns(a->left), session_pictures(a->left)};
    if (!a->chat || app_snapshot(a, &s, NULL)) return (unsent){0};
    unsent its = {session_turns(&s), session_pictures(&s)};
    session_free(&s);
    return its;
}

bool consent_to_model(const app *a, const char *model, char question[CONSENT_ROOM])
{
    bool same = same_server(a->o, a->model_path, model);
    unsent its = same ? (unsent){0} : unsent_of(a);
    return ask(a->o, model, &its, same ? 0 : (int)attach_pictures_n(&a->attach.files), question);
}

/* The parts of the saved session that this server has not had. */
static unsent unsent_of_saved(const options *o, const store_listing *shown, const char *wanted, const char *model)
{
    store_entry *entries;
    session s = {0};
    int n;
    unsent its = {0};
    if (store_list(&entries, &n, NULL)) return its;
    int picked = store_pick(entries, n, shown, wanted, NULL);
    if (picked >= 0 && !store_peek(entries[picked].id, false, &s, NULL)) {
        if (!same_server(o, s.model_path, model)) its = (unsent){session_turns(&s), session_pictures(&s)};
        session_free(&s);
    }
    store_list_free(entries, n);
    return its;
}

bool consent_to_start(const options *o, char question[CONSENT_ROOM])
{
    const char *model = options_text(o, OPTION_MODEL);
    bool resumes = options_given(o, OPTION_RESUME);
    if (!server_alias_is_server(o, model) || options_flag(o, OPTION_YES)) return false;
    unsent its = {0};
    if (resumes) its = unsent_of_saved(o, NULL, options_text(o, OPTION_RESUME), model);
    return ask(o, model, &its, 0, question);
}

bool consent_to_resume(const app *a, const char *wanted, char question[CONSENT_ROOM])
{
    if (!a->models.server) return false;
    unsent its = unsent_of_saved(a->o, &a->listed.sessions, wanted, a->model_path);
    return its.turns && ask(a->o, a->model_path, &its, 0, question);
}

void consent_to_plain_http(const options *o, const char *model, char question[CONSENT_ROOM])
{
    server_alias n;
    bool known = !server_alias_find(&n, o, model, NULL);
    snprintf(question, CONSENT_ROOM,
             "%s gets what you write by plain http to another computer on an overlay network",
             known ? n.address.host : model);
}

/* If the answer can't be kept, the next start asks again. */
static void keep(const options *o, const char *model, tdm_status (*put)(const char *url, tdm_error *err))
{
    server_alias n;
    if (!options_flag(o, OPTION_PRIVATE) && !server_alias_find(&n, o, model, NULL)) put(n.address.url, NULL);
}

void consent_keep_plain_http(const options *o, const char *model)
{
    keep(o, model, agreed_keep_plain_http);
}

void consent_keep(const options *o, const char *model)
{
    keep(o, model, agreed_keep);
}
