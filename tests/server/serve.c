/* The server of the tests: speaks as llama-server, vLLM, SGLang or any server of OpenAI's form does, with Tandem's own
 * engine behind it, as slow and as wrong as a test wants it (--help). One line says where it is: its address, and that
 * of the tests' own pages (pages.h). It ends with SIGTERM or with who started it. */
#include <getopt.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "engine/base/error.h"
#include "engine/json/write.h"
#include "engine/model/gguf/gguf.h"
#include "tests/server/certificate.h"
#include "tests/server/pages.h"

typedef struct {
    int port, delay_ms, to_port, idle_s;
    bool tls;
    slots_options slots;
    char *key_pem, *certificate_pem;
    struct gguf *gguf;
    int inner_port, control_port;
    struct MHD_Daemon *server, *control;
} program;

static void usage(FILE *to)
{
    fprintf(to,
            "usage: serve [--kind llama-server|vllm|sglang|openai] [--old] [-m FILE] [--name NAME] [--port N]\n"
            "             [--delay MS] [--slow MS] [--slots N] [-c TOKENS] [-t N] [--no-checkpoints] [--key KEY]\n"
            "             [--tls] [--fault FAULT] [--idle SECONDS] [--to PORT]\n"
            "--old: an old llama-server; --delay: of each direction; --slow: rest after each step of the engine;\n"
            "--no-checkpoints: what doesn't go on from a slot's end is evaluated anew; faults: %s\n"
            "--idle: after which a connection without a request is closed; llama-server's and uvicorn's: 5\n"
            "--to: nothing but the delay, before a real server at that port of this machine\n",
            fault_names());
}

/* False: the arguments are wrong. */
static bool read_arguments(program *g, pages *p, int argc, char **argv)
{
    static const struct option list[] = {
        {"kind", 1, NULL, 'k'},  {"old", 0, NULL, 'o'},   {"name", 1, NULL, 'n'},  {"port", 1, NULL, 'p'},
        {"delay", 1, NULL, 'd'}, {"slow", 1, NULL, 's'},  {"slots", 1, NULL, 'S'}, {"no-checkpoints", 0, NULL, 'x'},
        {"key", 1, NULL, 'K'},   {"fault", 1, NULL, 'f'}, {"tls", 0, NULL, 'T'},   {"to", 1, NULL, 'r'},
        {"idle", 1, NULL, 'i'},  {"help", 0, NULL, 'h'},  {NULL, 0, NULL, 0}};
    for (int c; (c = getopt_long(argc, argv, "m:c:t:", list, NULL)) >= 0;) {
        if (c == 'k' && dialect_find(optarg) < 0) return false;
        if (c == 'f' && !fault_parse(&p->fault, optarg)) return false;
        switch (c) {
        case 'k':
            p->kind = (dialect)dialect_find(optarg);
            break;
        case 'o':
            p->old = true;
            break;
        case 'n':
            p->name = optarg;
            break;
        case 'p':
            g->port = atoi(optarg);
            break;
        case 'd':
            g->delay_ms = atoi(optarg);
            break;
        case 's':
            g->slots.slow_ms = atoi(optarg);
            break;
        case 'S':
            g->slots.n = atoi(optarg);
            break;
        case 'x':
            g->slots.checkpoints = false;
            break;
        case 'K':
            p->key = optarg;
            break;
        case 'T':
            g->tls = true;
            break;
        case 'm':
            g->slots.model = optarg;
            break;
        case 'c':
            g->slots.context = atoi(optarg);
            break;
        case 't':
            g->slots.threads = atoi(optarg);
            break;
        case 'h':
            usage(stdout);
            exit(0);
        case 'i':
            g->idle_s = atoi(optarg);
            break;
        case 'r':
            g->to_port = atoi(optarg);
            break;
        case 'f':
            break;
        default:
            return false;
        }
    }
    return optind == argc && g->slots.n > 0 && g->slots.context > 0;
}

static tdm_status start_pages(program *g, pages *p, tdm_error *err)
{
    tdm_status status = gguf_open(&g->gguf, g->slots.model, err);
    if (!status) status = gguf_get_string(g->gguf, "tokenizer.chat_template", &p->chat_template, NULL, err);
    if (!status) status = slots_open(&p->slots, &g->slots, err);
    if (!status && g->tls) status = certificate_make(&g->key_pem, &g->certificate_pem, err);
    if (status) return status;
    unsigned threads = MHD_USE_INTERNAL_POLLING_THREAD | MHD_USE_THREAD_PER_CONNECTION;
    int inner = line_listen(&g->inner_port), control = line_listen(&g->control_port);
    struct MHD_OptionItem secure[] = {{MHD_OPTION_HTTPS_MEM_KEY, 0, g->key_pem},
                                      {MHD_OPTION_HTTPS_MEM_CERT, 0, g->certificate_pem},
                                      {MHD_OPTION_END, 0, NULL}};
    if (!g->tls) secure[0].option = MHD_OPTION_END;
    g->server = MHD_start_daemon(threads | (g->tls ? MHD_USE_TLS : 0), 0, NULL, NULL, pages_serve, p,
                                 MHD_OPTION_LISTEN_SOCKET, inner, MHD_OPTION_NOTIFY_COMPLETED, pages_done, NULL,
                                 MHD_OPTION_CONNECTION_TIMEOUT, (unsigned)g->idle_s, MHD_OPTION_ARRAY, secure,
                                 MHD_OPTION_END);
    g->control = MHD_start_daemon(threads, 0, NULL, NULL, pages_control, p, MHD_OPTION_LISTEN_SOCKET, control,
                                  MHD_OPTION_NOTIFY_COMPLETED, pages_done, NULL, MHD_OPTION_END);
    if (!g->server || !g->control) return error_set(err, TDM_E_IO, "libmicrohttpd doesn't start");
    return line_open(&p->line, g->port, g->inner_port, g->delay_ms, err);
}

/* Connections are closed first: their threads wait for what the other end does. */
static void stop(program *g, pages *p)
{
    line_close(p->line);
    if (g->server) MHD_stop_daemon(g->server);
    if (g->control) MHD_stop_daemon(g->control);
    slots_close(p->slots);
    gguf_close(g->gguf);
    free(g->key_pem);
    free(g->certificate_pem);
    json_free(p->by_path);
}

int main(int argc, char **argv)
{
    pages p = {.name = "tandem-demo-51m", .lock = PTHREAD_MUTEX_INITIALIZER, .by_path = json_new_object()};
    program g = {.slots = {.model = "assets/tandem-demo-51m-q6_k.gguf", .n = 4, .context = 4096, .checkpoints = true}};
    tdm_error err = {0};
    sigset_t ends;
    int number;
    prctl(PR_SET_PDEATHSIG, SIGTERM);
    signal(SIGPIPE, SIG_IGN);
    sigemptyset(&ends);
    sigaddset(&ends, SIGTERM);
    sigaddset(&ends, SIGINT);
    pthread_sigmask(SIG_BLOCK, &ends, NULL);
    if (!read_arguments(&g, &p, argc, argv)) {
        usage(stderr);
        return 2;
    }
    p.path = g.slots.model;
    p.context = g.slots.context;
    p.n_slots = g.slots.n;
    if (g.to_port ? line_open(&p.line, g.port, g.to_port, g.delay_ms, &err) : start_pages(&g, &p, &err)) {
        fprintf(stderr, "serve: %s\n", err.text);
        stop(&g, &p);
        return 1;
    }
    if (g.to_port)
        printf("http://127.0.0.1:%d\n", line_port(p.line));
    else
        printf("http%s://127.0.0.1:%d http://127.0.0.1:%d\n", g.tls ? "s" : "", line_port(p.line), g.control_port);
    fflush(stdout);
    sigwait(&ends, &number);
    stop(&g, &p);
    return 0;
}
