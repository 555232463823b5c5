#include "ui/text/highlight.h"

#include <ctype.h>
#include <stdbool.h>
#include <string.h>
#include <strings.h>

enum {
    TRIPLE = 1 << 0,     /* """ and ''' span lines */
    BACKTICK = 1 << 1,   /* `...` is a string that may span lines */
    NO_CASE = 1 << 2,    /* keywords in any case */
    SINGLE_CHAR = 1 << 3, /* ' begins a character or a lifetime: a string only when it closes within four bytes */
    NO_SINGLE = 1 << 4,  /* ' is no quote */
    DIRECTIVE = 1 << 5,  /* a line that begins with # is a directive */
    SIGNS = 1 << 6,      /* diff: the first character colours the line */
    KEYS = 1 << 7,       /* the word before a colon is a key */
    TAGS = 1 << 8,       /* <name ...>: names are keywords */
};

struct highlight_language {
    const char *names;    /* separated and surrounded by blanks */
    const char *keywords; /* the same */
    const char *line_comment, *line_comment2;
    const char *open, *close; /* of a block comment */
    unsigned flags;
};

#define C_WORDS                                                                                                       \
    " auto break case char const continue default do double else enum extern float for goto if inline int long "     \
    "register restrict return short signed sizeof static struct switch typedef union unsigned void volatile while "  \
    "bool true false NULL size_t int8_t int16_t int32_t int64_t uint8_t uint16_t uint32_t uint64_t "

static const struct highlight_language languages[] = {
    {" c h ", C_WORDS, "//", NULL, "/*", "*/", DIRECTIVE},
    {" c++ cpp cc cxx hpp cuda cu objc ",
     C_WORDS " alignas and catch class concept consteval constexpr decltype delete explicit export final friend "
             "mutable namespace new noexcept not nullptr operator or override private protected public requires "
             "static_assert template this throw try typename using virtual ",
     "//", NULL, "/*", "*/", DIRECTIVE},
    {" python py python3 ",
     " False None True and as assert async await break class continue def del elif else except finally for from "
     "global if import in is lambda match case nonlocal not or pass raise return self try while with yield ",
     "#", NULL, NULL, NULL, TRIPLE},
    {" javascript js jsx node typescript ts tsx ",
     " async await break case catch class const continue debugger default delete do else export extends false finally "
     "for from function if implements import in instanceof interface let new null of private protected public readonly "
     "return static super switch this throw true try type typeof undefined var void while yield enum as any boolean "
     "number string ",
     "//", NULL, "/*", "*/", BACKTICK},
    {" go golang ",
     " break case chan const continue default defer else fallthrough for func go goto if import interface map package "
     "range return select struct switch type var nil true false string int int64 error bool byte rune ",
     "//", NULL, "/*", "*/", BACKTICK},
    {" rust rs ",
     " as async await break const continue crate dyn else enum extern false fn for if impl in let loop match mod move "
     "mut pub ref return self Self static struct super trait true type unsafe use where while Some None Ok Err ",
     "//", NULL, "/*", "*/", SINGLE_CHAR},
    {" java kotlin kt scala groovy csharp c# cs swift dart ",
     " abstract as assert async await base boolean break byte case catch char class const continue data default do "
     "double else enum extends false final finally float for fun func guard if implements import in init instanceof "
     "int interface internal is let long namespace native new null object open out override package private protected "
     "public readonly return sealed self short static string struct super suspend switch this throw throws true try "
     "typealias using val var virtual void when while yield ",
     "//", NULL, "/*", "*/", 0},
    {" php perl pl ",
     " abstract and array as break case catch class const continue default die do echo else elseif elsif extends "
     "false final fn for foreach function if implements include instanceof interface local my namespace new not null "
     "or our package print private protected public require return static sub switch throw true try unless use var "
     "while ",
     "//", "#", "/*", "*/", 0},
    {" ruby rb elixir ex ",
     " alias and begin break case class def defmodule defp do else elsif end ensure false fn for if in module next nil "
     "not or redo rescue retry return self super then true unless until use when while yield ",
     "#", NULL, NULL, NULL, 0},
    {" bash sh shell zsh console fish ",
     " case do done elif else esac exit export fi for function if in local read return set shift then unset until "
     "while cd echo source sudo ",
     "#", NULL, NULL, NULL, 0},
    {" json jsonc json5 ", " true false null ", "//", NULL, "/*", "*/", KEYS},
    {" yaml yml ", " true false null yes no ", "#", NULL, NULL, NULL, KEYS},
    {" toml ini conf properties ", " true false ", "#", ";", NULL, NULL, 0},
    {" sql postgres postgresql mysql sqlite ",
     " add all alter and as asc begin between by case check column commit constraint create cross database default "
     "delete desc distinct drop else end exists false foreign from full group having if in index inner insert int "
     "integer into is join key left like limit not null numeric offset on or order outer primary references right "
     "rollback select set table text then transaction true union unique update values varchar view when where with ",
     "--", NULL, "/*", "*/", NO_CASE},
    {" html xml svg vue ", " ", NULL, NULL, "<!--", "-->", TAGS | NO_SINGLE},
    {" css scss less ", " important inherit none auto ", NULL, NULL, "/*", "*/", KEYS},
    {" lua ",
     " and break do else elseif end false for function goto if in local nil not or repeat return then true until "
     "while ",
     "--", NULL, "--[[", "]]", 0},
    {" haskell hs ",
     " case class data deriving do else if import in infix infixl infixr instance let module newtype of then type "
     "where ",
     "--", NULL, "{-", "-}", SINGLE_CHAR},
    {" zig ",
     " and break catch comptime const continue defer else enum errdefer error false fn for if inline null or orelse "
     "pub "
     "return struct switch test true try undefined union unreachable usize u8 u32 u64 i32 i64 var void while ",
     "//", NULL, NULL, NULL, SINGLE_CHAR},
    {" r julia jl ",
     " abstract begin break const do else elseif end export FALSE false for function if import in let local macro "
     "module mutable NA next NULL quote repeat return struct TRUE true try using while ",
     "#", NULL, NULL, NULL, 0},
    {" makefile make dockerfile docker cmake ",
     " define else endif endef export ifdef ifeq ifndef ifneq include FROM RUN CMD COPY ADD ENV ARG WORKDIR ENTRYPOINT "
     "EXPOSE USER VOLUME LABEL ",
     "#", NULL, NULL, NULL, 0},
    {" asm nasm assembly s ", " section global extern db dw dd dq mov add sub push pop call ret jmp cmp lea ", ";", "#",
     NULL, NULL, NO_CASE},
    {" diff patch ", " ", NULL, NULL, NULL, NULL, SIGNS},
};

/* Whether a list of words, each between blanks, holds the given one. */
static bool holds(const char *list, const char *word, size_t len, bool no_case)
{
    if (len == 0 || len > 30) return false;
    for (const char *at = list; (at = strchr(at, ' ')) != NULL;) {
        at++;
        if (at[0] && strlen(at) > len && at[len] == ' ' &&
            (no_case ? strncasecmp(at, word, len) : strncmp(at, word, len)) == 0)
            return true;
    }
    return false;
}

const struct highlight_language *highlight_find(const char *name, size_t len)
{
    for (size_t i = 0; i < sizeof languages / sizeof *languages; i++)
        if (holds(languages[i].names, name, len, true)) return &languages[i];
    return NULL;
}

static bool begins(const char *line, size_t len, size_t at, const char *with)
{
    size_t n = with ? strlen(with) : 0;
    return n && len - at >= n && memcmp(line + at, with, n) == 0;
}

enum { IN_COMMENT = 1, IN_TRIPLE_SINGLE, IN_TRIPLE_DOUBLE, IN_BACKTICK };

/* The end of what `inside` says is open at `at`; len when the line does not close it. */
static size_t close_at(const struct highlight_language *l, struct highlight_state *state, const char *line, size_t len,
                       size_t at)
{
    const char *close = state->inside == IN_COMMENT         ? l->close
                        : state->inside == IN_TRIPLE_SINGLE ? "'''"
                        : state->inside == IN_TRIPLE_DOUBLE ? "\"\"\""
                                                            : "`";
    for (; at < len; at++)
        if (begins(line, len, at, close)) {
            state->inside = 0;
            return at + strlen(close);
        }
    return len;
}

static bool is_word(char c) { return isalnum((unsigned char)c) || c == '_' || (unsigned char)c >= 0x80; }

void highlight_line(const struct highlight_language *l, struct highlight_state *state, const char *line, size_t len,
                    void (*emit)(void *arg, size_t from, size_t to, style_t style), void *arg)
{
    size_t plain = 0; /* start of the stretch without a colour */
    if (!l) {
        if (len) emit(arg, 0, len, STYLE_TEXT);
        return;
    }
    if (l->flags & SIGNS) {
        style_t style = len == 0 ? STYLE_TEXT : line[0] == '+' ? STYLE_STRING : line[0] == '-' ? STYLE_NUMBER :
                        line[0] == '@' ? STYLE_KEYWORD : STYLE_TEXT;
        if (len) emit(arg, 0, len, style);
        return;
    }
    for (size_t at = 0; at < len;) {
        size_t to = at;
        style_t style = STYLE_TEXT;
        char c = line[at];
        if (state->inside) {
            style = state->inside == IN_COMMENT ? STYLE_COMMENT : STYLE_STRING;
            to = close_at(l, state, line, len, at);
        } else if (l->open && begins(line, len, at, l->open)) {
            style = STYLE_COMMENT;
            state->inside = IN_COMMENT;
            to = close_at(l, state, line, len, at + strlen(l->open));
        } else if ((begins(line, len, at, l->line_comment) || begins(line, len, at, l->line_comment2)) &&
                   (line[at] != '#' || at == 0 || isspace((unsigned char)line[at - 1]))) {
            style = STYLE_COMMENT;
            to = len;
        } else if ((l->flags & DIRECTIVE) && c == '#' && strspn(line, " \t") >= at) {
            style = STYLE_KEYWORD;
            for (to = at + 1; to < len && (line[to] == ' ' || is_word(line[to]));)
                if (line[to++] == ' ' && to > at + 2) break;
        } else if ((l->flags & TRIPLE) && (begins(line, len, at, "\"\"\"") || begins(line, len, at, "'''"))) {
            style = STYLE_STRING;
            state->inside = c == '"' ? IN_TRIPLE_DOUBLE : IN_TRIPLE_SINGLE;
            to = close_at(l, state, line, len, at + 3);
        } else if ((l->flags & BACKTICK) && c == '`') {
            style = STYLE_STRING;
            state->inside = IN_BACKTICK;
            to = close_at(l, state, line, len, at + 1);
        } else if (c == '"' || (c == '\'' && !(l->flags & NO_SINGLE))) {
            style = STYLE_STRING;
            for (to = at + 1; to < len && line[to] != c; to++)
                if (line[to] == '\\' && to + 1 < len) to++;
            to = to < len ? to + 1 : len;
            if (c == '\'' && (l->flags & SINGLE_CHAR) && (to - at > 6 || line[to - 1] != '\'' || to - at < 3)) {
                to = at + 1;
                style = STYLE_TEXT;
            }
            size_t after = to;
            while (after < len && line[after] == ' ') after++;
            if ((l->flags & KEYS) && after < len && line[after] == ':') style = STYLE_KEYWORD;
        } else if (isdigit((unsigned char)c) && (at == 0 || !is_word(line[at - 1]))) {
            style = STYLE_NUMBER;
            for (to = at + 1; to < len && (isalnum((unsigned char)line[to]) || line[to] == '.' || line[to] == '_');)
                to++;
        } else if (is_word(c)) {
            for (to = at + 1; to < len && (is_word(line[to]) || ((l->flags & KEYS) && line[to] == '-'));) to++;
            bool key = (l->flags & KEYS) && to < len && line[to] == ':';
            bool tag = (l->flags & TAGS) && at > 0 && (line[at - 1] == '<' || line[at - 1] == '/');
            if (key || tag || holds(l->keywords, line + at, to - at, l->flags & NO_CASE)) style = STYLE_KEYWORD;
        } else {
            to = at + 1;
        }
        if (style != STYLE_TEXT) {
            if (plain < at) emit(arg, plain, at, STYLE_TEXT);
            emit(arg, at, to, style);
            plain = to;
        }
        at = to;
    }
    if (plain < len) emit(arg, plain, len, STYLE_TEXT);
}
