#include "src/tui/pull.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "engine/base/error.h"
#include "engine/base/harmless.h"
#include "engine/json/json.h"
#include "engine/os/start.h"
#include "engine/os/file.h"
#include "src/cli/program.h"
#include "src/process/inherit.h"

/* Copies a text that the child sent: control characters, of which it should have none, become question marks. */
static void take_text(char *out, size_t room, const char *text)
{
    snprintf(out, room, "%s", text ? text : "");
    harmless_line(out);
}

static uint64_t take_bytes(json_object *o, const char *key)
{
    int64_t value = json_int(o, key, 0);
    return value > 0 ? (uint64_t)value : 0;
}

static void take_plan(tui_pull *p, json_object *o)
{
    const char *repository = json_text(o, "repository", NULL), *tag = json_text(o, "tag", NULL);
    char *name;
    if (repository && asprintf(&name, "%s%s%s", repository, tag && tag[0] ? ":" : "", tag ? tag : "") >= 0) {
        take_text(p->name, sizeof p->name, name);
        free(name);
    }
    take_text(p->host, sizeof p->host, json_text(o, "host", NULL));
    take_text(p->reason, sizeof p->reason, json_text(o, "reason", NULL));
    take_text(p->folder, sizeof p->folder, json_text(o, "folder", NULL));
    p->bytes = take_bytes(o, "bytes");
    p->missing_bytes = take_bytes(o, "missing_bytes");
    p->free_bytes = take_bytes(o, "free_bytes");
    p->fits_memory = json_flag(o, "fits_memory", true);
    p->planned = true;
}

static void take(tui_pull *p, json_object *o)
{
    const char *event = json_text(o, "event", NULL), *text = json_text(o, "text", NULL);
    if (!event) event = "";
    if (!strcmp(event, "plan"))
        take_plan(p, o);
    else if (!strcmp(event, "progress")) {
        p->figures.done = take_bytes(o, "done_bytes");
        p->figures.total = take_bytes(o, "total_bytes");
        if (p->figures.done > p->figures.total) p->figures.done = p->figures.total;
        p->figures.rate = json_real(o, "bytes_per_s", 0);
    } else if (!strcmp(event, "note"))
        take_text(p->note, sizeof p->note, text);
    else if (!strcmp(event, "error"))
        take_text(p->failure, sizeof p->failure, text);
    else if (!strcmp(event, "stopped"))
        p->stopped = true;
    else if (!strcmp(event, "done"))
        p->done = true;
}

/* A line that is no object is another program's and is ignored. */
static void take_lines(tui_pull *p)
{
    for (;;) {
        json_object *o;
        tdm_status status = frames_line(&p->lines, "tandem-pull", &o, NULL);
        if (status == TDM_E_NOMEM || (!status && !o)) return; /* without memory: when more has come, or at the end */
        if (o) take(p, o);
        json_free(o);
    }
}

/* In the child: between fork and exec nothing that takes a lock. */
static void run(const char *path, char *const *argv, char *const *environment, int pipe_end)
{
    int null = open("/dev/null", O_RDWR);
    start_signals();
    prctl(PR_SET_PDEATHSIG, SIGTERM); /* it does not outlive the program that shows it */
    dup2(null, STDIN_FILENO);
    dup2(pipe_end, STDOUT_FILENO);
    dup2(null, STDERR_FILENO);
    execve(path, argv, environment);
    _exit(127);
}

tdm_status tui_pull_begin(tui_pull *p, const char *name, bool dry, tdm_error *err)
{
    char path[PATH_MAX], *copy = strdup(name);
    char *argv[] = {(char *)"tandem-pull",
                    (char *)"--json",
                    dry ? (char *)"--dry-run" : (char *)"--json",
                    (char *)"--",
                    copy,
                    NULL};
    int ends[2] = {-1, -1};
    tui_pull_close(p);
    char **environment = inherit_environment(true, NULL);
    bool there = copy && environment && program_find("tandem-pull", path);
    if (!there || pipe2(ends, O_CLOEXEC)) {
        free(environment);
        free(copy);
        return error_set(err, TDM_E_NOT_FOUND, "tandem-pull is not there: Tandem was built without libcurl");
    }
    fcntl(ends[0], F_SETFL, O_NONBLOCK);
    inherit_no_descriptors();
    pid_t pid = fork();
    if (pid == 0) run(path, argv, environment, ends[1]);
    free(environment);
    close(ends[1]);
    if (pid < 0) {
        close(ends[0]);
        free(copy);
        return error_errno(err, TDM_E_IO, "tandem-pull can't be started");
    }
    *p = (tui_pull){.runs = true, .dry = dry, .pid = pid, .fd = ends[0]};
    take_text(p->name, sizeof p->name, copy);
    free(copy);
    return TDM_OK;
}

/* The pipe is closed: how it ended. */
static void reap(tui_pull *p)
{
    int status = 0;
    close(p->fd);
    p->runs = false;
    while (waitpid(p->pid, &status, 0) < 0 && errno == EINTR) {
    }
    bool good = WIFEXITED(status) && WEXITSTATUS(status) == 0;
    if (!good && !p->stopped && !p->failure[0])
        snprintf(p->failure, sizeof p->failure, "tandem-pull ended before its time");
}

bool tui_pull_read(tui_pull *p)
{
    char bytes[4096];
    ssize_t n;
    if (!p->runs) return false;
    while ((n = read(p->fd, bytes, sizeof bytes)) > 0)
        if (!frames_feed(&p->lines, bytes, (size_t)n, NULL))
            take_lines(p);
        else
            frames_free(&p->lines);
    bool more = file_again(n);
    if (more) return true;
    take_lines(p);
    reap(p);
    return false;
}

void tui_pull_stop(tui_pull *p)
{
    if (p->runs) kill(p->pid, SIGINT);
}

void tui_pull_close(tui_pull *p)
{
    if (p->runs) {
        kill(p->pid, SIGTERM);
        reap(p);
    }
    frames_free(&p->lines);
    *p = (tui_pull){0};
}
