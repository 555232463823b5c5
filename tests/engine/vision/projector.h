/* A small projector file in GGUF, made by a test, with something changed. */
#ifndef TANDEM_TESTS_VISION_PROJECTOR_H
#define TANDEM_TESTS_VISION_PROJECTOR_H

struct gguf_writer;

struct projector_change {
    const char *architecture, *kind; /* NULL: clip, qwen3vl_merger */
    const char *without, *odd;       /* a tensor that isn't there; one with a column too many */
    const char *more;                /* a tensor more, of one value */
    const char *without_key;
    unsigned heads;                     /* 0: 3, of 4 */
    void (*add)(struct gguf_writer *w); /* keys; NULL: none */
};

/* Two blocks of width 12, 16 positions, patches of 4 pixels of two frames. */
void projector_put(const char *path, const struct projector_change *change);

#endif
