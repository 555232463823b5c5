/* The socket through which other programs can monitor this one: $XDG_RUNTIME_DIR/tandem/PID.sock, owner only; without
 * such a folder (files_runtime) in /run/user/UID/tandem, or, if that doesn't exist, in run/ beside the saved sessions.
 *
 * A program that connects gets one line of JSON (src/watch/monitor_json.h) a second, and once it has written the letter
 * `l`, five a second with the lanes. Readers that don't keep up are disconnected. One thread. */
#ifndef TANDEM_SRC_TUI_SOCKET_H
#define TANDEM_SRC_TUI_SOCKET_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/un.h>

#include "ui/draw/view.h"

enum { TUI_SOCKET_CLIENTS = 8 };

typedef struct {
    int listening; /* -1: none */
    struct sockaddr_un address;
    struct {
        int fd;
        bool lanes;
        int64_t next_ns;
    } clients[TUI_SOCKET_CLIENTS];
    int n;
} tui_socket;

/* The folder of the sockets; false: the environment names none, or its name is too long. */
bool tui_socket_folder(char *out, size_t room);
/* Whether the folder is ours, and no other user can put a socket there. */
bool tui_socket_folder_is_safe(const char *folder);
/* Whether the process at the other end is the same user's. */
bool tui_socket_same_user(int fd);

void tui_socket_open(tui_socket *s);
void tui_socket_close(tui_socket *s);
/* Called when the listening descriptor is readable. */
void tui_socket_accept(tui_socket *s, int64_t now_ns);
/* When the next line is due; INT64_MAX: no program is connected. */
int64_t tui_socket_deadline(const tui_socket *s);
/* Writes the lines that are due. */
void tui_socket_tell(tui_socket *s, const struct view *view, int64_t now_ns);

#endif
