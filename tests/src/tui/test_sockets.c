/* The promise that a conversation opens no connection: the program runs below a system call filter that kills whoever
 * opens another socket than a local one (AF_UNIX). The filter is inherited, so that it holds for all that a test
 * starts. */
#include "tests/check.h"

#include <errno.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/src/tui/rig.h"

#if defined __x86_64__
#define MACHINE AUDIT_ARCH_X86_64
#elif defined __aarch64__
#define MACHINE AUDIT_ARCH_AARCH64
#endif

/* The reason why this system has no such filter, or NULL once it holds. */
static const char *forbid_connections(void)
{
#ifndef MACHINE
    return "no filter for this processor";
#else
    static bool holds;
#define LOAD(field) BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, field))
#define SKIP_IF(value, yes, no) BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, value, yes, no)
    struct sock_filter steps[] = {
        LOAD(arch),
        SKIP_IF(MACHINE, 0, 6), /* other calling conventions could open sockets unseen */
        LOAD(nr),
        SKIP_IF(__NR_io_uring_setup, 4, 0), /* so could rings */
        SKIP_IF(__NR_socket, 0, 2),
        LOAD(args[0]),
        SKIP_IF(AF_UNIX, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
    };
    struct sock_fprog program = {sizeof steps / sizeof *steps, steps};
    if (holds) return NULL;
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program))
        return "this system has no system call filters";
    holds = true;
    return NULL;
#endif
}

#define FORBID_CONNECTIONS()                                                                                           \
    do {                                                                                                               \
        const char *reason = forbid_connections();                                                                     \
        if (reason) SKIP(reason);                                                                                      \
    } while (0)

/* The wait status of a child that opens a socket of this family. */
static int open_in_child(int family)
{
    int status = -1;
    pid_t child = fork();
    if (!child) _exit(socket(family, SOCK_STREAM, 0) < 0);
    waitpid(child, &status, 0);
    return status;
}

TEST(the_filter_knows_connections_from_local_sockets)
{
    FORBID_CONNECTIONS();
    CHECK_INT(0, open_in_child(AF_UNIX));
    static const int others[] = {AF_INET, AF_INET6, AF_NETLINK};
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        int status = open_in_child(others[i]);
        CHECK(WIFSIGNALED(status) && WTERMSIG(status) == SIGSYS);
    }
}

static void check_ends_well(void)
{
    int status = rig_end();
    if (!WIFEXITED(status) || WEXITSTATUS(status)) {
        CHECK_FAIL("ended with wait status %#x", (unsigned)status);
        rig_print();
    }
}

TEST(a_conversation_opens_local_sockets_only)
{
    static const char *const arguments[] = {"chat", "--temp", "0", "-n", "8", NULL};
    FORBID_CONNECTIONS();
    REQUIRE(rig_start(check_tmp(), 24, 80, "xterm-256color", arguments) && rig_wait("IDLE"));
    rig_type("Why is the sky blue?\r");
    CHECK(rig_wait("LENGTH | first"));
    rig_type("/model no/such-model\r");
    CHECK(rig_wait("not on this machine"));
    rig_type("/model\r");
    CHECK(rig_wait("in use") && rig_wait("memory "));
    rig_type("q");
    CHECK(rig_wait_gone("in use"));
    rig_type("\x04");
    check_ends_well();
}

TEST(so_do_plain_conversations_and_commands)
{
    static const char *const plain[] = {"chat", "--plain", "--temp", "0", "-n", "8", NULL};
    static const char *const monitor[] = {"monitor", NULL};
    static const char *const run[] = {"run", "--temp", "0", "-n", "8", "Hello", NULL};
    FORBID_CONNECTIONS();
    REQUIRE(rig_start(check_tmp(), 24, 80, "xterm-256color", plain) && rig_said("> "));
    rig_type("Hello\r");
    CHECK(rig_said("> "));
    rig_type("\x04");
    check_ends_well();
    REQUIRE(rig_start(check_tmp(), 24, 80, "xterm-256color", run));
    check_ends_well();
    REQUIRE(rig_start(check_tmp(), 24, 80, "xterm-256color", monitor) && rig_said("none is running"));
    int status = rig_end();
    CHECK(WIFEXITED(status));
}

TEST_MAIN(T(the_filter_knows_connections_from_local_sockets), T(a_conversation_opens_local_sockets_only),
          T(so_do_plain_conversations_and_commands))
