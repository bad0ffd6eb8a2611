# SPDX-License-Identifier: Apache-2.0
"""prose.py -- shared by check-prose and check-names: reads the comments of a source, the words of docs/internals/words.md, and the list of present
offenders."""
import bisect
import collections
import pathlib
import re

ROOT = pathlib.Path(__file__).resolve().parent.parent
WORDS = ROOT / "docs" / "internals" / "words.md"
LIST = ROOT / "tools" / "offenders.txt"
C_PIECE = re.compile(r"/\*.*?\*/|//[^\n]*(?:\n[ \t]*//[^\n]*)*|\"(?:[^\"\\\n]|\\.)*\"|'(?:[^'\\\n]|\\.)'", re.S)
# In JavaScript a slash begins a regular expression where a value is expected. A quote inside of the expression begins no text.
JS_PIECE = re.compile(r"/\*.*?\*/|//[^\n]*(?:\n[ \t]*//[^\n]*)*|\"(?:[^\"\\\n]|\\.)*\"|'(?:[^'\\\n]|\\.)*'|`(?:[^`\\]|\\.)*`"
                      r"|(?:(?<=[(,=:\[!&|?{;>])|(?<=[(,=:\[!&|?{;>] )|(?<=return ))(?P<regex>/(?:[^/\\\[\n]|\\.|\[(?:[^\]\\\n]|\\.)*\])+/)", re.S)
MARKS = re.compile(r"^[ \t]*(?:/\*+|\*(?!/)|//)?[ \t]?|[ \t]*\*/$", re.M)


def c_pieces(text):
    """Returns (start, piece) of each comment and each literal of a source in C."""
    return [(m.start(), m.group()) for m in C_PIECE.finditer(text)]


def js_pieces(text):
    """Returns (start, piece) of each comment and each literal of a script in JavaScript, where literals have three kinds of quotes. Regular
    expressions are left out."""
    return [(m.start(), m.group()) for m in JS_PIECE.finditer(text) if not m.group("regex")]


PYTHON_PIECE = re.compile(r'#[^\n]*|[rbfRBF]{0,2}(?:""".*?"""|\'\'\'.*?\'\'\'|"(?:[^"\\\n]|\\.)*"|\'(?:[^\'\\\n]|\\.)*\')', re.S)


def python_pieces(text):
    """Returns (start, piece) of each comment and each literal of a source in Python."""
    return [(m.start(), m.group()) for m in PYTHON_PIECE.finditer(text)]


def pieces_of(path, text):
    """Returns the comments and literals of a source, by its language. Returns an empty list for a page or a program."""
    read = {".c": c_pieces, ".h": c_pieces, ".def": c_pieces, ".js": js_pieces, ".py": python_pieces}.get(path.suffix)
    return read(text) if read else []


def said(comment):
    """Returns the words of a comment of C, without its marks, on one line."""
    return " ".join(MARKS.sub("", comment).split())


ROW = re.compile(r" {2,}\S|\S+ {2,}\S")


def parts(lines):
    """Returns the paragraphs and the rows of tables of a comment, each on one line. The given lines have no marks. A row is indented, or has two
    blanks after its first word. Lines below a row that are indented more belong to the row."""
    found, row = [], None
    for line in lines:
        depth = len(line) - len(line.lstrip())
        if not line.strip():
            row = None
            found.append([])
        elif (ROW.match(line) and (row is None or depth <= row)) or (row is not None and depth < row) or not found:
            row = depth if ROW.match(line) else None
            found.append([line])
        else:
            found[-1].append(line)
    return [" ".join(" ".join(part).split()) for part in found if part]


def line_of(text, start):
    return text.count("\n", 0, start) + 1


def key(path):
    """Returns the name of a file in the list. A file of src has its base name there, because it may move."""
    name = str(path.relative_to(ROOT))
    return path.name if name.startswith("src/") else name


class Offenders:
    """Compares the offenders that were found with tools/offenders.txt, whose lines are `FILE RULE=COUNT ...`. A count may only become smaller."""

    def __init__(self, rules):
        self.rules, self.found, self.where = rules, collections.Counter(), collections.defaultdict(list)

    def add(self, path, line, rule, text):
        self.found[key(path), rule] += 1
        self.where[key(path), rule].append("%s:%d: %s" % (path.relative_to(ROOT), line, text))

    @staticmethod
    def read():
        lines = LIST.read_text("utf-8").splitlines() if LIST.exists() else []
        return {(name, rule): int(n) for name, *counts in (line.split() for line in lines if line and line[0] != "#") for rule, _, n in (c.partition("=") for c in counts)}

    def write(self, counts):
        rows = collections.defaultdict(list)
        for (name, rule), n in sorted(counts.items()):
            if n:
                rows[name].append("%s=%d" % (rule, n))
        LIST.write_text("# SPDX-License-Identifier: Apache-2.0\n# What tools/check-prose, tools/check-sentences and tools/check-names find today, by file and rule (a file of src by its base name). Counts only become smaller:\n"
                        "# `tools/check-prose --write`, `tools/check-sentences --write` and `tools/check-names build --write` lower them. The line of a file that gets another name is renamed by hand.\n"
                        + "".join("%s %s\n" % (name, " ".join(r)) for name, r in rows.items()), "utf-8")

    def judge(self, argv):
        """Prints new offenders, and counts that can be lowered. Returns (passed, failed). With --write, lowers the counts of the list. With --adopt
        RULE, begins the list of a new rule."""
        listed = self.read()
        mine = {k: n for k, n in listed.items() if k[1] in self.rules}
        if "--adopt" in argv:
            new = argv[argv.index("--adopt") + 1]
            if any(rule == new for _, rule in mine):
                raise SystemExit("the list has the rule %s: its counts only become smaller" % new)
            mine.update({k: n for k, n in self.found.items() if k[1] == new})
            listed.update(mine)
            self.write(listed)
        failed = 0
        for k, n in sorted(self.found.items()):
            if n > mine.get(k, 0):
                failed += n - mine.get(k, 0)
                for text in self.where[k]:
                    print("FAIL %s" % text)
                if k in mine:
                    print("  (%s: %d, and tools/offenders.txt allows %d of `%s`)" % (k[0], n, mine[k], k[1]))
        lower = {k: self.found[k] for k, n in mine.items() if self.found[k] < n}
        if lower and "--write" in argv:
            listed.update(lower)
            self.write(listed)
        elif lower:
            print("tools/offenders.txt can be lowered by %d, with --write" % sum(mine[k] - n for k, n in lower.items()))
            for k, n in sorted(lower.items())[:20]:
                print("  %s %s: %d -> %d" % (k[0], k[1], mine[k], n))
        return sum(min(n, self.found[k]) for k, n in mine.items()), failed


class Word:
    """A row of docs/internals/words.md: names and phrases that are not used any more, and their replacements."""

    def __init__(self, names, phrases, but, write):
        self.files, but = {b.strip("`") for b in but if b[0] == "`"}, [b for b in but if b[0] != "`"]  # files in which the name has another meaning
        self.rule = (phrases + names)[0].strip("=*_").replace(" ", "-")
        self.phrases, self.write = phrases, write
        whole = [re.escape(n[1:]).replace(r"\*", r"\w+") for n in names if n[0] == "="]
        parts = [re.escape(n).replace(r"\*", r"[A-Za-z0-9]*") for n in names if n[0] != "="]
        forms = whole + ([r"(?:\w+_)?(?:%s)(?:_\w+)?" % "|".join(parts)] if parts else [])
        self.name = re.compile("(?:%s)$" % "|".join(forms)) if forms else None
        self.text = re.compile(r"\b(?:%s)\b" % "|".join(map(spaced, phrases))) if phrases else None
        self.but = re.compile(r"\b(?:%s)\b" % "|".join(map(spaced, but))) if but else None
        self.hints = tuple({max(p.lower().split(), key=len) for p in phrases})  # a text with one of the phrases has one of these words

    def find(self, low, spans, marks):
        """Returns where the phrases of this row occur in the parts of a text in small letters. marks: the text with which a line of a comment
        begins."""
        found = set()
        for hint in self.hints:
            at = low.find(hint)
            while at >= 0:
                i = bisect.bisect_right(spans, (at, len(low))) - 1
                if i >= 0 and at < spans[i][1]:
                    begin = max(spans[i][0], at - 60)
                    near = re.sub(marks, lambda m: " " * len(m.group()), low[begin:min(spans[i][1], at + 60)])
                    fine = [m.span() for m in self.but.finditer(near)] if self.but else ()
                    found.update(begin + m.start() for m in self.text.finditer(near) if not any(x <= m.start() and m.end() <= y for x, y in fine))
                at = low.find(hint, at + 1)
        return sorted(found)


def spaced(phrase):
    return r"\s+".join(map(re.escape, phrase.split()))


def words():
    """Returns the rows of the table of words that were replaced."""
    text = WORDS.read_text("utf-8")
    rows = re.findall(r"^\| ([^|]*)\| ([^|]*)\| ([^|]*)\| ([^|]*)\|$", text[text.index("| in names | in text |"):].split("\n\n")[0], re.M)[1:]
    return [Word(re.findall(r"`([^`]+)`", names), *([p.strip() for p in cell.split(",") if p.strip()] for cell in (phrases, but)), write.strip())
            for names, phrases, but, write in rows]


LINE_OF_C, LINE_OF_JS, LINE_OF_HASH = re.compile(r"\n[ \t]*\*?"), re.compile(r"\n[ \t]*(?://|\*)?"), re.compile(r"\n[ \t]*#?")
PAGE_CODE = re.compile(r"(?ms)^ *```.*?^ *```|`[^`\n]*`")
HASHES = re.compile(r'"""(.*?)"""|(?:^|(?<=\s))#(?!!)[^\n]*(?:\n[ \t]*#[^\n]*)*', re.S)


def prose_of(path, text, pieces):
    """Returns the parts of a file that people read: the text, the spans of comments and messages in it, and the mark that begins a line of a comment.
    A page has no code."""
    if path.suffix == ".md":
        return PAGE_CODE.sub(lambda m: re.sub(r"[^\n]", " ", m.group()), text), [(0, len(text))], LINE_OF_HASH
    if path.suffix == ".py" and pieces:
        return text, [(start, start + len(p)) for start, p in pieces if " " in p], LINE_OF_HASH
    if path.suffix in (".py", ".pdl"):
        return text, [m.span() for m in HASHES.finditer(text)], LINE_OF_HASH
    quotes = "\"'`" if path.suffix == ".js" else '"'
    return text, [(start, start + len(p)) for start, p in pieces if p[0] == "/" or (p[0] in quotes and " " in p)], LINE_OF_JS if path.suffix == ".js" else LINE_OF_C
