/* `tandem eval`: logits and perplexity of given tokens, and how far they are from those of other kernels. */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "engine/base/clock.h"
#include "engine/base/error.h"
#include "engine/os/atomic_file.h"
#include "engine/os/file.h"
#include "src/cli/words.h"
#include "src/cli/subcommands.h"
#include "src/files/files.h"
#include "src/files/unfinished.h"
#include "src/image/image.h"
#include "src/image/picture.h"
#include "src/io/output.h"
#include "src/models/load.h"

enum { PIECE = 128 }; /* positions whose logits are in memory at a time */

typedef struct {
    const options *o;
    tdm_model *model;
    tdm_machine *machine;
    tdm_sequence *session;
    tdm_ids ids;
    tdm_id *placed;         /* the same as sessions take them, where that differs; else NULL */
    tdm_picture **pictures; /* as many as --image names */
    size_t vocabulary;
    struct atomic_file *file; /* --logits; NULL: not asked for */
    int unfinished;           /* of unfinished_begin(); -1: no file is begun */
    double log_sum;           /* -log of the probabilities of the tokens that followed */
    size_t predicted;
    int64_t ns; /* that the evaluation has taken */
    struct { /* --against: the same tokens with other kernels; keys and values of the reference in float32 */
        tdm_model *model;
        tdm_sequence *session;
        double sum, largest; /* of the divergences, in nats */
        size_t positions, same;
    } other;
} evaluation;

/* ---- Input ----------------------------------------------------------------------------------------------------- */

static tdm_status read_ids(evaluation *e, tdm_error *err)
{
    const char *given = options_text(e->o, OPTION_IDS), *file = options_text(e->o, OPTION_IDS_FILE);
    const char *text_file = options_text(e->o, OPTION_TEXT_FILE);
    if (given) return ids_parse("--ids", given, strlen(given), &e->ids, err);
    char *bytes;
    size_t n;
    const size_t most = SUBCOMMANDS_LONGEST_INPUT;
    tdm_status status =
        file ? files_read_text(file, most, &bytes, &n, err) : files_read(text_file, most, &bytes, &n, err);
    if (status) return status;
    status = file ? ids_parse(file, bytes, n, &e->ids, err) : tdm_tokenize(e->model, bytes, n, true, &e->ids, err);
    free(bytes);
    return status;
}

/* ---- Pictures ---------------------------------------------------------------------------------------------------- */

static tdm_status read_picture(const char *path, tdm_picture **out, tdm_error *err)
{
    image pixels;
    int fd = -1;
    tdm_status status = file_open_needed(path, &fd, err);
    if (status) return status;
    status = image_read(&pixels, fd, path, IMAGE_SECONDS, NULL, NULL, err);
    close(fd);
    if (status) return status;
    status = tdm_picture_new(out, pixels.rgb, pixels.width, pixels.height, err);
    image_free(&pixels);
    return status;
}

static tdm_status read_pictures(evaluation *e, tdm_error *err)
{
    const option_value *files = &e->o->values[OPTION_IMAGE];
    tdm_status status = TDM_OK;
    if (!files->n) return TDM_OK;
    e->pictures = calloc((size_t)files->n, sizeof(tdm_picture *));
    if (!e->pictures) return error_set(err, TDM_E_NOMEM, "out of memory");
    for (int i = 0; i < (int)files->n && !status; i++) status = read_picture(files->list[i], &e->pictures[i], err);
    return status;
}

static void drop_pictures(evaluation *e)
{
    for (int i = 0; e->pictures && i < (int)e->o->values[OPTION_IMAGE].n; i++) tdm_picture_drop(e->pictures[i]);
    free(e->pictures);
}

/* Where the run of equal ids at `at` ends. */
static size_t run_end(const tdm_ids *ids, size_t at)
{
    size_t end = at + 1;
    while (end < ids->n && ids->ids[end] == ids->ids[at]) end++;
    return end;
}

/* Whether a token stands for the pictures: its runs are as many as these, each as long as one has tokens. */
static bool stands_for(const evaluation *e, tdm_id id, const uint32_t *tokens)
{
    int runs = 0, n = e->o->values[OPTION_IMAGE].n;
    for (size_t at = 0, end; at < e->ids.n; at = end) {
        end = run_end(&e->ids, at);
        if (e->ids.ids[at] == id && (runs == n || end - at != tokens[runs++])) return false;
    }
    return runs == n;
}

/* GGUF files don't tell which token is the pad, but where the vocabulary has it by name: then it is the one that fits,
 * if that is one alone. */
static tdm_status find_pad(evaluation *e, const uint32_t *tokens, tdm_error *err)
{
    tdm_id pad = -1;
    int fit = 0;
    for (size_t at = 0; at < e->ids.n; at = run_end(&e->ids, at)) {
        if (e->ids.ids[at] == pad || !stands_for(e, e->ids.ids[at], tokens)) continue;
        pad = e->ids.ids[at];
        fit++;
    }
    if (fit != 1)
        return error_set(err, TDM_E_UNSUPPORTED,
                         "the model's files don't say which token stands for a picture, and %s of the ids %s a run for "
                         "each, as long as it has tokens (the first one %u)",
                         fit ? "several" : "none", fit ? "have" : "has", tokens[0]);
    e->placed = malloc(e->ids.n * sizeof *e->placed);
    if (!e->placed) return error_set(err, TDM_E_NOMEM, "out of memory");
    for (size_t i = 0; i < e->ids.n; i++) e->placed[i] = e->ids.ids[i] == pad ? -1 : e->ids.ids[i];
    return TDM_OK;
}

static tdm_status count_tokens(const evaluation *e, uint32_t *tokens, tdm_error *err)
{
    tdm_status status = TDM_OK;
    for (int i = 0; i < (int)e->o->values[OPTION_IMAGE].n && !status; i++) {
        tdm_picture_fit fit = {0};
        status = picture_fit_sides(e->model, e->pictures[i], 0, &fit, err);
        tokens[i] = fit.tokens;
    }
    return status;
}

/* A picture for each run of pads. */
static tdm_status check_pictures(evaluation *e, tdm_error *err)
{
    int runs = 0, pictures = e->o->values[OPTION_IMAGE].n;
    tdm_vision vision;
    tdm_model_vision(e->model, &vision);
    if (vision.pad < 0) {
        uint32_t *tokens = calloc((size_t)pictures, sizeof *tokens);
        tdm_status status = tokens ? count_tokens(e, tokens, err) : error_set(err, TDM_E_NOMEM, "out of memory");
        if (!status) status = find_pad(e, tokens, err);
        free(tokens);
        return status;
    }
    for (size_t i = 0; i < e->ids.n; i++)
        runs += e->ids.ids[i] == vision.pad && (!i || e->ids.ids[i - 1] != vision.pad);
    if (runs == pictures) return TDM_OK;
    return error_set(err, TDM_E_ARG, "--image: pictures %d, runs of token %d in the ids %d", pictures, vision.pad,
                     runs);
}

static tdm_status show_pictures(const evaluation *e, tdm_sequence *session, tdm_error *err)
{
    if (!e->pictures) return TDM_OK;
    return tdm_sequence_pictures(session, e->pictures, (size_t)e->o->values[OPTION_IMAGE].n, 0, err);
}

static tdm_status check_ids(evaluation *e, tdm_error *err)
{
    if (!e->ids.n) return error_set(err, TDM_E_ARG, "there are no tokens to evaluate");
    for (size_t i = 0; i < e->ids.n; i++)
        if (e->ids.ids[i] < 0 || (size_t)e->ids.ids[i] >= e->vocabulary)
            return error_set(err, TDM_E_ARG, "token %zu: id %d is not below the vocabulary's %zu", i, e->ids.ids[i],
                             e->vocabulary);
    return e->pictures ? check_pictures(e, err) : TDM_OK;
}

/* ---- Output ---------------------------------------------------------------------------------------------------- */

/* safetensors: the length of a JSON header (8 bytes, little-endian), the header padded with blanks, the data. */
static tdm_status begin_file(evaluation *e, size_t rows, tdm_error *err)
{
    const char *path = options_text(e->o, OPTION_LOGITS);
    char header[256] = "";
    int n =
        snprintf(header, sizeof header, "{\"logits\":{\"dtype\":\"F32\",\"shape\":[%zu,%zu],\"data_offsets\":[0,%zu]}}",
                 rows, e->vocabulary, rows * e->vocabulary * sizeof(float));
    while (n % 8) header[n++] = ' ';
    unsigned char length[8] = {(unsigned char)n}; /* below 256 */
    e->unfinished = unfinished_begin(path);
    tdm_status status = atomic_file_new_named(&e->file, path, err);
    if (!status) status = atomic_file_write(e->file, length, sizeof length, err);
    return status ? status : atomic_file_write(e->file, header, (size_t)n, err);
}

static tdm_status write_rows(evaluation *e, const float *rows, size_t n, tdm_error *err)
{
    return atomic_file_write(e->file, rows, sizeof(float) * e->vocabulary * n, err);
}

/* A file that was there is replaced by a whole one, or stays. */
static tdm_status end_file(evaluation *e, tdm_status status, tdm_error *err)
{
    if (status)
        atomic_file_abort(e->file);
    else if (e->file)
        status = atomic_file_commit(e->file, err);
    e->file = NULL;
    unfinished_end(e->unfinished);
    return status;
}

/* log(sum(exp(row))) - row[id]: what the token cost, in nats. */
static double cost(const float *row, size_t n, tdm_id id)
{
    double most = row[0], sum = 0;
    for (size_t i = 1; i < n; i++)
        if (row[i] > most) most = row[i];
    for (size_t i = 0; i < n; i++) sum += exp(row[i] - most);
    return log(sum) + most - row[id];
}

/* One position against the same of the other kernels: the Kullback-Leibler divergence of ours from theirs,
 * sum p log(p / q), and whether the likeliest token is the same. */
static void compare(evaluation *e, const float *theirs, const float *ours)
{
    size_t n = e->vocabulary, their_best = 0, our_best = 0;
    for (size_t i = 1; i < n; i++) {
        if (theirs[i] > theirs[their_best]) their_best = i;
        if (ours[i] > ours[our_best]) our_best = i;
    }
    double their_sum = 0, our_sum = 0, divergence = 0;
    for (size_t i = 0; i < n; i++) {
        their_sum += exp(theirs[i] - theirs[their_best]);
        our_sum += exp(ours[i] - ours[our_best]);
    }
    for (size_t i = 0; i < n; i++) {
        double p = theirs[i] - theirs[their_best] - log(their_sum), q = ours[i] - ours[our_best] - log(our_sum);
        divergence += exp(p) * (p - q);
    }
    e->other.sum += divergence;
    if (divergence > e->other.largest) e->other.largest = divergence;
    e->other.positions++;
    e->other.same += their_best == our_best;
}

/* ---- The evaluation -------------------------------------------------------------------------------------------- */

/* theirs: room for the rows of the other kernels, NULL without --against. */
static tdm_status evaluate_piece(evaluation *e, size_t start, size_t n, float *rows, float *theirs, tdm_error *err)
{
    bool perplexity = options_flag(e->o, OPTION_PERPLEXITY);
    bool last_only = options_flag(e->o, OPTION_LAST), last = start + n == e->ids.n;
    bool need_all = perplexity || theirs || (e->file && !last_only);
    const tdm_id *ids = (e->placed ? e->placed : e->ids.ids) + start;
    int64_t start_ns = clock_ns();
    tdm_status status = tdm_sequence_eval(e->session, ids, n, last, need_all ? rows : NULL, err);
    if (status) return status;
    e->ns += clock_ns() - start_ns;
    for (size_t i = 0; perplexity && i < n && start + i + 1 < e->ids.n; i++) {
        e->log_sum += cost(rows + i * e->vocabulary, e->vocabulary, e->ids.ids[start + i + 1]);
        e->predicted++;
    }
    if (theirs) {
        status = tdm_sequence_eval(e->other.session, ids, n, last, theirs, err);
        if (status) return status;
        for (size_t i = 0; i < n; i++) compare(e, theirs + i * e->vocabulary, rows + i * e->vocabulary);
    }
    if (!e->file) return TDM_OK;
    if (!last_only) return write_rows(e, rows, n, err);
    return last ? write_rows(e, tdm_sequence_logits(e->session), 1, err) : TDM_OK;
}

static tdm_status evaluate(evaluation *e, tdm_error *err)
{
    tdm_sequence_options s = {
        .unit = TDM_PREFILL_UNIT,
        .kv = load_kv(e->o),
        .context = (int)options_int(e->o, OPTION_CONTEXT, (int64_t)e->ids.n),
        .dispatch = (int)options_int(e->o, OPTION_DISPATCH, 0),
    };
    tdm_status status = load_machine(&e->machine, e->o, NULL, &(load_how){0}, err);
    if (!status) load_machine_notes(e->o, e->machine);
    if (!status) status = tdm_sequence_open(&e->session, e->model, e->machine, &s, err);
    if (!status) status = show_pictures(e, e->session, err);
    const char *against = options_text(e->o, OPTION_AGAINST);
    if (!status && against) {
        if (!strcmp(against, "reference")) s.kv = TDM_KV_F32;
        status =
            load_model(&e->other.model, e->o, options_text(e->o, OPTION_MODEL), &(load_how){.kernels = against}, err);
        if (!status) status = tdm_sequence_open(&e->other.session, e->other.model, e->machine, &s, err);
        if (!status) status = show_pictures(e, e->other.session, err);
    }
    if (status) return status;
    size_t piece_bytes = sizeof(float) * e->vocabulary * PIECE;
    float *rows = malloc(piece_bytes), *theirs = against ? malloc(piece_bytes) : NULL;
    if (!rows || (against && !theirs)) {
        free(rows);
        free(theirs);
        return error_set(err, TDM_E_NOMEM, "no memory for the logits of %d positions", PIECE);
    }
    if (options_text(e->o, OPTION_LOGITS)) status = begin_file(e, options_flag(e->o, OPTION_LAST) ? 1 : e->ids.n, err);
    for (size_t i = 0; !status && i < e->ids.n; i += PIECE)
        status = evaluate_piece(e, i, e->ids.n - i < PIECE ? e->ids.n - i : PIECE, rows, theirs, err);
    free(rows);
    free(theirs);
    return end_file(e, status, err);
}

static void print_perplexity(const evaluation *e)
{
    double perplexity = exp(e->log_sum / (double)e->predicted);
    if (options_flag(e->o, OPTION_JSON))
        output_print("{\"perplexity\":%.6g,\"tokens\":%zu}\n", perplexity, e->predicted);
    else
        output_print("perplexity %.4f tokens %zu\n", perplexity, e->predicted);
}

static void print_divergence(const evaluation *e)
{
    double n = (double)e->other.positions, mean = e->other.sum / n, same = (double)e->other.same / n;
    if (options_flag(e->o, OPTION_JSON))
        output_print("{\"kl_mean\":%.6g,\"kl_largest\":%.6g,\"same_choice\":%.6g,\"positions\":%zu}\n", mean,
                     e->other.largest, same, e->other.positions);
    else
        output_print(
            "KL divergence from %s: mean %.3g, largest %.3g nats; same first choice at %.1f %% of %zu positions\n",
            options_text(e->o, OPTION_AGAINST), mean, e->other.largest, 100 * same, e->other.positions);
}

/* What -v asks for. */
static void print_figures(const evaluation *e)
{
    double seconds = 1e-9 * (double)e->ns;
    if (!options_flag(e->o, OPTION_VERBOSE)) return;
    output_note("%zu tokens in %.2f s, %.0f tok/s", e->ids.n, seconds, seconds > 0 ? (double)e->ids.n / seconds : 0);
}

int eval_main(options *o)
{
    int inputs = options_given(o, OPTION_IDS) + options_given(o, OPTION_IDS_FILE) + options_given(o, OPTION_TEXT_FILE);
    bool perplexity = options_flag(o, OPTION_PERPLEXITY);
    if (o->n_arguments)
        return subcommands_usage(o, "'%s' is not expected; texts come with --text-file", o->arguments[0]);
    if (inputs != 1) return subcommands_usage(o, "needs one of --ids, --ids-file and --text-file");
    bool against = options_given(o, OPTION_AGAINST);
    if (!perplexity && !against && !options_given(o, OPTION_LOGITS))
        return subcommands_usage(o, "needs --logits FILE, --perplexity or --against KERNELS");
    if (!subcommands_may_write(o, options_text(o, OPTION_LOGITS))) return 1;

    evaluation e = {.o = o, .unfinished = -1};
    tdm_error err = {0};
    tdm_model_info info;
    tdm_status status = load_model(&e.model, o, options_text(o, OPTION_MODEL), &(load_how){0}, &err);
    if (!status) {
        load_notices(e.model);
        tdm_model_describe(e.model, &info);
        e.vocabulary = (size_t)info.vocabulary;
        status = read_ids(&e, &err);
    }
    if (!status) status = read_pictures(&e, &err);
    if (!status) status = check_ids(&e, &err);
    if (!status && perplexity && e.ids.n < 2)
        status = error_set(&err, TDM_E_ARG, "perplexity needs at least two tokens");
    if (!status) status = evaluate(&e, &err);
    if (!status && perplexity) print_perplexity(&e);
    if (!status && against) print_divergence(&e);
    if (!status) print_figures(&e);
    tdm_sequence_close(e.other.session);
    tdm_sequence_close(e.session);
    tdm_machine_close(e.machine);
    tdm_model_close(e.other.model);
    tdm_model_close(e.model);
    drop_pictures(&e);
    free(e.placed);
    tdm_ids_free(&e.ids);
    return status ? load_failed(&err) : 0;
}
