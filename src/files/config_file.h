/* Changing one line of the configuration file, which is the user's own: every other line stays as it is. */
#ifndef TANDEM_SRC_CONFIG_FILE_H
#define TANDEM_SRC_CONFIG_FILE_H

#include "engine/tandem.h"

/* Makes `name = value` hold in the file at `path`: replaces the last line that sets the name (the one that counts), or
 * appends a line. The file is replaced as a whole; if the path is a link, the file that it leads to. A missing file is
 * created, with its folder. TDM_E_ARG: a line can't contain the value. */
tdm_status config_file_set(const char *path, const char *name, const char *value, tdm_error *err);

#endif
