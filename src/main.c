/* The program `tandem`: reads options and hands over to the command. Exit status: 0 all went well, 1 something
 * failed, 2 wrong use. */
#include <locale.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "src/cli/docs.h"
#include "src/cli/files.h"
#include "src/cli/mains.h"
#include "src/cli/output.h"

static int (*const command_main[COMMAND_COUNT])(options *o) = {
    [COMMAND_CHAT] = chat_main,       [COMMAND_DEMO] = demo_main,     [COMMAND_MONITOR] = monitor_main,
    [COMMAND_RUN] = run_main,         [COMMAND_EVAL] = eval_main,     [COMMAND_TOKENIZE] = tokenize_main,
    [COMMAND_RENDER] = render_main,   [COMMAND_INFO] = info_main,     [COMMAND_CONVERT] = convert_main,
    [COMMAND_PULL] = pull_main,       [COMMAND_MODELS] = models_main,
          [COMMAND_CONFIG] = config_main, [COMMAND_BENCH] = bench_main,
};

static int usage_error(const tdm_error *err)
{
    fprintf(stderr, "tandem: %s\n", err->text);
    return 2;
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

static int run_command(int argc, char **argv)
{
    tdm_error err = {0};
    options o;
    if (print_page(argc, argv)) return 0;
    if (!options_parse(&o, argc, argv, &err)) {
        options_free(&o);
        return usage_error(&err);
    }
    if (o.help || o.version) {
        if (o.version)
            docs_version(stdout);
        else
            docs_command_help(stdout, o.command);
        options_free(&o);
        return 0;
    }
    char *path = files_path(FILES_CONFIG, "config");
    int status = path && !options_read_file(&o, path, &err) ? usage_error(&err) : command_main[o.command](&o);
    free(path);
    options_free(&o);
    return status;
}

int main(int argc, char **argv)
{
    setlocale(LC_CTYPE, "");
    signal(SIGPIPE, SIG_IGN); /* a closed pipe is a failed write (src/cli/output.h) */
    int status = run_command(argc, argv);
    int written = output_end();
    return status ? status : written;
}
