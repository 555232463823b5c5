/* Commands on the turns of the conversation (regenerate, continue, undo, compact, edit, copy, branch, compare), and on
 * attachments. */
#include "src/slash/command.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "engine/base/clock.h"
#include "engine/base/error.h"
#include "src/chat/compact.h"
#include "src/io/number.h"
#include "src/models/vision.h"
#include "ui/text/compare.h"
#include "ui/text/format.h"
#include "ui/text/markdown.h"

tdm_status command_regen(slash_running *r, tdm_error *err)
{
    tdm_status status = tdm_chat_regenerate(r->a->chat, clock_ns(), err);
    r->result->waits = !status;
    return status;
}

/* "3 Which one?": to a new message, "3": to the last one. */
tdm_status command_answers(slash_running *r, tdm_error *err)
{
    const char *argument = r->call->argument;
    size_t digits = strcspn(argument, " \t\n");
    char *number = strndup(argument, digits);
    int64_t n = 0;
    bool good = number && number_int(number, 2, TDM_ANSWERS_MAX, &n);
    free(number);
    if (!good)
        return error_set(err, TDM_E_ARG, "/answers: expected 2 to %d and a text, found '%.40s'", TDM_ANSWERS_MAX,
                         argument);
    const char *text = argument + digits + strspn(argument + digits, " \t\n");
    tdm_status status = app_answers(r->a, (int)n, *text ? text : NULL, strlen(text), clock_ns(), err);
    r->result->waits = !status && !app_queued(r->a); /* one that waits has not begun */
    return status;
}

tdm_status command_continue(slash_running *r, tdm_error *err)
{
    tdm_status status = tdm_chat_continue(r->a->chat, err);
    r->result->waits = !status;
    return status;
}

tdm_status command_undo(slash_running *r, tdm_error *err)
{
    tdm_status status = tdm_chat_undo(r->a->chat, err);
    if (!status) command_say(r, "the last turn is taken back; /redo brings it again\n");
    return status;
}

tdm_status command_redo(slash_running *r, tdm_error *err)
{
    tdm_status status = tdm_chat_redo(r->a->chat, err);
    if (!status) command_say(r, "the turn is back\n");
    return status;
}

/* The model drafts a summary; forced: also the built-in one. */
static tdm_status draft_summary(slash_running *r, bool forced, tdm_error *err)
{
    static const char remedy[] = "/model lists some; /compact --force drafts it anyway, /compact TEXT takes yours";
    tdm_status status = compact_check(r->a, err);
    if (!status && !forced) status = load_check_large(&r->a->info, "a summary", remedy, err);
    if (!status) status = compact_ask(r->a, err);
    r->result->waits = !status;
    return status;
}

/* Without a text: drafts one. */
tdm_status command_compact(slash_running *r, tdm_error *err)
{
    static const char force[] = "--force";
    const char *text = r->call->argument;
    int turns = 0, branch = 0;
    bool forced = text && !strcmp(text, force);
    if (!text || forced) return draft_summary(r, forced, err);
    tdm_status status = compact_replace(r->a, text, strlen(text), &turns, &branch, err);
    r->result->anew = !status;
    if (!status)
        command_say(r, "%d turn%s became a summary; /branch %d goes back\n", turns, turns == 1 ? "" : "s", branch);
    return status;
}

/* The current path; *n its length. malloc'ed. */
static int *current_path(const app *a, int *n)
{
    *n = tdm_chat_path(a->chat, TDM_FRONT, NULL, 0);
    int *path = calloc((size_t)*n + 1, sizeof *path);
    if (path) tdm_chat_path(a->chat, TDM_FRONT, path, *n);
    return path;
}

/* User message number `number` of the current path (0: the last); *turn its number. */
static tdm_status user_message(const app *a, long number, tdm_node *out, long *turn, tdm_error *err)
{
    int n, node = 0;
    int *path = current_path(a, &n);
    long seen = 0;
    if (!path) return error_set(err, TDM_E_NOMEM, "out of memory");
    for (int i = 0; i < n; i++) {
        tdm_node each;
        if (tdm_chat_node(a->chat, TDM_FRONT, path[i], &each, NULL)) continue;
        if (each.role == TDM_USER && (!number || seen < number)) {
            seen++;
            node = path[i];
        }
        tdm_node_free(&each);
    }
    free(path);
    if (!node || (number && seen != number))
        return error_set(err, TDM_E_NOT_FOUND,
                         seen > 1 ? "there are only %ld messages"
                         : seen   ? "there is only one message"
                                  : "there is no message yet",
                         seen);
    *turn = seen;
    return tdm_chat_node(a->chat, TDM_FRONT, node, out, err);
}

tdm_status command_edit(slash_running *r, tdm_error *err)
{
    tdm_node node;
    long turn = 0;
    tdm_status status = user_message(r->a, r->call->number, &node, &turn, err);
    if (status) return status;
    status = tdm_chat_edit(r->a->chat, node.node, err);
    if (!status) {
        app_attach_shown(r->a, &node);
        r->result->draft = node.text;
        node.text = NULL;
        command_say(r, "editing turn %ld: Enter branches\n", turn);
    }
    tdm_node_free(&node);
    return status;
}

static tdm_status last_reply(const app *a, tdm_node *out, tdm_error *err)
{
    int n;
    int *path = current_path(a, &n);
    if (!path) return error_set(err, TDM_E_NOMEM, "out of memory");
    bool found = false;
    while (n-- > 0 && !found) {
        if (tdm_chat_node(a->chat, TDM_FRONT, path[n], out, NULL)) continue;
        found = out->role == TDM_ASSISTANT && out->length;
        if (!found) tdm_node_free(out);
    }
    free(path);
    return found ? TDM_OK : error_set(err, TDM_E_NOT_FOUND, "there is no reply to copy yet");
}

tdm_status command_copy(slash_running *r, tdm_error *err)
{
    const char *argument = r->call->argument;
    int64_t number = 0;
    if (argument && !strcmp(argument, "view")) return r->front->copy_view(r->front->ctx, err);
    if (argument && !number_int(argument, 1, 1000000, &number))
        return error_set(err, TDM_E_ARG, "/copy: expected the number of a code block or 'view', found '%s'", argument);
    tdm_node node;
    tdm_status status = last_reply(r->a, &node, err);
    if (status) return status;
    size_t n = node.length;
    char *code = number ? markdown_code_block(node.text, node.length, (int)number, &n) : NULL;
    status = number && !code ? error_set(err, TDM_E_NOT_FOUND, "the last reply has no code block %d", (int)number)
                             : r->front->copy(r->front->ctx, code ? code : node.text, n, err);
    free(code);
    tdm_node_free(&node);
    return status;
}

/* The nodes that share a parent and a role with `node`, in order; how many. */
static int siblings(const app *a, const tdm_node *node, int *out, int room)
{
    int n = 0, all = tdm_chat_nodes(a->chat, TDM_FRONT);
    for (int i = 1; i <= all; i++) {
        tdm_node other;
        if (tdm_chat_node(a->chat, TDM_FRONT, i, &other, NULL)) continue;
        if (other.parent == node->parent && other.role == node->role && n < room) out[n++] = i;
        tdm_node_free(&other);
    }
    return n;
}

/* The last place of the current path where there is a choice. */
static tdm_status last_branching(const app *a, tdm_node *out, tdm_error *err)
{
    int n;
    int *path = current_path(a, &n);
    tdm_status status = error_set(err, TDM_E_NOT_FOUND, "there are no branches; /edit and /regen make them");
    for (int i = n - 1; path && i >= 0; i--) {
        if (tdm_chat_node(a->chat, TDM_FRONT, path[i], out, err)) break;
        if (out->branches > 1) {
            status = TDM_OK;
            break;
        }
        tdm_node_free(out);
    }
    free(path);
    return status;
}

tdm_status command_branch(slash_running *r, tdm_error *err)
{
    enum { LIMIT = 999 };
    int nodes[LIMIT];
    tdm_node here;
    tdm_status status = last_branching(r->a, &here, err);
    if (status) return status;
    int n = siblings(r->a, &here, nodes, LIMIT);
    if (r->call->number > n) {
        status = error_set(err, TDM_E_ARG, n == 1 ? "there is only one branch" : "there are only %d branches", n);
    } else if (r->call->number) {
        status = tdm_chat_select(r->a->chat, nodes[r->call->number - 1], err);
        if (!status) command_say(r, "branch %ld/%d\n", r->call->number, n);
    }
    for (int i = 0; !r->call->number && i < n; i++) {
        tdm_node each;
        if (tdm_chat_node(r->a->chat, TDM_FRONT, nodes[i], &each, NULL)) continue;
        int shown = (int)strcspn(each.text, "\n");
        command_say(r, "%c %d/%d  %.*s\n", nodes[i] == here.node ? '*' : ' ', i + 1, n, shown < 60 ? shown : 60,
                    each.text);
        tdm_node_free(&each);
    }
    tdm_node_free(&here);
    return status;
}

/* "2/3, this one" */
static void name_branch(const tdm_node *node, char out[40])
{
    snprintf(out, 40, "%d/%d%s", node->branch, node->branches, node->current ? ", this one" : "");
}

/* "2 3", "2" or NULL: which two of n branches, of which `here` is one. */
static bool pick_two(const char *argument, int here, int n, int64_t out[2])
{
    char first[16] = "", second[16] = "", more[2] = "";
    out[0] = here;
    out[1] = here < n ? here + 1 : here - 1;
    int words = argument ? sscanf(argument, "%15s %15s %1s", first, second, more) : 0;
    if (words < 1) return true;
    if (words > 2 || !number_int(first, 1, n, &out[words == 1])) return false;
    if (words == 2 && !number_int(second, 1, n, &out[1])) return false;
    return out[0] != out[1];
}

tdm_status command_compare(slash_running *r, tdm_error *err)
{
    enum { LIMIT = 999 };
    int nodes[LIMIT];
    int64_t two[2];
    tdm_node here, left = {0}, right = {0};
    char left_name[40], right_name[40];
    tdm_status status = last_branching(r->a, &here, err);
    if (status) return status;
    int n = siblings(r->a, &here, nodes, LIMIT);
    if (!pick_two(r->call->argument, here.branch, n, two))
        status = error_set(err, TDM_E_ARG, "/compare: expected one or two other branches from 1 to %d, found '%.40s'",
                           n, r->call->argument);
    tdm_node_free(&here);
    if (!status) status = tdm_chat_node(r->a->chat, TDM_FRONT, nodes[two[0] - 1], &left, err);
    if (!status) status = tdm_chat_node(r->a->chat, TDM_FRONT, nodes[two[1] - 1], &right, err);
    if (!status) {
        name_branch(&left, left_name);
        name_branch(&right, right_name);
        int cols = r->front->cols ? r->front->cols : 80;
        char *text = compare_texts(left_name, left.text, right_name, right.text, cols);
        if (text) r->front->say(r->front->ctx, text, strlen(text));
        else status = error_set(err, TDM_E_NOMEM, "out of memory");
        free(text);
    }
    tdm_node_free(&left);
    tdm_node_free(&right);
    return status;
}

/* ---- Attachments ----------------------------------------------------------------------------------------------- */

/* "2 attachments, 2,686 tokens, 18,100 left" */
static void sum_attached(const app *a, char out[160])
{
    char tokens[FORMAT_SIZE], left[FORMAT_SIZE];
    int all = attach_tokens(&a->attach.files), room = app_room_now(a), n = a->attach.files.n;
    snprintf(out, 160, "%d attachment%s, %s tokens, %s left", n, n == 1 ? "" : "s", format_count(tokens, all),
             format_count(left, room > all ? room - all : 0));
}

static void say_attached(const slash_running *r, const char *begin)
{
    char sum[160];
    sum_attached(r->a, sum);
    command_say(r, "%s%s\n", begin, sum);
}

void commands_attached(const app *a, int place, const char *note, char *out, size_t room)
{
    const attachment *one = &a->attach.files.all[place];
    char tokens[FORMAT_SIZE], sum[160] = "goes before your next message";
    if (a->attach.files.n > 1) sum_attached(a, sum);
    snprintf(out, room, "%s: %s tokens%s%s%s%s", one->name, format_count(tokens, one->tokens > 0 ? one->tokens : 0),
             *note ? ", " : "", note, a->attach.files.n > 1 ? "; " : ", ", sum);
}

static tdm_status list_attached(slash_running *r)
{
    const attachments *a = &r->a->attach.files;
    char tokens[FORMAT_SIZE];
    if (!a->n) {
        command_say(r, "nothing is attached; /attach FILE puts a text or a picture before your next message\n");
        return TDM_OK;
    }
    for (int i = 0; i < a->n; i++)
        command_say(r, "%3d  %7s tokens  %s\n", i + 1, format_count(tokens, a->all[i].tokens),
                    a->all[i].kind == ATTACH_FILE ? a->all[i].path : a->all[i].name);
    say_attached(r, "");
    command_say(r, "/detach N takes one back\n");
    return TDM_OK;
}

/* Without a job it is read at once, and refused where it doesn't fit. */
static tdm_status attach_one(slash_running *r, attach_kind kind, const char *path, tdm_error *err)
{
    app *a = r->a;
    attachment one;
    char note[100] = "", line[400];
    int place;
    if (a->attach.job) return attach_job_ask(a->attach.job, kind, path, false, err);
    tdm_status status =
        kind == ATTACH_CLIPBOARD ? attach_paste(&one, NULL, NULL, err) : attach_read(&one, path, NULL, NULL, note, err);
    if (!status) status = attach_take(&a->attach.files, &one, a->models.model, app_room_now(a), &place, err);
    if (status == TDM_E_UNSUPPORTED) vision_explain(a->o, a->models.model, path, err);
    if (status) return status;
    commands_attached(a, place, note, line, sizeof line);
    command_say(r, "%s\n", line);
    return TDM_OK;
}

tdm_status command_attach(slash_running *r, tdm_error *err)
{
    r->result->attaches = true;
    if (!r->call->argument) return list_attached(r);
    char **words = attach_words(r->call->argument);
    tdm_status status = words ? TDM_OK : error_set(err, TDM_E_NOMEM, "out of memory");
    int n = 0;
    while (words && words[n]) n++;
    if (n > ATTACH_MAX) status = error_set(err, TDM_E_ARG, "/attach: %d words, expected at most %d", n, ATTACH_MAX);
    if (words && !n) status = error_set(err, TDM_E_ARG, "/attach: expected the name of a file, found '%s'",
                                        r->call->argument);
    for (int i = 0; i < n && !status; i++) status = attach_one(r, ATTACH_FILE, words[i], err);
    attach_words_free(words);
    return status;
}

tdm_status command_paste(slash_running *r, tdm_error *err)
{
    r->result->attaches = true;
    return attach_one(r, ATTACH_CLIPBOARD, "clipboard", err);
}

tdm_status command_detach(slash_running *r, tdm_error *err)
{
    attachments *a = &r->a->attach.files;
    const char *argument = r->call->argument;
    char begin[400];
    int64_t number = a->n;
    r->result->attaches = true;
    if (!a->n) return error_set(err, TDM_E_NOT_FOUND, "nothing is attached");
    bool all = argument && !strcmp(argument, "all");
    if (!all && argument && !number_int(argument, 1, a->n, &number))
        return error_set(err, TDM_E_ARG, "/detach: expected a number up to %d or 'all', found '%s'", a->n, argument);
    if (!argument && a->n > 1)
        return error_set(err, TDM_E_ARG, "%d attachments: /detach N (1 to %d) or /detach all", a->n, a->n);
    if (all) {
        command_say(r, "%d attachment%s taken back\n", a->n, a->n == 1 ? "" : "s");
        for (int i = 0; i < a->n; i++) mentions_as_text(&r->a->attach.mentions, a->all[i].path, true);
        attach_clear(a);
        return TDM_OK;
    }
    snprintf(begin, sizeof begin, "%.300s is taken back", a->all[number - 1].name);
    mentions_as_text(&r->a->attach.mentions, a->all[number - 1].path, true);
    attach_remove(a, (int)number - 1);
    if (!a->n) {
        command_say(r, "%s\n", begin);
        return TDM_OK;
    }
    strcat(begin, "; ");
    say_attached(r, begin);
    return TDM_OK;
}
