/* When OpenBLAS is loaded, and what is said where it is not there. What the set computes is tested elsewhere
 * (test_matmul.c, tests/engine/chat/test_blas.c). */
#include "tests/check.h"

#include <dirent.h>
#include <dlfcn.h>
#include <sys/wait.h>
#include <unistd.h>

#include "engine/base/error.h"
#include "engine/kernel/sets.h"

enum found { THERE, ABSENT, ANOTHER };

static enum found found = THERE;

/* In place of the C library's, for the whole program: another machine's OpenBLAS. */
void *dlopen(const char *name, int flags)
{
    void *(*real)(const char *name, int flags);
    *(void **)&real = dlsym(RTLD_NEXT, "dlopen");
    bool blas = name && strstr(name, "openblas");
    return real(blas && found == ABSENT ? "libno-such.so.1" : blas && found == ANOTHER ? "libm.so.6" : name, flags);
}

static bool is_loaded(void)
{
    char line[512];
    bool seen = false;
    FILE *maps = fopen("/proc/self/maps", "r");
    while (maps && fgets(line, sizeof line, maps)) seen |= strstr(line, "openblas") != NULL;
    if (maps) fclose(maps);
    return seen;
}

static int threads(void)
{
    int n = 0;
    DIR *folder = opendir("/proc/self/task");
    for (struct dirent *e; folder && (e = readdir(folder));) n += e->d_name[0] != '.';
    if (folder) closedir(folder);
    return n;
}

/* What kernels_find says in a process of its own where the library is so; "": it found it. */
static const char *said(enum found how)
{
    static char text[512];
    int ends[2];
    if (pipe(ends)) abort();
    pid_t child = fork();
    if (child == 0) {
        const struct kernels *k;
        tdm_error err = {0};
        found = how;
        tdm_status first = kernels_find(&k, "blas", &err), again = kernels_find(&k, "blas", &err);
        if (first == again && write(ends[1], err.text, strlen(err.text)) < 0) abort();
        _exit(first == TDM_OK ? 0 : first == TDM_E_NOT_FOUND ? 1 : 2);
    }
    close(ends[1]);
    ssize_t n = read(ends[0], text, sizeof text - 1);
    text[n > 0 ? n : 0] = 0;
    close(ends[0]);
    int status = 0;
    waitpid(child, &status, 0);
    CHECK_INT(how == THERE ? 0 : 1, WEXITSTATUS(status));
    return text;
}

TEST(a_missing_library_is_told_in_one_line)
{
    CHECK_STR("blas: expected the library OpenBLAS, found libno-such.so.1: cannot open shared object file: "
              "No such file or directory", said(ABSENT));
}

TEST(a_library_without_the_product_is_none)
{
    CHECK(strstr(said(ANOTHER), "libm.so.6: undefined symbol: cblas_sgemm"));
}

TEST(it_is_loaded_for_blas_alone)
{
    const struct kernels *k, *sets[8];
    tdm_error err = {0};
    int before = threads();
    CHECK(!kernels_find(&k, NULL, &err) && kernels_available(sets, 8) > 0 && !kernels_find(&k, "scalar", &err));
    CHECK(!is_loaded());
    CHECK_INT(before, threads());
    if (kernels_find(&k, "blas", &err)) SKIP("OpenBLAS is not installed");
    CHECK(is_loaded());
}

TEST_MAIN(T(a_missing_library_is_told_in_one_line), T(a_library_without_the_product_is_none),
          T(it_is_loaded_for_blas_alone))
