/* The power that processor and GPUs draw together, read during other measurements. One thread at a time. The first
 * reading looks for its sources, which may take a second. */
#ifndef TANDEM_SRC_POWER_METER_H
#define TANDEM_SRC_POWER_METER_H

#include <stdbool.h>

typedef struct power_meter power_meter;

power_meter *power_meter_open(void);    /* NULL: no memory */
void power_meter_close(power_meter *m); /* NULL is allowed */
/* The watts of all sources together at this moment; negative: there is no source. *processor: the processor is one. */
double power_meter_watts(void *meter, bool *processor);

#endif
