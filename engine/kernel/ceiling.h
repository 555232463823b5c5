/* The machine's limits, to compare measured speeds with. They are measured too, in the same run on the same cores.
 * Nothing here is a constant of a CPU model, since clocks fall under load and virtual machines share memory. */
#ifndef TANDEM_KERNEL_CEILING_H
#define TANDEM_KERNEL_CEILING_H

#include "engine/kernel/kernel.h"
#include "engine/thread/team.h"

/* Operations per second (a multiply-add is two) of all members together on vector registers alone, in the arithmetic of
 * a panel kind, over about 20 ms. */
double ceiling_peak(struct team *t, const struct kernels *k, enum panel_kind kind);

/* The same for the set's matrix unit; 0 if the set uses none, or the unit lacks this kind. */
double ceiling_matrix_peak(struct team *t, const struct kernels *k, enum panel_kind kind);

/* Bytes per second at which all members together read `memory` once. */
double ceiling_read(struct team *t, const struct kernels *k, const void *memory, size_t bytes);

/* Memory for ceiling_read, allocated as weights are: touched, with large pages if the system has them. NULL: out of
 * memory; ends with pages_unmap. */
void *ceiling_memory(size_t bytes);

#endif
