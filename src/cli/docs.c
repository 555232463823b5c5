#include "src/cli/docs.h"

#include <string.h>

enum { WIDTH = 80, INDENT = 26 };

/* ---- Help ------------------------------------------------------------------------------------------------------ */

/* Prints words from column `column` on, broken before WIDTH, later lines indented. */
static void wrapped(FILE *out, const char *text, int column, int indent)
{
    for (const char *word = text; *word;) {
        int n = (int)strcspn(word, " ");
        if (word > text && column + 1 + n > WIDTH)
            column = fprintf(out, "\n%*s", indent, "") - 1;
        else if (word > text)
            column += fprintf(out, " ");
        fwrite(word, 1, (size_t)n, out);
        column += n;
        word += n + (word[n] == ' ');
    }
    fputc('\n', out);
}

static const char *argument_of(const option *o, char room[128])
{
    if (o->kind == KIND_FLAG) return "";
    if (o->kind == KIND_MAYBE)
        snprintf(room, 128, " [%s]", o->argument);
    else if (o->kind == KIND_SWITCH)
        snprintf(room, 128, "[=%s]", o->argument);
    else
        snprintf(room, 128, " %s%s", o->argument, o->kind == KIND_AUTO ? "|auto" : o->kind == KIND_FULL ? "|full" : "");
    return room;
}

static void option_help(FILE *out, const option *o)
{
    char argument[128], left[200], text[500];
    argument_of(o, argument);
    if (o->letter)
        snprintf(left, sizeof left, "  -%c, --%s%s", o->letter, o->name, argument_of(o, argument));
    else
        snprintf(left, sizeof left, "      --%s%s", o->name, argument_of(o, argument));
    snprintf(text, sizeof text, "%s%s%s%s", o->help,
             o->kind == KIND_FLAG ? "" : " (default: ", o->kind == KIND_FLAG ? "" : o->initial,
             o->kind == KIND_FLAG ? "" : ")");
    if (strlen(left) + 2 > INDENT)
        fprintf(out, "%s\n%*s", left, INDENT, "");
    else
        fprintf(out, "%-*s", INDENT, left);
    wrapped(out, text, INDENT, INDENT);
}

void docs_help(FILE *out)
{
    fputs("tandem - talk to language models in the terminal; while one reply is written,\n"
          "the next turn is already being read\n\n"
          "usage: tandem [COMMAND] [OPTION...]\n\n",
          out);
    for (command_id c = 0; c < COMMAND_COUNT; c++)
        fprintf(out, "  %-10s %-16s %s\n", command_table[c].name, command_table[c].arguments, command_table[c].summary);
    fputs("\n  tandem                              a conversation; at first with the built-in model\n"
          "  tandem run 'What is prefill?'       one answer\n"
          "  tandem pull OWNER/NAME[:TAG]        fetch a model; -m then takes the same name\n"
          "  tandem -m model.gguf                a conversation with another model\n"
          "  tandem COMMAND --help               the command's options\n"
          "  tandem --version                    version and licences\n",
          out);
}

void docs_command_help(FILE *out, command_id command, bool all)
{
    int left_out = 0;
    fprintf(out, "usage: tandem %s%s%s [OPTION...]\n\n", command_table[command].name,
            command_table[command].arguments[0] ? " " : "", command_table[command].arguments);
    wrapped(out, command_table[command].text, 0, 0);
    for (int section = 0; section < SECTION_COUNT; section++) {
        bool titled = false;
        for (option_id id = 0; id < OPTION_COUNT; id++) {
            if (option_table[id].section != (option_section)section || !option_belongs(id, command)) continue;
            if (!all && (option_table[id].flags & RARE)) {
                left_out++;
                continue;
            }
            if (!titled) fprintf(out, "\n%s\n", option_section_names[section]);
            titled = true;
            option_help(out, &option_table[id]);
        }
    }
    if (left_out)
        fprintf(out, "\n%d options for measuring are left out: tandem %s --help=all\n", left_out,
                command_table[command].name);
}

void docs_version(FILE *out)
{
    fputs("tandem " TDM_VERSION "\n"
          "Source: MIT, The Tandem authors.\n"
          "This program is linked with GNU readline (GPL-3.0-or-later), so as a binary it is\n"
          "distributed under the GNU General Public License, version 3.\n"
          "The built-in model, Tandem Demo 51M, is licensed under CC BY-SA 4.0; its card lies beside it.\n",
          out);
}

/* ---- Man page -------------------------------------------------------------------------------------------------- */

void docs_roff(FILE *out, const char *text)
{
    for (const char *c = text; *c; c++) {
        if (*c == '\\')
            fputs("\\e", out);
        else if (*c == '-')
            fputs("\\-", out);
        else if ((*c == '.' || *c == '\'') && c == text)
            fprintf(out, "\\&%c", *c);
        else
            fputc(*c, out);
    }
}

static void roff_option(FILE *out, const option *o)
{
    char argument[128], left[200];
    fputs(".TP\n", out);
    snprintf(left, sizeof left, "--%s%s", o->name, o->kind == KIND_FLAG ? "" : argument_of(o, argument));
    if (o->letter) fprintf(out, "\\fB\\-%c\\fR, ", o->letter);
    fputs("\\fB", out);
    docs_roff(out, left);
    fputs("\\fR\n", out);
    docs_roff(out, o->help);
    if (o->kind != KIND_FLAG) {
        fputs(" (default: ", out);
        docs_roff(out, o->initial);
        fputc(')', out);
    }
    fputs(".\n", out);
}

static void roff_options(FILE *out)
{
    for (int section = 0; section < SECTION_COUNT; section++) {
        fprintf(out, ".SS %s\n", option_section_names[section]);
        for (option_id id = 0; id < OPTION_COUNT; id++) {
            const option *o = &option_table[id];
            if (o->section != (option_section)section) continue;
            roff_option(out, o);
            fputs("Taken by:", out);
            bool first = true;
            for (command_id c = 0; c < COMMAND_COUNT; c++) {
                if (c == COMMAND_CONFIG || !option_belongs(id, c)) continue;
                fprintf(out, "%s %s", first ? "" : ",", command_table[c].name);
                first = false;
            }
            fprintf(out, ".%s\n", o->flags & KEEP ? " May stand in the configuration file." : "");
        }
    }
}

static void roff_overview(FILE *out)
{
    fputs(".TH TANDEM 1 \"\" \"tandem " TDM_VERSION "\" \"User commands\"\n"
          ".SH NAME\ntandem \\- talk to language models in the terminal\n"
          ".SH SYNOPSIS\n",
          out);
    for (command_id c = 0; c < COMMAND_COUNT; c++) {
        fprintf(out, "%s.B tandem %s\n", c ? ".br\n" : "", command_table[c].name);
        if (command_table[c].arguments[0]) {
            fputs(".I ", out);
            docs_roff(out, command_table[c].arguments);
            fputc('\n', out);
        }
        fputs("[\\fIOPTION\\fR...]\n", out);
    }
    fputs(".SH DESCRIPTION\n"
          "Tandem runs text models (Qwen, Llama, Mistral and others) on this computer. Nothing you write leaves this\n"
          "computer, unless you name a server of models; \\fBtandem pull\\fR fetches what you name.\n"
          "Two sets of cores work at the same time: while one writes a reply, the other reads\n"
          "what the next turn will need, the typed text included, so that the answer begins\n"
          "as soon as Enter is pressed.\n"
          ".SH COMMANDS\n",
          out);
    for (command_id c = 0; c < COMMAND_COUNT; c++) {
        fprintf(out, ".TP\n\\fB%s\\fR ", command_table[c].name);
        docs_roff(out, command_table[c].arguments);
        fputc('\n', out);
        docs_roff(out, command_table[c].text);
        fputc('\n', out);
    }
}

static void roff_files(FILE *out)
{
    fputs(".SH FILES\n"
          ".TP\n\\fI$XDG_CONFIG_HOME/tandem/config\\fR\n"
          "Options, one a line: \\fIname = value\\fR, with the names of the options; flags are on or off;\n"
          "lines that begin with # are comments. The command line comes first. \\fBtandem config\\fR shows\n"
          "where each value comes from. \\fItheme.NAME.ROLE = colour\\fR makes a theme of one's own, for\n"
          "\\fItheme = NAME\\fR: a role that has no line looks as in the theme dark or light. A colour is 0 to 255,\n"
          "#rrggbb (the nearest of those that every terminal shows alike is taken), default or a name: black, red,\n"
          "green, yellow, blue, magenta, cyan, white, bright\\-red and so on, grey. The roles are\n",
          out);
    for (int i = 0; i < STYLES; i++)
        fprintf(out, "%s%s", theme_style_name((enum style)i), i + 1 < STYLES ? ", " : ".\n");
    fputs("A colour with less contrast than 4.5 is told, and taken.\n"
          "\\fIserver.NAME.url = http://HOST:PORT\\fR names a server of models for \\fB\\-m NAME\\fR and\n"
          "\\fB/model\\fR. More lines may follow: \\fI.model\\fR (as the server calls it), \\fI.kind\\fR\n"
          "(llama\\-server, vllm, sglang, openai; else it is asked), \\fI.key\\-file\\fR or\n"
          "\\fI.key\\-env\\fR (where the key is that it wants) and \\fI.drafts = yes\\fR (what is typed may\n"
          "be read ahead there, and leaves this computer before Enter). Before anything is sent to a server\n"
          "for the first time, you are asked whether it may be (\\fB\\-\\-yes\\fR for scripts). Plain http goes to\n"
          "this computer and private networks; to another computer on an overlay network (100.64.0.0/10) after a\n"
          "question of its own, or with \\fI.plain\\-http = yes\\fR.\n"
          ".TP\n\\fI$XDG_CONFIG_HOME/tandem/prompts/NAME.md\\fR\n"
          "Prompts for \\fB/p\\fR and \\fBtandem run \\-r\\fR; some come with the program\n"
          "(share/tandem/prompts), and one's own of the same name goes before them. Between two lines of\n"
          "three hyphens, at the beginning and not needed, stand \\fIname = value\\fR: description, and\n"
          "model, system, think, keep\\-thinking, max\\-tokens or options of sampling, which hold for the\n"
          "session from then on. In the text that follows {{input}} is what is typed behind the name (without\n"
          "it, that follows after a blank line); {{clipboard}} and {{file:PATH}} attach what the clipboard\n"
          "and the file hold; \\e{{ is two braces.\n"
          ".TP\n\\fI$XDG_STATE_HOME/tandem/sessions\\fR\n"
          "Saved conversations (JSON), and beside them what was read of them.\n"
          ".TP\n\\fI$XDG_STATE_HOME/tandem/history\\fR\n"
          "What was typed. A session that is erased (\\fB/delete \\-\\-now\\fR) takes its messages out of it.\n"
          ".TP\n\\fI$XDG_STATE_HOME/tandem/models\\fR\n"
          "Paths of the models that conversations had lately, for \\fBtandem models\\fR.\n"
          ".TP\n\\fI$XDG_STATE_HOME/tandem/servers\\fR\n"
          "Servers that what is written may go to; one that is taken out is asked about again.\n"
          ".TP\n\\fI$XDG_STATE_HOME/tandem/unfinished\\fR\n"
          "Folders in which a file is being written: the next start removes what a killed program left there.\n"
          ".TP\n\\fI$XDG_RUNTIME_DIR/tandem\\fR\n"
          "Sockets of running conversations, for \\fBtandem monitor\\fR.\n",
          out);
}

static void roff_environment(FILE *out)
{
    fputs(".SH ENVIRONMENT\n"
          ".TP\n\\fBHF_HUB_CACHE\\fR, \\fBHUGGINGFACE_HUB_CACHE\\fR, \\fBHF_HOME\\fR, \\fBXDG_CACHE_HOME\\fR\n"
          "Where the local Hugging Face cache is looked for; \\fBtandem pull\\fR puts models into the first. ~ and\n"
          "$VARIABLE in them count.\n"
          ".TP\n\\fBHF_ENDPOINT\\fR\n"
          "The hub that \\fBtandem pull\\fR asks, https://huggingface.co when not set.\n"
          ".TP\n\\fBHF_TOKEN\\fR, \\fBHUGGING_FACE_HUB_TOKEN\\fR, \\fBHF_TOKEN_PATH\\fR\n"
          "Its access token, or the file of one; otherwise what a login left in the file token beside the cache.\n"
          "Editor, clipboard, browser and commands of the shell get neither tokens nor servers' keys.\n"
          ".TP\n\\fBHF_HUB_OFFLINE\\fR, \\fBTRANSFORMERS_OFFLINE\\fR\n"
          "When the first that is set is 1, on, yes or true, \\fBtandem pull\\fR fetches nothing.\n"
          ".TP\n\\fBhttps_proxy\\fR, \\fBno_proxy\\fR, \\fBSSL_CERT_FILE\\fR, \\fBSSL_CERT_DIR\\fR\n"
          "How \\fBtandem pull\\fR and servers of models are reached, as curl takes them. Of other variables the\n"
          "programs that connect get the locale, the user's folders, the hub's (pull), and that of a server's key.\n"
          ".TP\n\\fBTANDEM_DATADIR\\fR\nThe folder of the built\\-in model and of the prompts that come with it.\n"
          ".TP\n\\fBNO_COLOR\\fR\nWhen set, no colours.\n"
          ".TP\n\\fBTERM\\fR, \\fBCOLORTERM\\fR\n"
          "The terminal. One that is unknown here, or whose colours are RGB values, is taken for its like with a\n"
          "palette (xterm\\-256color, xterm, screen), and a line says so; the latter speaks for 256 colours then.\n"
          "Which terminal takes what is copied, it is asked itself.\n",
          out);
}

void docs_man(FILE *out, docs_part *slashes)
{
    roff_overview(out);
    fputs(".SH OPTIONS\n", out);
    roff_options(out);
    fputs(".SH IN A CONVERSATION\n", out);
    slashes(out);
    fputs(".PP\nIn a message a word that begins with @ and names a file or a folder, as in \\fI@notes.md\\fR or\n"
          "\\fI@\\(dqmy notes.md\\(dq\\fR, puts its text before the message. A line that begins with an exclamation\n"
          "mark, as in \\fI!git diff\\fR, is run with $SHELL, or sh, where it was typed (pasted it is text, and so it\n"
          "is behind a blank); what it prints goes before the next message. It has no terminal and nothing to read,\n"
          "and ends after 60 seconds or 1 MiB at the latest. Of files, 1000 at a time and 16 MiB in all can be\n"
          "attached; symbolic links, devices and binary files are left out.\n", out);
    roff_files(out);
    roff_environment(out);
    fputs(".SH EXIT STATUS\n0 when all went well, 1 when something failed, 2 for a wrong use.\n"
          ".SH LICENCE\n"
          "The source is under the MIT licence. The program is linked with GNU readline\n"
          "(GPL\\-3.0\\-or\\-later), so binaries are distributed under the GPL, version 3. The built\\-in\n"
          "model is licensed under CC BY\\-SA 4.0; its card is installed beside it.\n",
          out);
}

/* ---- Completions ----------------------------------------------------------------------------------------------- */

static void choices(FILE *out, const char *words)
{
    for (; *words; words++) fputc(*words == '|' ? ' ' : *words, out);
}

/* The words that a value may be, with bars between; NULL: it is none of a few words. */
static const char *words_of(const option *o)
{
    switch (o->kind) {
    case KIND_FLAG: return "on|off";
    case KIND_AUTO: return "auto";
    case KIND_FULL: return "full";
    case KIND_CHOICE:
    case KIND_SWITCH:
    case KIND_THEME: return o->argument;
    default: return NULL;
    }
}

/* Whether a value stands behind an equals sign alone. */
static bool may_stand_alone(const option *o)
{
    return o->kind == KIND_FLAG || o->kind == KIND_SWITCH;
}

/* What the program has names for: "models", "sessions", "prompts"; NULL: it has none. */
static const char *names_of(option_id id)
{
    if (id == OPTION_RESUME) return "sessions";
    if (id == OPTION_PROMPT) return "prompts";
    return option_table[id].argument && !strcmp(option_table[id].argument, "MODEL") ? "models" : NULL;
}

/* Commands whose argument is a model. */
static bool takes_model(command_id c)
{
    return strstr(command_table[c].arguments, "MODEL");
}

/* What `tandem config` takes. */
static void kept_names(FILE *out)
{
    for (option_id id = 0; id < OPTION_COUNT; id++)
        if (option_belongs(id, COMMAND_CONFIG)) fprintf(out, " %s", option_table[id].name);
}

void docs_bash(FILE *out)
{
    /* Readline cuts words at colons and equals signs, and so does COMP_WORDS; what follows the last such cut is
     * replaced. It quotes what it puts in (-o filenames), so names are compared and given without quotes. */
    fputs("# bash completion for tandem, made from its table of options\n"
          "_tandem_add() # names, a line each\n{\n"
          "    local name\n"
          "    while IFS= read -r name; do\n"
          "        [[ $name == \"$cur\"* ]] && COMPREPLY+=(\"$name\")\n"
          "    done\n"
          "}\n"
          "_tandem()\n{\n"
          "    local rest=${COMP_LINE:-${COMP_WORDS[*]}} piece=${COMP_WORDS[COMP_CWORD]} words=() command=chat\n"
          "    local at cur prev skip equals=\n"
          "    COMPREPLY=()\n"
          "    for ((at = 0; at <= COMP_CWORD; at++)); do\n"
          "        if [[ $at == 0 || $rest == [[:blank:]]* ]]; then words+=(''); fi\n"
          "        words[-1]+=${COMP_WORDS[at]}\n"
          "        rest=${rest#\"${rest%%[![:blank:]]*}\"}\n"
          "        rest=${rest#\"${COMP_WORDS[at]}\"}\n"
          "    done\n"
          "    cur=${words[-1]} prev=${words[-2]}\n"
          "    [[ $piece == [:=] ]] && piece=\n"
          "    skip=${cur%\"$piece\"}\n"
          "    [[ $cur == --*=* ]] && equals=yes prev=${cur%%=*} cur=${cur#*=} skip=${skip#*=}\n"
          "    cur=${cur#[\\\"\\']} cur=${cur//\\\\/} skip=${skip//\\\\/}\n"
          "    [[ ${words[1]} != -* && ${#words[@]} -gt 2 ]] && command=${words[1]}\n"
          "    _tandem_word\n"
          "    COMPREPLY=(\"${COMPREPLY[@]#\"$skip\"}\")\n"
          "}\n"
          "_tandem_word()\n{\n"
          "    local commands='",
          out);
    for (command_id c = 0; c < COMMAND_COUNT; c++) fprintf(out, "%s%s", c ? " " : "", command_table[c].name);
    fputs("'\n"
          "    case $command:$prev in\n",
          out);
    for (option_id id = 0; id < OPTION_COUNT; id++) {
        const option *o = &option_table[id];
        const char *names = names_of(id);
        bool first = true;
        for (command_id c = 0; c < COMMAND_COUNT; c++) {
            if (!option_belongs(id, c)) continue;
            fprintf(out, "%s%s:--%s", first ? "    " : "|", command_table[c].name, o->name);
            if (o->letter) fprintf(out, "|%s:-%c", command_table[c].name, o->letter);
            first = false;
        }
        fputs(") ", out);
        if (o->kind == KIND_MAYBE) fputs("[[ $cur == -* ]] || { ", out);
        if (may_stand_alone(o)) fputs("[[ -z $equals ]] || { ", out);
        if (names) fprintf(out, "_tandem_add < <(tandem --complete-%s 2>/dev/null); ", names);
        if (words_of(o)) {
            fputs("COMPREPLY=($(compgen -W '", out);
            choices(out, words_of(o));
            fputs("' -- \"$cur\")); ", out);
        } else if (o->kind == KIND_FILE || (names && !strcmp(names, "models"))) {
            fputs("_tandem_add < <(compgen -f -- \"$cur\"); ", out);
        }
        fputs(o->kind == KIND_MAYBE || may_stand_alone(o) ? "return; };;\n" : "return;;\n", out);
    }
    fputs("    esac\n"
          "    if [[ ${#words[@]} == 2 && -z $equals && $cur != -* ]]; then\n"
          "        COMPREPLY=($(compgen -W \"$commands\" -- \"$cur\")); return\n"
          "    fi\n"
          "    case $command in\n",
          out);
    for (command_id c = 0; c < COMMAND_COUNT; c++) {
        fprintf(out, "    %s) ", command_table[c].name);
        if (takes_model(c))
            fputs("[[ $cur != -* ]] && _tandem_add < <(tandem --complete-models 2>/dev/null)\n        ", out);
        if (c == COMMAND_CONFIG) {
            fputs("[[ $cur != -* ]] && { COMPREPLY=($(compgen -W '", out);
            kept_names(out);
            fputs("' -- \"$cur\")); return; }\n        ", out);
        }
        fputs("[[ $cur == -* ]] && COMPREPLY=($(compgen -W '--help", out);
        for (option_id id = 0; id < OPTION_COUNT; id++)
            if (option_belongs(id, c)) fprintf(out, " --%s", option_table[id].name);
        fputs("' -- \"$cur\"));;\n", out);
    }
    fputs("    esac\n"
          "    [[ $cur != -* ]] && _tandem_add < <(compgen -f -- \"$cur\")\n"
          "}\n"
          "complete -o filenames -F _tandem tandem\n",
          out);
}

/* Text within '...[...]' of zsh's _arguments. */
static void zsh_text(FILE *out, const char *text)
{
    for (; *text; text++) {
        if (*text == '\'')
            fputs("'\\''", out);
        else if (strchr("[]:\\", *text))
            fprintf(out, "\\%c", *text);
        else
            fputc(*text, out);
    }
}

/* begin: the option as it is typed, with what joins it to its value. */
static void zsh_option(FILE *out, option_id id, const char *begin)
{
    const option *o = &option_table[id];
    const char *names = names_of(id), *maybe = o->kind == KIND_MAYBE || may_stand_alone(o) ? "::" : ":";
    bool flag = o->kind == KIND_FLAG && begin[1] != '-'; /* of a letter, which takes no value */
    fprintf(out, " \\\n      '%s%s[", o->kind == KIND_LIST ? "*" : "", begin);
    zsh_text(out, o->help);
    fputc(']', out);
    if (!flag) fprintf(out, "%s%s:", maybe, o->name);
    if (names) {
        fprintf(out, "_tandem_%s", names);
    } else if (words_of(o) && !flag) {
        fputc('(', out);
        choices(out, words_of(o));
        fputc(')', out);
    } else if (o->kind == KIND_FILE) {
        fputs("_files", out);
    }
    fputc('\'', out);
}

void docs_zsh(FILE *out)
{
    fputs("#compdef tandem\n# zsh completion for tandem, made from its table of options\n", out);
    for (int i = 0; i < 3; i++) {
        static const char *const lists[] = {"models", "sessions", "prompts"};
        fprintf(out,
                "_tandem_%s%s() {\n"
                "  local -a names=(${(f)\"$(tandem --complete-%s 2>/dev/null)\"})\n"
                "  compadd \"$@\" -a names\n}\n",
                i ? "" : "known_", lists[i], lists[i]);
    }
    /* Behind a quote zsh would lose a path that is both a model's name and, in parts, a file's. */
    fputs("_tandem_models() {\n"
          "  if [[ $PREFIX == [/.~]* ]]; then _files\n"
          "  else _alternative 'models:model:_tandem_known_models' 'files:file:_files'; fi\n}\n"
          "_tandem() {\n"
          "  local -a commands=(\n",
          out);
    for (command_id c = 0; c < COMMAND_COUNT; c++) {
        fprintf(out, "    '%s:", command_table[c].name);
        zsh_text(out, command_table[c].summary);
        fputs("'\n", out);
    }
    fputs("  )\n"
          "  local command=chat\n"
          "  if (( CURRENT == 2 )) && [[ $words[2] != -* ]]; then\n"
          "    _describe command commands\n    return\n"
          "  fi\n"
          "  if [[ $words[2] != -* ]]; then\n"
          "    command=$words[2]\n    shift words\n    (( CURRENT-- ))\n"
          "  fi\n"
          "  case $command in\n",
          out);
    for (command_id c = 0; c < COMMAND_COUNT; c++) {
        fprintf(out, "    %s) _arguments '--help[list the options]'", command_table[c].name);
        for (option_id id = 0; id < OPTION_COUNT; id++) {
            const option *o = &option_table[id];
            char begin[80];
            if (!option_belongs(id, c)) continue;
            snprintf(begin, sizeof begin, "--%s%s", o->name,
                     may_stand_alone(o) ? "=-" : "=");
            zsh_option(out, id, begin);
            snprintf(begin, sizeof begin, "-%c%s", o->letter, o->kind == KIND_FLAG ? "" : "+");
            if (o->letter) zsh_option(out, id, begin);
        }
        if (c == COMMAND_CONFIG) {
            fputs(" '*:name:(", out);
            kept_names(out);
            fputs(")'", out);
        } else if (command_table[c].arguments[0]) {
            fprintf(out, " '*:file:%s'", takes_model(c) ? "_tandem_models" : "_files");
        }
        fputs(" ;;\n", out);
    }
    fputs("  esac\n}\n_tandem \"$@\"\n", out);
}

/* Text within '...' of fish. */
static void fish_text(FILE *out, const char *text)
{
    for (; *text; text++) {
        if (strchr("'\\", *text)) fputc('\\', out);
        fputc(*text, out);
    }
}

static void fish_option(FILE *out, option_id id)
{
    const option *o = &option_table[id];
    const char *names = names_of(id);
    const char *words = words_of(o);
    bool files = o->kind == KIND_FILE || (names && !strcmp(names, "models"));
    fputs("complete -c tandem -n '__tandem_command", out);
    for (command_id c = 0; c < COMMAND_COUNT; c++)
        if (option_belongs(id, c)) fprintf(out, " %s", command_table[c].name);
    fprintf(out, "' -l %s", o->name);
    if (o->letter) fprintf(out, " -s %c", o->letter);
    /* A value that may be left out follows an equals sign, but for a name, which may stand alone. */
    fputs(files ? " -r -F" : may_stand_alone(o) ? " -f" : " -x", out);
    if (words || names) fputs(" -a '", out);
    if (words) choices(out, words);
    if (names) fprintf(out, "(tandem --complete-%s 2>/dev/null)", names);
    fputs(words || names ? "' -d '" : " -d '", out);
    fish_text(out, o->help);
    fputs("'\n", out);
}

void docs_fish(FILE *out)
{
    fputs("# fish completion for tandem, made from its table of options\n"
          "function __tandem_command # is it one of these?\n"
          "    set -l words (commandline -opc) chat\n"
          "    string match -q -- '-*' $words[2]; and set words[2] chat\n"
          "    contains -- $words[2] $argv\n"
          "end\n"
          "function __tandem_first\n"
          "    test (count (commandline -opc)) = 1\n"
          "end\n",
          out);
    for (command_id c = 0; c < COMMAND_COUNT; c++) {
        fprintf(out, "complete -c tandem -n __tandem_first -f -a %s -d '", command_table[c].name);
        fish_text(out, command_table[c].summary);
        fputs("'\n", out);
        if (takes_model(c))
            fprintf(out, "complete -c tandem -n '__tandem_command %s' -a '(tandem --complete-models 2>/dev/null)'\n",
                    command_table[c].name);
    }
    fputs("complete -c tandem -n '__tandem_command config' -f -a '", out);
    kept_names(out);
    fputs("'\ncomplete -c tandem -l help -d 'list the options'\n", out);
    for (option_id id = 0; id < OPTION_COUNT; id++) fish_option(out, id);
}
