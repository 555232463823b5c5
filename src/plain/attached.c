#include "src/plain/attached.h"

#include <string.h>

#include "src/io/output.h"
#include "src/models/vision.h"
#include "src/slash/commands.h"

bool plain_attach_dropped(app *a, const char *text)
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
