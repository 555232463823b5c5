/* The conversation line by line: for screen readers, pipes and simple terminals. Every state is printed in words;
 * nothing moves or is drawn over. On a terminal GNU readline reads the line; from a pipe every line is a message or a
 * command.
 */
#ifndef TANDEM_SRC_PLAIN_H
#define TANDEM_SRC_PLAIN_H

#include "src/cli/options.h"

int plain_main(options *o);

#endif
