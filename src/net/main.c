/* The program `tandem-net`, which `tandem` runs for a model on a server: it sends the requests. It is not for calling
 * by hand: standard input is a socket by which the chat gives the requests (wire.h). It connects to the server that the
 * chat names and to nothing else, and ends with the chat. */
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "engine/os/file.h"
#include "engine/os/start.h"
#include "src/net/confine.h"
#include "src/net/https.h"
#include "src/net/request.h"

static bool is_socket(int fd)
{
    int type;
    socklen_t n = sizeof type;
    return !getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &n);
}

/* Once its key is read, the program needs no file but certificates. */
static server *begin(wire *w, json_object *o)
{
    const char *certificates[HTTPS_CERTIFICATES];
    server *s = server_open(w, o);
    https_certificates(certificates);
    confine_files(NULL, certificates);
    return s;
}

/* False: it makes no sense here. */
static bool serve_one(wire *w, server **s, const wire_frame *f)
{
    if (f->kind == WIRE_SERVER && !*s) return (*s = begin(w, f->frame.head));
    if (!*s) return false;
    if (f->kind == WIRE_REQUEST)
        server_request(*s, f->id, f->frame.payload);
    else if (f->kind == WIRE_CANCEL)
        server_cancel(*s, f->id);
    else if (f->kind == WIRE_READY)
        server_ready(*s, f->id, f->frame.payload);
    else
        return false;
    return true;
}

/* False: the chat is gone, or speaks another language. */
static bool serve(wire *w, server **s)
{
    for (;;) {
        wire_frame f;
        if (wire_take(w, &f, NULL)) return false;
        if (!f.frame.head) return true;
        bool good = serve_one(w, s, &f);
        json_free(f.frame.head);
        if (!good) return false;
    }
}

int main(void)
{
    wire w;
    server *s = NULL;
    start_standard();
    confine_process();
    if (!is_socket(STDIN_FILENO)) {
        static const char line[] =
            "tandem-net: expected to be run by tandem with a server as its model (tandem -m http://HOST:PORT)\n";
        file_write_all(STDERR_FILENO, line, sizeof line - 1);
        return 2;
    }
    signal(SIGINT, SIG_IGN); /* the terminal's Ctrl-C is the chat's; this program ends when the socket does */
    signal(SIGPIPE, SIG_IGN);
    if (wire_open(&w, STDIN_FILENO, NULL)) return 1;
    for (;;) {
        if (wire_read(&w, NULL) || !serve(&w, &s)) break;
        if (s && !server_run(s, &w)) break;
        if (!s) poll(&(struct pollfd){.fd = w.fd, .events = POLLIN}, 1, -1);
    }
    server_close(s);
    wire_free(&w);
    return 0;
}
