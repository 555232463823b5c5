/* The server of the tests (tests/server/serve.c) as a child of a test program. */
#ifndef TANDEM_TESTS_SERVED_H
#define TANDEM_TESTS_SERVED_H

#include <stdbool.h>
#include <sys/types.h>

#include "engine/json/json.h"

typedef struct {
    pid_t child;
    char url[100], control[100];
} served;

/* Was it built (libmicrohttpd), and is the built-in model there? */
bool served_is_there(void);
/* arguments: NULL-terminated, without the program's name. False: it did not start; its own line says why. */
bool served_start(served *s, const char *const *arguments);
void served_stop(served *s);

/* GET /test/counters; the caller frees it. NULL: it did not answer. */
json_object *served_counters(const served *s);
int64_t served_count(const served *s, const char *name); /* one of them; -1 */
/* From now on this happens (tests/server/fault.h); "none": nothing. */
bool served_fault(const served *s, const char *fault);
bool served_restart(const served *s);

#endif
