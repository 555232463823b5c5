/* Figures as the screen writes them. Each call fills the caller's buffer and returns it. */
#ifndef TANDEM_UI_FORMAT_H
#define TANDEM_UI_FORMAT_H

#include <stdint.h>

#include "ui/draw/view.h"

enum { FORMAT_SIZE = 48 };

/* 1530 -> "1,530" */
const char *format_count(char out[FORMAT_SIZE], int64_t n);
/* "9 ms", "1,870 ms", from ten seconds on "12.3 s" */
const char *format_ms(char out[FORMAT_SIZE], double ms);
/* "7.1 s", "83 s", "5 min" */
const char *format_seconds(char out[FORMAT_SIZE], double s);
/* "116 MiB", "2.0 GiB" */
const char *format_bytes(char out[FORMAT_SIZE], uint64_t bytes);
/* "2026-03-01 14:05", by the clock of this place; "" for a time beyond its calendar */
enum { FORMAT_DATE = 24 };
const char *format_date(char out[FORMAT_DATE], int64_t time_s);
/* "31 tok/s", below ten with one digit: "3.2 tok/s" */
const char *format_rate(char out[FORMAT_SIZE], double tok_s);
/* "40%"; "<1%" for less than one that isn't 0 */
const char *format_percent(char out[FORMAT_SIZE], double percent);
/* A GPU's figures in pieces, the most important first: "busy 97%", "43.2/139.8 GiB", "512 W", "71 C", "1.98 GHz"; ""
 * for one that is absent. */
enum { FORMAT_GPU_PIECES = 5 };
const char *format_gpu(char out[FORMAT_SIZE], const struct view_gpu *gpu, int piece);
/* "first", "resumed", "warm", "cold"; "" for none */
const char *format_ttft_kind(enum view_ttft_kind kind);
/* "queued", "cut", "head start"; "" for none */
const char *format_ttft_mark(enum view_ttft_mark mark);
/* "warm 9 ms", "cold 1,870 ms, queued" */
const char *format_ttft(char out[FORMAT_SIZE], const struct view_ttft *ttft);

#endif
