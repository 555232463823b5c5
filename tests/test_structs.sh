#!/usr/bin/env bash
# A struct has at most 30 members: what belongs together in a larger one is a struct in it. Tables, views and the interface (engine/tandem.h and its parts) may have more. A member that is a struct written in
# place counts once, and that struct is counted by itself; the members of one without a name belong to the outer one.
set -u
cd "$(dirname "$0")/.." || exit 2
find engine src ui -type f | grep '\.[ch]$' | grep -v '^engine/tandem[./]' | python3 -c '
import re, sys

MAX = 30
MAY = {"kernels", "schema", "view_monitor"}  # a table of functions, a row of a table, what the screen shows
NOISE = re.compile(r"""/\*.*?\*/|//[^\n]*|^[ \t]*\#(?:\\\n|[^\n])*|"(?:\\.|[^"\\])*"|\x27(?:\\.|[^\x27\\])*\x27""",
                   re.S | re.M)  # comments, directives, strings
BRACES = re.compile(r"(?:\b(struct|union)\b\s*(\w*)\s*)?\{([^{}]*)\}(?=\s*(\w*))")

def members(body):
    while "(" in body and re.search(r"\([^()]*\)", body): body = re.sub(r"\([^()]*\)", "", body)
    n = 0
    for member in map(str.strip, body.split(";")):
        unnamed = re.fullmatch(r"(?:\w+ )*@(\d+)", member)
        n += int(unnamed[1]) if unnamed else 1 + member.count(",") if member else 0
    return n

def structs(text):
    """(name, number of members) of every struct. A pair of braces becomes @ and what it adds to the struct around it."""
    found = []
    def take(m):
        n = members(m[3]) if m[1] else 0
        if m[1] == "struct": found.append((m[2] or m[4] or "without a name", n))
        return f" @{0 if m[2] else n} "
    text, changed = NOISE.sub(" ", text), 1
    while changed: text, changed = BRACES.subn(take, text)
    return found

def report(name, findings):
    for finding in findings: print("#", finding)
    print("not ok" if findings else "ok", name)
    return bool(findings)

all = [(file, *found) for file in sys.stdin.read().split() for found in structs(open(file).read())]
large = [(file, name, n) for file, name, n in all if n > MAX]
wrong = report("structs have at most 30 members", [f"{f}: struct {s} has {n}" for f, s, n in large if s not in MAY])
wrong |= report("structs that may have more do", sorted(MAY - {name for _, name, _ in large}))
sample = "struct a { int b, c[2]; /* d; */ void (*e)(int, int); struct { int f; union { int g; long h; }; };\n" \
         "enum { I, J } k; struct l { int m, n; } o; struct p { char q; }; };\n" \
         "static struct a r = {1, {2}}; typedef struct { int s; } t;"
wrong |= report("members are counted", [f"found {s}" for s in [sorted(structs(sample))] if s != [
    ("a", 8), ("l", 2), ("p", 1), ("t", 1), ("without a name", 3)]])
sys.exit(wrong)'
