#include "src/chat/consent.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "src/cli/agreed.h"
#include "src/server/named.h"

static bool same_server(const options *o, const char *a, const char *b)
{
    named one, other;
    if (!named_is_server(o, a) || !named_is_server(o, b)) return false;
    return !named_find(&one, o, a, NULL) && !named_find(&other, o, b, NULL) &&
           !strcmp(one.place.url, other.place.url);
}

/* turns: of a conversation that the server has not had. */
static bool ask(const options *o, const char *model, int turns, char question[CONSENT_ROOM])
{
    named n;
    if (!named_is_server(o, model) || named_find(&n, o, model, NULL)) return false; /* loading it says what is wrong */
    if (!turns && agreed_with(n.place.url)) return false;
    size_t at = (size_t)snprintf(question, CONSENT_ROOM, "%s gets what you write", n.place.host);
    if (turns == 1)
        snprintf(question + at, CONSENT_ROOM - at, ", and the one turn of this conversation");
    else if (turns)
        snprintf(question + at, CONSENT_ROOM - at, ", and the %d turns of this conversation", turns);
    return true;
}

/* User messages on the current path. */
static int turns_of(const app *a)
{
    session s;
    if (a->left) return session_turns(a->left);
    if (!a->chat || app_snapshot(a, &s, NULL)) return 0;
    int turns = session_turns(&s);
    session_free(&s);
    return turns;
}

bool consent_to_model(const app *a, const char *model, char question[CONSENT_ROOM])
{
    int turns = same_server(a->o, a->model_path, model) ? 0 : turns_of(a);
    return ask(a->o, model, turns, question);
}

/* Turns of the saved session that this server has not had. */
static int turns_of_saved(const options *o, const store_shown *shown, const char *wanted, const char *model)
{
    store_entry *entries;
    session s = {0};
    int n, turns = 0;
    if (store_list(&entries, &n, NULL)) return 0;
    int picked = store_pick(entries, n, shown, wanted, NULL);
    if (picked >= 0 && !store_peek(entries[picked].id, false, &s, NULL)) {
        if (!same_server(o, s.model_path, model)) turns = session_turns(&s);
        session_free(&s);
    }
    store_list_free(entries, n);
    return turns;
}

bool consent_to_start(const options *o, char question[CONSENT_ROOM])
{
    const char *model = options_text(o, OPTION_MODEL);
    bool resumes = options_given(o, OPTION_RESUME);
    if (!named_is_server(o, model) || options_flag(o, OPTION_YES)) return false;
    int turns = resumes ? turns_of_saved(o, NULL, options_text(o, OPTION_RESUME), model) : 0;
    return ask(o, model, turns, question);
}

bool consent_to_resume(const app *a, const char *wanted, char question[CONSENT_ROOM])
{
    if (!a->models.server) return false;
    int turns = turns_of_saved(a->o, &a->shown, wanted, a->model_path);
    return turns && ask(a->o, a->model_path, turns, question);
}

void consent_keep(const options *o, const char *model)
{
    named n;
    if (options_flag(o, OPTION_PRIVATE) || named_find(&n, o, model, NULL)) return;
    agreed_keep(n.place.url, NULL); /* where it can't be kept, the next start asks again */
}
