/* The line-mode conversation: for screen readers, pipes and simple terminals. Every state is told in words, nothing
 * moves or is drawn over. On a terminal the line is GNU readline's; from a pipe every line is a message or a command.
 */
#ifndef TANDEM_SRC_PLAIN_H
#define TANDEM_SRC_PLAIN_H

#include "src/cli/options.h"

int plain_main(options *o);

#endif
