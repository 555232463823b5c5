#include "src/models/vision.h"

#include <stdio.h>

#include "engine/base/error.h"
#include "engine/base/memory.h"
#include "engine/tandem.h"
#include "src/models/family.h"
#include "src/models/models.h"

void vision_explain(const options *o, const tdm_model *m, const char *what, tdm_error *err)
{
    tdm_model_info info;
    tdm_vision vision;
    char other[200], line[300];
    if (!err) return;
    tdm_model_describe(m, &info);
    tdm_model_vision(m, &vision);
    if (vision.there) return;
    models_seeing(o, other, sizeof other);
    if (other[0])
        snprintf(line, sizeof line,
                 o->command == COMMAND_CHAT ? "/model %s goes on with one that does" : "-m %s names one that does",
                 other);
    else
        family_suggest_seeing(memory_total(), line, sizeof line);
    error_set(err, TDM_E_UNSUPPORTED, "%s%s%.100s doesn't see pictures: %s", what ? what : "", what ? ": " : "",
              info.name, line);
}

bool vision_unseen(const tdm_model *m, int pictures, char *out, size_t room)
{
    tdm_model_info info;
    tdm_vision vision;
    tdm_model_describe(m, &info);
    tdm_model_vision(m, &vision);
    if (!pictures || vision.there || info.on_server) return false;
    if (pictures == 1)
        snprintf(out, room, "%.100s doesn't see its picture", info.name);
    else
        snprintf(out, room, "%.100s doesn't see its %d pictures", info.name, pictures);
    return true;
}
