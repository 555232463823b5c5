/* The program `tandem`: hands over to the command; those that are programs of their own (tandem-pull, tandem-bench)
 * are not listed here. Exit status: 0 all went well, 1 something failed, 2 wrong use. */
#include "src/cli/program.h"
#include "src/cli/subcommands.h"
#include "src/slash/slashes.h"

int main(int argc, char **argv)
{
    static program_command *const commands[COMMAND_COUNT] = {
        [COMMAND_CHAT] = chat_main,     [COMMAND_DEMO] = demo_main,     [COMMAND_MONITOR] = monitor_main,
        [COMMAND_RUN] = run_main,       [COMMAND_EVAL] = eval_main,     [COMMAND_TOKENIZE] = tokenize_main,
        [COMMAND_RENDER] = render_main, [COMMAND_INFO] = info_main,     [COMMAND_CONVERT] = convert_main,
        [COMMAND_MODELS] = models_main, [COMMAND_CONFIG] = config_main,
    };
    static const program_parts parts = {slashes_man, completions_models, completions_sessions, completions_prompts};
    return program_main(argc, argv, commands, &parts);
}
