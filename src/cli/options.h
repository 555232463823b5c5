/* The options and commands of the program: one table of each. The parser, --help, the man page, the completions, the
 * configuration file and `/set` all read these tables, so that they can't disagree.
 *
 * A value comes from the first of: command line, configuration file, model file (sampling), built-in default. */
#ifndef TANDEM_SRC_OPTIONS_H
#define TANDEM_SRC_OPTIONS_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "engine/tandem.h"
#include "src/cli/servers.h"
#include "ui/draw/theme_own.h"

/* ---- Commands: X(ID, name, arguments, one line of help, text of --help and the man page) ----------------------- */

#define COMMAND_LIST(X)                                                                                                \
    X(CHAT, "chat", "", "a conversation in the terminal (the default)",                                                \
      "Starts a conversation. It is saved after every turn (see --private) and can be continued with --resume. "       \
      "Commands begin with a slash; /help lists them.")                                                                \
    X(DEMO, "demo", "", "the same conversation twice: read after Enter, and read ahead",                               \
      "Holds a prepared conversation twice, one run after the other, and shows both side by side, with a stopwatch "   \
      "above each answer. With -m both are shown as they were measured; with the built-in model, whose waits are "     \
      "too short to be felt, as a 4B Q4_K on this machine (a smaller one where that takes minutes), by its bytes and " \
      "operations (SCALED; x shows what was measured). The first turn is shown while the others are being measured. "  \
      "Space pauses, n goes to the next turn, r begins again, q leaves, and what was measured by then is printed. "    \
      "Nothing is saved. --script plays another conversation, whose messages are typed one after the other.")          \
    X(MONITOR, "monitor", "[PID]", "what a running Tandem does",                                                       \
      "Shows the units of a conversation that runs in another terminal, live. With --json one object a second on "     \
      "standard output. Where several run, PID picks one. It learns counts, times and speeds alone: no words of the "  \
      "conversation, nor its name, which is made of them; \"schema\" is the version of the lines. --record keeps the " \
      "lines in a file, of each what has changed (about 0.2 MB a minute), --replay shows such a file again.")          \
    X(RUN, "run", "[PROMPT] [-]", "one answer on standard output",                                                     \
      "Writes the answer to PROMPT as it is decoded. Standard input is read when there is no PROMPT, or when - is "    \
      "given: its text then follows PROMPT. Without -, a file is read too if it is at its beginning, and so is a "     \
      "pipe if its writer has ended within 200 ms or waits because the pipe is full, unless the program that started " \
      "this one (the loop of a shell) reads from it as well; a line on standard error says what was read. A picture "  \
      "on standard input, and one that a word of PROMPT names (@photo.jpg), goes before the prompt, for models that "  \
      "see. With --json every line is an object: {\"event\":\"token\"} with id and text for every token, at last "     \
      "{\"event\":\"done\"} with text, reason (end, length, stop, context, repeats, interrupted or failed), "          \
      "prompt_tokens, output_tokens, ttft_ms (null: no token came), prefill_tps and decode_tps. Without -n an "        \
      "answer ends after 4096 "                                                                                        \
      "tokens, unless --ignore-eos is given. With -r PROMPT (and standard input) is the input of a prompt of the "     \
      "library, which needs a larger model than the built-in one (--force). With --answers N every object has the "    \
      "number of its answer, and each has a done; otherwise the answers follow each other under [1], [2] ... With "    \
      "--script a conversation is played instead, one object a turn.")                                                 \
    X(EVAL, "eval", "", "logits or perplexity of a text",                                                              \
      "Evaluates token ids (--ids, --ids-file) or a text (--text-file), with pictures (--image). --logits writes a "   \
      "safetensors file with one float32 tensor 'logits' of [positions, vocabulary]; --perplexity prints one line.")   \
    X(TOKENIZE, "tokenize", "[TEXT]", "token ids of a text, or text of ids",                                           \
      "Prints the token ids of TEXT, or of standard input, on one line. The spelling of an added token (such as "      \
      "<|im_end|>) becomes that token. --decode reads ids, in either of the forms printed, and writes their text. -m " \
      "also takes a bare tokenizer.json.")                                                                             \
    X(RENDER, "render", "", "the prompt that the chat template makes",                                                 \
      "Prints the prompt of the messages in a JSON file: an array of {\"role\", \"content\"}, or an object with it "   \
      "as \"messages\". Without -m and --template it is ChatML's. A content is a text, or a list of OpenAI's parts: "  \
      "{\"type\": \"text\", \"text\"} and {\"type\": \"image_url\", \"image_url\": {\"url\"}}, a path or a data "      \
      "address. A model that sees has as many ids in a picture's place as eval --image takes for it.")                 \
    X(INFO, "info", "[MODEL]", "what a model file holds",                                                              \
      "Prints shape, types, sizes, template and sampling defaults of a model, and the vision tower that it has, or "   \
      "those of a projector (mmproj-*.gguf); --cpu what was found in the processor and chosen for it. With "           \
      "http://HOST:PORT or https://HOST what a server says of itself: kind, models, context, "                         \
      "round trip. The server is asked by the program tandem-net; nothing else is sent.")                              \
    X(MODELS, "models", "", "the models on this computer",                                                             \
      "Lists what the Hugging Face cache, the folders of --model-folders and the latest uses of -m hold: name, type, " \
      "size on disk, about the memory that it needs with 8192 tokens of context, the expected speed of replies "       \
      "(memory bandwidth divided by the bytes of weights that one token needs), and whether it fits into the free "    \
      "memory; 'from disk' says that some experts of a mixture will be read from its file, 'stay on disk' tells of a " \
      "table of which single rows are read (Gemma 4 E2B, E4B). The bandwidth is the one that a conversation or "       \
      "`tandem info --cpu --measure` has measured with the other limits of the cores and kept, or measured now, in a " \
      "moment. Chats with --private leave no trace in the list. With --json every line is an object: name "            \
      "(as -m takes it), path, type, disk_bytes, needs_bytes, table_bytes (what stays on disk, if any), token_bytes "  \
      "(read for a token), fits (\"yes\", \"no\" or \"from disk\"), expected_tps, sees (pictures), default (the "      \
      "configuration names it) and error (why Tandem can't use it); what is not known is null.")                       \
    X(PULL, "pull", "OWNER/NAME[:TAG]", "fetch a model from the Hugging Face hub",                                     \
      "Fetches a model into the local Hugging Face cache, which other programs share, and says first what it takes, "  \
      "why, and how much that is. Of GGUF models TAG picks the quant (unsloth/Qwen3.5-4B-GGUF:Q4_K_M); without TAG "   \
      "it is Q4_K_M, else UD-Q4_K_XL, else the largest that fits the memory less 3 GB. If there is a vision "          \
      "projector (mmproj, in BF16 or F16), it is fetched with the model. Of a safetensors model it takes "             \
      "configuration, tokenizer and weights. An interrupted download resumes; every file is checked against the "      \
      "hub's digest. Then -m takes the same name. The work is done by the program tandem-pull, since the chat opens "  \
      "no connection; it is there when Tandem was built with libcurl. With --json every line is an object with "       \
      "\"event\": plan (repository, tag, host, reason, files, bytes, projector_bytes (of these, where there is one), " \
      "missing_bytes, free_bytes, fits_memory, folder), progress (done_bytes, total_bytes, bytes_per_s), note and "    \
      "error (text), stopped, and at last done (text: the name for -m).")                                              \
    X(CONVERT, "convert", "IN OUT.gguf", "write a model as GGUF in another type",                                      \
      "Reads a model in any form that -m takes and writes a GGUF file with its matrices in the type asked for.")       \
    X(BENCH, "bench", "[SUITE...]", "measure this machine and compare the pipelines",                                  \
      "Measures and prints tables: medians with the range from the 5th to the 95th percentile, and how often each "    \
      "was measured. Without SUITE all of turns, interference, model, pass, streams, mtp, throughput, ttft, "          \
      "dispatch, "                                                                                                     \
      "handover, crossover, power, glyph, screen, template, kernels and images, for the built-in model and "           \
      "synthetic:0.8b:q8_0, "                                                                                          \
      "within the budget. turns and glyph alone and without a budget measure 30 warm turns each, however long that "   \
      "takes. server measures warm turns on the server that -m names, to which it sends texts of its own (--yes). "    \
      "The work is done by the program tandem-bench; it is there when Tandem was built with libvterm.")                \
    X(CONFIG, "config", "[NAME...]", "every option's value and where it comes from",                                   \
      "Lists the options that the configuration file may set, or those that are named, with value and origin: "        \
      "default, model file, configuration file or command line.")

typedef enum {
#define X(id, ...) COMMAND_##id,
    COMMAND_LIST(X)
#undef X
    COMMAND_COUNT
} command_id;

typedef struct {
    const char *name, *arguments, *summary, *text;
} command_info;

extern const command_info command_table[COMMAND_COUNT];

/* Pages, which may be requested in place of a command and which src/cli/program.h prints. X(ID, name) */
#define PAGE_LIST(X)                                                                                                   \
    X(HELP, "--help") X(H, "-h") X(HELP_WORD, "help") X(VERSION, "--version") X(MAN, "--man")                          \
    X(BASH, "--completion-bash") X(ZSH, "--completion-zsh") X(FISH, "--completion-fish")                               \
    X(MODELS, "--complete-models") X(SESSIONS, "--complete-sessions") X(PROMPTS, "--complete-prompts")

typedef enum {
#define X(id, name) PAGE_##id,
    PAGE_LIST(X)
#undef X
    PAGE_COUNT
} page_id;

/* The page that the words ask for, alone or as `help help`; PAGE_COUNT: they ask for none. */
page_id page_asked(int argc, char **argv);

/* ---- Options --------------------------------------------------------------------------------------------------- */

typedef enum {
    KIND_FLAG,     /* no argument; =on and =off are understood */
    KIND_INT,      /* a whole number in [low, high] */
    KIND_AUTO,     /* the same, or the word auto */
    KIND_FULL,     /* the same, or 0 or the word full, which is 0 */
    KIND_SEED,     /* 0 .. 2^64-1 */
    KIND_REAL,     /* a finite number in [low, high] */
    KIND_SIZE,     /* bytes with K, M, G, T */
    KIND_CHOICE,   /* one of the words in `argument`, separated by | */
    KIND_SWITCH,   /* the same, and alone it means on */
    KIND_THEME,    /* a KIND_CHOICE, or the name of one of the user's own themes */
    KIND_TEXT,
    KIND_FILE,     /* a path (engine/os/path.h), completed as one */
    KIND_LIST,     /* a text; may be given several times */
    KIND_MAYBE,    /* a text that may be left out */
} option_kind;

typedef enum { SECTION_MODEL, SECTION_REPLY, SECTION_SAMPLING, SECTION_UNITS, SECTION_CHAT, SECTION_OUTPUT,
               SECTION_COUNT } option_section;
extern const char *const option_section_names[SECTION_COUNT];

enum {
    KEEP = 1,       /* may stand in the configuration file */
    LIVE = 2,       /* /set changes it in a running chat */
    FROM_MODEL = 4, /* the model file may set its default */
    LOOK = 8,       /* /set changes it in the full screen; conversations don't depend on it */
    RARE = 16,      /* for measurements and tests: listed only in --help=all and in the man page */
};

#define FOR(c) (1u << COMMAND_##c)
#define FOR_ANSWER (FOR(CHAT) | FOR(RUN)) /* set by the script of a demo */
#define FOR_TALK (FOR_ANSWER | FOR(DEMO))
#define FOR_SCREEN (FOR(CHAT) | FOR(DEMO) | FOR(MONITOR))
#define FOR_WORK (FOR_TALK | FOR(EVAL))
#define FOR_TIMES (FOR_WORK | FOR(BENCH))
#define FOR_MODEL (FOR_WORK | FOR(TOKENIZE) | FOR(RENDER) | FOR(INFO))

/* X(ID, name, letter, kind, argument, low, high, default, section, flags, commands, help) */
#define OPTION_LIST(X)                                                                                                 \
    X(MODEL, "model", 'm', FILE, "MODEL", 0, 0, "the built-in one; chat, run: the last", MODEL, KEEP, FOR_MODEL,       \
      "GGUF file, Hugging Face directory, what `tandem pull` fetched (unsloth/Qwen3.5-4B-GGUF:Q4_K_M), builtin, "      \
      "http://HOST:PORT[#MODEL] or NAME of the configuration's servers, or synthetic:0.8b[/layers][:type]; without "   \
      "it chat and run take the one that was used last (run says which, and asks a server only by -m)")                \
    X(YES, "yes", 0, FLAG, NULL, 0, 0, "off", MODEL, 0, FOR(CHAT) | FOR(RUN) | FOR(BENCH),                             \
      "agree that what you write goes to the server that is named; otherwise you are asked")                           \
    X(READ_AHEAD, "read-ahead", 0, CHOICE, "auto|history|off", 0, 0, "auto", MODEL, KEEP, FOR(CHAT),                   \
      "what of a conversation a server reads before Enter; auto: what is final, and nothing where that may cost "      \
      "money, as with any server of OpenAI's form; history: there too")                                                \
    X(CONTEXT, "context", 'c', AUTO, "N", 16, 1048576, "auto", MODEL, KEEP, FOR_ANSWER | FOR(EVAL),                    \
      "tokens of context; auto: what the model and half the free memory allow, at most 32768")                         \
    X(THREADS, "threads", 't', AUTO, "N", 1, 4096, "auto", MODEL, KEEP, FOR_WORK,                                      \
      "cores used in all; auto: every allowed one")                                                                    \
    X(KV, "kv", 0, CHOICE, "f32|f16|q8_0", 0, 0, "f16", MODEL, KEEP, FOR_TIMES, "type of the keys and values")         \
    X(KERNELS, "kernels", 0, CHOICE, "reference|scalar|avx2|avx512|amx|amx-bf16|neon", 0, 0,                           \
      "the best for this processor", MODEL, KEEP | RARE, FOR_TIMES | FOR(INFO),                                        \
      "arithmetic; reference: plain float32; amx: avx512 and Intel's matrix unit; amx-bf16: as --prefill-kind has it") \
    X(QUANT, "quant", 0, CHOICE, "q8_0|q4_0", 0, 0, "as stored", MODEL, KEEP, FOR_TIMES | FOR(INFO),                   \
      "quantise the matrices while loading")                                                                           \
    X(LM_HEAD, "lm-head", 0, CHOICE, "q8_0|q6_k|as-is", 0, 0, "as-is", MODEL, KEEP | RARE, FOR_TIMES | FOR(INFO),      \
      "type of the last matrix, the one that makes the logits")                                                        \
    X(EXPERT_MEMORY, "expert-memory", 0, SIZE, "SIZE", 0, 0, "as the free memory allows", MODEL, KEEP,                 \
      FOR_TIMES | FOR(INFO),                                                                                           \
      "most memory for a mixture's experts (K, M, G); the others are read from the file when they are needed")         \
    X(PACK_CACHE, "pack-cache", 0, SIZE, "SIZE", 0, 0, "a tenth of the free space", MODEL, KEEP, FOR_WORK | FOR(INFO), \
      "most disk space for weights that are kept as they lie in memory, for quicker starts (~/.cache/tandem/packed); " \
      "0: none")                                                                                                       \
    X(ACCEPT_UNKNOWN, "accept-unknown", 0, LIST, "KEY", 0, 0, "none", MODEL, 0,                                        \
      FOR_MODEL | FOR(BENCH) | FOR(MODELS) | FOR(CONVERT),                                                             \
      "load a model although its files have this key, or tensor, that may change replies and is not known; the line "  \
      "that refuses it names it; * stands for any characters; may be given several times")                             \
    X(MMPROJ, "mmproj", 0, FILE, "FILE", 0, 0, "what lies with the model", MODEL, 0,                                   \
      FOR_WORK | FOR(RENDER) | FOR(INFO),                                                                              \
      "a model's vision tower: a projector (mmproj-*.gguf), or a directory that has one; none: it is to have none")    \
    X(SYSTEM, "system", 's', TEXT, "TEXT", 0, 0, "none", REPLY, KEEP, FOR_ANSWER, "system prompt")                     \
    X(MAX_TOKENS, "max-tokens", 'n', INT, "N", 1, 1048576, "until the model ends; run: 4096", REPLY, KEEP | LIVE,      \
      FOR_ANSWER, "most tokens of an answer (thinking is not counted)")                                                \
    X(ANSWERS, "answers", 0, INT, "N", 1, 8, "1", REPLY, 0, FOR(RUN),                                                  \
      "write N answers at the same time, numbered; each is what asking again would give")                              \
    X(STOP, "stop", 0, LIST, "TEXT", 0, 0, "none", REPLY, 0, FOR_TALK,                                                 \
      "end the reply before this text; may be given several times")                                                    \
    X(IGNORE_EOS, "ignore-eos", 0, FLAG, NULL, 0, 0, "off", REPLY, LIVE | RARE, FOR_TALK,                              \
      "go on past the model's end token")                                                                              \
    X(IMAGE_TOKENS, "image-tokens", 0, AUTO, "N", 4, 65536, "auto", REPLY, KEEP | LIVE, FOR_TALK | FOR(RENDER),        \
      "most tokens of a picture: fewer are read sooner and show less; auto: as many as the model's files allow")       \
    X(LOOP_GUARD, "loop-guard", 0, CHOICE, "off|on", 0, 0, "on", REPLY, KEEP | LIVE, FOR(CHAT) | FOR(RUN),             \
      "end a reply that only repeats itself: sentences, or one word, four times and for 120 tokens; lines (tables, "   \
      "lists, code) 24 times and for 600; later what may be wanted longer (punctuation, numbers, what the message "    \
      "says); never with --ignore-eos or --script")                                                                    \
    X(THINK, "think", 0, SWITCH, "off|on|low|medium|high|xhigh", 0, 0, "off", REPLY, KEEP | LIVE,                      \
      FOR_ANSWER | FOR(RENDER), "let the model think first, where it can; how much, where its template has efforts")   \
    X(KEEP_THINKING, "keep-thinking", 0, CHOICE, "auto|on|off", 0, 0, "auto", REPLY, KEEP | LIVE,                      \
      FOR_ANSWER | FOR(RENDER), "past turns keep their thinking; auto: as the model's template does")                  \
    X(ON_FULL, "on-full", 0, CHOICE, "stop|drop-oldest", 0, 0, "stop", REPLY, KEEP | LIVE, FOR(CHAT),                  \
      "what to do when the context is full")                                                                           \
    X(TEMP, "temp", 0, REAL, "X", 0, 100, "the model's", SAMPLING, KEEP | LIVE | FROM_MODEL, FOR_ANSWER,               \
      "temperature; 0: always the most likely token")                                                                  \
    X(TOP_K, "top-k", 0, INT, "N", 0, 1048576, "the model's", SAMPLING, KEEP | LIVE | FROM_MODEL, FOR_TALK,            \
      "draw among the N most likely tokens; 0: off")                                                                   \
    X(TOP_P, "top-p", 0, REAL, "X", 0.001, 1, "the model's", SAMPLING, KEEP | LIVE | FROM_MODEL, FOR_TALK,             \
      "draw among the most likely tokens that together reach X; 1: off")                                               \
    X(MIN_P, "min-p", 0, REAL, "X", 0, 1, "the model's", SAMPLING, KEEP | LIVE | FROM_MODEL, FOR_TALK,                 \
      "leave out tokens less likely than X times the likeliest; 0: off")                                               \
    X(PRESENCE_PENALTY, "presence-penalty", 0, REAL, "X", -10, 10, "the model's", SAMPLING, KEEP | LIVE | FROM_MODEL,  \
      FOR_TALK, "taken off the logit of every token that came already; 0: off")                                        \
    X(FREQUENCY_PENALTY, "frequency-penalty", 0, REAL, "X", -10, 10, "the model's", SAMPLING,                          \
      KEEP | LIVE | FROM_MODEL, FOR_TALK, "the same for each time that it came; 0: off")                               \
    X(REPEAT_PENALTY, "repeat-penalty", 0, REAL, "X", 0.01, 10, "the model's", SAMPLING, KEEP | LIVE | FROM_MODEL,     \
      FOR_TALK, "divides the logits of tokens that came already; 1: off")                                              \
    X(SEED, "seed", 0, SEED, "N", 0, 0, "random", SAMPLING, KEEP | LIVE, FOR_ANSWER,                                   \
      "same seed, same text, whatever the number of cores")                                                            \
    X(PIPELINE, "pipeline", 0, CHOICE, "single|slots|sequential-solo|sequential|batch-solo|batch|tandem", 0, 0,        \
      "tandem", UNITS, KEEP | LIVE | RARE, FOR_ANSWER, "how reading and writing are shared between the units")         \
    X(SPECULATION, "speculation", 0, CHOICE, "off|history|draft|full", 0, 0, "full", UNITS, KEEP | LIVE, FOR_ANSWER,   \
      "what is read before Enter")                                                                                     \
    X(DISPATCH, "dispatch", 0, AUTO, "N", 1, 512, "auto", UNITS, KEEP | LIVE | RARE, FOR_WORK,                         \
      "most tokens of one forward pass; auto: 32, with experts 512, of which at most 128 while a reply decodes, on a " \
      "GPU 128, 32 while one does")                                                                                    \
    X(PAUSE, "pause", 0, AUTO, "MS", 0, 60000, "auto", UNITS, KEEP | LIVE | RARE, FOR_TALK,                            \
      "how long no key must come before the whole prompt is read; auto: not at all after a sentence, else "            \
      "twice the time of the prompt's end or of a key, at most 150")                                                   \
    X(ON_BATTERY, "on-battery", 0, CHOICE, "pauses|full|off", 0, 0, "pauses", UNITS, KEEP | LIVE, FOR(CHAT),           \
      "what is read ahead while a laptop runs on its battery; pauses: what is typed once the keys rest, a reply "      \
      "once it has ended; full: as on mains; off: nothing before Enter")                                               \
    X(MTP, "mtp", 0, CHOICE, "auto|off|1|2|3|4|5", 0, 0, "auto", UNITS, KEEP | LIVE, FOR_TALK,                         \
      "tokens drafted by the model's MTP head, or from the context, for one pass to verify; the text stays the same; " \
      "auto: as many as are worth it; with --pace only where the model is slower than that")                           \
    X(PREFILL_UNIT, "prefill-unit", 0, TEXT, "cpu:A-B|gpu:N", 0, 0, "by topology", UNITS, KEEP, FOR_TIMES,             \
      "cores of PREFILL, the unit that reads, or a GPU (gpu: the first one)")                                          \
    X(DECODE_UNIT, "decode-unit", 0, TEXT, "cpu:A-B|gpu:N", 0, 0, "by topology", UNITS, KEEP, FOR_TIMES,               \
      "cores of DECODE, the unit that writes, or a GPU; both units may name the same one")                             \
    X(PREFILL_KIND, "prefill-kind", 0, CHOICE, "native|blas|amx-bf16", 0, 0, "native", UNITS, KEEP | RARE, FOR_TIMES,  \
      "kind of PREFILL; blas: by OpenBLAS, which is loaded for it alone; amx-bf16: weights rounded to bfloat16, on "   \
      "the CPU's matrix unit")                                                                                         \
    X(DECODE_KIND, "decode-kind", 0, CHOICE, "native|blas|amx-bf16", 0, 0, "native", UNITS, KEEP | RARE, FOR_TIMES,    \
      "kind of DECODE")                                                                                                \
    X(NO_LENDING, "no-lending", 0, FLAG, NULL, 0, 0, "off", UNITS, KEEP | LIVE | RARE, FOR_TIMES,                      \
      "idle units keep their cores")                                                                                   \
    X(PREFILL_MODEL, "prefill-model", 0, FILE, "MODEL", 0, 0, "the same", UNITS, KEEP | RARE, FOR_TALK,                \
      "the same model in another type for PREFILL")                                                                    \
    X(PREFILL_KV, "prefill-kv", 0, CHOICE, "f32|f16|q8_0", 0, 0, "as --kv", UNITS, KEEP | RARE, FOR_TALK,              \
      "type of PREFILL's keys and values")                                                                             \
    X(BRIDGE, "bridge", 0, CHOICE, "direct|bytes", 0, 0, "direct", UNITS, KEEP | RARE, FOR_TALK,                       \
      "how a state reaches a unit with memory or types of its own; direct: copied from where it lies to where it "     \
      "goes; bytes: saved, passed on and restored, as between two programs")                                           \
    X(CHECKPOINT_MEMORY, "checkpoint-memory", 0, SIZE, "SIZE", 0, 0, "an eighth of the free memory", UNITS, KEEP,      \
      FOR_TALK, "most memory for checkpoints (K, M, G); they are given back while the machine is short of memory")     \
    X(MEASURE_IDLE, "measure-idle", 0, CHOICE, "off|on", 0, 0, "on", UNITS, KEEP, FOR(CHAT),                           \
      "measure at the first rest what the cores can do at most, in two seconds, for the monitor's shares, and with a " \
      "GPU or a matrix unit (AMX) what should read and write, and whether in bfloat16, where no unit or kind is "      \
      "named (taken from the next start on; /units says why); given up at the first key, not with --private, and not " \
      "on a battery below 20 %")                                                                                       \
    X(PACE, "pace", 0, REAL, "X", 0, 100000, "0", UNITS, KEEP | LIVE | RARE, FOR_ANSWER,                               \
      "hold DECODE to X tokens a second; 0: off")                                                                      \
    X(PLAIN, "plain", 0, FLAG, NULL, 0, 0, "off", CHAT, KEEP, FOR(CHAT),                                               \
      "line by line: for screen readers, pipes and simple terminals")                                                  \
    X(RESUME, "resume", 0, MAYBE, "NAME", 0, 0, "a new session", CHAT, 0, FOR(CHAT),                                   \
      "continue a saved session; without NAME the latest")                                                             \
    X(BACKGROUND, "background", 0, CHOICE, "auto|off", 0, 0, "auto", CHAT, KEEP | LIVE, FOR(CHAT),                     \
      "a conversation that you leave while a reply is written goes on in the background; auto: with every pass of "    \
      "the reply in front where that slows it by at most a fifth, else with every n-th; off: it is stopped, its text " \
      "is kept")                                                                                                       \
    X(PRIVATE, "private", 0, FLAG, NULL, 0, 0, "off", CHAT, KEEP, FOR(CHAT),                                           \
      "write nothing to disk; the system's swap isn't covered")                                                        \
    X(STATE_DISK, "state-disk", 0, SIZE, "SIZE", 0, 0, "4G", CHAT, KEEP, FOR(CHAT),                                    \
      "most disk space for the kept states of saved sessions")                                                         \
    X(THEME, "theme", 0, THEME, "auto|dark|light|mono", 0, 0, "auto", CHAT, KEEP | LOOK, FOR_SCREEN,                   \
      "colours; auto: dark or light, as the terminal's background is; or the NAME of theme.NAME.ROLE lines in the "    \
      "configuration file")                                                                                            \
    X(ASCII, "ascii", 0, FLAG, NULL, 0, 0, "off", CHAT, KEEP | LOOK, FOR_SCREEN, "draw with ASCII characters alone")   \
    X(WIDTH, "width", 0, FULL, "N", 20, 400, "100", CHAT, KEEP | LOOK, FOR(CHAT),                                      \
      "most columns of the text; the panel takes what is left; full: as wide as the screen")                           \
    X(FOLLOW, "follow", 0, CHOICE, "auto|top|stream", 0, 0, "auto", CHAT, KEEP | LOOK, FOR(CHAT),                      \
      "what the view does with a reply: stream with its last line, stop with its first line at the top, or stop "      \
      "where it outruns reading (auto)")                                                                               \
    X(DRAFT_MARKS, "draft-marks", 0, CHOICE, "full|mark|off", 0, 0, "full", CHAT, KEEP | LOOK, FOR(CHAT),              \
      "how the draft shows what is read: tint and mark, the mark alone, or not at all")                                \
    X(IMAGE_PREVIEW, "image-preview", 0, CHOICE, "off|on", 0, 0, "on", CHAT, KEEP | LOOK, FOR(CHAT),                   \
      "on: pictures are shown small, by kitty's protocol, sixel or half blocks, as the terminal answers")              \
    X(MOTION, "motion", 0, CHOICE, "off|on", 0, 0, "on", CHAT, KEEP | LOOK, FOR_SCREEN,                                \
      "off: lanes and figures once a second, text by line")                                                            \
    X(ESC_STOPS, "esc-stops", 0, FLAG, NULL, 0, 0, "off", CHAT, KEEP | LOOK, FOR(CHAT),                                \
      "Esc on an empty draft stops the reply")                                                                         \
    X(MOUSE, "mouse", 0, CHOICE, "off|on", 0, 0, "off", CHAT, KEEP | LOOK, FOR(CHAT),                                  \
      "on: the wheel scrolls, clicks choose in lists, take chips, put the cursor; off: the terminal selects with it")  \
    X(ESC_DELAY, "esc-delay", 0, INT, "MS", 1, 10000, "50", CHAT, KEEP | LOOK, FOR_SCREEN,                             \
      "how long the rest of a key that begins with Esc may take; more for a slow line")                                \
    X(LEAVE_TRANSCRIPT, "leave-transcript", 0, FLAG, NULL, 0, 0, "off", CHAT, KEEP, FOR(CHAT),                         \
      "print the conversation on leaving")                                                                             \
    X(DEMO_PAIR, "pair", 0, TEXT, "PREFILL+DECODE", 0, 0, "none", UNITS, 0, FOR(DEMO),                                 \
      "play the script on these units ('gpu+cores', 'gpu:0+gpu:1') beside the chosen ones, both reading ahead")        \
    X(SCRIPT, "script", 0, FILE, "FILE", 0, 0, "none", CHAT, 0, FOR(RUN) | FOR(DEMO),                                  \
      "play a conversation that types itself")                                                                         \
    X(PROMPT, "prompt", 'r', TEXT, "NAME", 0, 0, "none", OUTPUT, 0, FOR(RUN),                                          \
      "a prompt of the library (man tandem, FILES), with PROMPT in its place; options of the command line go before "  \
      "its settings")                                                                                                  \
    X(FORCE, "force", 0, FLAG, NULL, 0, 0, "off", OUTPUT, 0, FOR(RUN),                                                 \
      "with -r: also with the built-in model, which is small for that")                                                \
    X(JSON, "json", 0, FLAG, NULL, 0, 0, "off", OUTPUT, 0,                                                             \
      FOR(MONITOR) | FOR(RUN) | FOR(TOKENIZE) | FOR(INFO) | FOR(EVAL) | FOR(MODELS) | FOR(PULL), "write JSON")         \
    X(RECORD, "record", 0, FILE, "FILE", 0, 0, "none", OUTPUT, 0, FOR(MONITOR),                                        \
      "write what is shown to a file, about 0.2 MB a minute: counts, times and speeds, no words")                      \
    X(REPLAY, "replay", 0, FILE, "FILE", 0, 0, "none", OUTPUT, 0, FOR(MONITOR), "show what --record wrote")            \
    X(VERBOSE, "verbose", 'v', FLAG, NULL, 0, 0, "off", OUTPUT, KEEP, FOR_WORK, "one line of figures at the end")      \
    X(TRACE, "trace", 0, FILE, "FILE", 0, 0, "none", OUTPUT, 0, FOR_TALK,                                              \
      "write what the units did as a Chrome trace (opens in Perfetto)")                                                \
    X(OVERWRITE, "overwrite", 0, FLAG, NULL, 0, 0, "off", OUTPUT, 0,                                                   \
      FOR_TALK | FOR(CONVERT) | FOR(MONITOR) | FOR(EVAL) | FOR(BENCH),                                                 \
      "replace a file that is there (--trace, --record, --logits, bench --json, OUT.gguf); otherwise that is refused") \
    X(IDS, "ids", 0, TEXT, "N,N,...", 0, 0, "none", OUTPUT, 0, FOR(EVAL), "token ids")                                 \
    X(IMAGE, "image", 0, LIST, "FILE", 0, 0, "none", OUTPUT, 0, FOR(EVAL) | FOR(DEMO),                                 \
      "eval: a picture that a run of image tokens in the ids stands for; may be given several times, in their order; " \
      "demo: one that goes before the first message")                                                                  \
    X(IDS_FILE, "ids-file", 0, FILE, "FILE", 0, 0, "none", OUTPUT, 0, FOR(EVAL),                                       \
      "token ids separated by commas or white space")                                                                  \
    X(TEXT_FILE, "text-file", 0, FILE, "FILE", 0, 0, "none", OUTPUT, 0, FOR(EVAL), "a text, as 'tokenize' takes it")   \
    X(LOGITS, "logits", 0, FILE, "FILE", 0, 0, "none", OUTPUT, 0, FOR(EVAL), "write the logits to a safetensors file") \
    X(LAST, "last", 0, FLAG, NULL, 0, 0, "off", OUTPUT, 0, FOR(EVAL), "keep the last row only")                        \
    X(PERPLEXITY, "perplexity", 0, FLAG, NULL, 0, 0, "off", OUTPUT, 0, FOR(EVAL), "print 'perplexity X tokens N'")     \
    X(AGAINST, "against", 0, CHOICE, "reference|scalar|avx2|avx512|amx|neon", 0, 0, "none", OUTPUT, 0, FOR(EVAL),      \
      "print how far the logits are from those of another arithmetic (KL divergence)")                                 \
    X(DECODE, "decode", 0, FLAG, NULL, 0, 0, "off", OUTPUT, 0, FOR(TOKENIZE), "from ids to text")                      \
    X(MESSAGES, "messages", 0, FILE, "FILE", 0, 0, "none", OUTPUT, 0, FOR(RENDER), "JSON file of the messages")        \
    X(TEMPLATE, "template", 0, FILE, "FILE", 0, 0, "the model's", MODEL, 0,                                            \
      FOR_TALK | FOR(RENDER) | FOR(INFO) | FOR(BENCH),                                                                 \
      "chat template, in Jinja as model files have it, instead of the model's; or chatml. With render it sees "        \
      "whatever members the messages have")                                                                            \
    X(TOOLS, "tools", 0, FILE, "FILE", 0, 0, "none", OUTPUT, 0, FOR(RENDER),                                           \
      "JSON file of the tools that --template sees")                                                                   \
    X(SET, "set", 0, LIST, "NAME=VALUE", 0, 0, "none", OUTPUT, 0, FOR(RENDER),                                         \
      "a variable for --template, its value in JSON; may be given several times")                                      \
    X(BOS, "bos", 0, TEXT, "TEXT", 0, 0, "none", OUTPUT, 0, FOR(RENDER), "bos_token for --template")                   \
    X(EOS, "eos", 0, TEXT, "TEXT", 0, 0, "none", OUTPUT, 0, FOR(RENDER), "eos_token for --template")                   \
    X(NOW, "now", 0, TEXT, "YYYY-MM-DDTHH:MM", 0, 0, "the time it is", OUTPUT, 0, FOR(RENDER),                         \
      "the time that --template sees")                                                                                 \
    X(NO_GENERATION, "no-generation", 0, FLAG, NULL, 0, 0, "off", OUTPUT, 0, FOR(RENDER),                              \
      "leave out the words that open a reply")                                                                         \
    X(AS_IDS, "ids", 0, FLAG, NULL, 0, 0, "off", OUTPUT, 0, FOR(RENDER), "print token ids")                            \
    X(CPU, "cpu", 0, FLAG, NULL, 0, 0, "off", OUTPUT, 0, FOR(INFO), "the processor, not the model")                    \
    X(GPU, "gpu", 0, FLAG, NULL, 0, 0, "off", OUTPUT, 0, FOR(INFO), "the GPUs that a unit can name, not the model")    \
    X(MEASURE, "measure", 0, FLAG, NULL, 0, 0, "off", OUTPUT, 0, FOR(INFO),                                            \
      "with --cpu: measure what its cores can do at most, and keep it for the monitor's shares")                       \
    X(BENCH_MODELS, "model", 'm', LIST, "MODEL", 0, 0, "builtin and synthetic:0.8b:q8_0", MODEL, 0, FOR(BENCH),        \
      "model to measure, as for chat, or builtin; may be given several times")                                         \
    X(BENCH_THREADS, "threads", 't', TEXT, "N,N,...", 0, 0, "one core, and all", MODEL, 0, FOR(BENCH),                 \
      "numbers of cores (suites model, pass)")                                                                         \
    X(BENCH_PROMPTS, "prompt-tokens", 'p', TEXT, "N,N,...", 0, 0, "32,74,128,512", MODEL, 0, FOR(BENCH),               \
      "lengths of prompts (suite model)")                                                                              \
    X(BENCH_REPLY, "reply-tokens", 'n', INT, "N", 2, 4096, "64; turns: 100", MODEL, 0, FOR(BENCH),                     \
      "tokens decoded (suites model, turns)")                                                                          \
    X(BENCH_DISPATCH, "dispatch", 0, TEXT, "N,N,...", 0, 0, "32,8,128; pass: 1,12,32,128", UNITS, 0, FOR(BENCH),       \
      "tokens of one forward pass (suites model, pass); with experts 512,128,32 and 1,12,128,512 unless given")        \
    X(BENCH_STREAMS, "streams", 0, TEXT, "N,N,...", 0, 0, "1,2,4,8,16", MODEL, 0, FOR(BENCH),                          \
      "streams decoded together (suite streams), at most 16")                                                          \
    X(MTP_ACCEPT, "mtp-accept", 0, REAL, "P", 0, 1, "off", MODEL, 0, FOR(BENCH),                                       \
      "a simulation beside the rest: drafted tokens count as right with this probability (suite mtp)")                 \
    X(RUNS, "runs", 0, INT, "N", 3, 10000, "10", OUTPUT, 0, FOR(BENCH), "most measurements of each row, at least 3")   \
    X(BUDGET, "budget", 0, TEXT, "TIME", 0, 0, "20m", OUTPUT, 0, FOR(BENCH), "time for all suites together: 90s, 20m") \
    X(QUICK, "quick", 0, FLAG, NULL, 0, 0, "off", OUTPUT, 0, FOR(BENCH),                                               \
      "two minutes, shorter replies: each suite measures its first rows")                                              \
    X(REST, "rest", 0, REAL, "SECONDS", 0, 3600, "0", OUTPUT, 0, FOR(BENCH), "pause before each measurement")          \
    X(ROWS, "rows", 0, LIST, "TEXT", 0, 0, "all", OUTPUT, 0, FOR(BENCH),                                               \
      "measure only rows that hold this text ('typed 100', 'single'); may be given several times")                     \
    X(BENCH_JSON, "json", 0, FILE, "FILE", 0, 0, "none", OUTPUT, 0, FOR(BENCH),                                        \
      "write one object a row; -: standard output")                                                                    \
    X(MARKDOWN, "md", 0, FLAG, NULL, 0, 0, "off", OUTPUT, 0, FOR(BENCH),                                               \
      "print Markdown, with machine and command (needs python3)")                                                      \
    X(MODEL_FOLDERS, "model-folders", 0, TEXT, "DIR:DIR...", 0, 0, "none", MODEL, KEEP, FOR(MODELS) | FOR(CHAT),       \
      "folders with models, for the lists of 'tandem models' and /model")                                              \
    X(DRY_RUN, "dry-run", 0, FLAG, NULL, 0, 0, "off", OUTPUT, 0, FOR(PULL),                                            \
      "say what would be taken, and take nothing")                                                                     \
    X(NO_VISION, "no-vision", 0, FLAG, NULL, 0, 0, "off", OUTPUT, 0, FOR(PULL),                                        \
      "leave out what the model sees pictures with")                                                                   \
    X(TYPE, "type", 0, CHOICE, "q8_0|q6_k|q4_k|q4_0|mxfp4|bf16|f16", 0, 0, "q8_0", OUTPUT, 0, FOR(CONVERT),            \
      "type of the matrices")

typedef enum {
#define X(id, ...) OPTION_##id,
    OPTION_LIST(X)
#undef X
    OPTION_COUNT
} option_id;

typedef struct {
    const char *name;
    char letter;
    option_kind kind;
    const char *argument;
    double low, high;
    const char *initial; /* the default in words */
    option_section section;
    int flags;
    unsigned commands;
    const char *help;
} option;

extern const option option_table[OPTION_COUNT];

/* Whether the option belongs to the command (`config` takes all options of the configuration file). */
bool option_belongs(option_id id, command_id command);
/* The command's option of that name, or OPTION_COUNT. */
option_id option_find(command_id command, const char *name);
/* "0 to 1", "off, history, draft, full": the values that are allowed, in words. */
void option_range(option_id id, char *out, size_t room);

/* ---- Values ---------------------------------------------------------------------------------------------------- */

typedef enum { FROM_DEFAULT, FROM_FILE, FROM_COMMAND_LINE, FROM_CONVERSATION } option_origin;

typedef struct {
    option_origin origin;
    char *text;          /* as given; NULL: not given (or KIND_MAYBE without its text) */
    bool automatic;      /* KIND_AUTO: the word auto */
    int64_t number;      /* KIND_FLAG, KIND_INT, KIND_AUTO, KIND_FULL; KIND_CHOICE: which word */
    uint64_t whole;      /* KIND_SEED, KIND_SIZE */
    double real;
    char **list;         /* KIND_LIST: n texts and a NULL */
    int n;
} option_value;

typedef struct {
    command_id command;
    option_value values[OPTION_COUNT];
    char **arguments; /* those that aren't options; pointers into argv */
    int n_arguments;
    bool help, help_all, version; /* help_all: of the rare options, too */
    struct theme_own *themes; /* of the configuration file */
    int n_themes;
    struct server_named *servers; /* likewise */
    int n_servers;
} options;

/* Parses a value; on failure fills err with a line about the allowed values, and the value is unchanged. */
bool option_set(options *o, option_id id, const char *text, option_origin origin, tdm_error *err);
/* The same for a value from a file of the user's, where paths are read by path_read(). */
bool option_set_line(options *o, option_id id, const char *text, option_origin origin, tdm_error *err);
/* Sets a flag that the conversation has changed; never fails. */
void option_set_flag(options *o, option_id id, bool on);

/* Reads the command line (argv[0] is the program's name). On failure one line in err: wrong usage, exit status 2. */
bool options_parse(options *o, int argc, char **argv, tdm_error *err);
/* Reads the configuration file for options that the command line did not set. An absent file is no failure. Both may
 * name a theme of the user's own before it is defined, so this call reports a theme that does not exist. */
bool options_read_file(options *o, const char *path, tdm_error *err);
void options_free(options *o);

bool options_given(const options *o, option_id id);
bool options_flag(const options *o, option_id id);
const char *options_text(const options *o, option_id id);                      /* NULL when not given */
int64_t options_int(const options *o, option_id id, int64_t fallback);         /* fallback: not given, or auto */
double options_real(const options *o, option_id id, double fallback);
uint64_t options_whole(const options *o, option_id id, uint64_t fallback);

#endif
