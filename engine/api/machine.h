/* What a tdm_machine is inside the engine: the worker threads and the two units made of them. */
#ifndef TANDEM_API_MACHINE_H
#define TANDEM_API_MACHINE_H

#include "engine/tandem.h"
#include "engine/unit/machine.h"
#include "engine/unit/unit.h"

struct tdm_machine {
    struct machine *machine;
    struct unit *units[TDM_UNITS];
    char names[TDM_UNITS][64];
};

#endif
