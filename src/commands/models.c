/* `tandem models`: the models on this computer, and which of them fit. */
#include <stdlib.h>
#include <string.h>

#include "engine/base/error.h"
#include "src/cli/subcommands.h"
#include "src/io/output.h"
#include "src/models/ceilings.h"
#include "src/models/load.h"
#include "src/models/models.h"

/* How fast memory is read: kept, or measured now. */
static tdm_status find_speed(ceilings_memory *speed, const options *o, tdm_error *err)
{
    tdm_machine *m;
    tdm_status status = load_machine(&m, o, NULL, &(load_how){0}, err);
    if (status) return status;
    ceilings kept;
    ceilings_recall(&kept, m, NULL);
    status = ceilings_memory_now(speed, &kept, m, err);
    tdm_machine_close(m);
    return status;
}

int models_main(options *o)
{
    models_list list = {0};
    ceilings_memory speed = {0};
    tdm_error err = {0};
    if (o->n_arguments) return subcommands_usage(o, "expected no argument; 'tandem info MODEL' tells of one");
    tdm_status status = models_find(&list, o, &err);
    if (!status) status = find_speed(&speed, o, &err);
    for (size_t i = 0; !status && i < list.n; i++) models_describe(&list.rows[i], o, NULL, NULL);
    if (!status) {
        models_judge(&list, speed, NULL);
        char *text = options_flag(o, OPTION_JSON) ? models_json(&list) : models_text(&list);
        if (text) output_text(text, strlen(text));
        else status = error_set(&err, TDM_E_NOMEM, "out of memory");
        free(text);
    }
    models_free(&list);
    return status ? load_failed(&err) : 0;
}
