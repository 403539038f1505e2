# SPDX-License-Identifier: BSD-3-Clause
"""Read the public headers: their declarations and the comments on these.

A comment that begins with two stars describes the next declaration: a
function, a struct or enum, a typedef, or a #define and those on the lines
right below it. The first one of a file describes the file. In it, `:param
NAME:` and `:return:` are fields, and everything else is reStructuredText. A
function whose comment names no release is since 0.1.

A HeaderError reports a gap: a function without a comment, a parameter without
a field, a field without a parameter, a comment that describes nothing.
"""
import dataclasses
import re

BRACES = {"{": 1, "}": -1, "(": 1, ")": -1}
# Words of the headers that say how a function is linked, not what it is.
LINKAGE = re.compile(r"\b(HONE_API|HONE_INLINE|HONE_DETAIL_RESULT|extern|static|"
                     r"inline)\b\s*")
FUNCTION = re.compile(r"^(?P<type>.*?[\s*])(?P<name>\w+) ?\((?P<args>.*)\)$")
COMPOUND = re.compile(r"^(?P<kind>struct|union|enum) (?P<name>\w+)")
FIELD = re.compile(r"^:(?:param (?P<param>\w+)|return):\s*(?P<text>.*)$")
# Commas part enumerators, but not the parameters of a function pointer.
MEMBER = re.compile(r"\s*(?P<doc>/\*\*.*?\*/)?\s*"
                    r"(?P<text>(?:\([^()]*\)|[^;,(])+?)\s*[;,]\s*", re.DOTALL)
NAME = re.compile(r"(\w+)\s*(?:\[[^]]*\])*$")


class HeaderError(Exception):
    """A fault, as FILE:LINE: SENTENCE."""


@dataclasses.dataclass
class Comment:
    """One comment, without its stars."""
    before: str = ""  # text above the fields
    after: str = ""  # text below them
    params: dict = dataclasses.field(default_factory=dict)
    returns: str = ""  # one outcome a line

    @property
    def text(self):
        """All of the text without the fields."""
        return "\n\n".join(filter(None, (self.before, self.after)))

    @property
    def summary(self):
        """The first clause, as a man page's NAME wants it."""
        clause = re.split(r"[.:;?](?:\s|$)", self.before, maxsplit=1)[0]
        clause = " ".join(clause.split())
        if re.match("[A-Z]{2}", clause):  # CPU, NUL and the like
            return clause
        return clause[:1].lower() + clause[1:]


@dataclasses.dataclass
class Item:
    """Something declared. kind: function, struct, union, enum, type, macro."""
    kind: str
    name: str
    text: str  # the declaration on one line, without its semicolon
    comment: Comment
    params: list = dataclasses.field(default_factory=list)
    members: list = dataclasses.field(default_factory=list)  # (text, str)
    names: list = dataclasses.field(default_factory=list)  # of a macro group


@dataclasses.dataclass
class Header:
    """A header, with its name as in #include."""
    name: str
    comment: Comment
    items: list

    @property
    def stem(self):
        """ring, of hone/ring.h."""
        return self.name.split("/")[-1][:-len(".h")]

    def of_kind(self, *kinds):
        """The items of these kinds, in order."""
        return [item for item in self.items if item.kind in kinds]


def strip_stars(raw):
    """The lines of a comment without its stars."""
    lines = []
    for line in raw[3:-2].splitlines():
        lines.append(re.sub(r"^\s*\* ?", "", line).rstrip())
    if lines:
        lines[0] = lines[0].strip()
    return "\n".join(lines).strip("\n").splitlines()


def parse_comment(raw):
    """A Comment; ValueError if it is not well formed."""
    comment = Comment()
    texts = {False: [], True: []}  # below the fields?
    field = None
    seen = blank = False
    for line in strip_stars(raw):
        match = FIELD.match(line)
        if match:
            seen = True
            field = match["param"] or ""
            if field in comment.params or (not field and comment.returns):
                raise ValueError(f"field '{line.split(':')[1]}' stands twice")
            add_to_field(comment, field, match["text"])
        elif field is not None and line.startswith(" "):
            add_to_field(comment, field, line.strip())
        elif field is not None and line and not blank:
            raise ValueError(f"'{line}' goes on with a field: indent it")
        else:
            if line:
                field = None
            texts[seen].append(line)
        blank = not line
    comment.before = "\n".join(texts[False]).strip("\n")
    comment.after = "\n".join(texts[True]).strip("\n")
    return comment


def add_to_field(comment, field, text):
    """Append to a parameter's text, or to that of :return: for ''."""
    if field:
        known = comment.params.get(field, "")
        comment.params[field] = f"{known} {text}".strip()
    else:
        # A line that ends with a semicolon ends an outcome.
        gap = "\n" if comment.returns.endswith(";") else " "
        comment.returns = f"{comment.returns}{gap}{text}".strip()


def split_arguments(text):
    """The parameters of a declaration, split at the commas outside."""
    parts, depth = [""], 0
    for char in text:
        depth += BRACES.get(char, 0)
        if char == "," and depth == 0:
            parts.append("")
        else:
            parts[-1] += char
    return [p.strip() for p in parts if p.strip() not in ("", "void")]


def argument_name(text):
    """The name in `const void *buf`, `char name[4]` or `int (*f)(int)`."""
    pointer = re.search(r"\(\*\s*(\w+)\)", text)
    return pointer[1] if pointer else NAME.search(text)[1]


class Parser:
    """Walks once over the text of one header."""

    def __init__(self, name, text):
        self.name = name
        # Remove plain comments, but keep their line ends for line numbers.
        self.text = re.sub(r"/\*(?!\*).*?\*/",
                           lambda m: "\n" * m[0].count("\n"), text,
                           flags=re.DOTALL)
        self.at = 0
        self.pending = None  # (line, Comment) before its declaration
        self.header = Header(name, None, [])
        self.macro_end = -1  # where the last #define of a group ended

    def fail(self, message, line=None):
        line = line or self.text.count("\n", 0, self.at) + 1
        raise HeaderError(f"{self.name}:{line}: {message}")

    def parse(self):
        """The whole header."""
        while self.skip_space():
            if self.text.startswith("/**", self.at):
                self.take_comment()
            elif self.text[self.at] == "#":
                self.take_directive()
            elif not self.take_marker():
                self.take_declaration()
        self.no_pending()
        if not self.header.comment:
            self.fail("no comment says what this header is for")
        return self.header

    def skip_space(self):
        match = re.compile(r"\s*").match(self.text, self.at)
        self.at = match.end()
        return self.at < len(self.text)

    def no_pending(self):
        if self.pending:
            self.fail("this comment describes nothing", self.pending[0])

    def take_comment(self):
        self.no_pending()
        end = self.text.index("*/", self.at) + 2
        try:
            comment = parse_comment(self.text[self.at:end])
        except ValueError as error:
            self.fail(str(error))
        if self.header.comment is None:
            self.header.comment = comment
        else:
            line = self.text.count("\n", 0, self.at) + 1
            self.pending = (line, comment)
        self.at = end

    def take_directive(self):
        match = re.compile(r"(?:[^\n]*\\\n)*[^\n]*\n?").match(
            self.text, self.at)
        begin, self.at = self.at, match.end()
        define = re.match(r"#\s*define\s+(\w+(?:\([^)]*\))?)", match[0])
        if not define:
            return
        name = define[1].split("(")[0]
        if self.pending:
            self.header.items.append(Item("macro", name, define[1],
                                          self.take_pending(),
                                          names=[define[1]]))
        elif begin == self.macro_end:
            self.header.items[-1].names.append(define[1])
        else:
            return
        self.macro_end = self.at

    def take_pending(self):
        _, comment = self.pending
        self.pending = None
        return comment

    def take_marker(self):
        """HONE_BEGIN_DECLS and the like: a word alone on its line."""
        match = re.compile(r"HONE_\w+_DECLS\s*\n").match(self.text, self.at)
        if match:
            self.at = match.end()
        return bool(match)

    def declaration(self):
        """Text up to the semicolon, or to the end of a function's body."""
        depth = 0
        for at in range(self.at, len(self.text)):
            char = self.text[at]
            depth += BRACES.get(char, 0)
            head = self.text[self.at:at + 1]
            body = char == "}" and depth == 0 and FUNCTION.match(
                " ".join(LINKAGE.sub("", head.split("{")[0]).split()))
            if (char == ";" and depth == 0) or body:
                return head
        return self.fail("a declaration without an end")

    def take_declaration(self):
        raw = self.declaration()
        body = raw[raw.find("{") + 1:raw.rfind("}")] if "{" in raw else ""
        head = raw.split("{")[0].rstrip(";")
        text = " ".join(LINKAGE.sub("", head).split()).replace("( ", "(")
        compound, function = COMPOUND.match(text), FUNCTION.match(text)
        if text.startswith("typedef "):
            self.take_type(text[len("typedef "):])
        elif function:
            self.take_function(function)
        elif compound and self.pending:
            self.header.items.append(
                Item(compound["kind"], compound["name"], text,
                     self.take_pending(), members=self.members(body)))
        elif self.pending:
            self.fail(f"cannot tell what is declared by '{text}'")
        self.at += len(raw)

    def take_type(self, text):
        if not self.pending:
            self.fail(f"typedef without a comment: '{text}'")
        function = FUNCTION.match(text)
        name = function["name"] if function else argument_name(text)
        self.header.items.append(
            Item("type", name, text, self.take_pending()))

    def take_function(self, match):
        name = match["name"]
        if name.startswith("hone_detail_"):
            self.no_pending()
            return
        if not self.pending:
            self.fail(f"{name}() has no comment")
        params = [argument_name(a) for a in split_arguments(match["args"])]
        item = Item("function", name, match[0], self.take_pending(), params)
        self.check_fields(item, match["type"].strip() == "void")
        if "Since " not in item.comment.text:
            item.comment.after = f"{item.comment.after}\n\nSince 0.1.".strip()
        self.header.items.append(item)

    def check_fields(self, item, is_void):
        described = item.comment.params
        for param in item.params:
            if param not in described:
                self.fail(f"{item.name}(): parameter '{param}' has no "
                          "':param:'")
        for param in described:
            if param not in item.params:
                self.fail(f"{item.name}(): there is no parameter '{param}'")
        if not item.comment.before:
            self.fail(f"{item.name}(): the comment does not say what it does")
        if is_void == bool(item.comment.returns):
            self.fail(f"{item.name}(): ':return:' "
                      + ("of a void function" if is_void else "is missing"))

    def members(self, body):
        """[(declaration, comment)] of those members that have a comment."""
        found = []
        body = body.strip()
        if body and body[-1] not in ";,":
            body += ","
        for match in MEMBER.finditer(body):
            if match["doc"]:
                text = " ".join(match["text"].split())
                found.append((text, parse_comment(match["doc"]).text))
        return found


def parse_header(path):
    """The Header of a file below a folder hone/."""
    return Parser(f"hone/{path.name}",
                  path.read_text(encoding="utf-8")).parse()
