#include "ui/readline/clusters.h"

#include <stdbool.h>
#include <stdlib.h>

#include "ui/unicode/cluster.h"

static int next(int at)
{
    return (int)cluster_end(rl_line_buffer, (size_t)rl_end, (size_t)at);
}

static int before(int at)
{
    return (int)cluster_before(rl_line_buffer, (size_t)rl_end, (size_t)at);
}

/* The place `count` clusters after `at` (or, if negative, before it), or the end of the text on that side. */
static int place(int at, int count)
{
    for (; count > 0 && at < rl_end; count--) at = next(at);
    for (; count < 0 && at > 0; count++) at = before(at);
    return at;
}

static int refuse(void)
{
    rl_ding();
    return 1;
}

static bool in_vi_command(void)
{
    return rl_editing_mode == 0 && rl_get_keymap() == vi_movement_keymap;
}

static int move(int count)
{
    if (count == 0) return 0;
    int to = place(rl_point, count);
    /* vi's cursor stands on a character; a motion that a command waits for may go behind the last one. */
    if (to == rl_end && to && in_vi_command() && !RL_ISSTATE(RL_STATE_VIMOTION)) to = before(to);
    if (to == rl_point) rl_ding();
    rl_point = to;
    return 0;
}

int clusters_forward(int count, int key)
{
    (void)key;
    return move(count);
}

int clusters_backward(int count, int key)
{
    (void)key;
    return move(-count);
}

/* One cluster is deleted, several (or as many as a numeric argument says) are killed, as readline does. */
static int take_away(int from, int to, int count)
{
    if (count > 1 || rl_explicit_arg)
        rl_kill_text(from, to);
    else
        rl_delete_text(from < to ? from : to, from < to ? to : from);
    rl_point = from < to ? from : to;
    return 0;
}

/* In overwrite mode blanks stay where something was. */
static int rub(int count, bool leaves_blanks)
{
    int from = place(rl_point, -count), to = rl_point, clusters = 0;
    if (!leaves_blanks || to == rl_end) return take_away(to, from, count);
    for (int at = from; at < to; at = next(at)) clusters++;
    rl_begin_undo_group();
    take_away(to, from, count);
    for (int i = 0; i < clusters; i++) rl_insert_text(" ");
    rl_point = from;
    rl_end_undo_group();
    return 0;
}

int clusters_rubout(int count, int key)
{
    if (count < 0) return clusters_delete(-count, key);
    if (rl_point == 0) return refuse();
    return rub(count, rl_insert_mode == 0);
}

int clusters_delete(int count, int key)
{
    (void)key;
    if (rl_point == (count < 0 ? 0 : rl_end)) return refuse();
    if (count < 0) return rub(-count, false);
    return take_away(rl_point, place(rl_point, count), count);
}

static int rubout_or_delete(int count, int key)
{
    if (!rl_end || rl_point < rl_end) return clusters_delete(count, key);
    return count < 0 ? clusters_delete(-count, key) : rub(count, false);
}

static int delete_or_list(int count, int key)
{
    if (rl_end && rl_point == rl_end) return rl_possible_completions(count, key);
    return clusters_delete(count, key);
}

static int vi_rubout(int count, int key);

/* vi's x and X kill always. */
static int vi_delete(int count, int key)
{
    if (count < 0) return vi_rubout(-count, key);
    if (!rl_end) return refuse();
    rl_kill_text(rl_point, place(rl_point, count));
    if (rl_point == rl_end) rl_point = before(rl_end);
    return 0;
}

static int vi_rubout(int count, int key)
{
    if (count < 0) return vi_delete(-count, key);
    if (!rl_point) return refuse();
    int from = rl_point;
    rl_point = place(from, -count);
    rl_kill_text(from, rl_point);
    return 0;
}

static int vi_append(int count, int key)
{
    int to = rl_point < rl_end ? next(rl_point) : rl_end;
    int result = rl_vi_append_mode(count, key);
    rl_point = to;
    return result;
}

/* The cluster before the cursor changes places with `count` behind it; at the end the last two change places. */
static int transpose(int count, int key)
{
    (void)key;
    if (count == 0) return 0;
    if (rl_point == rl_end) count = 1;
    int middle = rl_point == rl_end ? before(rl_end) : rl_point, from = before(middle);
    if (!middle) return refuse();
    char *moved = rl_copy_text(from, middle);
    rl_begin_undo_group();
    rl_delete_text(from, middle);
    rl_point = place(from, count);
    rl_insert_text(moved);
    rl_end_undo_group();
    free(moved);
    return 0;
}

rl_command_func_t *clusters_own(rl_command_func_t *by)
{
    return by == clusters_rubout ? rl_rubout : NULL;
}

rl_command_func_t *clusters_stand_in(rl_command_func_t *of)
{
    static const struct {
        rl_command_func_t *of, *by;
    } rows[] = {
        {rl_forward_char, clusters_forward},
        {rl_backward_char, clusters_backward},
        {rl_rubout, clusters_rubout},
        {rl_delete, clusters_delete},
        {rl_rubout_or_delete, rubout_or_delete},
        {rl_delete_or_show_completions, delete_or_list},
        {rl_vi_delete, vi_delete},
        {rl_vi_rubout, vi_rubout},
        {rl_vi_append_mode, vi_append},
        {rl_transpose_chars, transpose},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (rows[i].of == of) return rows[i].by;
    return NULL;
}

void clusters_settle(void)
{
    if (!in_vi_command() || RL_ISSTATE(RL_STATE_VIMOTION)) return;
    rl_point = (int)cluster_start(rl_line_buffer, (size_t)rl_end, (size_t)rl_point);
}
