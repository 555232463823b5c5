/* `tandem config`: every option that may stand in the configuration file, its value and where it comes from. */
#ifndef TANDEM_SRC_CONFIG_H
#define TANDEM_SRC_CONFIG_H

#include "src/options.h"

int config_main(options *o);

#endif
