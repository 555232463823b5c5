/* A small thread waits for the child and then writes to a pipe: pidfds exist on Linux only, and SIGCHLD belongs to the
 * program. It touches nothing but its pid, its status and the pipe; editor_finish() joins it before reading the
 * status. */
#include "ui/terminal/editor.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "engine/base/clean.h"
#include "engine/base/error.h"
#include "engine/os/start.h"
#include "engine/os/scratch.h"

extern char **environ;

struct editor {
    struct editor_options options;
    struct scratch folder;
    char path[PATH_MAX + 16];
    char command[256]; /* for messages */
    pid_t pid;
    bool ended; /* by us */
    int status; /* of the child; written by the waiter */
    int wake[2];
    pthread_t waiter;
    struct sigaction old_int, old_quit;
};

static void *wait_for_child(void *argument)
{
    struct editor *e = argument;
    while (waitpid(e->pid, &e->status, 0) < 0 && errno == EINTR) {}
    while (write(e->wake[1], "", 1) < 0 && errno == EINTR) {}
    return NULL;
}

static tdm_status write_file(struct editor *e, const char *text, tdm_error *err)
{
    const char *in = e->options.folder && *e->options.folder ? e->options.folder : "/tmp";
    tdm_status status = scratch_make(&e->folder, in, err);
    if (status) return status;
    snprintf(e->path, sizeof e->path, "%s/draft.md", e->folder.path); /* editors choose their mode by the ending */
    int fd = open(e->path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (fd < 0) return error_errno(err, TDM_E_IO, "%s: no file for the editor", e->path);
    FILE *f = fdopen(fd, "w");
    bool written = f && fputs(text, f) >= 0 && fputc('\n', f) >= 0;
    written = (f ? fclose(f) == 0 : (close(fd), false)) && written;
    return written ? TDM_OK : error_errno(err, TDM_E_IO, "%s", e->path);
}

static int spawn_editor(struct editor *e, const char *command)
{
    /* The shell splits the command into words, as everything that starts $EDITOR does. */
    size_t size = strlen(command) + 16;
    char *script = malloc(size);
    if (!script) return ENOMEM;
    snprintf(script, size, "%s \"$1\"", command);
    char *argv[] = {"sh", "-c", script, "sh", e->path, NULL};
    posix_spawnattr_t attributes;
    posix_spawn_file_actions_t files;
    start_attributes(&attributes, 0);
    posix_spawn_file_actions_init(&files);
    /* It holds the folder as well: where this program is killed, no other takes the draft from under the editor. */
    int failed = posix_spawn_file_actions_adddup2(&files, e->folder.lock, e->folder.lock);
    char *const *environment = e->options.environment ? e->options.environment : environ;
    if (!failed) failed = posix_spawn(&e->pid, "/bin/sh", &files, &attributes, argv, environment);
    posix_spawn_file_actions_destroy(&files);
    posix_spawnattr_destroy(&attributes);
    free(script);
    return failed;
}

static void free_editor(struct editor *e)
{
    scratch_remove(&e->folder);
    if (e->wake[0] >= 0) close(e->wake[0]);
    if (e->wake[1] >= 0) close(e->wake[1]);
    free(e);
}

tdm_status editor_start(struct editor **out, const struct editor_options *options, const char *text, tdm_error *err)
{
    *out = NULL;
    struct editor *e = calloc(1, sizeof *e);
    if (!e) return error_set(err, TDM_E_NOMEM, "no memory for the editor");
    e->options = *options;
    e->wake[0] = e->wake[1] = e->folder.lock = -1;
    const char *command = options->visual && *options->visual   ? options->visual
                          : options->editor && *options->editor ? options->editor
                                                                : "vi";
    snprintf(e->command, sizeof e->command, "%s", command);
    tdm_status status = write_file(e, text, err);
    if (status == TDM_OK && pipe2(e->wake, O_CLOEXEC) < 0) status = error_errno(err, TDM_E_IO, "pipe");
    if (status != TDM_OK) {
        free_editor(e);
        return status;
    }
    if (options->release) options->release(options->context);
    struct sigaction ignore = {.sa_handler = SIG_IGN};
    sigaction(SIGINT, &ignore, &e->old_int);
    sigaction(SIGQUIT, &ignore, &e->old_quit);
    int failed = spawn_editor(e, command);
    if (!failed && (failed = pthread_create(&e->waiter, NULL, wait_for_child, e))) {
        kill(e->pid, SIGTERM);
        waitpid(e->pid, NULL, 0);
    }
    if (failed) {
        sigaction(SIGINT, &e->old_int, NULL);
        sigaction(SIGQUIT, &e->old_quit, NULL);
        if (options->retake) options->retake(options->context);
        errno = failed;
        error_errno(err, TDM_E_IO, "%s", e->command);
        free_editor(e);
        return TDM_E_IO;
    }
    *out = e;
    return TDM_OK;
}

int editor_fd(const struct editor *e)
{
    return e->wake[0];
}

void editor_end(struct editor *e)
{
    enum { PATIENCE_MS = 500 };
    struct pollfd fd = {.fd = e->wake[0], .events = POLLIN};
    e->ended = true;
    if (poll(&fd, 1, 0) > 0) return; /* it has ended, and its number may be another's */
    kill(e->pid, SIGTERM);
    if (poll(&fd, 1, PATIENCE_MS) <= 0) kill(e->pid, SIGKILL);
}

/* Editors may put a new file in the old one's place: it is opened anew by its name. */
static tdm_status read_file(const char *path, char **text, tdm_error *err)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    struct stat st;
    if (fd < 0 || fstat(fd, &st) < 0) {
        error_errno(err, TDM_E_IO, "%s", path);
        if (fd >= 0) close(fd);
        return TDM_E_IO;
    }
    tdm_status status = TDM_OK;
    if (!S_ISREG(st.st_mode) || st.st_size > (off_t)EDITOR_TEXT_MAX) {
        status = error_set(err, TDM_E_IO, "%s: expected a file of at most %u bytes", path, EDITOR_TEXT_MAX);
    } else {
        size_t n = (size_t)st.st_size, got = 0;
        char *data = malloc(n + 1);
        ssize_t r;
        while (data && got < n && ((r = read(fd, data + got, n - got)) > 0 || (r < 0 && errno == EINTR)))
            got += r > 0 ? (size_t)r : 0;
        if (data && got && data[got - 1] == '\n') got--;
        if (data && got && data[got - 1] == '\r') got--;
        *text = data ? clean_text(data, got, NULL) : NULL;
        free(data);
        if (!*text) status = error_set(err, TDM_E_NOMEM, "no memory for the edited text");
    }
    close(fd);
    return status;
}

tdm_status editor_finish(struct editor *e, char **text, tdm_error *err)
{
    *text = NULL;
    pthread_join(e->waiter, NULL);
    sigaction(SIGINT, &e->old_int, NULL);
    sigaction(SIGQUIT, &e->old_quit, NULL);
    if (e->options.retake) e->options.retake(e->options.context);
    tdm_status status;
    if (e->ended || (WIFEXITED(e->status) && WEXITSTATUS(e->status) == 0))
        status = read_file(e->path, text, err);
    else if (WIFEXITED(e->status) && WEXITSTATUS(e->status) == 127)
        status = error_set(err, TDM_E_CANCELLED, "%s: not found; set VISUAL or EDITOR", e->command);
    else if (WIFEXITED(e->status))
        status = error_set(err, TDM_E_CANCELLED, "%s ended with status %d; the draft is unchanged", e->command,
                           WEXITSTATUS(e->status));
    else
        status = error_set(err, TDM_E_CANCELLED, "%s was ended by signal %d; the draft is unchanged", e->command,
                           WIFSIGNALED(e->status) ? WTERMSIG(e->status) : 0);
    free_editor(e);
    return status;
}
