/* Pictures in messages, and models that see them.
 *
 * A model that sees has a vision encoder (in other words, a vision tower). It turns a picture into embedding vectors,
 * one for each image token. In the prompt these stand where the model's template writes a placeholder token: as many
 * tokens as the picture has cells of 32 x 32 pixels (or of another side that the encoder has) after it was resized to
 * whole cells. Chats encode pictures ahead of Enter, on the prefill unit, as soon as they stand in a draft, and then
 * read their tokens as they read text. Embeddings are kept by what the picture shows and not by where it stands: an
 * edit, another order, a branch or a second question encodes nothing again.
 *
 * A model with a vision encoder behaves the same for text as one without. The encoder takes no memory before the first
 * picture.
 */
#ifndef TDM_PICTURES_H
#define TDM_PICTURES_H

#include "event.h"

/* ---- Pictures ----------------------------------------------------------------------------------------------------
 * tdm_picture: pixels, which never change, with a reference count: each pointer from _new or _hold is released with
 * _drop. Any number of threads may use, hold and drop a picture. Drafts, messages and sequences hold the pictures that
 * they are given; the caller keeps its own references. */

enum { TDM_PICTURE_SIDE = 1 << 16, TDM_PICTURE_HASH = 16 }; /* longest side, in pixels; bytes of a hash */

/* rgb: 3 bytes a pixel, rows from the top, copied. TDM_E_ARG: no pixels, or a side that is too long; TDM_E_NOMEM. */
TDM_API tdm_status tdm_picture_new(tdm_picture **out, const uint8_t *rgb, uint32_t width, uint32_t height,
                                   tdm_error *err);
TDM_API tdm_picture *tdm_picture_hold(tdm_picture *p); /* returns p */
TDM_API void tdm_picture_drop(tdm_picture *p);         /* NULL is allowed */

typedef struct {
    uint32_t width, height;
    const uint8_t *rgb; /* the picture's own pixels */
    /* Of size and pixels: the same for the same picture, in every process and on every machine. Not cryptographic: two
     * pictures that were made to have the same hash are one picture here. */
    uint8_t hash[TDM_PICTURE_HASH];
} tdm_picture_facts;

TDM_API void tdm_picture_describe(const tdm_picture *p, tdm_picture_facts *out);

/* ---- The vision encoder ------------------------------------------------------------------------------------------
 * tdm_model_options.mmproj names its file, a projector (mmproj-*.gguf), or a directory. NULL: the model's own
 * directory, if its files have an encoder, or the projector that lies beside a GGUF file. "": the model has none.
 *
 * If the file was named and can't be used, tdm_model_open fails (also if its embeddings don't have the model's width).
 * If it was found, it is left out, and `why` says so. */

typedef struct {
    bool there;
    bool left_out;   /* files of one were found, and can't be used: why says what is wrong with them */
    const char *why; /* if there is none: one line, "no projector (mmproj-*.gguf) lies beside it"; else NULL */
    const char *path, *format, *name; /* of the encoder; format: "GGUF", "safetensors" */
    uint64_t parameters, file_bytes;
    uint32_t depth, width, heads;
    uint32_t side;         /* pixels of the side of a token's cell */
    uint32_t least_tokens; /* bounds of a picture's tokens, by the model's files */
    uint32_t most_tokens;
    tdm_id pad;            /* id of the placeholder token; -1: the files don't say */
} tdm_vision;

/* Strings live as long as the model. */
TDM_API void tdm_model_vision(const tdm_model *m, tdm_vision *out);

typedef struct {
    uint32_t width, height; /* in pixels, after the picture was resized */
    uint32_t columns, rows; /* in tokens */
    uint32_t tokens;        /* columns * rows, without the special tokens before and after the picture */
} tdm_picture_fit;

/* How a picture of this size is resized. most_tokens: a bound below the model's own; 0: none. TDM_E_UNSUPPORTED: the
 * model has no vision encoder; the line says why (tdm_vision.why). TDM_E_ARG: a side is more than 200 times the other
 * one. */
TDM_API tdm_status tdm_picture_fit_of(const tdm_model *m, uint32_t width, uint32_t height, uint32_t most_tokens,
                                      tdm_picture_fit *out, tdm_error *err);

/* ---- Messages ----------------------------------------------------------------------------------------------------
 * A message has its pictures in order, each at a place of its text (tdm_placed_picture, in base.h): before the byte
 * `at`, which begins a character, or at its end. Places ascend, and may be equal. Only messages of the user have
 * pictures. tdm_message, tdm_node and so tdm_render, tdm_chat_load, tdm_chat_node and tdm_server_ask have them as
 * `pictures` and n_pictures. The text itself has nothing in a picture's place.
 *
 * tdm_render (of a model) writes one placeholder token for each picture, in its text and in its ids. TDM_E_REFUSED: the
 * model's chat template has no place for one. */

/* As tdm_chat_set_draft, tdm_chat_answers (answers 1: tdm_chat_send) and tdm_chat_unqueue, which are these without
 * pictures. TDM_E_ARG: a place is not as above; TDM_E_UNSUPPORTED: the model has no vision encoder; TDM_E_CONTEXT. */
TDM_API tdm_status tdm_chat_set_draft_pictures(tdm_chat *c, const char *text, size_t length,
                                               const tdm_placed_picture *pictures, size_t n, bool held, tdm_error *err);
TDM_API tdm_status tdm_chat_send_pictures(tdm_chat *c, const char *text, size_t length,
                                          const tdm_placed_picture *pictures, size_t n, int answers, int64_t enter_ns,
                                          tdm_error *err);
/* *pictures: malloc'ed, with pictures that the caller drops; NULL: there are none. */
TDM_API char *tdm_chat_unqueue_pictures(tdm_chat *c, tdm_placed_picture **pictures, size_t *n);

/* How far a picture is. Encoding begins when it stands in a draft that may be read, or in a message that is sent. It
 * does not wait for the conversation before the picture to be read. It continues while a reply is written, layer by
 * layer, and yields to the reply as dispatches do. If a picture no longer stands in a draft or message, its encoding is
 * cancelled at the next layer. */
typedef enum {
    TDM_PICTURE_WAITING,  /* nothing is done yet; also of a picture that stands in no draft and no message */
    TDM_PICTURE_ENCODING, /* step `done` of `steps`: the patches, each layer, the merger */
    TDM_PICTURE_READING,  /* it is encoded; `read` of its `tokens` are read, perhaps none */
    TDM_PICTURE_READ,
    TDM_PICTURE_FAILED,   /* it can't be encoded, for lack of memory: `why` */
} tdm_picture_stage;

typedef struct {
    tdm_picture_stage stage;
    uint32_t done, steps;
    uint32_t tokens;
    uint32_t read; /* of its tokens in the prompt, those that are read; of a picture at several places, the first
                      one's */
    char why[160];
} tdm_picture_status;

/* The status of a picture of the draft, or of a message on the current path. */
TDM_API void tdm_chat_picture_of(const tdm_chat *c, const tdm_picture *p, tdm_picture_status *out);

/* tdm_chat_options.picture_tokens bounds the tokens of a picture; another bound makes another prompt.
 * tdm_chat_options.picture_bytes is the budget for embeddings that are kept. Those of pictures in the prompt are always
 * kept; of the others, those that were used longest ago are dropped first. tdm_chat_cold encodes its pictures again. A
 * state stores only a picture's position, grid and hash, so a saved state resumes without pixels or embeddings. */

/* ---- Sequences --------------------------------------------------------------------------------------------------- */

/* Provides the pictures for the next runs of placeholder tokens in the ids of tdm_sequence_eval, one for each run, in
 * order, after those that were provided before. A placeholder token is tdm_vision.pad, which is -1 if the files don't
 * say which token it is. The pictures are encoded here, on the sequence's unit. A run must be as long as the picture's
 * tokens (else TDM_E_ARG by tdm_sequence_eval, and nothing was evaluated), and may be split between calls. Placeholder
 * tokens after the last picture are tokens like any other. tdm_sequence_clear forgets the pictures. most_tokens: as
 * above. TDM_E_UNSUPPORTED: the model has no vision encoder. */
TDM_API tdm_status tdm_sequence_pictures(tdm_sequence *s, tdm_picture *const *pictures, size_t n, uint32_t most_tokens,
                                        tdm_error *err);

#endif
