/* The self-test of a GPU's driver. Drivers compile shaders, and a wrong result looks like text. So small models with
 * made-up weights, one for every form that matrices have on a device and a mixture of experts among them, are evaluated
 * there and on the cores; and tokens that the device samples from logits by itself are compared. The result is kept, so
 * that each driver is tested once.
 *
 * Threads: one at a time for a device.
 */
#ifndef TANDEM_BACKEND_SELFTEST_H
#define TANDEM_BACKEND_SELFTEST_H

#include "engine/gpu/gpu.h"

struct selftest_result {
    bool known, passed;
    char why[160];   /* it did not pass: one line */
    char units[120]; /* it passed: its matrix units, and whether products take them (gpu_matrix_units) */
};

/* The root mean square of the differences between n logits, in standard deviations of the expected ones; NaN if one of
 * the logits is NaN. */
double selftest_difference(const float *found, const float *expected, size_t n);

/* Tests the device. Fails for lack of memory, or because progress (may be NULL; called before each trial, with how many
 * are done) cancels it: TDM_E_CANCELLED; every other failure is the driver's and stands in *out. */
tdm_status selftest_run(struct selftest_result *out, struct gpu *g, tdm_progress progress, void *progress_ctx,
                        tdm_error *err);

/* The result that the folder has for this device with this driver and Tandem's present shaders; known is false:
 * none. */
void selftest_kept(struct selftest_result *out, const char *folder, const struct gpu_info *info);
/* Keeps it there; the folder is made. */
tdm_status selftest_keep(const struct selftest_result *result, const char *folder, const struct gpu_info *info,
                         tdm_error *err);

#endif
