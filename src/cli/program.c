#include "src/cli/program.h"

#include <errno.h>
#include <locale.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "engine/base/error.h"
#include "engine/base/file.h"
#include "src/cli/docs.h"
#include "src/cli/files.h"
#include "src/cli/inherit.h"
#include "src/cli/output.h"

extern char **environ;

/* What a program has to be built with that need not be there. */
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
        fprintf(stderr,
                "tandem %s: %s: not there: Tandem was built without %s (`make deps all install` builds it with it)\n",
                command_table[command].name, name, needed_library[command]);
    else
        fprintf(stderr, "tandem %s: %s: %s\n", command_table[command].name, name, strerror(errno));
    return 1;
}

static int usage_error(const tdm_error *err)
{
    fprintf(stderr, "tandem: %s\n", err->text);
    return err->code == TDM_E_NOMEM ? 1 : 2;
}

/* What isn't a command: pages made from the tables. */
static bool print_page(int argc, char **argv)
{
    static const struct {
        const char *name;
        void (*print)(FILE *out);
    } pages[] = {
        {"--help", docs_help},          {"-h", docs_help},   {"help", docs_help},
        {"--version", docs_version},    {"--man", docs_man}, {"--completion-bash", docs_bash},
        {"--completion-zsh", docs_zsh},
    };
    for (size_t i = 0; argc == 2 && i < sizeof pages / sizeof *pages; i++) {
        if (strcmp(argv[1], pages[i].name)) continue;
        pages[i].print(stdout);
        return true;
    }
    return false;
}

static int run_command(options *o, program_command *run)
{
    tdm_error err = {0};
    char *path = files_path(FILES_CONFIG, "config");
    int status = path && !options_read_file(o, path, &err) ? usage_error(&err) : run(o);
    free(path);
    return status;
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
        docs_command_help(stdout, o.command);
    else if (commands[o.command])
        status = run_command(&o, commands[o.command]);
    else
        status = hand_over(o.command, argv);
    options_free(&o);
    return status;
}

int program_main(int argc, char **argv, program_command *const commands[COMMAND_COUNT])
{
    setlocale(LC_CTYPE, "");
    signal(SIGPIPE, SIG_IGN); /* a closed pipe is a failed write (src/cli/output.h) */
    int status = print_page(argc, argv) ? 0 : parse_and_run(argc, argv, commands);
    int written = output_end();
    return status ? status : written;
}

int program_main_of(command_id command, program_command *run, int argc, char **argv)
{
    program_command *commands[COMMAND_COUNT] = {0};
    char **words = calloc((size_t)argc + 2, sizeof *words);
    if (!words) {
        fputs("tandem: out of memory\n", stderr);
        return 1;
    }
    commands[command] = run;
    words[0] = argv[0];
    words[1] = (char *)command_table[command].name;
    for (int i = 1; i < argc; i++) words[i + 1] = argv[i];
    int status = program_main(argc + 1, words, commands);
    free(words);
    return status;
}
