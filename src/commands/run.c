/* `tandem run`: one answer on standard output, or several. A chat of one turn, with nothing prefilled before it is
 * sent. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "engine/base/buffer.h"
#include "engine/base/clock.h"
#include "engine/base/error.h"
#include "engine/json/write.h"
#include "src/chat/app.h"
#include "src/chat/talk.h"
#include "src/chat/prompts.h"
#include "src/cli/subcommands.h"
#include "src/commands/run_input.h"
#include "src/figures/figures.h"
#include "src/figures/trace.h"
#include "src/io/frames.h"
#include "src/io/output.h"
#include "src/models/vision.h"
#include "src/models/first_model.h"
#include "src/models/load.h"
#include "src/models/settings.h"
#include "src/play/play.h"
#include "src/process/interrupt.h"

/* The limit of an answer that the model does not end, since no user may be there to stop `run`. */
enum { LONGEST_ANSWER = 4096 };

/* One of the answers. */
typedef struct {
    struct buffer text; /* so far */
    tdm_finish finish;
    tdm_turn_stats stats;
    bool ended;
} one;

typedef struct {
    options *o;
    prompt_file prompt;        /* of --prompt; no parts: none was asked for */
    run_input input;
    attachments attached; /* what goes before the message */
    load_pair models;
    tdm_machine *machine;
    tdm_chat *chat;
    trace *trace;
    bool json;
    int n;               /* answers wanted */
    one answers[TDM_ANSWERS_MAX];
    int printed;         /* of these, whole; the next one is printed as it comes, those behind it wait for it */
    char last_character; /* of what went to standard output */
    struct buffer untold; /* notices that came in the middle of a line: they wait for the end of the answer */
    bool ended, interrupted;
    tdm_error failure; /* what TDM_EV_ERROR said */
} run;

/* ---- The prompt ------------------------------------------------------------------------------------------------ */

/* Into o, what of the prompt the command line leaves open: the model and the system prompt before the model is loaded,
 * and then the other settings, those that it takes. */
static tdm_status take_settings(run *a, const tdm_model_info *loaded, tdm_error *err)
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
static tdm_status fill_prompt(run *a, tdm_error *err)
{
    struct buffer whole = {0};
    tdm_status status = prompts_read(&a->prompt, options_text(a->o, OPTION_PROMPT), err);
    if (!status) status = prompt_compose(&a->prompt, a->input.text, a->input.n, SUBCOMMANDS_LONGEST_INPUT, &whole, err);
    if (!status) status = take_settings(a, NULL, err);
    if (status) {
        buffer_free(&whole);
        return status;
    }
    free(a->input.text);
    a->input.text = whole.bytes;
    a->input.n = whole.n;
    return TDM_OK;
}

/* ---- The answer ------------------------------------------------------------------------------------------------ */

/* The number of an answer, where there are several. */
static void add_number(const run *a, const one *of, json_object *o)
{
    if (a->n > 1) json_add_int(o, "answer", of - a->answers + 1);
}

static void print_text(run *a, const char *text, size_t n)
{
    output_text(text, n);
    if (n) a->last_character = text[n - 1];
}

/* A notice never stands in the middle of a line of the answer. */
static void tell(run *a, const char *text, size_t n)
{
    bool whole = !a->last_character || a->last_character == '\n';
    if (!whole && !buffer_append(&a->untold, text, n, NULL) && !buffer_append(&a->untold, "\n", 1, NULL)) return;
    output_note("tandem: %.*s", (int)n, text);
}

static void end_line(run *a)
{
    if (a->last_character && a->last_character != '\n') output_print("\n");
    a->last_character = 0;
    for (size_t at = 0, n; at < a->untold.n; at += n + 1) {
        n = strcspn(a->untold.bytes + at, "\n");
        tell(a, a->untold.bytes + at, n);
    }
    buffer_clear(&a->untold);
}

/* The answer whose turn it is begins: its number, and what has come of it. */
static void print_begin(run *a)
{
    const one *next = &a->answers[a->printed];
    if (a->json || a->n == 1) return;
    output_print(a->printed ? "\n[%d]\n" : "[%d]\n", a->printed + 1);
    print_text(a, next->text.bytes ? next->text.bytes : "", next->text.n);
}

/* Prints the answers that have ended and whose turn it is. */
static void print_ended(run *a)
{
    while (!a->json && a->printed < a->n && a->answers[a->printed].ended) {
        end_line(a);
        if (++a->printed < a->n) print_begin(a);
    }
    output_flush();
}

static void show_token(run *a, const one *from, const tdm_event *e)
{
    if (a->json) {
        json_object *o = json_new_object();
        json_add_string(o, "event", "token");
        add_number(a, from, o);
        json_add_int(o, "id", e->id);
        json_add_text(o, "text", e->text, e->length);
        if (e->thinking) json_add_bool(o, "thinking", true);
        frames_print(o);
    } else if (!e->thinking) {
        if (from == &a->answers[a->printed]) print_text(a, e->text, e->length);
    } else if (isatty(STDERR_FILENO) && a->n == 1) {
        /* Thinking isn't part of the answer; a user who watches sees that something happens. */
        char safe[3 * 256 + 3];
        output_held held = {0};
        for (size_t i = 0; i < e->length; i += 256)
            fwrite(safe, 1, output_harmless(&held, e->text + i, e->length - i < 256 ? e->length - i : 256, safe),
                   stderr);
    }
    output_flush();
}

static double prefill_tps(const one *a)
{
    double ms = figures_ttft_ms(&a->stats, 0);
    return ms > 0 ? 1e3 * a->stats.after_enter / ms : 0;
}

static const char *reason_name(const run *a, const one *of)
{
    if (a->interrupted) return "interrupted";
    switch (of->finish) {
    case TDM_FINISH_LENGTH:
        return "length";
    case TDM_FINISH_STOP_STRING:
        return "stop";
    case TDM_FINISH_CONTEXT:
        return "context";
    case TDM_FINISH_STOPPED:
        return "interrupted";
    case TDM_FINISH_REPEATS:
        return "repeats";
    case TDM_FINISH_FAILED:
        return "failed";
    default: return "end";
    }
}

static void print_done(const run *a, const one *of)
{
    json_object *o = json_new_object();
    json_add_string(o, "event", "done");
    add_number(a, of, o);
    json_add_text(o, "text", of->text.bytes ? of->text.bytes : "", of->text.n);
    json_add_string(o, "reason", reason_name(a, of));
    figures_turn_json(o, &of->stats);
    json_add_int(o, "output_tokens", of->stats.reply_tokens);
    figures_ttft_json(o, "ttft_ms", &of->stats);
    json_add_real(o, "prefill_tps", prefill_tps(of));
    frames_print(o);
}

static void take_text(run *a, one *at, const tdm_event *e)
{
    if (!e->thinking && buffer_append(&at->text, e->text, e->length, &a->failure)) tdm_chat_stop(a->chat, TDM_FRONT);
    show_token(a, at, e);
}

static void take_lost(run *a, one *at, const tdm_event *end)
{
    tdm_event text;
    tdm_node node;
    if (lost_text(a->chat, end, &node, &text)) take_text(a, at, &text);
    tdm_node_free(&node);
}

static void take_events(run *a)
{
    tdm_event e;
    while (tdm_chat_next_event(a->chat, &e)) {
        one *at = &a->answers[e.answer > 1 ? e.answer - 1 : 0];
        switch (e.kind) {
        case TDM_EV_TEXT: take_text(a, at, &e); break;
        case TDM_EV_END:
            take_lost(a, at, &e);
            at->finish = e.finish;
            at->stats = e.stats;
            at->ended = true;
            a->ended = e.writing == 0;
            if (a->trace) trace_turn(a->trace, &e.stats);
            if (a->json) print_done(a, at);
            print_ended(a);
            break;
        case TDM_EV_NOTICE: tell(a, e.text, e.length); break;
        case TDM_EV_ERROR: error_set(&a->failure, TDM_E_IO, "%.*s", (int)e.length, e.text); break;
        default: break;
        }
    }
}

static tdm_status ask(run *a, const char *prompt, size_t n, tdm_error *err)
{
    size_t length, n_pictures;
    char *whole = attach_compose(&a->attached, prompt, n, &length);
    tdm_placed_picture *pictures = attach_pictures(&a->attached, 0, &n_pictures);
    tdm_status status =
        whole && n_pictures == attach_pictures_n(&a->attached)
            ? tdm_chat_send_pictures(a->chat, whole, length, pictures, n_pictures, a->n, clock_ns(), err)
            : error_set(err, TDM_E_NOMEM, "out of memory");
    free(pictures);
    free(whole);
    if (status) return status;
    print_begin(a);
    interrupt_catch();
    while (!a->ended) {
        int ready = talk_wait_for(a->chat, -1, 500);
        if (a->trace) trace_collect(a->trace);
        if (interrupt_seen() && !a->interrupted) {
            a->interrupted = true;
            tdm_chat_stop(a->chat, TDM_FRONT);
        }
        if (ready & TALK_CHAT) take_events(a);
        if (!output_good()) tdm_chat_stop(a->chat, TDM_FRONT);
        bool breaks_off = a->failure.code || a->interrupted;
        if (!breaks_off || (!a->ended && !tdm_chat_wait_idle(a->chat, 0))) continue;
        take_events(a); /* of a chat that has become idle since: the answer's end */
        break;
    }
    interrupt_release();
    if (!a->json) end_line(a);
    output_flush();
    if (!a->failure.code) return TDM_OK;
    *err = a->failure;
    return err->code;
}

/* ---- The end --------------------------------------------------------------------------------------------------- */

static bool any_ended(const run *a, tdm_finish why)
{
    for (int i = 0; i < a->n; i++)
        if (a->answers[i].finish == why) return true;
    return false;
}

/* Prints what -v asks for: the figures of the first answer, or of all, which share its prompt. */
static void print_figures(const run *a)
{
    const tdm_turn_stats *s = &a->answers[0].stats;
    if (!s->first_id_ns) {
        output_note("%u prompt tokens | no output token", s->prompt_tokens);
        return;
    }
    uint32_t tokens = 0;
    int64_t last_ns = s->last_id_ns;
    for (int i = 0; i < a->n; i++) {
        tokens += a->answers[i].stats.reply_tokens;
        if (a->answers[i].stats.last_id_ns > last_ns) last_ns = a->answers[i].stats.last_id_ns;
    }
    char passes[40] = "";
    if (figures_per_pass(s) > 0) snprintf(passes, sizeof passes, ", %.1f a pass", figures_per_pass(s));
    double seconds = (double)(last_ns - s->first_id_ns) / 1e9;
    char together[40] = "";
    if (a->n > 1) snprintf(together, sizeof together, " each, %.1f together", seconds > 0 ? tokens / seconds : 0);
    output_note("%u prompt tokens, %.0f tok/s | first token after %.1f ms | %u output tokens, %.1f tok/s%s%s",
                s->prompt_tokens, prefill_tps(&a->answers[0]), figures_ttft_ms(s, 0), tokens, s->decode_tps, passes,
                together);
}

static void print_end(run *a)
{
    tdm_chat_status now;
    tdm_chat_status_of(a->chat, &now);
    if (any_ended(a, TDM_FINISH_CONTEXT))
        output_note("tandem: the context is full (%u tokens): the answer ends here; -c makes it larger",
                    now.context_size);
    if (any_ended(a, TDM_FINISH_LENGTH) && !options_given(a->o, OPTION_MAX_TOKENS))
        output_note("tandem: the answer ends here, after %d tokens; -n allows more", LONGEST_ANSWER);
    if (any_ended(a, TDM_FINISH_REPEATS))
        output_note("tandem: the answer only repeated itself: it ends here; --loop-guard off lets it go on");
    if (options_flag(a->o, OPTION_VERBOSE)) print_figures(a);
}

/* Prompts of the library are about texts to be worked on, which is more than the built-in model can do. */
static tdm_status check_large(const run *a, const tdm_model_info *info, tdm_error *err)
{
    char what[120];
    if (!options_given(a->o, OPTION_PROMPT) || options_flag(a->o, OPTION_FORCE)) return TDM_OK;
    snprintf(what, sizeof what, "-r %.100s", options_text(a->o, OPTION_PROMPT));
    return load_check_large(info, what, "name one with -m (`tandem pull` fetches one); --force does it all the same",
                            err);
}

/* The pictures that standard input is, and that the words of the command line name. */
static tdm_status attach_pictures_of(run *a, int room, tdm_error *err)
{
    mentions m = {0};
    attachment given;
    int place;
    tdm_status status = TDM_OK;
    char *words = subcommands_joined(a->o);
    if (a->input.picture) {
        const picture *p;
        tdm_picture *seen;
        status = picture_take(&p, &seen, a->input.picture, a->input.picture_n, "standard input", NULL, NULL, err);
        a->input.picture = NULL;
        if (!status) status = attach_picture(&given, ATTACH_FILE, p->name, p, seen, err);
        if (!status) status = attach_take(&a->attached, &given, a->models.model, room, &place, err);
        tdm_picture_drop(seen);
    }
    if (!status && words)
        status = mentions_read(&m, &a->attached, a->models.model, room, words, strlen(words), MENTIONS_PICTURES, err);
    for (int i = 0; !status && i < a->attached.n; i++)
        if (a->attached.all[i].n_pictures)
            output_note("tandem run: %s goes before the prompt", a->attached.all[i].name);
    mentions_free(&m);
    free(words);
    return status;
}

static tdm_status open_all(run *a, tdm_error *err)
{
    const options *o = a->o;
    char note[PATH_MAX + 100];
    first_model(a->o, note, sizeof note);
    if (note[0]) output_note("tandem: %s", note);
    const char *path = options_text(o, OPTION_MODEL), *system = options_text(o, OPTION_SYSTEM);
    tdm_chat_options c;
    tdm_chat_status now;
    tdm_model_info info;
    tdm_status status = load_pair_open(&a->models, o, path, &(load_how){0}, err);
    if (status) return status;
    load_notes(a->models.model);
    tdm_model_describe(a->models.model, &info);
    if ((status = check_large(a, &info, err)) || (status = take_settings(a, &info, err))) return status;
    settings_chat_options(&c, o, a->models.model);
    c.speculation = TDM_SPEC_OFF;
    if (!options_given(o, OPTION_MAX_TOKENS) && !c.ignore_eos) c.max_answer_tokens = LONGEST_ANSWER;
    status = load_machine(&a->machine, o, a->models.model, &(load_how){0}, err);
    if (!status) load_machine_notes(o, a->machine);
    if (!status) status = load_places(&a->models, a->machine, o, &(load_how){0}, err);
    if (!status) status = load_chat(&a->chat, &a->models, a->machine, &c, err);
    if (!status && system) status = tdm_chat_set_system(a->chat, system, strlen(system), err);
    if (status) return status;
    tdm_chat_status_of(a->chat, &now);
    a->attached.picture_tokens = (uint32_t)c.picture_tokens;
    status = prompts_attach(&a->prompt, &a->attached, a->models.model, app_room(&now), err);
    if (!status) status = attach_pictures_of(a, app_room(&now), err);
    if (status == TDM_E_UNSUPPORTED) vision_explain(a->o, a->models.model, NULL, err);
    return status;
}

int run_main(options *o)
{
    if (options_given(o, OPTION_SCRIPT) && options_given(o, OPTION_ANSWERS))
        return subcommands_usage(o, "--answers is for one prompt, not for a script");
    if (!subcommands_may_write(o, options_text(o, OPTION_TRACE))) return 1;
    if (options_given(o, OPTION_SCRIPT)) return play_main(o);
    tdm_error err = {0};
    run a = {.o = o, .json = options_flag(o, OPTION_JSON), .n = (int)options_int(o, OPTION_ANSWERS, 1)};
    tdm_status status = run_input_read(&a.input, o, &err);
    if (!status && options_given(o, OPTION_PROMPT)) status = fill_prompt(&a, &err);
    if (!status && !a.input.picture && !a.input.text[strspn(a.input.text, " \t\r\n")]) {
        free(a.input.text);
        prompt_free(&a.prompt);
        return subcommands_usage(o, "the prompt is empty; expected words behind it, or on standard input");
    }
    if (!status) status = open_all(&a, &err);
    if (!status) status = trace_begin(&a.trace, o, a.machine, &err);
    if (!status) status = ask(&a, a.input.text, a.input.n, &err);
    if (!status) print_end(&a);
    if (!status) status = trace_end(a.trace, o, &err);
    trace_free(a.trace);
    tdm_chat_close(a.chat);
    load_pair_close(&a.models);
    tdm_machine_close(a.machine);
    buffer_free(&a.untold);
    for (int i = 0; i < a.n; i++) buffer_free(&a.answers[i].text);
    attach_clear(&a.attached);
    prompt_free(&a.prompt);
    free(a.input.text);
    free(a.input.picture);
    if (status) return load_failed(&err);
    return a.interrupted || any_ended(&a, TDM_FINISH_FAILED) ? 1 : 0;
}
