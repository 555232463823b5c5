/* A conversation that is read while it is typed: stty -icanon; ./example MODEL.gguf. An empty line ends it. */
#include <stdio.h>
#include <tandem.h>

int main(int argc, char **argv)
{
    tdm_model *model;
    tdm_chat *chat;
    tdm_error err = {.text = "usage: example MODEL.gguf"};
    if (argc != 2 || tdm_model_open(&model, &(tdm_model_options){.path = argv[1]}, &err) ||
        tdm_chat_open(&chat, model, NULL, NULL, &err))
        return fprintf(stderr, "%s\n", err.text), 1;
    char line[4096];
    for (size_t n = 0;; n = 0) {
        while (n < sizeof line && fread(&line[n], 1, 1, stdin) && line[n] != '\n')
            tdm_chat_set_draft(chat, line, ++n, false, &err); /* PREFILL reads it now */
        if (n == 0) break;
        if (tdm_chat_send(chat, line, n, 0, &err)) return fprintf(stderr, "%s\n", err.text), 1;
        tdm_event e;
        while (tdm_chat_wait_event(chat, &e, -1) && e.kind != TDM_EV_END)
            if (e.kind == TDM_EV_TEXT) fwrite(e.text, 1, e.length, stdout), fflush(stdout);
        printf("\n[%u of %u tokens were read before Enter]\n", e.stats.turn_before_enter, e.stats.turn_tokens);
    }
    tdm_chat_close(chat);
    tdm_model_close(model);
}
