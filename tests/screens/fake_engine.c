#include "tests/screens/fake_engine.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "engine/base/buffer.h"
#include "engine/base/clock.h"
#include "engine/base/error.h"
#include "engine/base/memory.h"
#include "engine/chat/dialogue/conversation.h"
#include "engine/chat/events.h"

struct fake fake;

struct tdm_model {
    char path[300];
    bool synthetic;
    int size; /* of `sizes`, when it was opened for its facts alone; -1: it talks */
};

/* What the files of the list are, by a word in their names. */
static const struct {
    const char *word;
    uint64_t file_bytes, expert_bytes, bytes_per_token, flops_per_token;
    const char *types;
} sizes[] = {
    {"35B-A3B", 20400000000, 18500000000, 2000000000, 6000000000, "q4_k 97%, f32 3%"},
    {"397B", 240000000000, 0, 20000000000, 40000000000, "q4_k 97%, f32 3%"},
    {"9B", 5700000000, 0, 5600000000, 18000000000, "q4_k 90%, q6_k 10%"},
    {"4B", 2700000000, 0, 2600000000, 8000000000, "q4_k 90%, q6_k 10%"},
    {"51m", 42300000, 0, 38900000, 80000000, "q6_k 84%, f32 16%"},
};

static tdm_status open_facts(tdm_model **out, const char *path, tdm_error *err)
{
    const char *slash = strrchr(path, '/'), *file = slash ? slash + 1 : path; /* the test's folder may be ...9Bx */
    for (int i = 0; i < (int)(sizeof sizes / sizeof *sizes); i++) {
        if (!strstr(file, sizes[i].word)) continue;
        tdm_model *m = calloc(1, sizeof *m);
        if (!m) return error_set(err, TDM_E_NOMEM, "out of memory");
        m->size = i;
        *out = m;
        return TDM_OK;
    }
    return error_set(err, TDM_E_FORMAT, "%s: expected the magic GGUF", path);
}

struct tdm_machine { int cores; };

struct tdm_chat {
    struct conversation conversation;
    struct events *events;
    struct buffer draft, queued;
    int editing, leaf_before_edit, reply; /* nodes; 0: none */
    tdm_turn_kind kind;
    tdm_turn_mark mark;
    int turns, answers, at; /* in all; of the turn; whose texts come, from 0 */
    struct { int node, tokens; bool writing; } answer[TDM_ANSWERS_MAX];
    int tokens, limit; /* of the reply */
    int64_t enter_ns, first_ns;
};

static struct tdm_chat *chat; /* the newest */
static struct tdm_machine machine;

void fake_reset(void)
{
    fake = (struct fake){.cores = 2, .context = 32768, .can_think = true, .tokens = 1};
    fake.sensors.memory_free = (struct sensor){.valid = true, .value = 18.1 * (1 << 30)};
    fake.stats = (tdm_turn_stats){.turn_tokens = 18, .turn_before_enter = 18, .reply_tokens = 220, .decode_tps = 31};
    fake.status = (tdm_chat_status){
        .mark = TDM_MARK_FOLLOWING, .weight_bytes = 812ull << 20, .state_bytes = 96ull << 20,
        .checkpoints = 6, .checkpoint_bytes = 116ull << 20, .checkpoint_budget = 2ull << 30};
}

/* ---- Memory ---------------------------------------------------------------------------------------------------- */

uint64_t memory_total(void)
{
    return UINT64_C(16000000000);
}

uint64_t memory_available(void)
{
    return UINT64_C(11200000000);
}

uint64_t memory_available_in(const char *root)
{
    (void)root;
    return memory_available();
}

/* ---- Models ---------------------------------------------------------------------------------------------------- */

static pthread_mutex_t load_lock = PTHREAD_MUTEX_INITIALIZER;
static struct {
    tdm_step step;
    uint64_t done, total;
    bool ended, told;
    tdm_status status;
    char why[300];
} loading;

void fake_load(tdm_step step, uint64_t done, uint64_t total)
{
    pthread_mutex_lock(&load_lock);
    loading.step = step;
    loading.done = done;
    loading.total = total;
    loading.told = false;
    pthread_mutex_unlock(&load_lock);
    for (bool told = false; !told; usleep(500)) { /* until the loader has passed it on */
        pthread_mutex_lock(&load_lock);
        told = loading.told;
        pthread_mutex_unlock(&load_lock);
    }
}

void fake_loaded(tdm_status status, const char *why)
{
    pthread_mutex_lock(&load_lock);
    loading.ended = true;
    loading.status = status;
    snprintf(loading.why, sizeof loading.why, "%s", why);
    pthread_mutex_unlock(&load_lock);
}

TDM_API tdm_status tdm_model_open_sized(tdm_model **out, const tdm_model_options *options, size_t size, tdm_error *err)
{
    (void)size;
    if (options->text_only) return open_facts(out, options->path, err);
    for (;; usleep(500)) {
        pthread_mutex_lock(&load_lock);
        bool ended = loading.ended;
        tdm_status status = loading.status;
        int cancel = options->progress(options->progress_ctx, loading.step, loading.done, loading.total);
        loading.told = true;
        if (ended || cancel) memset(&loading, 0, offsetof(__typeof__(loading), why));
        pthread_mutex_unlock(&load_lock);
        if (cancel) return error_set(err, TDM_E_CANCELLED, "cancelled");
        if (!ended) continue;
        if (status) return error_set(err, status, "%s", loading.why);
        tdm_model *m = calloc(1, sizeof *m);
        if (!m) return error_set(err, TDM_E_NOMEM, "out of memory");
        snprintf(m->path, sizeof m->path, "%s", options->path);
        m->synthetic = !strncmp(options->path, "synthetic:", 10);
        m->size = -1;
        *out = m;
        return TDM_OK;
    }
}

TDM_API void tdm_model_close(tdm_model *m)
{
    free(m);
}

TDM_API void tdm_model_describe(const tdm_model *m, tdm_model_info *out)
{
    static const char *const no_notices[] = {NULL};
    *out = (tdm_model_info){.name = "Qwen3.5-0.8B", .path = m->path, .format = "GGUF", .architecture = "qwen35",
                            .kernels = "scalar", .weight_types = "Q8_0 99%, F32 1%", .parameters = 800000000,
                            .file_bytes = 812000000, .flops_per_token = 1000000000, .trained_context = 262144,
                            .synthetic = m->synthetic, .thinkings = fake.can_think ? 3 : 1, .template_name = "own",
                            .skipped = "", .fingerprint = 1, .notices = no_notices};
    if (m->size < 0) return;
    out->file_bytes = sizes[m->size].file_bytes, out->expert_bytes = sizes[m->size].expert_bytes;
    out->bytes_per_token = sizes[m->size].bytes_per_token;
    out->flops_per_token = sizes[m->size].flops_per_token;
    out->weight_types = sizes[m->size].types;
}

TDM_API tdm_status tdm_tokenize(const tdm_model *m, const char *text, size_t length, bool added, tdm_ids *out,
                                tdm_error *err)
{
    (void)m, (void)text, (void)added, (void)err;
    *out = (tdm_ids){.n = length / 4 + 1};
    return TDM_OK;
}

TDM_API void tdm_ids_free(tdm_ids *ids)
{
    *ids = (tdm_ids){0};
}

/* ---- Machine --------------------------------------------------------------------------------------------------- */

static tdm_span spans[TDM_UNITS][256];
static size_t n_spans[TDM_UNITS];

static size_t lane(tdm_span *out, const char *letters, int64_t from, int64_t column)
{
    static const char known[] = "hdsp=>";
    size_t n = 0;
    for (int c = 0; letters[c]; c++) {
        const char *at = strchr(known, letters[c]);
        if (letters[c] == '.') continue;
        tdm_span_kind kind = at ? (tdm_span_kind)(at - known) : TDM_SPAN_LENT;
        out[n++] = (tdm_span){from + c * column, from + (c + 1) * column, kind, 32, 1 << 20, 0, 0};
    }
    return n;
}

void fake_lanes(const char *prefill, const char *decode, int64_t now_ns)
{
    int64_t column = INT64_C(20000000000) / (int64_t)strlen(decode), from = now_ns - column * (int64_t)strlen(decode);
    n_spans[TDM_PREFILL_UNIT] = lane(spans[TDM_PREFILL_UNIT], prefill, from, column);
    n_spans[TDM_DECODE_UNIT] = lane(spans[TDM_DECODE_UNIT], decode, from, column);
}

TDM_API tdm_status tdm_machine_open_sized(tdm_machine **out, const tdm_machine_options *options, size_t size,
                                          tdm_error *err)
{
    (void)options, (void)size, (void)err;
    *out = &machine;
    return TDM_OK;
}

TDM_API void tdm_machine_close(tdm_machine *m)
{
    (void)m;
}

TDM_API void tdm_machine_set_lending(tdm_machine *m, bool on)
{
    (void)m, (void)on;
}

TDM_API int tdm_machine_cores(const tdm_machine *m)
{
    (void)m;
    return fake.cores;
}

TDM_API const char *tdm_machine_kind(const tdm_machine *m, int unit)
{
    (void)m, (void)unit;
    return "native";
}

TDM_API void tdm_unit_describe(const tdm_machine *m, int unit, tdm_unit_info *out)
{
    (void)m;
    *out = (tdm_unit_info){.name = unit == TDM_PREFILL_UNIT ? "cpu:1" : "cpu:0", .kind = "native", .cores = 1};
    for (size_t i = 0; i < n_spans[unit]; i++) {
        const tdm_span *s = &spans[unit][i];
        out->total[s->kind].spans++;
        out->total[s->kind].tokens += s->tokens;
        out->total[s->kind].bytes += s->bytes;
        out->total[s->kind].ns += (uint64_t)(s->end_ns - s->start_ns);
    }
}

TDM_API size_t tdm_unit_spans(const tdm_machine *m, int unit, int64_t since_ns, tdm_span *out, size_t room)
{
    (void)m;
    size_t n = 0;
    for (size_t i = 0; i < n_spans[unit] && n < room; i++)
        if (spans[unit][i].end_ns > since_ns) out[n++] = spans[unit][i];
    return n;
}

TDM_API tdm_sensors *tdm_sensors_open(void)
{
    static char sensors;
    return (tdm_sensors *)&sensors;
}

TDM_API void tdm_sensors_close(tdm_sensors *s)
{
    (void)s;
}

TDM_API size_t tdm_sensors_read(tdm_sensors *s, tdm_sensor *out, size_t room)
{
    (void)s;
    (void)out, (void)room;
    return 0;
}

/* The monitor reads below the public functions. */
struct sensors *sensors_open(const char *root)
{
    static char sensors;
    (void)root;
    return (struct sensors *)&sensors;
}

void sensors_close(struct sensors *s)
{
    (void)s;
}

bool sensors_on_battery(const char *root)
{
    (void)root;
    return fake.sensors.discharging;
}

void sensors_read(struct sensors *s, int64_t now_ns, struct sensors_now *out)
{
    (void)s;
    *out = fake.sensors;
    out->at_ns = now_ns;
}

/* ---- Chats: opening -------------------------------------------------------------------------------------------- */

TDM_API tdm_status tdm_chat_open_sized(tdm_chat **out, const tdm_model *m, tdm_machine *on,
                                       const tdm_chat_options *options, size_t size, tdm_error *err)
{
    (void)m, (void)on, (void)size;
    struct tdm_chat *c = calloc(1, sizeof *c);
    if (!c) return error_set(err, TDM_E_NOMEM, "out of memory");
    fake.options = *options;
    tdm_status status = conversation_init(&c->conversation, err);
    if (!status) status = events_open(&c->events, err);
    chat = *out = c;
    return status;
}

TDM_API void tdm_chat_close(tdm_chat *c)
{
    if (!c) return;
    if (chat == c) chat = NULL, fake.status.phase = TDM_PHASE_IDLE;
    conversation_free(&c->conversation);
    events_close(c->events);
    buffer_free(&c->draft);
    buffer_free(&c->queued);
    free(c);
}

/* Words for what is read; one that would harm the terminal for what is written. */
TDM_API size_t tdm_chat_span_text(const tdm_chat *c, const tdm_span *s, char *out, size_t room)
{
    (void)c;
    const char *text = s->kind == TDM_SPAN_DECODE
                           ? "a\033[2Jcopy of the model's state"
                           : "What is a checkpoint of it?\n";
    size_t n = strlen(text) < room ? strlen(text) : room;
    memcpy(out, text, n);
    return n;
}

/* ---- Chats: talking -------------------------------------------------------------------------------------------- */

static bool is_idle(void)
{
    return !chat || fake.status.phase == TDM_PHASE_IDLE;
}

static tdm_status busy(tdm_error *err)
{
    return is_idle() ? TDM_OK : error_set(err, TDM_E_BUSY, "a reply is being written; stop it first");
}

/* A message has been sent: it is read, its reply is waited for. */
static void post(struct tdm_chat *c, const tdm_event *event)
{
    events_post(c->events, event);
    events_signal(c->events);
}

static void begin(struct tdm_chat *c, tdm_turn_kind kind, tdm_turn_mark mark, int64_t enter_ns)
{
    fake.status.phase = TDM_PHASE_READING;
    c->kind = kind;
    c->mark = mark;
    c->enter_ns = enter_ns;
    c->first_ns = 0;
    c->reply = 0;
    c->tokens = 0;
    c->answers = 1;
    c->at = 0;
    c->limit = fake.options.max_tokens;
}

static tdm_turn_kind next_kind(const struct tdm_chat *c)
{
    return c->turns ? TDM_TURN_WARM : TDM_TURN_FIRST;
}

static int add_user(struct tdm_chat *c, const char *text, size_t n)
{
    c->editing = 0;
    return conversation_add(&c->conversation, c->conversation.leaf, TDM_USER, text, n, NULL);
}

TDM_API tdm_status tdm_chat_set_draft(tdm_chat *c, const char *text, size_t length, bool held, tdm_error *err)
{
    (void)held;
    buffer_clear(&c->draft);
    fake.status.draft_tokens = fake.status.turn_known = (uint32_t)(length / 4 + (length > 0));
    fake.status.draft_read_bytes = 0;
    return buffer_append(&c->draft, text, length, err);
}

TDM_API tdm_status tdm_chat_send(tdm_chat *c, const char *text, size_t length, int64_t enter_ns, tdm_error *err)
{
    if (length / 4 > (size_t)fake.context)
        return error_set(err, TDM_E_CONTEXT, "%zu tokens don't fit: %d of %d are free", length / 4,
                         fake.context - (int)fake.status.context_used, fake.context);
    if ((int)fake.status.context_used >= fake.context)
        return error_set(err, TDM_E_CONTEXT, "the context is full: the prompt has %d tokens, there is room for %d",
                         (int)fake.status.context_used + (int)length / 4, fake.context);
    buffer_clear(&c->draft);
    fake.status.draft_tokens = fake.status.turn_known = 0;
    fake.status.draft_read_bytes = 0;
    if (!is_idle()) {
        if (c->queued.n) buffer_append(&c->queued, "\n", 1, err);
        buffer_append(&c->queued, text, length, err);
        post(c, &(tdm_event){.kind = TDM_EV_QUEUED, .text = c->queued.bytes, .length = c->queued.n});
        return TDM_OK;
    }
    add_user(c, text, length);
    begin(c, next_kind(c), TDM_TURN_MARK_NONE, enter_ns);
    return TDM_OK;
}

/* The record of the turn under way. */
static tdm_turn_stats stats_of(const struct tdm_chat *c)
{
    tdm_turn_stats s = fake.stats;
    s.kind = c->kind;
    s.mark = c->mark;
    s.enter_ns = c->enter_ns;
    s.first_id_ns = c->first_ns;
    s.paced = fake.options.pace_tps > 0;
    return s;
}

/* The node of answer i has ended; the turn with the last one. */
static void end_answer(struct tdm_chat *c, int i, tdm_finish finish)
{
    if (!c->answer[i].writing) return;
    tdm_turn_stats s = stats_of(c);
    c->answer[i].writing = false;
    s.end_ns = clock_ns();
    s.reply_tokens = (uint32_t)c->answer[i].tokens;
    c->conversation.nodes[c->answer[i].node].finish = finish;
    c->conversation.nodes[c->answer[i].node].stats = s;
    int writing = 0;
    for (int k = 0; k < c->answers; k++) writing += c->answer[k].writing;
    if (!writing) {
        fake.status.phase = TDM_PHASE_IDLE;
        c->reply = 0;
        c->turns++;
    }
    post(c, &(tdm_event){.kind = TDM_EV_END, .node = c->answer[i].node, .answer = i + 1, .answers = c->answers,
                         .writing = writing, .finish = finish, .stats = s});
}

static void end(struct tdm_chat *c, tdm_finish finish)
{
    if (is_idle()) return;
    bool several = c->answers > 1 && c->reply;
    for (int i = 0; several && i < c->answers; i++) end_answer(c, i, finish);
    if (several) return;
    tdm_turn_stats s = stats_of(c);
    s.end_ns = clock_ns();
    if (c->reply) fake.status.decode_tps = s.decode_tps;
    if (c->reply) {
        c->conversation.nodes[c->reply].finish = finish;
        c->conversation.nodes[c->reply].stats = s;
        c->turns++;
    }
    fake.status.phase = TDM_PHASE_IDLE;
    post(c, &(tdm_event){.kind = TDM_EV_END, .node = c->reply, .finish = finish, .stats = s});
    c->reply = 0;
}

static void send_queued(struct tdm_chat *c, tdm_turn_mark mark, int64_t enter_ns)
{
    if (!c->queued.n) return;
    post(c, &(tdm_event){.kind = TDM_EV_UNQUEUED});
    int node = add_user(c, c->queued.bytes, c->queued.n);
    buffer_clear(&c->queued);
    begin(c, c->turns ? TDM_TURN_COLD : TDM_TURN_FIRST, mark, enter_ns);
    post(c, &(tdm_event){.kind = TDM_EV_TURN, .node = node});
}

TDM_API void tdm_chat_send_now(tdm_chat *c, int64_t enter_ns)
{
    end(c, TDM_FINISH_STOPPED);
    send_queued(c, TDM_TURN_MARK_CUT, enter_ns);
}

TDM_API char *tdm_chat_unqueue(tdm_chat *c)
{
    if (!c->queued.n) return NULL;
    char *text = strndup(c->queued.bytes, c->queued.n);
    buffer_clear(&c->queued);
    post(c, &(tdm_event){.kind = TDM_EV_UNQUEUED});
    return text;
}

TDM_API void tdm_chat_stop(tdm_chat *c, tdm_which_dialogue which)
{
    if (which == TDM_FRONT) end(c, TDM_FINISH_STOPPED);
    send_queued(c, TDM_TURN_MARK_QUEUED, clock_ns());
}

TDM_API void tdm_chat_stop_answer(tdm_chat *c, int node)
{
    for (int i = 0; i < c->answers; i++)
        if (c->answer[i].node == node) end_answer(c, i, TDM_FINISH_STOPPED);
}

TDM_API tdm_status tdm_chat_answers(tdm_chat *c, int answers, const char *text, size_t length, int64_t enter_ns,
                                    tdm_error *err)
{
    if (busy(err)) return TDM_E_BUSY;
    if (!text && !c->conversation.leaf) return error_set(err, TDM_E_NOT_FOUND, "there is no reply to make again");
    if (text) add_user(c, text, length);
    else if (c->conversation.nodes[c->conversation.leaf].role == TDM_ASSISTANT)
        conversation_set_leaf(&c->conversation, c->conversation.nodes[c->conversation.leaf].parent);
    begin(c, next_kind(c), TDM_TURN_MARK_NONE, enter_ns);
    c->answers = answers;
    return TDM_OK;
}

/* The first text of a turn with several answers: all begin. */
static void begin_answers(struct tdm_chat *c)
{
    int user = c->conversation.leaf;
    c->first_ns = clock_ns();
    for (int i = 0; i < c->answers; i++) {
        c->reply = conversation_add(&c->conversation, user, TDM_ASSISTANT, "", 0, NULL);
        c->conversation.nodes[c->reply].finish = TDM_FINISH_UNFINISHED;
        c->answer[i].node = c->reply;
        c->answer[i].tokens = 0;
        c->answer[i].writing = true;
    }
    conversation_select(&c->conversation, c->answer[0].node);
    fake.status.phase = TDM_PHASE_ANSWERING;
    for (int i = 0; i < c->answers; i++)
        post(c, &(tdm_event){.kind = TDM_EV_REPLY, .node = c->answer[i].node, .answer = i + 1, .answers = c->answers,
                             .stats = stats_of(c)});
}

void fake_answer(int number)
{
    if (chat) chat->at = number - 1;
}

static void answer_text(const char *text, size_t n, bool thinking)
{
    int i = chat->at, node = chat->answer[i].node;
    if (!chat->answer[i].writing) return;
    conversation_append(&chat->conversation, node, thinking, text, n, NULL);
    post(chat, &(tdm_event){.kind = TDM_EV_TEXT, .node = node, .answer = i + 1, .answers = chat->answers, .text = text,
                            .length = n, .thinking = thinking, .id = 1,
                            .tokens = (uint32_t)(chat->answer[i].tokens += fake.tokens)});
}

void fake_reply(const char *text, size_t n, bool thinking)
{
    if (is_idle()) return;
    if (chat->answers > 1) {
        if (!chat->reply) begin_answers(chat);
        answer_text(text, n, thinking);
        return;
    }
    if (!chat->reply) {
        chat->reply = conversation_add(&chat->conversation, chat->conversation.leaf, TDM_ASSISTANT, "", 0, NULL);
        chat->conversation.nodes[chat->reply].finish = TDM_FINISH_UNFINISHED;
        chat->first_ns = clock_ns();
        post(chat, &(tdm_event){.kind = TDM_EV_REPLY, .node = chat->reply, .stats = stats_of(chat)});
    }
    fake.status.phase = thinking ? TDM_PHASE_THINKING : TDM_PHASE_ANSWERING;
    conversation_append(&chat->conversation, chat->reply, thinking, text, n, NULL);
    post(chat, &(tdm_event){.kind = TDM_EV_TEXT, .node = chat->reply, .text = text, .length = n,
                                    .thinking = thinking, .id = 1,
                                    .tokens = (uint32_t)(chat->tokens += fake.tokens)});
    if (chat->limit && chat->tokens >= chat->limit) fake_end(TDM_FINISH_LENGTH);
}

void fake_end(tdm_finish finish)
{
    if (is_idle()) return;
    if (chat->answers > 1 && chat->reply) end_answer(chat, chat->at, finish);
    else end(chat, finish);
    if (!is_idle()) return;
    send_queued(chat, TDM_TURN_MARK_QUEUED, clock_ns());
}

void fake_post(const tdm_event *event)
{
    if (chat) post(chat, event);
}

TDM_API tdm_status tdm_chat_continue(tdm_chat *c, tdm_error *err)
{
    if (busy(err)) return TDM_E_BUSY;
    int leaf = c->conversation.leaf;
    if (!leaf || c->conversation.nodes[leaf].role != TDM_ASSISTANT)
        return error_set(err, TDM_E_ARG, "there is no reply to go on with");
    begin(c, TDM_TURN_WARM, TDM_TURN_MARK_NONE, clock_ns());
    c->reply = leaf;
    c->first_ns = clock_ns();
    c->conversation.nodes[leaf].finish = TDM_FINISH_UNFINISHED;
    post(c, &(tdm_event){.kind = TDM_EV_REPLY, .node = leaf, .stats = stats_of(c)});
    return TDM_OK;
}

TDM_API tdm_status tdm_chat_regenerate(tdm_chat *c, int64_t enter_ns, tdm_error *err)
{
    if (busy(err)) return TDM_E_BUSY;
    const struct node *last = &c->conversation.nodes[c->conversation.leaf];
    if (!c->conversation.leaf) return error_set(err, TDM_E_ARG, "there is no message to answer");
    if (last->role == TDM_ASSISTANT) conversation_set_leaf(&c->conversation, last->parent);
    begin(c, TDM_TURN_WARM, TDM_TURN_MARK_NONE, enter_ns);
    return TDM_OK;
}

/* ---- Chats: the conversation ------------------------------------------------------------------------------------ */

static tdm_status moved(struct tdm_chat *c, bool done, const char *why, tdm_error *err)
{
    if (!done) return error_set(err, TDM_E_NOT_FOUND, "%s", why);
    post(c, &(tdm_event){.kind = TDM_EV_PATH});
    return TDM_OK;
}

TDM_API tdm_status tdm_chat_undo(tdm_chat *c, tdm_error *err)
{
    return busy(err) ? TDM_E_BUSY : moved(c, conversation_undo(&c->conversation), "there is nothing to undo", err);
}

TDM_API tdm_status tdm_chat_redo(tdm_chat *c, tdm_error *err)
{
    return busy(err) ? TDM_E_BUSY : moved(c, conversation_redo(&c->conversation), "there is nothing to redo", err);
}

static tdm_status no_node(const struct tdm_chat *c, int node, tdm_error *err)
{
    bool there = node >= 1 && node <= c->conversation.n;
    return there ? TDM_OK : error_set(err, TDM_E_NOT_FOUND, "no message %d: there are %d", node, c->conversation.n);
}

TDM_API tdm_status tdm_chat_edit(tdm_chat *c, int node, tdm_error *err)
{
    if (busy(err)) return TDM_E_BUSY;
    if (node && no_node(c, node, err)) return TDM_E_NOT_FOUND;
    if (!node && !c->editing) return TDM_OK;
    if (c->editing) conversation_set_leaf(&c->conversation, c->leaf_before_edit);
    c->leaf_before_edit = c->conversation.leaf;
    c->editing = node;
    if (node) conversation_set_leaf(&c->conversation, c->conversation.nodes[node].parent);
    return moved(c, true, "", err);
}

/* While several answers are written, one of them alone. */
TDM_API tdm_status tdm_chat_select(tdm_chat *c, int node, tdm_error *err)
{
    bool answer = false;
    for (int i = 0; i < c->answers && !is_idle() && c->reply; i++) answer = answer || c->answer[i].node == node;
    if (!answer && busy(err)) return TDM_E_BUSY;
    if (no_node(c, node, err)) return TDM_E_NOT_FOUND;
    c->editing = 0;
    conversation_select(&c->conversation, node);
    return moved(c, true, "", err);
}

TDM_API tdm_status tdm_chat_set_system(tdm_chat *c, const char *text, size_t length, tdm_error *err)
{
    return conversation_set_system(&c->conversation, text, length, err);
}

TDM_API void tdm_chat_clear(tdm_chat *c)
{
    end(c, TDM_FINISH_STOPPED);
    conversation_clear(&c->conversation);
    buffer_clear(&c->queued);
    c->editing = 0;
    moved(c, true, "", NULL);
}

TDM_API int tdm_chat_nodes(const tdm_chat *c, tdm_which_dialogue which)
{
    return which == TDM_BACK ? 0 : c->conversation.n;
}

static char *copied(const struct buffer *t)
{
    char *copy = calloc(1, t->n + 1);
    if (copy && t->n) memcpy(copy, t->bytes, t->n);
    return copy;
}

TDM_API int tdm_chat_path(const tdm_chat *c, tdm_which_dialogue which, int *nodes, int room)
{
    return which == TDM_BACK ? 0 : conversation_path(&c->conversation, nodes, room);
}

TDM_API tdm_status tdm_chat_node(const tdm_chat *c, tdm_which_dialogue which, int number, tdm_node *out, tdm_error *err)
{
    if (which || number < 1 || number > c->conversation.n) return error_set(err, TDM_E_NOT_FOUND, "no %d", number);
    const struct node *n = &c->conversation.nodes[number];
    *out = (tdm_node){.node = number, .parent = n->parent, .role = n->role, .finish = n->finish, .time_s = n->time_s,
                      .text = copied(&n->text), .length = n->text.n,
                      .thinking = n->thinking.n ? copied(&n->thinking) : NULL,
                      .thinking_length = n->thinking.n, .stats = n->stats,
                      .current = conversation_on_path(&c->conversation, number)};
    conversation_branch(&c->conversation, number, &out->branch, &out->branches);
    return TDM_OK;
}

TDM_API void tdm_node_free(tdm_node *node)
{
    free(node->text);
    free(node->thinking);
}

TDM_API int64_t tdm_chat_begun(const tdm_chat *c, tdm_which_dialogue which)
{
    return which == TDM_FRONT ? c->conversation.begun_s : 0;
}

TDM_API tdm_status tdm_chat_load(tdm_chat *c, const char *system, size_t system_length, const tdm_node *nodes, int n,
                                 int leaf, int64_t begun_s, tdm_error *err)
{
    end(c, TDM_FINISH_STOPPED);
    conversation_clear(&c->conversation);
    c->editing = 0;
    c->conversation.begun_s = begun_s;
    tdm_status status = conversation_set_system(&c->conversation, system, system_length, err);
    for (int i = 0; i < n && !status; i++) {
        int node =
            conversation_add(&c->conversation, nodes[i].parent, nodes[i].role, nodes[i].text, nodes[i].length, err);
        c->conversation.nodes[node].finish = nodes[i].finish;
        if (nodes[i].thinking)
            status =
                conversation_append(&c->conversation, node, true, nodes[i].thinking, nodes[i].thinking_length, err);
    }
    conversation_set_leaf(&c->conversation, leaf);
    return moved(c, true, "", err);
}

TDM_API tdm_status tdm_chat_save_state(tdm_chat *c, const char *path, tdm_error *err)
{
    (void)c, (void)path;
    return error_set(err, TDM_E_UNSUPPORTED, "there is no state");
}

TDM_API tdm_status tdm_chat_load_state(tdm_chat *c, const char *path, tdm_error *err)
{
    return tdm_chat_save_state(c, path, err);
}

/* ---- Chats: watching -------------------------------------------------------------------------------------------- */

TDM_API int tdm_chat_fd(const tdm_chat *c)
{
    return events_fd(c->events);
}

TDM_API bool tdm_chat_next_event(tdm_chat *c, tdm_event *out)
{
    return events_take(c->events, out);
}

TDM_API bool tdm_chat_wait_idle(tdm_chat *c, int timeout_ms)
{
    (void)c, (void)timeout_ms;
    return true;
}

TDM_API tdm_status tdm_chat_cold(tdm_chat *c, tdm_pipeline pipeline, tdm_error *err)
{
    (void)err;
    post(c, &(tdm_event){.kind = TDM_EV_COLD, .cold = {.pipeline = pipeline, .warm_engine_ms = 7,
                                                                      .cold_ms = 1870, .warm_tokens = 3,
                                                                      .cold_tokens = 188, .same_first_token = true}});
    return TDM_OK;
}

TDM_API void tdm_chat_status_of(const tdm_chat *c, tdm_chat_status *out)
{
    *out = fake.status;
    out->context_size = (uint32_t)fake.context;
    out->turn_read = out->behind < out->turn_known ? out->turn_known - out->behind : 0;
    if ((out->queued = c->queued.n > 0)) out->mark = TDM_MARK_QUEUED;
}
