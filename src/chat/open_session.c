#include "src/chat/open_session.h"

#include <stdlib.h>
#include <string.h>

#include "engine/base/error.h"

void open_session_init(open_session *s, bool private)
{
    *s = (open_session){.slot = {.lock = -1}, .private = private, .session_writer = session_writer_new()};
}

void open_session_clear(open_session *s)
{
    session_writer_wait(s->session_writer);
    session_writer_rest(s->session_writer);
    store_close(&s->slot);
    sent_free(&s->sent);
    free(s->system);
    free(s->name);
    s->system = s->name = NULL;
    s->system_length = 0;
    s->private = false;
    s->kept_nodes = 0;
    s->unsaved[0] = 0;
}

void open_session_close(open_session *s)
{
    open_session_clear(s);
    session_writer_free(s->session_writer);
    s->session_writer = NULL;
}

tdm_status open_session_set_system(open_session *s, const char *text, size_t n, tdm_error *err)
{
    char *copy = NULL;
    if (text && n) {
        if (!(copy = malloc(n + 1))) return error_set(err, TDM_E_NOMEM, "out of memory");
        memcpy(copy, text, n);
        copy[n] = 0;
    }
    free(s->system);
    s->system = copy;
    s->system_length = copy ? n : 0;
    return TDM_OK;
}
