#include "src/mains.h"

#include <stdlib.h>

#include "src/files.h"
#include "src/output.h"

int config_main(options *o)
{
    static const char *const origins[] = {"default", "configuration file", "command line"};
    char *path = files_path(FILES_CONFIG, "config");
    output_print("file: %s\n\n", path ? path : "none: neither XDG_CONFIG_HOME nor HOME is set");
    free(path);
    for (option_id id = 0; id < OPTION_COUNT; id++) {
        const option_value *v = &o->values[id];
        if (!(option_table[id].flags & KEEP)) continue;
        const char *value = v->text ? v->text : option_table[id].initial;
        output_print("%-18s %-32s %s\n", option_table[id].name, value, origins[v->origin]);
    }
    return 0;
}
