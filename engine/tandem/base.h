/* What every part of the interface uses: the version, token ids and the report of progress; and what a program needs to
 * end with a line of text when the engine finds a bug or another program truncates a model's file. */
#ifndef TDM_BASE_H
#define TDM_BASE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "error.h"

#define TDM_API __attribute__((visibility("default")))

/* ---- Version ----------------------------------------------------------------------------------------------------- */

/* The version of this header: as text, and as major * 10000 + minor * 100 + patch. Until 1.0 a new minor version may
 * change anything and gets another soname. A new patch version only adds: functions, values at the end of an enum, and
 * members at the end of a struct of options (tandem.h, 'options'). */
#define TDM_VERSION "0.2.0"
#define TDM_VERSION_NUMBER 200

/* The version of the library that the program runs with. */
TDM_API const char *tdm_version(void);
TDM_API int tdm_version_number(void);

/* ---- Bugs, and files that are truncated -------------------------------------------------------------------------- */

/* The engine calls the hook with one line of text just before it aborts on a broken invariant, on the thread that found
 * it. The hook should restore the terminal and then print the line, since the engine does not print it. With NULL, the
 * default, the engine prints the line on standard error. */
TDM_API void tdm_set_panic_hook(void (*hook)(const char *line));

/* The engine maps a model's files, which can't be locked against other programs. If another program truncates one of
 * them, or the disk fails, reading the mapping raises SIGBUS. (Experts that are read from a file during a reply are not
 * mapped; if reading them fails, the function returns an error.) */
typedef struct {
    const char *path;   /* printable; it lives until the file is closed */
    uint64_t bytes;     /* the file's length when it was mapped */
    uint64_t bytes_now; /* its length now */
} tdm_mapped;

/* For a handler of SIGBUS: returns true and the file whose mapping contains the address (si_addr), or false if there is
 * no such file. Async-signal-safe. */
TDM_API bool tdm_mapped_find(const void *address, tdm_mapped *out);

/* ---- Tokens ------------------------------------------------------------------------------------------------------ */

/* A token id: a row of the embedding matrix. */
typedef int32_t tdm_id;

/* A picture that stands before byte `at` of a message's text (pictures.h). */
typedef struct tdm_picture tdm_picture;
typedef struct {
    tdm_picture *picture;
    size_t at;
} tdm_placed_picture;

/* ---- Progress of long operations --------------------------------------------------------------------------------- */

/* The step of a long operation, and what it counts. */
typedef enum {
    TDM_STEP_READING,         /* reads packed weights: bytes */
    TDM_STEP_PACKING,         /* packs weights for this CPU: bytes */
    TDM_STEP_PACKING_EXPERTS, /* packs the experts that stay in memory: bytes */
    TDM_STEP_CONVERTING,      /* writes another file: bytes */
    TDM_STEP_TESTING_GPU,     /* tests a GPU's driver, once: trials */
    TDM_STEP_COPYING_GPU,     /* copies weights to a GPU: bytes */
    TDM_STEP_MEASURING_GPU,   /* times products, to choose how each of them runs on the GPU: layers */
    TDM_STEP_COMPILING_GPU,   /* compiles the GPU's programs: programs */
    TDM_STEP_LIMITS,          /* measures a machine (tdm_machine_measure): measurements */
    TDM_STEP_SERVER,          /* waits for a server that loads its model: seconds; the caller's own */
    TDM_STEPS,
} tdm_step;

/* Called during a long operation; `done` rises within each step. A result other than 0 cancels the operation
 * (TDM_E_CANCELLED). Unless a function says otherwise, it is called on the thread that called the function. */
typedef int (*tdm_progress)(void *ctx, tdm_step step, uint64_t done, uint64_t total);

#endif
