/* `tandem info http://...`: the facts that a server reports about itself. */
#ifndef TANDEM_SRC_INFO_SERVER_H
#define TANDEM_SRC_INFO_SERVER_H

#include "src/cli/options.h"

/* Prints it (as text or JSON) and returns the exit status. */
int info_server(const options *o, const char *address);

#endif
