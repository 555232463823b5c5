#include "tests/src/server/served.h"

#include <netinet/in.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "engine/base/buffer.h"
#include "engine/json/json.h"
#include "engine/os/file.h"

enum { MAX_ARGUMENTS = 30 };

static const char *program(void)
{
    static char path[4096];
    const char *build = getenv("BUILD");
    snprintf(path, sizeof path, "%s/tests/server/serve", build ? build : "build");
    return path;
}

bool served_is_there(void)
{
    return access(program(), X_OK) == 0 && access("assets/tandem-demo-51m-q6_k.gguf", R_OK) == 0;
}

bool served_start(served *s, const char *const *arguments)
{
    int ends[2];
    const char *argv[MAX_ARGUMENTS + 2] = {program()};
    for (int i = 0; arguments[i] && i < MAX_ARGUMENTS; i++) argv[i + 1] = arguments[i];
    *s = (served){0};
    if (pipe(ends)) return false;
    s->child = fork();
    if (s->child == 0) {
        dup2(ends[1], STDOUT_FILENO);
        close(ends[0]);
        close(ends[1]);
        execv(argv[0], (char **)argv);
        _exit(127);
    }
    close(ends[1]);
    FILE *f = fdopen(ends[0], "r");
    bool good = s->child > 0 && f && fscanf(f, "%99s %99s", s->url, s->control) == 2;
    if (f) fclose(f);
    if (!good) served_stop(s);
    return good;
}

void served_stop(served *s)
{
    if (s->child > 0) {
        kill(s->child, SIGTERM);
        waitpid(s->child, NULL, 0);
    }
    s->child = 0;
}

static int connected(const served *s)
{
    struct sockaddr_in to = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    int port, fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (sscanf(s->control, "http://127.0.0.1:%d", &port) == 1) to.sin_port = htons((uint16_t)port);
    if (fd < 0 || !connect(fd, (struct sockaddr *)&to, sizeof to)) return fd;
    close(fd);
    return -1;
}

/* By a connection of its own, whatever the program makes of a server. False: no answer, or another than 200. */
static bool ask(const served *s, const char *path, const char *body, struct buffer *answer)
{
    char request[1000], bytes[4096];
    int fd = connected(s);
    int n = snprintf(request, sizeof request, "%s %s HTTP/1.0\r\nContent-Length: %zu\r\n\r\n%s", body ? "POST" : "GET",
                     path, body ? strlen(body) : 0, body ? body : "");
    bool good = fd >= 0 && n < (int)sizeof request && file_write_all(fd, request, (size_t)n);
    for (ssize_t got; good && (got = file_read(fd, bytes, sizeof bytes)) > 0;)
        good = !buffer_append(answer, bytes, (size_t)got, NULL);
    if (fd >= 0) close(fd);
    char *end = good && answer->n ? memmem(answer->bytes, answer->n, "\r\n\r\n", 4) : NULL;
    if (!end || sscanf(answer->bytes, "HTTP/%*s %d", &n) != 1 || n != 200) return false;
    answer->n -= (size_t)(end + 4 - answer->bytes);
    memmove(answer->bytes, end + 4, answer->n);
    return true;
}

json_object *served_counters(const served *s)
{
    struct buffer answer = {0};
    json_object *o = NULL;
    if (ask(s, "/test/counters", NULL, &answer)) json_parse(&o, "counters", answer.bytes, answer.n, JSON_UTF8, NULL);
    buffer_free(&answer);
    return o;
}

int64_t served_count(const served *s, const char *name)
{
    json_object *o = served_counters(s);
    int64_t n = json_int(o, name, -1);
    json_free(o);
    return n;
}

static bool tell(const served *s, const char *path, const char *body)
{
    struct buffer answer = {0};
    bool good = ask(s, path, body, &answer);
    buffer_free(&answer);
    return good;
}

bool served_fault(const served *s, const char *fault)
{
    return tell(s, "/test/fault", fault);
}

bool served_restart(const served *s)
{
    return tell(s, "/test/restart", "");
}
