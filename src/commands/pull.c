/* `tandem pull`: hands over to the program tandem-pull, so that this one never opens a connection. */
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "src/cli/mains.h"

#define PROGRAM "tandem-pull"

/* The program beside this one; false when its name doesn't fit. */
static bool beside(char out[PATH_MAX + sizeof PROGRAM])
{
    ssize_t n = readlink("/proc/self/exe", out, PATH_MAX - 1);
    if (n <= 0) return false;
    out[n] = 0;
    strcpy(strrchr(out, '/') + 1, PROGRAM);
    return true;
}

int pull_main(options *o)
{
    char path[PATH_MAX + sizeof PROGRAM];
    if (o->n_arguments != 1) return mains_usage(o, "expected OWNER/NAME[:TAG]; 'tandem pull --help' explains");
    char *words[] = {(char *)PROGRAM, options_flag(o, OPTION_DRY_RUN) ? (char *)"--dry-run" : (char *)"--",
                     o->arguments[0], NULL};
    if (beside(path)) execv(path, words);
    if (errno == ENOENT) execvp(PROGRAM, words);
    fprintf(stderr, "tandem pull: " PROGRAM ": %s\n",
            errno == ENOENT ? "not there: Tandem was built without libcurl (`make deps all install` builds it with it)"
                            : strerror(errno));
    return 1;
}
