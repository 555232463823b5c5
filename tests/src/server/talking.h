/* A conversation with a model on the server of scripted.h, from the engine's chat to what goes over the wire. */
#ifndef TANDEM_TESTS_TALKING_H
#define TANDEM_TESTS_TALKING_H

#include "src/server/remote_model.h"
#include "tests/src/server/scripted.h"

#define STREAM      "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n\r\n"
#define PIECE(text) "data: {\"content\":\"" text "\",\"stop\":false}\n\n"
#define PROPS                                                                                                          \
    "{\"default_generation_settings\":{\"n_ctx\":4096},\"total_slots\":1,\"chat_template\":\"{% for m in messages %}"  \
    "<|im_start|>{{ m.role }}\\n{{ m.content | trim }}<|im_end|>\\n{% endfor %}{% if add_generation_prompt %}"         \
    "<|im_start|>assistant\\n{{ '<think>\\n' if enable_thinking else '<think>\\n\\n</think>\\n\\n' }}{% endif %}\"}"

#define NO_PAGE     "HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"

/* The last event of a llama-server's reply, with its counts. */
#define END                                                                                                            \
    "data: {\"content\":\"\",\"stop\":true,\"stop_type\":\"eos\",\"tokens_evaluated\":30,\"id_slot\":3,"               \
    "\"timings\":{\"prompt_n\":5,\"cache_n\":25,\"predicted_n\":2,\"prompt_ms\":7,\"predicted_ms\":9}}\n\n"

/* The server's pages: its settings, its models; what comes behind these two is the test's. */
extern struct scripted_page talking_pages[8];
extern const char *talking_props;  /* the answer for its settings; NULL: PROPS */
extern struct scripted_page talking_more; /* one more of its pages, while it is found out what it is */
extern const char *talking_models; /* the answer for its models; NULL: one of the name m */

struct talk {
    remote_model *server;
    tdm_machine *machine;
    tdm_chat *chat;
    struct buffer text, thinking; /* of the last reply, with a zero */
    char said[400];     /* the last notice or error beside it */
    tdm_finish finish;
    tdm_turn_stats stats;
};

/* ahead: as remote_model_options. False: it failed, which is told. */
bool talking_open(struct talk *t, int ahead);
/* With a server of OpenAI's form, which has no settings; reads nothing ahead. */
bool talking_open_other(struct talk *t);
void talking_close(struct talk *t);
/* Sends a message, and takes events until a reply has ended. */
void talking_say(struct talk *t, const char *text);
void talking_until_end(struct talk *t);

#endif
