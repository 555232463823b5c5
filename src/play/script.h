/* A conversation that types itself, which `run --script`, the demo and the tests play.
 *
 *   {"system": "...", "history": [{"role": "user", "content": "..."}, ...],
 *    "max_tokens": 100, "temperature": 0, "seed": 1, "typing_cps": 30,
 *    "turns": [{"text": "...", "pause": 0.3, "start_after_tokens": 20, "speculation": "full",
 *               "events": [{"at_chars": 5, "do": "delete", "chars": 2}]}]}
 *
 * pause: seconds between the last key and Enter. start_after_tokens: typing begins at that token of the previous reply
 * (absent: when it has ended). typing_cps: characters a second, 0: all at once; intervals vary by half to either side,
 * drawn from the seed.
 *
 * Events are placed by characters or tokens, never by time, so that a script is the same conversation however fast it
 * is played:
 *   insert   at_chars: `text` is pasted at the end of the draft
 *   delete   at_chars: removes the last `chars` characters
 *   send     at_chars: sends the text typed so far; the rest is the next draft
 *   branch   before typing: the message of `turn` is written anew
 *   stop     after_tokens: this turn's reply ends there
 *   send_now after_tokens: the reply that runs while this turn is typed ends there, and this turn is sent
 *   continue, regenerate, undo, redo: when this turn's reply has ended, in their order
 */
#ifndef TANDEM_SRC_SCRIPT_H
#define TANDEM_SRC_SCRIPT_H

#include "engine/json/json.h"
#include "engine/tandem.h"

typedef enum {
    SCRIPT_INSERT,
    SCRIPT_DELETE,
    SCRIPT_SEND,
    SCRIPT_SEND_NOW,
    SCRIPT_STOP,
    SCRIPT_CONTINUE,
    SCRIPT_REGENERATE,
    SCRIPT_UNDO,
    SCRIPT_REDO,
    SCRIPT_BRANCH,
    SCRIPT_ACTIONS
} script_action;

typedef struct {
    script_action action;
    int at_chars, after_tokens; /* -1: absent */
    const char *text;           /* insert */
    int chars;                  /* delete */
    int turn;                   /* branch: from 1, history included */
} script_event;

typedef struct {
    const char *text;
    double pause_s;
    int start_after_tokens; /* -1: when the previous reply has ended */
    int speculation;        /* tdm_speculation; -1: as it is */
    script_event *events;
    int n_events;
} script_turn;

typedef struct {
    json_object *root;  /* owns the texts */
    const char *system; /* NULL: none */
    tdm_message *history;
    size_t n_history;
    int max_tokens;
    double temperature; /* < 0: as the options say */
    uint64_t seed;
    double typing_cps;
    script_turn *turns;
    int n;
} script;

tdm_status script_parse(script *out, const char *name, const char *bytes, size_t n, tdm_error *err);
tdm_status script_read(script *out, const char *path, tdm_error *err);
void script_free(script *s);

/* Makes the script's history, under this system message (NULL: none), the conversation of the chat. */
tdm_status script_load_history(const script *s, tdm_chat *chat, const char *system, tdm_error *err);

const char *script_action_name(script_action action);
/* The actions that wait for the end of the turn's reply. */
bool script_action_is_late(script_action action);

/* The maximum length, in tokens, of the reply to a message of this turn (from 0): by a stop of its own or, if it is the
 * turn's last message, by the next turn's send_now. A limit and not a call at the right moment, so that the
 * conversation doesn't depend on how fast it is played. */
int script_reply_limit(const script *s, int turn, bool last);

/* Seconds from one character to the next: the same for the same script, turn and character. */
double script_interval(const script *s, int turn, int character);

#endif
