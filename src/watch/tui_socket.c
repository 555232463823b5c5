#include "src/watch/tui_socket.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "engine/json/write.h"
#include "engine/os/file.h"
#include "src/files/files.h"
#include "src/watch/monitor_json.h"

static const int64_t second = 1000000000;

bool tui_socket_folder(char *out, size_t room)
{
    char usual[40];
    const char *runtime = files_runtime();
    snprintf(usual, sizeof usual, "/run/user/%u", (unsigned)geteuid());
    if (!runtime && tui_socket_folder_is_safe(usual)) runtime = usual;
    char *folder = runtime ? file_join(runtime, "tandem") : files_path(FILES_STATE, "run");
    int n = folder ? snprintf(out, room, "%s", folder) : -1;
    free(folder);
    return n > 0 && (size_t)n < room;
}

bool tui_socket_folder_is_safe(const char *folder)
{
    struct stat st;
    return lstat(folder, &st) == 0 && S_ISDIR(st.st_mode) && st.st_uid == geteuid() && !(st.st_mode & 022);
}

bool tui_socket_same_user(int fd)
{
    struct ucred who;
    socklen_t n = sizeof who;
    return getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &who, &n) == 0 && who.uid == geteuid();
}

void tui_socket_open(tui_socket *s)
{
    char folder[sizeof s->address.sun_path - 24];
    *s = (tui_socket){.listening = -1, .address.sun_family = AF_UNIX};
    if (!tui_socket_folder(folder, sizeof folder) || file_make_folders(folder, 0700, NULL)) return;
    if (!tui_socket_folder_is_safe(folder)) return;
    snprintf(s->address.sun_path, sizeof s->address.sun_path, "%s/%d.sock", folder, (int)getpid());
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0) return;
    unlink(s->address.sun_path); /* of an earlier process with this id */
    /* The mode that its file will have: a umask would be that of all threads. */
    bool bound = fchmod(fd, 0600) == 0 && bind(fd, (struct sockaddr *)&s->address, sizeof s->address) == 0 &&
                 listen(fd, TUI_SOCKET_CLIENTS) == 0;
    if (bound) s->listening = fd;
    else close(fd);
}

void tui_socket_close(tui_socket *s)
{
    for (int i = 0; i < s->n; i++) close(s->clients[i].fd);
    s->n = 0;
    if (s->listening < 0) return;
    close(s->listening);
    unlink(s->address.sun_path);
    s->listening = -1;
}

void tui_socket_accept(tui_socket *s, int64_t now_ns)
{
    int fd = accept4(s->listening, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
    if (fd < 0) return;
    if (s->n == TUI_SOCKET_CLIENTS || !tui_socket_same_user(fd)) {
        close(fd);
        return;
    }
    s->clients[s->n].fd = fd;
    s->clients[s->n].lanes = false;
    s->clients[s->n++].next_ns = now_ns;
}

int64_t tui_socket_deadline(const tui_socket *s)
{
    int64_t at = INT64_MAX;
    for (int i = 0; i < s->n; i++)
        if (s->clients[i].next_ns < at) at = s->clients[i].next_ns;
    return at;
}

static bool tell(int fd, const struct view *view, bool lanes)
{
    json_object *o = monitor_json_write(view, lanes);
    struct buffer line = {0};
    bool whole = !json_write_line(o, &line, NULL);
    bool told = whole && send(fd, line.bytes, line.n, MSG_NOSIGNAL) == (ssize_t)line.n;
    json_free(o);
    buffer_free(&line);
    return told;
}

void tui_socket_tell(tui_socket *s, const struct view *view, int64_t now_ns)
{
    for (int i = 0; i < s->n; i++) {
        char wish;
        if (s->clients[i].next_ns > now_ns) continue;
        ssize_t n = recv(s->clients[i].fd, &wish, 1, MSG_DONTWAIT);
        if (n == 1 && wish == 'l') s->clients[i].lanes = true;
        if (n != 0 && tell(s->clients[i].fd, view, s->clients[i].lanes)) {
            s->clients[i].next_ns = now_ns + (s->clients[i].lanes ? second / 5 : second);
            continue;
        }
        close(s->clients[i].fd); /* gone, or it doesn't read */
        s->clients[i--] = s->clients[--s->n];
    }
}
