#include "src/cli/program.h"

#include <errno.h>
#include <locale.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "engine/base/error.h"
#include "engine/os/file.h"
#include "src/files/files.h"
#include "src/io/output.h"
#include "src/process/crash.h"
#include "src/process/inherit.h"
#include "src/process/streams.h"

extern char **environ;

/* The library of each program that is left out of the build where that library is missing. */
static const char *const needed_library[COMMAND_COUNT] = {[COMMAND_PULL] = "libcurl", [COMMAND_BENCH] = "libvterm"};

bool program_beside(const char *name, char out[PATH_MAX])
{
    ssize_t n = readlink("/proc/self/exe", out, PATH_MAX - 1);
    if (n <= 0) return false;
    out[n] = 0;
    char *end = strrchr(out, '/') + 1;
    size_t room = PATH_MAX - (size_t)(end - out);
    return (size_t)snprintf(end, room, "%s", name) < room;
}

bool program_find(const char *name, char out[PATH_MAX])
{
    return (program_beside(name, out) && file_is_program(out)) || file_find_program(getenv("PATH"), name, out);
}

/* argv[1] names the command; returns only on failure. */
static int hand_over(command_id command, char **argv)
{
    char name[64], path[PATH_MAX], **environment = environ;
    snprintf(name, sizeof name, "tandem-%s", command_table[command].name);
    argv[1] = name;
    bool found = program_find(name, path);
    if (command == COMMAND_PULL) {
        inherit_no_descriptors();
        environment = inherit_environment(true, NULL);
    }
    errno = environment ? ENOENT : ENOMEM;
    if (found && environment) execve(path, argv + 1, environment);
    if (environment != environ) free(environment);
    if (!found)
        output_note("tandem %s: %s: not there: Tandem was built without %s (`make deps all install` builds it with it)",
                    command_table[command].name, name, needed_library[command]);
    else
        output_note("tandem %s: %s: %s", command_table[command].name, name, strerror(errno));
    return 1;
}

static int usage_error(const tdm_error *err)
{
    output_note("tandem: %s", err->text);
    return err->code == TDM_E_NOMEM || err->code == TDM_E_IO ? 1 : 2;
}

/* What stands in a command's place, alone. */
static bool print_page(int argc, char **argv, const program_parts *parts)
{
    switch (page_asked(argc, argv)) {
    case PAGE_HELP:
    case PAGE_H:
    case PAGE_HELP_WORD: docs_help(stdout); break;
    case PAGE_VERSION: docs_version(stdout); break;
    case PAGE_MAN: docs_man(stdout, parts->slashes); break;
    case PAGE_BASH: docs_bash(stdout); break;
    case PAGE_ZSH: docs_zsh(stdout); break;
    case PAGE_FISH: docs_fish(stdout); break;
    case PAGE_MODELS: parts->models(stdout); break;
    case PAGE_SESSIONS: parts->sessions(stdout); break;
    case PAGE_PROMPTS: parts->prompts(stdout); break;
    case PAGE_COUNT: return false;
    }
    return true;
}

/* No program of the user's gets a server's key. */
static bool keep_keys_back(const options *o)
{
    for (int i = 0; i < o->n_servers; i++)
        if (o->servers[i].key_env[0] && !inherit_keep_back(o->servers[i].key_env)) return false;
    return true;
}

static int run_command(options *o, program_command *run)
{
    tdm_error err = {0};
    char *path = files_path(FILES_CONFIG, "config");
    bool good = !path || options_read_file(o, path, &err);
    free(path);
    if (good && !keep_keys_back(o)) {
        error_set(&err, TDM_E_NOMEM, "out of memory");
        good = false;
    }
    return good ? run(o) : usage_error(&err);
}

static int parse_and_run(int argc, char **argv, program_command *const commands[COMMAND_COUNT])
{
    tdm_error err = {0};
    options o;
    int status = 0;
    if (!options_parse(&o, argc, argv, &err))
        status = usage_error(&err);
    else if (o.version)
        docs_version(stdout);
    else if (o.help)
        docs_command_help(stdout, o.command, o.help_all);
    else if (commands[o.command])
        status = run_command(&o, commands[o.command]);
    else
        status = hand_over(o.command, argv);
    options_free(&o);
    return status;
}

/* The stack grows as far as its limit, by which the stacks of threads are made as well: below LEAST a command would end
 * in a fault. */
static bool has_stack(void)
{
    enum { LEAST = 1 << 20 };
    struct rlimit now;
    if (getrlimit(RLIMIT_STACK, &now) || now.rlim_cur == RLIM_INFINITY || now.rlim_cur >= LEAST) return true;
    output_note("tandem: the stack may have %llu kB: expected at least %d (ulimit -s)",
                (unsigned long long)now.rlim_cur >> 10, LEAST >> 10);
    return false;
}

int program_main(int argc, char **argv, program_command *const commands[COMMAND_COUNT], const program_parts *parts)
{
    setlocale(LC_CTYPE, "");
    streams_open();
    if (!has_stack()) return 1;
    crash_catch_shrunk();
    signal(SIGPIPE, SIG_IGN); /* a closed pipe is a failed write (src/io/output.h) */
    signal(SIGXFSZ, SIG_IGN); /* and so is a file that may grow no further */
    int status = print_page(argc, argv, parts) ? 0 : parse_and_run(argc, argv, commands);
    int written = output_end();
    return status ? status : written;
}

int program_main_of(command_id command, program_command *run, int argc, char **argv)
{
    program_command *commands[COMMAND_COUNT] = {0};
    char **words = calloc((size_t)argc + 2, sizeof *words);
    if (!words) {
        output_note("tandem: out of memory");
        return 1;
    }
    commands[command] = run;
    words[0] = argv[0];
    words[1] = (char *)command_table[command].name;
    for (int i = 1; i < argc; i++) words[i + 1] = argv[i];
    int status = program_main(argc + 1, words, commands, NULL);
    free(words);
    return status;
}
