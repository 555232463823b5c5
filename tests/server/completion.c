#include "tests/server/completion.h"

#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "engine/base/error.h"
#include "engine/json/write.h"
#include "tests/server/reply.h"

/* A request under way. */
typedef struct {
    pages *pages;
    struct MHD_Connection *connection;
    answer answer;
    reply reply;
    tdm_ids ids;
    char *prompt;
    int slot;
    bool anew, stream;
    struct buffer piece, out; /* of a stream: what waits to be sent */
    size_t sent;
    bool begun, ended;
    int cut;
} job;

static void job_free(void *ctx)
{
    job *j = ctx;
    if (j->reply.slot) slots_give(j->pages->slots, j->reply.slot);
    reply_free(&j->reply);
    tdm_ids_free(&j->ids);
    buffer_free(&j->piece);
    buffer_free(&j->out);
    free(j->prompt);
    free(j);
}

bool completion_gone(void *connection)
{
    char byte;
    const union MHD_ConnectionInfo *info = MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD);
    return info && recv(info->connect_fd, &byte, 1, MSG_PEEK | MSG_DONTWAIT) == 0;
}

enum MHD_Result completion_send(struct MHD_Connection *c, int status, json_object *o)
{
    struct buffer line = {0};
    if (json_write_text(o, &line, NULL)) status = MHD_HTTP_INTERNAL_SERVER_ERROR;
    struct MHD_Response *r = MHD_create_response_from_buffer(line.n, line.bytes, MHD_RESPMEM_MUST_COPY);
    buffer_free(&line);
    json_free(o);
    MHD_add_response_header(r, "Content-Type", "application/json; charset=utf-8");
    enum MHD_Result queued = MHD_queue_response(c, (unsigned)status, r);
    MHD_destroy_response(r);
    return queued;
}

/* ---- What is asked ----------------------------------------------------------------------------------------------- */

/* The prompt of `messages`, malloc'ed; open: the last of them is to be gone on with. NULL: there are none, or the
 * template refuses them. */
static char *prompt_of(const pages *p, json_object *asked, bool open)
{
    json_object *list = json_member(asked, "messages", JSON_ARRAY);
    size_t n = json_length(list);
    tdm_message *messages = calloc(n + 1, sizeof *messages);
    char *text = NULL;
    if (!messages) return NULL;
    for (size_t i = 0; i < n; i++) {
        json_object *m = json_at(list, i);
        const char *role = json_text(m, "role", NULL), *content = json_text(m, "content", &messages[i].length);
        messages[i].text = content ? content : "";
        messages[i].role = !role || !strcmp(role, "user") ? TDM_USER
                           : !strcmp(role, "system")      ? TDM_SYSTEM
                                                          : TDM_ASSISTANT;
    }
    open = open && n && messages[n - 1].role == TDM_ASSISTANT;
    if (n)
        tdm_render(slots_model(p->slots), messages, n, &(tdm_render_options){.generation_prompt = !open}, NULL, &text,
                   NULL);
    char *last = NULL;
    for (char *at = text; open && at && (at = strstr(at, "<|im_end|>")); at++) last = at;
    if (last) *last = 0;
    free(messages);
    return text;
}

static void take_sampling(job *j, json_object *o)
{
    j->reply.sampling = (tdm_sampling){
        .temperature = (float)json_real(o, "temperature", 0.8),
        .top_k = (int)json_int(o, "top_k", 0),
        .top_p = (float)json_real(o, "top_p", 1),
        .min_p = (float)json_real(o, "min_p", 0),
        .presence_penalty = (float)json_real(o, "presence_penalty", 0),
        .frequency_penalty = (float)json_real(o, "frequency_penalty", 0),
        .repeat_penalty = (float)json_real(o, "repeat_penalty", json_real(o, "repetition_penalty", 1)),
        .seed = (uint64_t)json_int(o, "seed", json_int(o, "sampling_seed", 1)),
    };
    if (j->reply.sampling.top_k < 0) j->reply.sampling.top_k = 0;
    json_object *list = json_member(o, "stop", JSON_ARRAY), *one = json_member(o, "stop", JSON_STRING);
    for (size_t i = 0; i < json_length(list) && j->reply.n_stops < REPLY_STOPS; i++)
        j->reply.stops[j->reply.n_stops++] = strdup(json_text_of(json_at(list, i)));
    if (one) j->reply.stops[j->reply.n_stops++] = strdup(json_text_of(one));
    j->reply.ignore_eos = json_flag(o, "ignore_eos", false);
}

/* How many tokens, where nothing is said: what each of the servers does then. */
static int most_of(answer_form form, json_object *o)
{
    if (form == FORM_LLAMA) return (int)json_int(o, "n_predict", json_int(o, "max_tokens", -1));
    if (form == FORM_GENERATE) return (int)json_int(o, "max_new_tokens", 128);
    if (json_has(o, "max_tokens")) return (int)json_int(o, "max_tokens", -1);
    return form == FORM_CHAT ? -1 : 16;
}

static void take_tokens(job *j, json_object *list)
{
    size_t n = json_length(list);
    j->ids.ids = calloc(n + 1, sizeof *j->ids.ids);
    for (size_t i = 0; j->ids.ids && i < n; i++) j->ids.ids[j->ids.n++] = (tdm_id)json_int_of(json_at(list, i));
    j->ids.capacity = n + 1;
}

static tdm_status take_prompt(job *j, answer_form form, json_object *o, tdm_error *err)
{
    const tdm_model *m = slots_model(j->pages->slots);
    const char *text = json_text(o, form == FORM_GENERATE ? "text" : "prompt", NULL);
    json_object *list = json_member(o, form == FORM_GENERATE ? "input_ids" : "prompt", JSON_ARRAY);
    tdm_model_info info;
    tdm_model_describe(m, &info);
    if (form == FORM_CHAT)
        j->prompt = prompt_of(j->pages, o, json_flag(o, "continue_final_message", false));
    else if (text)
        j->prompt = strdup(text);
    else if (list)
        j->prompt = strdup("");
    if (!j->prompt) return error_set(err, TDM_E_ARG, "expected a prompt");
    if (list && form != FORM_CHAT)
        take_tokens(j, list);
    else
        tdm_tokenize(m, j->prompt, strlen(j->prompt), true, &j->ids, NULL);
    for (size_t i = 0; i < j->ids.n; i++)
        if (j->ids.ids[i] < 0 || j->ids.ids[i] >= info.vocabulary)
            return error_set(err, TDM_E_ARG, "expected tokens of the vocabulary");
    if (!j->ids.n) return error_set(err, TDM_E_ARG, "expected a prompt that is not empty");
    int context = j->pages->context, least = j->reply.most > 0 && form == FORM_COMPLETION ? j->reply.most : 0;
    if ((int)j->ids.n + least >= context + (least > 0))
        return error_set(err, TDM_E_CONTEXT, "the prompt has %zu tokens, the context %d", j->ids.n, context);
    j->reply.room = context - (int)j->ids.n;
    return TDM_OK;
}

static tdm_id token(const tdm_model *m, const char *text)
{
    tdm_ids ids = {0};
    tdm_tokenize(m, text, strlen(text), true, &ids, NULL);
    tdm_id id = ids.n == 1 ? ids.ids[0] : -1;
    tdm_ids_free(&ids);
    return id;
}

static tdm_status take_job(job *j, answer_form form, json_object *asked, tdm_error *err)
{
    json_object *o = form == FORM_GENERATE ? json_member(asked, "sampling_params", JSON_OBJECT) : asked;
    json_object *usage = json_member(asked, "stream_options", JSON_OBJECT);
    const tdm_model *m = slots_model(j->pages->slots);
    j->reply.slots = j->pages->slots;
    j->reply.ends[0] = token(m, "<|im_end|>");
    j->reply.ends[1] = token(m, "<|endoftext|>");
    j->reply.most = most_of(form, o);
    if (j->reply.most == 0 && form != FORM_LLAMA)
        return error_set(err, TDM_E_ARG, "max_tokens must be at least 1, got 0.");
    take_sampling(j, o);
    j->stream = json_flag(asked, "stream", false);
    j->slot = form == FORM_LLAMA ? (int)json_int(asked, "id_slot", -1) : -1;
    j->anew = form == FORM_LLAMA && !json_flag(asked, "cache_prompt", true);
    if (j->slot >= j->pages->n_slots) j->slot = -1;
    tdm_status status = take_prompt(j, form, asked, err);
    j->answer = (answer){.form = form,
                         .kind = j->pages->kind,
                         .model = j->pages->name,
                         .prompt = j->prompt,
                         .reply = &j->reply,
                         .usage = json_flag(usage, "include_usage", false),
                         .old = j->pages->old};
    return status;
}

/* ---- What is answered -------------------------------------------------------------------------------------------- */

/* False: nobody waits any more, or the engine failed. */
static bool read_prompt(job *j)
{
    j->reply.slot = slots_take(j->pages->slots, j->slot, &j->ids, completion_gone, j->connection);
    if (!j->reply.slot) return false;
    j->answer.slot = slot_id(j->reply.slot);
    return !slot_prompt(j->reply.slot, &j->ids, j->anew, completion_gone, j->connection, &j->answer.work, NULL);
}

static void add_event(job *j, json_object *o)
{
    if (!o) return;
    buffer_append(&j->out, "data: ", 6, NULL);
    json_write_text(o, &j->out, NULL);
    buffer_append(&j->out, "\n\n", 2, NULL);
    json_free(o);
}

static void write_some(job *j)
{
    if (!j->begun) {
        j->begun = true;
        j->ended = !read_prompt(j);
        if (!j->ended) add_event(j, answer_opening(&j->answer));
        return;
    }
    bool more = reply_step(&j->reply, &j->piece);
    if (j->piece.n) add_event(j, answer_piece(&j->answer, j->piece.bytes, j->piece.n));
    if (more && !completion_gone(j->connection)) return;
    j->ended = true;
    if (more || j->reply.end == REPLY_FAILED) return;
    add_event(j, answer_end(&j->answer));
    add_event(j, answer_usage(&j->answer));
    if (answer_says_done(&j->answer)) buffer_append(&j->out, "data: [DONE]\n\n", 14, NULL);
}

static ssize_t read_stream(void *ctx, uint64_t at, char *out, size_t room)
{
    job *j = ctx;
    (void)at;
    while (j->sent == j->out.n && !j->ended) {
        buffer_clear(&j->out);
        j->sent = 0;
        write_some(j);
    }
    size_t n = j->out.n - j->sent;
    if (!n)
        return j->reply.end && j->reply.end != REPLY_FAILED ? MHD_CONTENT_READER_END_OF_STREAM
                                                            : MHD_CONTENT_READER_END_WITH_ERROR;
    if (n > room) n = room;
    if (j->cut >= 0 && n > (size_t)j->cut) n = (size_t)j->cut;
    if (!n) return MHD_CONTENT_READER_END_WITH_ERROR;
    if (j->cut >= 0) j->cut -= (int)n;
    memcpy(out, j->out.bytes + j->sent, n);
    j->sent += n;
    return (ssize_t)n;
}

static enum MHD_Result answer_stream(job *j)
{
    struct MHD_Response *r = MHD_create_response_from_callback(MHD_SIZE_UNKNOWN, 1 << 14, read_stream, j, job_free);
    MHD_add_response_header(r, "Content-Type", "text/event-stream");
    enum MHD_Result queued = MHD_queue_response(j->connection, 200, r);
    MHD_destroy_response(r);
    return queued;
}

enum MHD_Result completion_answer(pages *p, struct MHD_Connection *c, answer_form form, json_object *asked, int cut)
{
    job *j = calloc(1, sizeof *j);
    tdm_error err = {0};
    if (!j) return MHD_NO;
    *j = (job){.pages = p, .connection = c, .cut = cut};
    if (take_job(j, form, asked, &err)) {
        job_free(j);
        return completion_send(c, 400, answer_error(p->kind, 400, "invalid_request_error", err.text));
    }
    if (j->stream) return answer_stream(j);
    enum MHD_Result done = MHD_NO;
    if (read_prompt(j)) {
        while (reply_step(&j->reply, &j->piece) && !completion_gone(c)) continue;
        if (j->reply.end && j->reply.end != REPLY_FAILED) done = completion_send(c, 200, answer_whole(&j->answer));
    }
    job_free(j);
    return done;
}
