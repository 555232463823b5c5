#!/usr/bin/env python3
"""Tables and charts of what `tandem bench --json` wrote (src/bench/report/table.h and report/report.h say what is in it).

    measured.py markdown [ROWS...]                  all tables with what they ran on: Markdown on standard output
    measured.py tables FILE.md ROWS...              fills the tables of a Markdown file
    measured.py bars SUITE[/PART] MODEL ROWS...     a table's first measure as bars: an SVG on standard output
    measured.py timeline MODEL <TRACE               what both units did, from `tandem run --script FILE --trace TRACE`

ROWS are files of such rows, without any standard input; the rows of several runs are joined. `tandem bench --md`,
`make tables` and `make figures` call it all.

Tables stand in Markdown between the lines that ask for them, so that no figure is copied by hand. What stands between
such a line and the next `<!-- end -->` is replaced:

    <!-- bench turns/pipelines synthetic:0.8b:q8_0 columns=warm_TTFT,decode rows=tandem,single|- beside=published -->
    <!-- end -->

suite or suite/part, then the model, or several with commas (the table begins with a column of them then); '_' stands
for a blank in its name. Words after them, each at most once:

    columns=A,B     these measures; else all
    rows=A,B        rows whose parameters, with '|' between, hold one of these texts, from a '|' to a '|'; else all
    beside=A,B      to the right, the row of that model with the same parameters; among numbers, the nearest within a
                    factor of three, shown as well. "*@avx512" is the row's own model as measured with --kernels avx512,
                    "*@goal" what it shall reach
    medians         without the range
    turned          a column for each row
    notes           the table's notes below it
    ceilings        below it, also the ceilings of arithmetic that were measured meanwhile
    optional        what was not measured is said to be so, or its columns left out; without the word it is an error
    note=WORD       no table: in bold, the note that begins with this word

Below each table stand the commands that measured it, and how fast memory was read meanwhile.
"""
import json
import math
import re
import signal
import sys
from html import escape


class Wrong(Exception):
    """One line for the user."""


# ---- What was measured ---------------------------------------------------------------------------------------------


class Table:
    def __init__(self, line):
        self.suite, self.part, self.model, self.title = (line[key] for key in ("suite", "part", "model", "title"))
        self.parameters = line["parameters"]
        self.units = {measure["name"]: measure["unit"] for measure in line["measures"]}
        self.notes, self.conclusions = [], []
        self.rows = {}  # the texts of the parameters: the values of each measure

    def join(self, line):
        """What is said of the rows of one more run. A conclusion is about the rows of its own run."""
        for known, more in (self.notes, line["notes"]), (self.conclusions, line.get("conclusions", [])):
            known += [note for note in more if note not in known]

    def take(self, line):
        row = self.rows.setdefault(tuple(str(line[name]) for name in self.parameters), {})
        if line["measure"] not in self.units or not all(math.isfinite(value) for value in line["values"]):
            raise ValueError("no such measure, or a value that is no number")
        row.setdefault(line["measure"], []).extend(line["values"])


# What steers a terminal or turns the direction of what is beside it, as in engine/base/harmless.c, and halves of pairs.
HARMFUL = re.compile("[\0-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")


def harmless(value):
    """What json.loads() made, with '?' for such characters in all of its texts."""
    if isinstance(value, str):
        return HARMFUL.sub("?", value)
    if isinstance(value, list):
        return [harmless(element) for element in value]
    return {harmless(key): harmless(member) for key, member in value.items()} if isinstance(value, dict) else value


def read_rows(paths):
    """The tables by suite, part and model; and what suites ran on."""
    tables, ran_on = {}, []
    for path in paths or ("/dev/stdin",):
        with open(path, encoding="utf-8", errors="replace") as source:
            for number, text in enumerate(source, 1):
                try:
                    take_line(harmless(json.loads(text)), tables, ran_on)
                except (ValueError, KeyError, TypeError, AttributeError) as error:
                    raise Wrong(f"{path}: line {number}: expected a line of tandem bench --json: {error!r}") from None
    return tables, ran_on


def take_line(line, tables, ran_on):
    key = line["suite"], line.get("part"), line["model"]
    if "machine" in line:
        ran_on.append(line)
    elif "measure" in line:
        tables[key].take(line)
    else:
        tables.setdefault(key, Table(line)).join(line)


def find_table(tables, suite, part, model):
    """'_' stands for a blank in the model's name. None: nothing was measured."""
    for table in tables.values():
        if (table.suite, table.part) == (suite, part) and model in (table.model, table.model.replace(" ", "_")):
            return table
    return None


def spread(values):
    """Median, 5th and 95th percentile, the latter by nearest rank."""
    ordered, n = sorted(values), len(values)

    def rank(percent):
        return ordered[max(0, math.ceil(percent / 100 * n) - 1)]

    return 0.5 * (ordered[(n - 1) // 2] + ordered[n // 2]), rank(5), rank(95)


def number_text(value):
    """Three digits or so, thousands separated: 0.00042, 0.934, 9.31, 93.1, 931, 9,310."""
    size = abs(value)
    if not math.isfinite(value):
        return "-"
    if size >= 99.95:
        return f"{value:,.0f}"
    digits = 1 if size >= 9.995 else 2 if size >= 0.9995 else 3 if size >= 0.00995 else 5 if size > 0 else 0
    return f"{value:.{digits}f}"


RATIO_LIMIT = 0.25  # a ratio whose values spread wider says nothing (src/bench/report/stats.h)


def cell_text(values, unit):
    if not values:
        return "-"
    median, low, high = spread(values)
    half = 0.5 * (high - low) / median if median > 0 else 0
    if unit == "x" and len(values) < 3:
        return f"no ratio (n {len(values)})"
    if unit == "x" and half > RATIO_LIMIT:
        return f"no ratio (spread {100 * half:.0f} %)"
    return number_text(median) + (f" ({number_text(low)}-{number_text(high)})" if low != high else "")


def runs_text(row):
    counts = [len(values) for values in row.values() if values] or [0]
    return f"{min(counts)}-{max(counts)}" if min(counts) != max(counts) else str(counts[0])


# ---- A line that asks for a table ----------------------------------------------------------------------------------

FLAGS = ("notes", "optional", "medians", "turned", "ceilings")
LISTS = ("columns", "rows", "beside")


class Wish:
    def __init__(self, words):
        if len(words) < 2:
            raise Wrong("expected a suite and a model")
        self.suite, _, self.part = words[0].partition("/")
        self.models = words[1].split(",")
        self.note = ""
        for flag in FLAGS:
            setattr(self, flag, False)
        for name in LISTS:
            setattr(self, name, [])
        for word in words[2:]:
            key, equals, value = word.partition("=")
            items = value.split(",")
            if word in FLAGS:
                setattr(self, word, True)
            elif equals and key in LISTS and all(items):
                setattr(self, key, items)
            elif equals and key == "note":
                self.note = value
            else:
                raise Wrong(f"'{word}' is not understood")


def leading_number(text):
    found = re.match(r"\s*[-+]?(\d+\.?\d*|\.\d+)([eE][-+]?\d+)?", text)
    return float(found.group()) if found else 0.0


def nearest(key, keys):
    """The row that is nearest in its parameters: equal, or numbers within a factor of three; None: there is none."""
    limit = math.log(3)

    def distance(other):
        total = 0.0
        for a, b in zip(key, other):
            x, y = leading_number(a), leading_number(b)
            total += 0 if a == b else abs(math.log(x / y)) if x > 0 and y > 0 else 2 * limit
        return total

    best = min(keys, key=distance, default=None)
    return best if best is not None and distance(best) < limit else None


class Sheet:
    """What a line asks for, found: its tables, what stands beside each, the lines and columns of the result.

    A line is (table, key of its row, tables beside). A column is (source, kind, name): source None for the table itself,
    else the number of what stands beside; kind "model", "parameter" (name is its number), "measure" or "runs".
    """

    def __init__(self, wish, tables):
        self.wish, self.tables = wish, tables
        self.lines, self.models, self.known = [], [], set()
        for model in wish.models:
            table = self.find(model)
            if not table:
                raise Wrong(f"nothing was measured of {wish.suite} {wish.part} with {model}")
            self.add_model(table)
        if not self.lines:
            raise Wrong("no row was measured")
        self.columns = self.own_columns()
        for number in range(len(wish.beside)):
            self.columns += self.columns_beside(number)

    def add_model(self, table):
        self.models.append(table)
        if len(table.parameters) != len(self.models[0].parameters):
            raise Wrong(f"the rows of {self.models[0].model} and {table.model} are about other things")
        beside = [self.find_beside(asked, table.model) for asked in self.wish.beside]
        self.known |= {known.model for known in (table, *beside) if known}
        # By the number that is a row's first parameter, where it is one: several runs were joined.
        for key in sorted(table.rows, key=lambda key: leading_number(key[0])):
            text = "|" + "|".join(key) + "|"
            if not self.wish.rows or any(f"|{asked}|" in text for asked in self.wish.rows):
                self.lines.append((table, key, beside))

    def find(self, model):
        return find_table(self.tables, self.wish.suite, self.wish.part, model)

    def find_beside(self, asked, model):
        """*@goal names the model itself, without a kernel set, before the '@'."""
        table = self.find(model.partition("@")[0] + asked[1:] if asked.startswith("*") else asked)
        if not table and not self.wish.optional:
            raise Wrong(f"nothing is known of {self.wish.suite} {self.wish.part} with {asked}")
        return table

    def own_columns(self):
        wish, first = self.wish, self.models[0]
        columns = [(None, "model", None)] if len(self.models) > 1 else []
        columns += [(None, "parameter", number) for number in range(len(first.parameters))]
        for name in wish.columns or [name for name in first.units if any(row.get(name) for row in first.rows.values())]:
            if any(name in table.units for table in self.models):
                columns.append((None, "measure", name))
            elif not wish.optional:
                raise Wrong(f"there is no measure '{name}'")
        return columns + [(None, "runs", None)]

    def row_beside(self, line, number):
        """The row of another table that stands beside this one: nearest from either side."""
        table, key, beside = line
        other = beside[number]
        found = nearest(key, other.rows) if other else None
        return found if found is not None and nearest(found, table.rows) == key else None

    def columns_beside(self, number):
        found = [(line, self.row_beside(line, number)) for line in self.lines]
        found = [(line[1], key, line[2][number]) for line, key in found if key is not None]
        others = [line[2][number] for line in self.lines if line[2][number]]
        if not others:
            return []
        columns = [(number, "parameter", p) for p in range(len(others[0].parameters))
                   if any(own[p] != key[p] for own, key, _ in found if p < len(own))]
        columns += [(number, "measure", name) for name in self.wish.columns or others[0].units
                    if any(other.rows[key].get(name) for _, key, other in found)]
        if any(len(values) > 1 for _, key, other in found for values in other.rows[key].values()):
            columns.append((number, "runs", None))
        return columns

    def heading(self, column):
        """Of the first table that has the column."""
        source, kind, name = column
        text = "n" if kind == "runs" else "model"
        for line in self.lines:
            table = line[0] if source is None else line[2][source]
            if table and kind == "parameter":
                text = table.parameters[name].replace("_", " ")
                break
            if table and kind == "measure" and name in table.units:
                text = f"{name} {table.units[name]}".strip().replace("_", " ")
                break
        if source is None:
            return text
        return self.wish.beside[source].rpartition("@")[2] + ": " + text

    def cell(self, line, column):
        source, kind, name = column
        table, key = line[0], line[1]
        if kind == "model":
            return table.model
        if source is not None:
            key, table = self.row_beside(line, source), line[2][source]
            if key is None:
                return "-"
        if kind == "parameter":
            return key[name]
        row = table.rows[key]
        if kind == "runs":
            return runs_text(row)
        values = row.get(name)
        if source is not None and values and len(values) == 1 and abs(values[0]) < 1000:
            return f"{values[0]:.10g}"  # quoted, with all its digits
        text = cell_text(values, table.units.get(name))
        return text.partition(" (")[0] if self.wish.medians else text

    def text(self):
        """The heading, the rule below it, the lines. Names and parameters stand left in their column, figures right."""
        rows = [[self.heading(column) for column in self.columns]]
        rows += [[self.cell(line, column) for column in self.columns] for line in self.lines]
        left = [kind == "model" or source is None and kind == "parameter" for source, kind, _ in self.columns]
        if self.wish.turned:
            rows = list(zip(*rows))
            left = [True] + [False] * (len(rows[0]) - 1)
        out = ["| " + " | ".join(row) + " |\n" for row in rows]
        out.insert(1, "|" + "|".join("---" if is_left else "---:" for is_left in left) + "|\n")
        return "".join(out)


# ---- Below a table -------------------------------------------------------------------------------------------------

CEILINGS = (("read_gbs", "; memory was read at", "GB/s"),
            ("int8_gops", "; arithmetic on vector registers: int8", "Gop/s"), ("fp32_gops", ", fp32", "Gop/s"),
            ("matrix_int8_gops", "; on the matrix unit: int8", "Gop/s"), ("matrix_bf16_gops", ", bf16", "Gop/s"))


def commands_text(sheet, ran_on):
    """The commands that measured these models, or what stands beside them, and the ceilings measured meanwhile."""
    wish = sheet.wish
    ran = [line for line in ran_on
           if line.get("command") and line["suite"] == wish.suite and line["model"] in sheet.known]
    # One that asked for rows of another part did not measure this one.
    ran = [line for line in ran if "--rows" not in line["command"] or wish.part in line["command"]]
    if not ran:
        return ""
    text = "\n_" + ", ".join(dict.fromkeys(f"`{line['command']}`" for line in ran))
    for key, before, unit in CEILINGS if wish.ceilings else CEILINGS[:1]:
        values = [line["ceilings"][key] for line in ran if (line.get("ceilings") or {}).get(key)]
        if values:
            low, high = min(values), max(values)
            lower = f"{number_text(low)} to " if high - low >= 0.05 * high else ""
            text += f"{before} {lower}{number_text(high)} {unit}"
    stolen = [line["stolen"] for line in ran if line.get("stolen") is not None]
    least, most = min(stolen, default=0), max(stolen, default=0)
    if most >= 0.005:
        lower = f"{100 * least:.0f} to " if most - least >= 0.01 else ""
        text += f"; the host took {lower}{100 * most:.0f} % of the CPU time"
    return text + "_\n"


def notes_text(table):
    notes = table.notes + table.conclusions
    return "\n" + "".join(f"- {note}\n" for note in notes) if notes else ""


def table_text(wish, tables, ran_on):
    sheet = Sheet(wish, tables)
    out = "\n" + sheet.text()
    for table in sheet.models:
        if wish.notes:
            out += notes_text(table)
    return out + commands_text(sheet, ran_on) + "\n"


def filled(words, tables, ran_on):
    """What is to stand between a line with these words and the next <!-- end -->."""
    wish = Wish(words)
    found = [find_table(tables, wish.suite, wish.part, model) for model in wish.models]
    if wish.optional and not all(table and table.rows for table in found):
        return "\n_Not measured._\n\n"
    if not wish.note:
        return table_text(wish, tables, ran_on)
    for note in found[0].notes + found[0].conclusions if found[0] else ():
        if note.startswith(wish.note):
            return f"\n**{note[0].upper()}{note[1:]}**\n\n"
    if wish.optional:
        return "\n"
    raise Wrong(f"there is no note that begins with '{wish.note}'")


OPENS, CLOSES = "<!-- bench ", "<!-- end -->"


def fill(name, text, tables, ran_on):
    out, inside = [], False
    for number, line in enumerate(text.splitlines(keepends=True), 1):
        try:
            if line.startswith(OPENS):
                if inside:
                    raise Wrong(f"expected '{CLOSES}' before")
                words, arrow, _ = line[len(OPENS):].partition("-->")
                if not arrow:
                    raise Wrong("expected '-->' at the end of the line")
                out += [line, filled(words.split(), tables, ran_on)]
                inside = True
                continue
        except Wrong as error:
            raise Wrong(f"{name}: line {number}: {error}") from None
        inside = inside and not line.startswith(CLOSES)
        if not inside:
            out.append(line)
    if inside:
        raise Wrong(f"{name}: expected '{CLOSES}' at the end")
    return "".join(out)


def tables_command(path, *rows):
    with open(path, encoding="utf-8", newline="") as file:
        before = file.read()
    after = fill(path, before, *read_rows(rows))
    if after != before:
        with open(path, "w", encoding="utf-8", newline="") as file:
            file.write(after)


# ---- All tables ----------------------------------------------------------------------------------------------------


def moment_text(moment):
    mhz = number_text(moment["mhz"]) if moment["mhz"] else "-"
    return (f"{mhz} MHz, governor {moment['governor'] or 'not told'}, {moment['power']}, "
            f"load average {moment['load']:.1f}, other running Tandems: {moment['other_tandems']}")


def ran_on_text(line):
    try:
        return ran_on_words(line)
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise Wrong(f"expected what {line['suite']} ran on: {error!r}") from None


def ran_on_words(line):
    machine = line["machine"]
    ceilings = {key: number_text(value) if value else "-" for key, value in line["ceilings"].items()}
    matrix = "matrix_int8_gops" in ceilings and ceilings["matrix_int8_gops"] != "-"
    parts = [f"{line['suite']}, {line['model']}, {line['seconds']:.0f} s on {machine['cpu']}: {machine['cores']} cores of "
             f"{machine['cpus']}, {machine['caches']}",
             f"{machine['gpu']}, driver {machine['gpu_driver']}" if machine.get("gpu") else "",
             line["units"], f"keys and values {line['kv']}" if line["kv"] else "", f"kernels {line['kernels']}",
             f"ceilings: int8 {ceilings['int8_gops']} Gop/s, bf16 {ceilings['bf16_gops']}, fp32 {ceilings['fp32_gops']}"
             + (f" (matrix unit: int8 {ceilings['matrix_int8_gops']}, bf16 {ceilings['matrix_bf16_gops']})" if matrix else "")
             + f", reading {ceilings['read_gbs']} GB/s",
             "start: " + moment_text(line["start"]), "end: " + moment_text(line["end"]),
             f"the host took {100 * line['stolen']:.0f} % of the CPU time" if line.get("stolen") else "",
             f"`{line['command']}`"]
    return "\n_" + "; ".join(part for part in parts if part) + "_\n"


def markdown_command(*rows):
    """The tables of a suite and model with what they ran on, in the order in which they were measured."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # it ends who measures: what was measured until then is written
    tables, ran_on = read_rows(rows)
    for suite, model in dict.fromkeys([(suite, model) for suite, _, model in tables] +
                                      [(line["suite"], line["model"]) for line in ran_on]):
        for table in tables.values():
            if (table.suite, table.model) == (suite, model):
                wish = Wish([f"{suite}/{table.part}", model])
                wish.models = [model]  # a comma in it is no list
                print(f"\n### {suite}: {table.title}, {model}\n")
                print((Sheet(wish, tables).text() if table.rows else "") + notes_text(table), end="")
        print(*(ran_on_text(line) for line in ran_on if (line["suite"], line["model"]) == (suite, model)), sep="", end="")


# ---- Charts --------------------------------------------------------------------------------------------------------
# They are legible on light and dark pages (they follow prefers-color-scheme) and stand alone.

WIDTH = 960
STYLE = ("<style>text{font:13px system-ui,sans-serif;fill:#1c2733}.q{fill:#5a6875}.t{font-size:15px;font-weight:600}"
         ".b{fill:#2b7bb9}.w{stroke:#1c2733}.g{stroke:#c3ccd5}.page{fill:#ffffff}"
         "@media(prefers-color-scheme:dark){text{fill:#e6edf3}.q{fill:#9aa7b4}.b{fill:#4a9fe0}.w{stroke:#e6edf3}"
         ".g{stroke:#39434e}.page{fill:#0d1117}}</style>")


def svg(height, title, parts):
    return "\n".join([f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" width="{WIDTH}" '
                      f'height="{height}" role="img">', STYLE, f"<title>{escape(title, quote=False)}</title>",
                      f'<rect class="page" width="{WIDTH}" height="{height}"/>', *parts, "</svg>"]) + "\n"


def label(x, y, text, look="", anchor="start"):
    return (f'<text x="{x:.1f}" y="{y:.1f}" class="{look}" text-anchor="{anchor}">'
            f"{escape(text, quote=False)}</text>")


def row_label(table, key):
    """"133 prompt tokens, batch", "1 core", "decode alone, lending on": what the row is about."""
    words = []
    for name, value in zip(table.parameters, key):
        name = (name[:-1] if value == "1" and name.endswith("s") else name).replace("_", " ")
        if value.isdigit():
            words.append(f"{value} {name}")
        elif value in ("on", "off") or value[:1].isdigit():
            words.append(f"{name} {value}")
        elif value != "-":  # does not apply
            words.append(value)
    return ", ".join(words)


def title_lines(title, most=120):
    """A long title in two lines, broken at a blank."""
    at = title.rfind(" ", 0, most + 1) if len(title) > most else -1
    return [title] if at < 0 else [title[:at], title[at + 1:]]


def bars(table):
    """A table's first measure, a bar a row, with the range from the 5th to the 95th percentile; on a logarithmic axis
    where these lie further apart than a factor of 30."""
    name, unit = next(iter(table.units.items()))
    rows = [(row_label(table, key), *spread(row[name])) for key, row in table.rows.items() if row.get(name)]
    rows = [row for row in rows if row[1] > 0]
    if not rows:
        raise Wrong("there is nothing to draw")
    lowest, highest = min(row[1] for row in rows), max(row[3] for row in rows)
    logarithmic = highest > 30 * lowest
    scale = math.log10 if logarithmic else float
    base = scale(lowest / 2) if logarithmic else 0
    left = int(min(480, max(300, 26 + 7.1 * max(len(row[0]) for row in rows))))  # some 7 units a character
    per_unit = (WIDTH - left - 200) / (scale(highest) - base)

    def x(value):
        return left + per_unit * (scale(value) - base)

    measure = f"{name} {unit}".strip().replace("_", " ")
    lines = title_lines(table.title)
    parts = [label(16, 24, f"{table.suite}: {measure}, {table.model}", "t")]
    parts += [label(16, 44 + 17 * i, line, "q") for i, line in enumerate(lines)]
    y = 44 + 17 * len(lines)
    parts.append(f'<line class="g" x1="{left}" y1="{y}" x2="{left}" y2="{y + 28 * len(rows)}"/>')
    for text, median, low, high in rows:
        start, end = max(left, x(low)) if low > 0 else left, x(high)
        parts += [label(left - 10, y + 18, text, anchor="end"),
                  f'<rect class="b" x="{left}" y="{y + 5:.1f}" width="{x(median) - left:.1f}" height="18" rx="2"/>',
                  f'<path class="w" d="M{start:.1f} {y + 14:.1f}H{end:.1f}M{start:.1f} {y + 10:.1f}v8M{end:.1f} '
                  f'{y + 10:.1f}v8" fill="none"/>', label(end + 8, y + 18, f"{number_text(median)} {unit}")]
        y += 28
    axis = "; logarithmic axis" if logarithmic else ""
    parts.append(label(16, y + 24, f"median; whiskers: 5th to 95th percentile{axis}", "q"))
    return svg(120 + 28 * len(rows), table.title, parts)


# Of the spans of a trace (src/figures/trace.h); what is not here is not drawn.
COLOURS = {"history": "#8268c4", "draft": "#1f9e89", "suffix": "#e08214", "prompt": "#1f9e89", "decode": "#2b7bb9",
           "handover": "#d6336c", "checkpoint": "#8a949e", "restore": "#b8860b"}
MOMENTS = ("handover", "checkpoint", "restore")  # drawn higher: they take next to no time
UNITS = ("prefill", "decode")


def tracks(spans, moments, start, end, y):
    """Both units from start to end (microseconds), the top at y. spans: unit, name, from, to; moments: time, name."""
    left, right, height, gap = 90, WIDTH - 16, 34, 8
    scale = (right - left) / (end - start)
    parts = []
    for number, unit in enumerate(UNITS):
        top = y + number * (height + gap)
        parts += [label(16, top + 22, unit),
                  f'<line class="g" x1="{left}" y1="{top + height:.1f}" x2="{right}" y2="{top + height:.1f}"/>']
        for _, name, begins, ends in (span for span in spans if span[0] == unit and span[3] > start and span[2] < end):
            a, b = (left + scale * (min(max(moment, start), end) - start) for moment in (begins, ends))
            inset = 0 if name in MOMENTS else 6
            parts.append(f'<rect x="{a:.2f}" y="{top + inset:.1f}" width="{max(b - a, 0.6):.2f}" '
                         f'height="{height - inset}" fill="{COLOURS[name]}"/>')
    bottom = y + 2 * height + gap
    for moment, name in moments:
        if start <= moment <= end:
            x, level = left + scale * (moment - start), 14 * (name != "Enter")
            parts.append(f'<line class="w" x1="{x:.2f}" y1="{y - 4:.1f}" x2="{x:.2f}" y2="{bottom + 4 + level:.1f}" '
                         f'stroke-dasharray="{"2 3" if level else "none"}"/>')
            shift, anchor = (-3, "end") if x > WIDTH - 90 else (3, "start")
            parts.append(label(x + shift, bottom + 16 + level, name, "q", anchor))
    return parts + [label(right, y - 8, f"{1e-6 * (end - start):.1f} s", "q", "end")]


def timeline(trace, model):
    """What both units did in a conversation; below, the same around the last Enter."""
    units, spans, enters, firsts = {}, [], [], []
    for event in trace["traceEvents"]:
        if event["ph"] == "M":
            units[event["tid"]] = event["args"]["name"].split()[0]
            continue
        begins, ends = event["ts"], event["ts"] + event["dur"]
        if event["name"] in COLOURS:
            spans.append((units[event["tid"]], event["name"], begins, ends))
        elif event["name"].startswith("turn "):
            enters.append((begins, ends))
        elif event["name"] == "Enter to first token":
            firsts.append(ends)
    if not enters or len(firsts) != len(enters):
        raise Wrong("the trace has no turns")
    moments = [(enter, "Enter") for enter, _ in enters] + [(first, "first token") for first in firsts]
    (last, end), first = enters[-1], firsts[-1]
    start = min(span[2] for span in spans)
    parts = [label(16, 24, f"{len(enters)} turns on two units, {model}", "t"), *tracks(spans, moments, start, end, 60),
             label(16, 196, f"around the last Enter: first token after {1e-3 * (first - last):.1f} ms"),
             *tracks(spans, moments, last - 700000, last + 300000, 210)]
    x = 16.0
    for name, colour in COLOURS.items():
        if name == "prompt":
            continue
        name = "hand-over" if name == "handover" else name
        parts += [f'<rect x="{x:.0f}" y="35" width="12" height="12" fill="{colour}"/>', label(x + 17, 46, name)]
        x += 40 + 7.2 * len(name)
    return svg(330, "Both units in a conversation", parts)


def bars_command(place, model, *rows):
    suite, _, part = place.partition("/")
    table = find_table(read_rows(rows)[0], suite, part, model)
    if not table:
        raise Wrong(f"nothing was measured of {place} with {model}")
    print(bars(table), end="")


def timeline_command(model):
    try:
        print(timeline(json.load(sys.stdin), model), end="")
    except (ValueError, KeyError, TypeError) as error:
        raise Wrong(f"standard input: expected a trace of tandem run --script --trace: {error!r}") from None


def main(arguments):
    commands = {"markdown": (markdown_command, 0, math.inf), "tables": (tables_command, 1, math.inf),
                "bars": (bars_command, 2, math.inf), "timeline": (timeline_command, 1, 1)}
    command, least, most = commands.get(arguments[0] if arguments else "", (None, 0, 0))
    if not command or not least <= len(arguments) - 1 <= most:
        print(__doc__.partition("\n\nROWS")[0], file=sys.stderr)
        return 2
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)  # who has read enough ends it, without a word
    sys.stdout.reconfigure(encoding="utf-8")
    try:
        command(*arguments[1:])
    except (Wrong, OSError) as error:
        print(f"measured.py: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
