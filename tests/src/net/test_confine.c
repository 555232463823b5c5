/* What a confined program can still do, tried by children of this one, and that tandem-net is one. */
#include "tests/check.h"

#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "engine/json/write.h"
#include "src/net/confine.h"
#include "src/net/wire.h"

static char home[512], hub[600], secret[600], named[600], above[600];

static void put(const char *path)
{
    FILE *f = fopen(path, "w");
    if (!f || fputs("kept", f) < 0 || fclose(f)) abort();
}

static void make_home(void)
{
    snprintf(above, sizeof above, "%s/above", check_tmp());
    snprintf(home, sizeof home, "%s/home", check_tmp());
    snprintf(hub, sizeof hub, "%s/cache/hub", home);
    snprintf(secret, sizeof secret, "%s/secret", home);
    snprintf(named, sizeof named, "%s/named", home);
    mkdir(home, 0700);
    put(above);
    put(secret);
    put(named);
    setenv("HOME", home, 1);
}

/* Runs it in a child; its exit status. */
static int in_child(int (*trial)(void))
{
    int status = 0;
    pid_t child = fork();
    if (child == 0) _exit(trial());
    while (waitpid(child, &status, 0) < 0 && errno == EINTR) continue;
    return WIFEXITED(status) ? WEXITSTATUS(status) : 1000 + status;
}

/* What the kernel here, an emulator or a sanitizer's build leaves out is no failure. */
static int filter_is_there(void)
{
    confine_process();
    return prctl(PR_GET_SECCOMP, 0, 0, 0, 0) == 2;
}

static int files_are_confined(void)
{
    confine_files(NULL, NULL);
    int fd = open(secret, O_RDONLY);
    return fd < 0 && errno == EACCES;
}

static int leaves_no_dump(void)
{
    prctl(PR_SET_DUMPABLE, 1);
    confine_process();
    return prctl(PR_GET_DUMPABLE, 0, 0, 0, 0) == 0;
}

static const char no_filter[] = "no seccomp here", no_rules[] = "no Landlock here";

/* ---- System calls ------------------------------------------------------------------------------------------------ */

static int denied(long result)
{
    return result < 0 && errno == EPERM ? 0 : 1;
}

static int starts_no_program(void)
{
    char *argv[] = {(char *)"true", NULL}, *environment[] = {NULL};
    confine_process();
    int fd = open("/bin/true", O_RDONLY);
    return denied(execve("/bin/true", argv, environment)) + denied(fexecve(fd, argv, environment));
}

static int looks_into_no_process(void)
{
    confine_process();
    return denied(syscall(SYS_ptrace, 0, 0, 0, 0)) + denied(syscall(SYS_keyctl, 0)) +
           denied(syscall(SYS_process_vm_readv, getppid(), NULL, 0, NULL, 0, 0)) +
           denied(syscall(SYS_bpf, 0, NULL, 0)) + denied(unshare(CLONE_NEWUSER)) +
           denied(syscall(SYS_mount, "a", "/", "b", 0, NULL)) +
           denied(syscall(SYS_clone, CLONE_NEWUSER | SIGCHLD, 0, 0, 0, 0));
}

static int gains_no_rights(void)
{
    confine_process();
    return prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) == 1 ? 0 : 1;
}

TEST(system_calls)
{
    if (!in_child(filter_is_there)) SKIP(no_filter);
    CHECK_INT(0, in_child(starts_no_program));
    CHECK_INT(0, in_child(looks_into_no_process));
    CHECK_INT(0, in_child(gains_no_rights));
}

static int keeps_no_descriptor(void)
{
    int fd = open("/dev/null", O_RDONLY), high = fcntl(fd, F_DUPFD, 200);
    confine_process();
    return fcntl(fd, F_GETFD) < 0 && fcntl(high, F_GETFD) < 0 && fcntl(STDOUT_FILENO, F_GETFD) >= 0 ? 0 : 1;
}

TEST(descriptors)
{
    CHECK_INT(0, in_child(keeps_no_descriptor));
}

/* ---- Between two pipes ------------------------------------------------------------------------------------------- */

static int filter_of_few_calls(void)
{
    confine_to_pipes((uint64_t)1 << 30, 5);
    return !denied(socket(AF_UNIX, SOCK_STREAM, 0)); /* not even that can be asked for */
}

static int does_nothing_else(void)
{
    char *argv[] = {(char *)"true", NULL}, *environment[] = {NULL};
    confine_to_pipes((uint64_t)1 << 30, 5);
    void *small = malloc(1 << 20), *large = malloc((size_t)2 << 30);
    int failed = !small + (large != NULL);
    failed += denied(open("/dev/null", O_RDONLY)) + denied(socket(AF_INET, SOCK_STREAM, 0)) + denied(fork());
    failed += denied(execve("/bin/true", argv, environment)) + denied(kill(getppid(), 0)) + denied(mkdir("/tmp/x", 0));
    void *code = mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    void *data = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    failed += (code != MAP_FAILED) + (data == MAP_FAILED) + denied(mprotect(data, 4096, PROT_READ | PROT_EXEC));
    return failed + (write(STDERR_FILENO, "", 0) != 0);
}

static int is_ended_in_time(void)
{
    volatile uint64_t n = 0;
    confine_to_pipes((uint64_t)1 << 30, 1);
    while (++n) continue;
    return 0;
}

TEST(a_program_between_pipes)
{
    if (!in_child(filter_of_few_calls)) SKIP(no_filter);
    CHECK_INT(0, in_child(does_nothing_else));
    CHECK_INT(1000 + SIGXCPU, in_child(is_ended_in_time));
}

/* ---- Files ------------------------------------------------------------------------------------------------------- */

static int refused(const char *path, int flags)
{
    int fd = open(path, flags, 0600), why = errno;
    return fd < 0 && why == EACCES ? 0 : 1;
}

static int opens(const char *path, int flags)
{
    int fd = open(path, flags, 0600);
    return fd >= 0 && !close(fd) ? 0 : 1;
}

static int reads_what_is_named(void)
{
    const char *const read[] = {named, NULL};
    confine_process();
    confine_files(NULL, read);
    return refused(secret, O_RDONLY) + refused(secret, O_WRONLY) + refused(named, O_WRONLY) + opens(named, O_RDONLY) +
           opens(above, O_RDONLY) + refused(above, O_WRONLY | O_TRUNC) + opens("/etc/passwd", O_RDONLY) +
           refused("/tmp/tandem-test-made", O_WRONLY | O_CREAT) + !(unlink(named) < 0 && errno == EACCES);
}

/* The folder is not there at first; once it is, only it is written to. */
static int writes_below_the_folder(void)
{
    const char *const written[] = {hub, NULL};
    char file[700], folder[700], link[700];
    snprintf(file, sizeof file, "%s/file", hub);
    snprintf(folder, sizeof folder, "%s/cache", home);
    snprintf(link, sizeof link, "%s/link", hub);
    confine_process();
    confine_files(written, NULL);
    int failed = refused(above, O_WRONLY) + (mkdir(folder, 0700) != 0) + (mkdir(hub, 0700) != 0);
    confine_files(written, NULL);
    return failed + opens(file, O_RDWR | O_CREAT | O_TRUNC) + (symlink("file", link) != 0) + opens(link, O_RDONLY) +
           (rename(file, link) != 0) + (unlink(link) != 0) + refused(secret, O_WRONLY) + refused(secret, O_RDONLY);
}

TEST(files)
{
    make_home();
    if (!in_child(files_are_confined)) SKIP(no_rules);
    CHECK_INT(0, in_child(reads_what_is_named));
    CHECK_INT(0, in_child(writes_below_the_folder));
    struct stat st;
    CHECK(!stat(secret, &st) && st.st_size == 4 && !stat(above, &st) && st.st_size == 4);
}

/* ---- What has to go on ------------------------------------------------------------------------------------------- */

static void *resolve(void *failed)
{
    struct addrinfo *found = NULL;
    *(int *)failed = getaddrinfo("localhost", "80", NULL, &found);
    if (found) freeaddrinfo(found);
    return NULL;
}

static int resolves_in_a_thread(void)
{
    pthread_t thread;
    int failed = 1, fd;
    confine_process();
    confine_files(NULL, NULL);
    if (pthread_create(&thread, NULL, resolve, &failed)) return 2;
    pthread_join(thread, NULL);
    fd = socket(AF_INET, SOCK_STREAM, 0);
    return failed ? 3 : fd < 0 ? 4 : 0;
}

TEST(names_are_resolved_in_threads)
{
    make_home();
    CHECK_INT(0, in_child(resolves_in_a_thread));
}

/* ---- The program ------------------------------------------------------------------------------------------------- */

/* A line of /proc/PID/status. */
static long status_of(pid_t pid, const char *name)
{
    char path[64], line[256];
    long value = -1;
    snprintf(path, sizeof path, "/proc/%d/status", (int)pid);
    FILE *f = fopen(path, "r");
    while (f && fgets(line, sizeof line, f))
        if (!strncmp(line, name, strlen(name)) && line[strlen(name)] == ':') value = atol(line + strlen(name) + 1);
    if (f) fclose(f);
    return value;
}

/* Starts tandem-net with one end of the socket. */
static pid_t start_net(const char *path, int end)
{
    pid_t child = fork();
    if (child) return child;
    dup2(end, STDIN_FILENO);
    dup2(end, 77); /* one too many */
    execl(path, "tandem-net", (char *)NULL);
    _exit(127);
}

/* Waits for what it answers to a request that can't be made. */
static bool answers(int fd)
{
    static const char request[] = "{\"method\":\"GET\",\"path\":\"/\"}\n";
    wire w;
    wire_frame f = {0};
    json_object *server = json_new_object();
    json_add_string(server, "url", "ftp://nowhere");
    if (wire_open(&w, fd, NULL)) return false;
    wire_tell(&w, WIRE_SERVER, 0, server, NULL);
    wire_put(&w, WIRE_REQUEST, 1, (struct span){request, strlen(request)}, NULL);
    fcntl(fd, F_SETFL, 0); /* now a read waits */
    while (!f.frame.head && !wire_read(&w, NULL) && !wire_take(&w, &f, NULL)) continue;
    bool found = f.frame.head;
    json_free(f.frame.head);
    wire_free(&w);
    return found;
}

TEST(tandem_net_is_confined)
{
    const char *program = getenv("TANDEM");
    char path[1024];
    int ends[2];
    snprintf(path, sizeof path, "%s-net", program ? program : "build/tandem");
    if (access(path, X_OK)) SKIP("tandem-net was not built");
    if (!in_child(filter_is_there)) SKIP(no_filter);
    REQUIRE(!socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends));
    pid_t child = start_net(path, ends[1]);
    close(ends[1]);
    CHECK(answers(ends[0]));
    CHECK_INT(1, status_of(child, "NoNewPrivs"));
    CHECK_INT(2, status_of(child, "Seccomp"));
    snprintf(path, sizeof path, "/proc/%d/fd/77", (int)child);
    CHECK(access(path, F_OK));
    close(ends[0]);
    int status = 0;
    waitpid(child, &status, 0);
    CHECK(WIFEXITED(status));
}

TEST(memory_is_not_dumped)
{
    if (!in_child(filter_is_there)) SKIP(no_filter);
    CHECK_INT(1, in_child(leaves_no_dump));
}

TEST_MAIN(T(memory_is_not_dumped), T(system_calls), T(descriptors), T(a_program_between_pipes), T(files),
          T(names_are_resolved_in_threads), T(tandem_net_is_confined))
