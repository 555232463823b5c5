#include "src/net/confine.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#ifndef __has_feature
#define __has_feature(x) 0
#endif
#if defined __SANITIZE_ADDRESS__ || defined __SANITIZE_THREAD__ || __has_feature(address_sanitizer) ||                \
    __has_feature(thread_sanitizer) || __has_feature(memory_sanitizer)
enum { SANITIZED = 1 };
#else
enum { SANITIZED = 0 };
#endif

/* System calls that have the same number on every architecture, and which older headers don't name. */
enum {
    PIDFD_SEND_SIGNAL = 424, URING_SETUP = 425, URING_ENTER = 426, URING_REGISTER = 427, OPEN_TREE = 428,
    MOVE_MOUNT = 429, FSOPEN = 430, FSCONFIG = 431, FSMOUNT = 432, FSPICK = 433, CLONE3 = 435, CLOSE_RANGE = 436,
    PIDFD_GETFD = 438, PROCESS_MADVISE = 440, MOUNT_SETATTR = 442, CREATE_RULESET = 444, ADD_RULE = 445,
    RESTRICT_SELF = 446,
};

/* ---- Descriptors ------------------------------------------------------------------------------------------------- */

static void close_descriptors(void)
{
    if (!syscall(CLOSE_RANGE, STDERR_FILENO + 1, UINT_MAX, 0)) return;
    DIR *folder = opendir("/proc/self/fd");
    for (struct dirent *e; folder && (e = readdir(folder));) {
        int fd = atoi(e->d_name);
        if (fd > STDERR_FILENO && fd != dirfd(folder)) close(fd);
    }
    if (folder) closedir(folder);
}

/* ---- System calls ------------------------------------------------------------------------------------------------ */

#if defined __x86_64__
enum { NATIVE = AUDIT_ARCH_X86_64, OTHER_TABLE = 0x40000000 /* of x32 */ };
#elif defined __aarch64__
enum { NATIVE = AUDIT_ARCH_AARCH64, OTHER_TABLE = INT_MAX };
#endif

#if defined __x86_64__ || defined __aarch64__
/* A list of what is denied: what libcurl, TLS and the resolver's modules call differs from system to system, so a list
 * of what is allowed would break where it was not tried. */
static const int denied[] = {
    SYS_execve, SYS_execveat, SYS_ptrace, SYS_process_vm_readv, SYS_process_vm_writev, SYS_kcmp, PIDFD_GETFD,
    PIDFD_SEND_SIGNAL, PROCESS_MADVISE, SYS_bpf, SYS_perf_event_open, SYS_userfaultfd, URING_SETUP, URING_ENTER,
    URING_REGISTER, SYS_keyctl, SYS_add_key, SYS_request_key, SYS_mount, SYS_umount2, SYS_pivot_root, SYS_chroot,
    OPEN_TREE, MOVE_MOUNT, FSOPEN, FSCONFIG, FSMOUNT, FSPICK, MOUNT_SETATTR, SYS_unshare, SYS_setns,
    SYS_open_by_handle_at, SYS_init_module, SYS_finit_module, SYS_delete_module, SYS_kexec_load,
    SYS_reboot, SYS_swapon, SYS_swapoff, SYS_acct, SYS_quotactl, SYS_settimeofday, SYS_clock_settime, SYS_sethostname,
    SYS_setdomainname, SYS_personality, SYS_fanotify_init,
#if defined __x86_64__
    SYS_kexec_file_load, SYS_iopl, SYS_ioperm, SYS_modify_ldt,
#endif
};

enum {
    DENIED = sizeof denied / sizeof *denied,
    NAMESPACES = CLONE_NEWNS | CLONE_NEWCGROUP | CLONE_NEWUTS | CLONE_NEWIPC | CLONE_NEWUSER | CLONE_NEWPID |
                 CLONE_NEWNET,
    LONGEST_FILTER = 20 + 2 * DENIED,
};

#define LOAD(field) BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, field))
#define GIVE(what) BPF_STMT(BPF_RET | BPF_K, what)
#define REFUSE(why) GIVE(SECCOMP_RET_ERRNO | (why))
/* The next instruction is for those that are so; it is jumped over by the others. */
#define WHERE(test, value) BPF_JUMP(BPF_JMP | (test) | BPF_K, (unsigned)(value), 0, 1)

static void deny_calls(void)
{
    struct sock_filter code[LONGEST_FILTER] = {
        LOAD(arch), BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (unsigned)NATIVE, 1, 0), REFUSE(EPERM),
        LOAD(nr), WHERE(BPF_JGE, OTHER_TABLE), REFUSE(EPERM),
        WHERE(BPF_JEQ, CLONE3), REFUSE(ENOSYS), /* its flags can't be seen from here; the C library then takes clone */
    };
    const struct sock_filter end[] = {
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_clone, 0, 3), LOAD(args[0]), WHERE(BPF_JSET, NAMESPACES), REFUSE(EPERM),
        GIVE(SECCOMP_RET_ALLOW),
    };
    unsigned short n = 8;
    for (int i = 0; i < DENIED; i++) {
        code[n++] = (struct sock_filter)WHERE(BPF_JEQ, denied[i]);
        code[n++] = (struct sock_filter)REFUSE(EPERM);
    }
    memcpy(code + n, end, sizeof end);
    n = (unsigned short)(n + sizeof end / sizeof *end);
    prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &(struct sock_fprog){n, code});
}
/* For confine_to_pipes, whose program calls what the C library does for memory, descriptors and its end. */
static const int allowed[] = {
    SYS_read,         SYS_write,        SYS_readv,          SYS_writev,        SYS_lseek,        SYS_fstat,
    SYS_newfstatat,   SYS_close,        SYS_ppoll,          SYS_brk,           SYS_munmap,       SYS_mremap,
    SYS_madvise,      SYS_futex,        SYS_sched_yield,    SYS_clock_gettime, SYS_gettimeofday, SYS_getrandom,
    SYS_rt_sigreturn, SYS_rt_sigaction, SYS_rt_sigprocmask, SYS_getpid,        SYS_gettid,       SYS_tgkill,
    SYS_exit,         SYS_exit_group,
#if defined __x86_64__
    SYS_poll,         SYS_time,
#endif
};
enum { ALLOWED = sizeof allowed / sizeof *allowed };

static void allow_few_calls(void)
{
    struct sock_filter code[20 + 2 * ALLOWED] = {
        LOAD(arch),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (unsigned)NATIVE, 1, 0),
        REFUSE(EPERM),
        LOAD(nr),
        WHERE(BPF_JGE, OTHER_TABLE),
        REFUSE(EPERM),
    };
    const struct sock_filter end[] = {
        /* memory, unless it is to be run */
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_mmap, 1, 0),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_mprotect, 0, 2),
        LOAD(args[2]),
        BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, PROT_EXEC, 0, 1),
        REFUSE(EPERM),
        GIVE(SECCOMP_RET_ALLOW),
    };
    unsigned short n = 6;
    for (int i = 0; i < ALLOWED; i++) {
        code[n++] = (struct sock_filter)WHERE(BPF_JEQ, allowed[i]);
        code[n++] = (struct sock_filter)GIVE(SECCOMP_RET_ALLOW);
    }
    memcpy(code + n, end, sizeof end);
    n = (unsigned short)(n + sizeof end / sizeof *end);
    prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &(struct sock_fprog){n, code});
}
#else
static void deny_calls(void) {}
static void allow_few_calls(void) {}
#endif

void confine_process(void)
{
    close_descriptors();
    if (!SANITIZED) prctl(PR_SET_DUMPABLE, 0); /* keys and what is written pass through here */
    if (SANITIZED || prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)) return;
    deny_calls();
}

/* ---- Files ------------------------------------------------------------------------------------------------------- */

/* Landlock's rights, of its versions 1, 2 (REFER), 3 (TRUNCATE) and 5 (IOCTL_DEV). The right to execute is among what
 * can be denied, and given nowhere. */
enum {
    WRITE_FILE = 1 << 1, READ_FILE = 1 << 2, READ_FOLDER = 1 << 3, REFER = 1 << 13, TRUNCATE = 1 << 14,
    IOCTL_DEVICE = 1 << 15, FIRST_RIGHTS = (1 << 13) - 1, MAKE_DEVICES = 1 << 6 | 1 << 11,
    READ = READ_FILE | READ_FOLDER, WRITE = (FIRST_RIGHTS & ~(1 | MAKE_DEVICES)) | REFER | TRUNCATE,
    OF_A_FILE = WRITE_FILE | READ_FILE | TRUNCATE, BIND_TCP = 1, BENEATH = 1,
};

typedef struct {
    int fd;         /* the rule set's */
    unsigned known; /* rights that this kernel knows */
} rules;

static rules rules_open(void)
{
    struct { uint64_t files, network; } asked = {.network = BIND_TCP};
    long version = syscall(CREATE_RULESET, NULL, 0, 1);
    if (SANITIZED || version < 1) return (rules){.fd = -1};
    asked.files = FIRST_RIGHTS | (version >= 2 ? REFER : 0) | (version >= 3 ? TRUNCATE : 0) |
                  (version >= 5 ? IOCTL_DEVICE : 0);
    long fd = syscall(CREATE_RULESET, &asked, version >= 4 ? sizeof asked : sizeof asked.files, 0);
    return (rules){.fd = (int)fd, .known = (unsigned)asked.files};
}

/* False: the path isn't there. */
static bool allow(const rules *r, const char *path, unsigned rights, int flags)
{
    struct { uint64_t allowed; int32_t fd; } __attribute__((packed)) rule;
    struct statx st;
    int fd = open(path, O_PATH | O_CLOEXEC | flags);
    if (fd < 0) return errno != ENOENT && errno != ENOTDIR;
    /* By what is known here: a file server that is away is not waited for. */
    if (!statx(fd, "", AT_EMPTY_PATH | AT_STATX_DONT_SYNC, STATX_TYPE, &st) && !S_ISLNK(st.stx_mode)) {
        rule.allowed = rights & r->known & (S_ISDIR(st.stx_mode) ? ~0U : OF_A_FILE);
        rule.fd = fd;
        syscall(ADD_RULE, r->fd, BENEATH, &rule, 0);
    }
    close(fd);
    return true;
}

static void allow_nearest(const rules *r, const char *path, unsigned rights)
{
    char at[PATH_MAX];
    if (snprintf(at, sizeof at, "%s", path) >= (int)sizeof at) return;
    while (!allow(r, at, rights, 0)) {
        char *slash = strrchr(at, '/');
        if (!slash || slash == at) return (void)allow(r, slash ? "/" : ".", rights, 0);
        *slash = 0;
    }
}

/* Everything beside the home: at each step of the way there, what else lies in that folder. */
static void allow_all_but(const rules *r, const char *home)
{
    char at[PATH_MAX] = "/", entry[PATH_MAX + NAME_MAX + 2];
    for (const char *step = home + 1; *step;) {
        size_t n = strcspn(step, "/");
        DIR *folder = opendir(at);
        for (struct dirent *e; folder && (e = readdir(folder));) {
            bool on_the_way = strlen(e->d_name) == n && !strncmp(e->d_name, step, n);
            if (on_the_way || !strcmp(e->d_name, ".") || !strcmp(e->d_name, "..")) continue;
            snprintf(entry, sizeof entry, "%s/%s", at, e->d_name);
            allow(r, entry, READ, O_NOFOLLOW); /* a link leads to where another rule says more */
        }
        if (folder) closedir(folder);
        snprintf(at, sizeof at, "%.*s", (int)(step + n - home), home);
        step += n + (step[n] == '/');
    }
}

void confine_files(const char *const *written, const char *const *read)
{
    rules r = rules_open();
    char home[PATH_MAX];
    const char *named = getenv("HOME");
    if (r.fd < 0) return;
    if (named && realpath(named, home) && strcmp(home, "/"))
        allow_all_but(&r, home);
    else
        allow(&r, "/", READ, 0);
    for (; written && *written; written++) allow_nearest(&r, *written, READ | WRITE);
    for (; read && *read; read++) allow(&r, *read, READ, 0);
    if (!prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)) syscall(RESTRICT_SELF, r.fd, 0);
    close(r.fd);
}

/* ---- A filter between two pipes ---------------------------------------------------------------------------------- */

void confine_to_pipes(uint64_t memory, unsigned seconds)
{
    close_descriptors();
    if (SANITIZED) return;
    prctl(PR_SET_DUMPABLE, 0);
    setrlimit(RLIMIT_AS, &(struct rlimit){memory, memory});
    setrlimit(RLIMIT_CPU, &(struct rlimit){seconds, seconds + 1}); /* a signal of its own before SIGKILL */
    setrlimit(RLIMIT_CORE, &(struct rlimit){0, 0});
    rules r = rules_open();
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)) return;
    if (r.fd >= 0) {
        syscall(RESTRICT_SELF, r.fd, 0);
        close(r.fd);
    }
    allow_few_calls();
}
