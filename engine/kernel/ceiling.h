/* What the machine itself can do: the figures that measured speeds are held against, taken in the same run on the
 * same cores. Nothing here is a constant of a CPU model: clocks fall under load and virtual machines share memory. */
#ifndef TANDEM_KERNEL_CEILING_H
#define TANDEM_KERNEL_CEILING_H

#include "engine/kernel/kernel.h"
#include "engine/thread/team.h"

/* Operations per second (two a multiply-add) of all members together on vector registers alone, in the arithmetic
 * of a panel kind, over about 60 ms. */
double ceiling_peak(struct team *t, const struct kernels *k, enum panel_kind kind);

/* The same for the set's matrix unit; 0 where the set has none, or none for this kind. */
double ceiling_matrix_peak(struct team *t, const struct kernels *k, enum panel_kind kind);

/* Bytes per second with which all members together read `memory` once. */
double ceiling_read(struct team *t, const struct kernels *k, const void *memory, size_t bytes);

/* The memory that ceiling_read is meant for: bytes of large pages where the system gives them, touched. As weights
 * are. NULL when there is none; freed with free. */
void *ceiling_memory(size_t bytes);

#endif
