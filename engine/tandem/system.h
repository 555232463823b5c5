/* The system that the engine runs on: its sensors, its CPU and its GPUs. */
#ifndef TDM_SYSTEM_H
#define TDM_SYSTEM_H

#include "base.h"

/* ---- Sensors -----------------------------------------------------------------------------------------------------
 * A reading opens some tens of small files: read at most once a second, and only while the values are shown. */

typedef struct {
    bool valid;
    double value;
    char name[48], unit[8]; /* "package-0", "core temperature"; W, C, MHz */
    char reason[96];        /* why it is not valid */
    char remedy[160];       /* the command that makes it readable; or "" */
} tdm_sensor;

typedef struct tdm_sensors tdm_sensors;
TDM_API tdm_sensors *tdm_sensors_open(void);
TDM_API void tdm_sensors_close(tdm_sensors *s);
/* Reads all sensors, writes at most `room` of them, and returns how many it wrote. */
TDM_API size_t tdm_sensors_read(tdm_sensors *s, tdm_sensor *out, size_t room);

/* ---- CPU --------------------------------------------------------------------------------------------------------- */

/* Lines of text about the CPU, as `tandem info --cpu` prints them: what was found and what was chosen. *text is
 * malloc'ed. */
TDM_API tdm_status tdm_cpu_describe(char **text, tdm_error *err);
/* Resolves `kernels` (as in tdm_model_options) to the name of a kernel set, a static string. */
TDM_API tdm_status tdm_kernels_name(const char *kernels, const char **name, tdm_error *err);

/* ---- GPUs -------------------------------------------------------------------------------------------------------- */

/* Lines of text about the GPUs, as `tandem info --gpu` prints them: the devices that a unit can name and the results of
 * their self-tests in the cache (tdm_machine_options.cache_folder; NULL: no cache), or why there is none. *text is
 * malloc'ed. */
TDM_API tdm_status tdm_gpu_describe(const char *cache_folder, char **text, tdm_error *err);

typedef struct {
    char name[128];
    char driver[128];  /* with its version */
    char pci[16];      /* PCI address, "0000:41:00.0"; "": unknown */
    bool software;     /* a software driver, which computes on the cores (lavapipe) */
    uint64_t identity; /* a hash of device, driver and the engine's shaders */
} tdm_gpu_info;
/* Writes those devices in their order, at most `room`; returns how many there are. */
TDM_API int tdm_gpu_list(tdm_gpu_info *out, int room);

#endif
