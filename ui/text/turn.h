/* One turn of the conversation as lines, for one width.
 *
 * Three parts: the head (thinking, or the pictures of a message), the body (the text) and the tail (the quiet line of
 * figures). Of the body of a streaming reply only new text is rendered. Of long files before a message of the user's
 * only the first lines are shown; the user's own words, typed or pasted, are always shown whole. The rendering is kept
 * until its input changes. */
#ifndef TANDEM_UI_TURN_H
#define TANDEM_UI_TURN_H

#include "ui/draw/view.h"
#include "ui/text/markdown.h"

enum { TURN_PICTURES = 20 };

/* The position of a message's picture: in its head, from that line on. */
struct turn_picture {
    size_t line;
    int col, rows, cols;
};

enum turn_part { TURN_HEAD, TURN_BODY, TURN_TAIL, TURN_PARTS };

struct turn_lines {
    uint64_t id;
    bool open; /* thinking, or long files before a message, are unfolded */
    bool raw;  /* the source instead of the rendering */
    struct lines part[TURN_PARTS];
    struct turn_picture pictures[TURN_PICTURES]; /* rows 0: only its name is shown */
    size_t n_pictures;
    uint32_t generation; /* counts renderings that may have moved lines */
    /* what the parts were rendered from */
    bool valid;
    uint32_t revision;
    int width;
    struct view_options options;
    bool was_open, was_raw;
    enum view_turn_state state;
    struct view_turn_stats stats;
    int branch, branches;
    size_t text_len, thinking_len;
    int thought_s, thought_tokens;
    struct markdown md;
};

void turn_free(struct turn_lines *lines);

/* Brings the lines up to date. */
void turn_render(struct turn_lines *lines, const struct view_turn *turn, int width, const struct view_options *options);

/* Whether a byte of a part's text is in a line that is shown; *line: that line, else the one before it. */
bool turn_shows(const struct turn_lines *lines, enum turn_part part, size_t at, size_t *line);

/* Lines of all parts; without motion the unfinished last line of a streaming reply is not shown yet. */
size_t turn_height(const struct turn_lines *lines);

/* The part that holds line i of the turn, and the line's number in it. */
enum turn_part turn_part_at(const struct turn_lines *lines, size_t i, size_t *line);

/* First line of a part. */
size_t turn_part_start(const struct turn_lines *lines, enum turn_part part);

#endif
