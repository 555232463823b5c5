/* `tandem run`: one answer on standard output. A chat of one turn, with nothing prefilled before it is sent. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "engine/base/buffer.h"
#include "engine/base/clock.h"
#include "engine/base/error.h"
#include "src/chat/app.h"
#include "src/chat/figures.h"
#include "src/chat/load.h"
#include "src/chat/play.h"
#include "src/chat/prompts.h"
#include "src/chat/settings.h"
#include "src/chat/trace.h"
#include "src/chat/turn_json.h"
#include "src/cli/files.h"
#include "src/cli/interrupt.h"
#include "src/cli/jsonio.h"
#include "src/cli/subcommands.h"
#include "src/cli/output.h"
#include "src/cli/wait.h"

/* What ends an answer whose model does not: `run` has nobody who stops it. */
enum { LONGEST_ANSWER = 4096 };

typedef struct {
    options *o;
    prompt_file prompt;        /* of --prompt; no parts: none was asked for */
    attachments attached; /* what it wants before the message */
    load_pair models;
    tdm_machine *machine;
    tdm_chat *chat;
    trace *trace;
    bool json;
    struct buffer text; /* of the answer so far */
    char last_character; /* of what went to standard output */
    tdm_finish finish;
    tdm_turn_stats stats;
    bool ended, interrupted;
    tdm_error failure; /* what TDM_EV_ERROR said */
} answer;

/* ---- The prompt ------------------------------------------------------------------------------------------------ */

/* The arguments joined by blanks; "-" among them, or none at all: standard input follows. A prompt of the library needs
 * none of both: then nobody is asked to type. */
static tdm_status read_prompt(const options *o, char **out, size_t *n, tdm_error *err)
{
    bool needless = options_given(o, OPTION_PROMPT) && isatty(STDIN_FILENO);
    bool standard = o->n_arguments == 0 && !needless;
    options words = *o; /* borrowed but for the array */
    char **kept = calloc((size_t)o->n_arguments + 1, sizeof *kept);
    if (!kept) return error_set(err, TDM_E_NOMEM, "out of memory");
    words.arguments = kept;
    words.n_arguments = 0;
    for (int i = 0; i < o->n_arguments; i++) {
        if (!strcmp(o->arguments[i], "-"))
            standard = true;
        else
            kept[words.n_arguments++] = o->arguments[i];
    }
    char *prompt = subcommands_joined(&words), *input = NULL;
    size_t length = 0;
    free(kept);
    if (standard && isatty(STDIN_FILENO))
        fputs("tandem run: reads the prompt from the terminal; Ctrl-D ends it\n", stderr);
    tdm_status status = standard ? files_read("-", SUBCOMMANDS_LONGEST_INPUT, &input, &length, err) : TDM_OK;
    size_t first = prompt ? strlen(prompt) : 0;
    char *joined = status ? NULL : malloc(3 * (first + length) + 2);
    if (!status && !joined) status = error_set(err, TDM_E_NOMEM, "out of memory");
    if (!status) {
        size_t at = output_valid(prompt ? prompt : "", first, joined);
        if (first && length) joined[at++] = '\n';
        at += output_valid(input ? input : "", length, joined + at);
        joined[at] = 0;
        *out = joined;
        *n = at;
    }
    free(prompt);
    free(input);
    return status;
}

/* Into o, what of the prompt the command line leaves open: the model and the system prompt before the model is loaded,
 * and then the other settings, those that it takes. */
static tdm_status take_settings(answer *a, const tdm_model_info *loaded, tdm_error *err)
{
    const options *settings = &a->prompt.settings;
    for (option_id id = 0; id < OPTION_COUNT; id++) {
        bool first = options_given(settings, id) && !(option_table[id].flags & LIVE);
        bool sets = loaded ? prompts_sets(&a->prompt, id, loaded) : first;
        if (!sets || a->o->values[id].origin >= FROM_COMMAND_LINE) continue;
        if (!option_set(a->o, id, options_text(settings, id), FROM_FILE, err)) return err->code;
    }
    return TDM_OK;
}

/* The prompt of --prompt with the text as its input, in the text's place. */
static tdm_status fill_prompt(answer *a, char **text, size_t *n, tdm_error *err)
{
    struct buffer whole = {0};
    tdm_status status = prompts_read(&a->prompt, options_text(a->o, OPTION_PROMPT), err);
    if (!status) status = prompt_compose(&a->prompt, *text, *n, SUBCOMMANDS_LONGEST_INPUT, &whole, err);
    if (!status) status = take_settings(a, NULL, err);
    if (status) {
        buffer_free(&whole);
        return status;
    }
    free(*text);
    *text = whole.bytes;
    *n = whole.n;
    return TDM_OK;
}

/* ---- The answer ------------------------------------------------------------------------------------------------ */

static void show_token(answer *a, const tdm_event *e)
{
    if (a->json) {
        json_object *o = json_object_new_object();
        jsonio_add_string(o, "event", "token");
        jsonio_add_int(o, "id", e->id);
        jsonio_add_text(o, "text", e->text, e->length);
        if (e->thinking) json_object_object_add(o, "thinking", json_object_new_boolean(1));
        output_print("%s\n", jsonio_line(o));
        json_object_put(o);
    } else if (!e->thinking) {
        output_text(e->text, e->length);
        if (e->length) a->last_character = e->text[e->length - 1];
    } else if (isatty(STDERR_FILENO)) {
        /* Thinking isn't part of the answer; somebody who watches sees that something happens. */
        char safe[3 * 256 + 3];
        output_held held = {0};
        for (size_t i = 0; i < e->length; i += 256)
            fwrite(safe, 1, output_harmless(&held, e->text + i, e->length - i < 256 ? e->length - i : 256, safe),
                   stderr);
    }
    output_flush();
}

static void take_events(answer *a)
{
    tdm_event e;
    while (tdm_chat_next_event(a->chat, &e)) {
        switch (e.kind) {
        case TDM_EV_TEXT:
            if (!e.thinking) buffer_append(&a->text, e.text, e.length, NULL);
            show_token(a, &e);
            break;
        case TDM_EV_END:
            a->finish = e.finish;
            a->stats = e.stats;
            a->ended = true;
            break;
        case TDM_EV_NOTICE: fprintf(stderr, "tandem: %.*s\n", (int)e.length, e.text); break;
        case TDM_EV_ERROR: error_set(&a->failure, TDM_E_IO, "%.*s", (int)e.length, e.text); break;
        default: break;
        }
    }
}

static tdm_status ask(answer *a, const char *prompt, size_t n, tdm_error *err)
{
    size_t length;
    char *whole = attach_compose(&a->attached, prompt, n, &length);
    if (!whole) return error_set(err, TDM_E_NOMEM, "out of memory");
    tdm_status status = tdm_chat_send(a->chat, whole, length, clock_ns(), err);
    free(whole);
    if (status) return status;
    interrupt_catch();
    while (!a->ended) {
        int ready = wait_for(a->chat, -1, 500);
        if (a->trace) trace_collect(a->trace);
        if ((ready & WAIT_INTERRUPT) && !a->interrupted) {
            a->interrupted = true;
            tdm_chat_stop(a->chat);
        }
        if (ready & WAIT_CHAT) take_events(a);
        if (!output_good()) tdm_chat_stop(a->chat);
        if (a->failure.code && !a->ended && !tdm_chat_wait_idle(a->chat, 0)) continue;
        if (a->failure.code) break;
    }
    interrupt_release();
    if (a->trace && a->ended) trace_turn(a->trace, &a->stats);
    if (!a->failure.code) return TDM_OK;
    *err = a->failure;
    return err->code;
}

/* ---- The end --------------------------------------------------------------------------------------------------- */

static double prefill_tps(const answer *a)
{
    double ms = figures_ttft_ms(&a->stats, 0);
    return ms > 0 ? 1e3 * a->stats.after_enter / ms : 0;
}

static const char *reason_name(const answer *a)
{
    if (a->interrupted) return "interrupted";
    switch (a->finish) {
    case TDM_LENGTH: return "length";
    case TDM_STOP_STRING: return "stop";
    case TDM_CONTEXT: return "context";
    case TDM_STOPPED: return "interrupted";
    default: return "end";
    }
}

static void print_done(const answer *a)
{
    json_object *o = json_object_new_object();
    jsonio_add_string(o, "event", "done");
    jsonio_add_text(o, "text", a->text.bytes ? a->text.bytes : "", a->text.n);
    jsonio_add_string(o, "reason", reason_name(a));
    turn_json_add(o, &a->stats);
    jsonio_add_int(o, "output_tokens", a->stats.reply_tokens);
    jsonio_add_real(o, "ttft_ms", figures_ttft_ms(&a->stats, 0));
    jsonio_add_real(o, "prefill_tps", prefill_tps(a));
    output_print("%s\n", jsonio_line(o));
    json_object_put(o);
}

static void print_end(const answer *a)
{
    if (a->json)
        print_done(a);
    else if (a->last_character && a->last_character != '\n')
        output_print("\n");
    output_flush();
    tdm_chat_status now;
    tdm_chat_status_of(a->chat, &now);
    if (a->finish == TDM_CONTEXT)
        fprintf(stderr, "tandem: the context is full (%u tokens): the answer ends here; -c makes it larger\n",
                now.context_size);
    if (a->finish == TDM_LENGTH && !options_given(a->o, OPTION_MAX_TOKENS))
        fprintf(stderr, "tandem: the answer ends here, after %d tokens; -n allows more\n", LONGEST_ANSWER);
    if (options_flag(a->o, OPTION_VERBOSE))
        fprintf(stderr, "%u prompt tokens, %.0f tok/s | first token after %.1f ms | %u output tokens, %.1f tok/s\n",
                a->stats.prompt_tokens, prefill_tps(a), figures_ttft_ms(&a->stats, 0), a->stats.reply_tokens,
                a->stats.decode_tps);
}

static tdm_status open_all(answer *a, tdm_error *err)
{
    const options *o = a->o;
    const char *path = options_text(o, OPTION_MODEL), *system = options_text(o, OPTION_SYSTEM);
    tdm_chat_options c;
    tdm_chat_status now;
    tdm_model_info info;
    tdm_status status = load_pair_open(&a->models, o, path, &(load_how){0}, err);
    if (status) return status;
    load_notes(a->models.model);
    tdm_model_describe(a->models.model, &info);
    if ((status = take_settings(a, &info, err))) return status;
    settings_chat_options(&c, o, a->models.model);
    c.speculation = TDM_SPEC_OFF;
    if (!options_given(o, OPTION_MAX_TOKENS) && !c.ignore_eos) c.max_answer_tokens = LONGEST_ANSWER;
    c.prefill_model = a->models.prefill;
    status = load_machine(&a->machine, o, err);
    if (!status) load_machine_notes(o, a->machine);
    if (!status) status = tdm_chat_open(&a->chat, a->models.model, a->machine, &c, err);
    if (!status && system) status = tdm_chat_set_system(a->chat, system, strlen(system), err);
    if (status) return status;
    tdm_chat_status_of(a->chat, &now);
    return prompts_attach(&a->prompt, &a->attached, a->models.model, app_room(&now), err);
}

int run_main(options *o)
{
    if (options_given(o, OPTION_SCRIPT)) return play_main(o);
    tdm_error err = {0};
    answer a = {.o = o, .json = options_flag(o, OPTION_JSON)};
    const char *trace_path = options_text(o, OPTION_TRACE);
    char *prompt = NULL;
    size_t n = 0;
    tdm_status status = read_prompt(o, &prompt, &n, &err);
    if (!status && options_given(o, OPTION_PROMPT)) status = fill_prompt(&a, &prompt, &n, &err);
    if (!status && !prompt[strspn(prompt, " \t\r\n")]) {
        free(prompt);
        prompt_free(&a.prompt);
        return subcommands_usage(o, "the prompt is empty");
    }
    if (!status) status = open_all(&a, &err);
    if (!status && trace_path) a.trace = trace_new(a.machine);
    if (!status) status = ask(&a, prompt, n, &err);
    if (!status) print_end(&a);
    if (!status && a.trace) status = trace_write(a.trace, trace_path, &err);
    trace_free(a.trace);
    tdm_chat_close(a.chat);
    tdm_machine_close(a.machine);
    load_pair_close(&a.models);
    buffer_free(&a.text);
    attach_clear(&a.attached);
    prompt_free(&a.prompt);
    free(prompt);
    if (status) return load_failed(&err);
    return a.interrupted || a.finish == TDM_FAILED ? 1 : 0;
}
