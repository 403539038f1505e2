# SPDX-License-Identifier: BSD-3-Clause
"""Write reStructuredText from headers: a page of the site for each header,
and a page of the manual, section 3, for each function."""
import re

CALL = re.compile(r"(?<![\w`])(hone_\w+)\(\)")
CONSTANT = re.compile(r"(?<![\w`/])(HONE_[A-Z0-9_]+\*?)(?![\w`])")
DIRECTIVES = {"function": "c:function", "struct": "c:struct",
              "union": "c:union", "enum": "c:enum", "type": "c:type",
              "macro": "c:macro"}
LIBRARY = "libhone (``-lhone``, or ``pkg-config --cflags --libs hone``)"
HEADINGS = {1: "=", 2: "-", 3: "~"}


def heading(text, level):
    """A title, underlined."""
    return f"{text}\n{HEADINGS[level] * len(text)}\n"


def indent(text, by="   "):
    """Every line that is not empty, moved to the right."""
    return "\n".join(by + line if line else "" for line in text.splitlines())


def markup(text):
    """Text of a comment with its functions linked and its constants set as
    code. Tables and literal blocks stay as they are."""
    paragraphs = []
    for paragraph in text.split("\n\n"):
        if not paragraph.startswith(("=", "+", " ")):
            paragraph = CALL.sub(r":c:func:`\1`", paragraph)
            paragraph = CONSTANT.sub(r"``\1``", paragraph)
        paragraphs.append(paragraph)
    return "\n\n".join(paragraphs)


def fields(item):
    """The parameters and the result as a field list."""
    rows = [f":param {name}: {markup(item.comment.params[name])}"
            for name in item.params]
    if item.comment.returns:
        rows.append(f":return: {markup(item.comment.returns)}")
    return "\n".join(rows)


def api_item(item):
    """One declaration in Sphinx's C domain."""
    directive = DIRECTIVES[item.kind]
    signatures = item.names or [
        item.name if item.members else item.text]
    if item.kind in ("struct", "union", "enum"):
        signatures = [item.name]
    pad = "\n" + " " * (len(directive) + 6)
    lines = [f".. {directive}:: {pad.join(signatures)}", ""]
    body = [markup(item.comment.before), fields(item),
            markup(item.comment.after)]
    lines.append(indent("\n\n".join(filter(None, body))))
    member = "c:enumerator" if item.kind == "enum" else "c:member"
    for text, about in item.members:
        lines += ["", f"   .. {member}:: {text}", "",
                  indent(markup(about), "      ")]
    return "\n".join(lines) + "\n"


def api_page(header):
    """The page of a header."""
    name = f"<{header.name}>"
    parts = [heading(name, 1), markup(header.comment.text), ""]
    for title, kinds in (("Constants and macros", ("macro",)),
                         ("Types", ("struct", "union", "enum", "type")),
                         ("Functions", ("function",))):
        items = header.of_kind(*kinds)
        if items:
            parts.append(heading(title, 2))
            parts += [api_item(item) for item in items]
    return "\n".join(parts).rstrip() + "\n"


def prototype(item, width=70):
    """A declaration, broken at its parameters if it is long."""
    text = item.text + ";"
    if len(text) <= width:
        return text
    begin, arguments = text.split("(", 1)
    return begin + "(\n    " + arguments.replace(", ", ",\n    ")


def definition(item):
    """What is public of a struct or enum, as C."""
    lines = [f"{item.text} {{"]
    for text, _ in item.members:
        lines.append(f"    {text}{',' if item.kind == 'enum' else ';'}")
    if not item.members:
        lines.append("    /* private */")
    return "\n".join(lines) + "\n};"


def mentioned(item, header):
    """The constants and types that a function's reader needs at hand."""
    comment = item.comment
    text = " ".join([item.text, comment.text, comment.returns,
                     *comment.params.values()])
    for other in header.items:
        words = [n.split("(")[0] for n in other.names] or [other.name]
        groups = re.findall(r"(\w+_)\*", text)
        if other.kind != "function" and any(
                re.search(rf"\b{word}\b", text)
                or any(word.startswith(group) for group in groups)
                for word in words):
            yield other


def man_types(item, header):
    """A section on the constants and types that a function mentions."""
    parts = []
    for other in mentioned(item, header):
        if other.kind == "macro":
            parts.append(", ".join(f"``{name}``" for name in other.names))
            parts.append(indent(markup(other.comment.text)))
            continue
        code = (definition(other) if other.kind in ("struct", "union", "enum")
                else f"typedef {other.text};")
        parts += ["::", indent(code), markup(other.comment.text)]
        for text, about in other.members:
            pointer = re.search(r"\(\*(\w+)\)", text)  # to a function
            name = pointer[1] if pointer else re.split(r"[\s*]", text)[-1]
            parts.append(f"``{name}``\n{indent(markup(about))}")
    return "\n\n".join(parts)


def see_also(names):
    """References to other manual pages: [(name, section)]."""
    return ", ".join(f"**{name}**\\ ({section})" for name, section in names)


def man_page(item, header):
    """The manual page of one function."""
    comment = item.comment
    code = f"#include <{header.name}>\n\n{prototype(item)}"
    rows = [f"*{name}*\n{indent(markup(comment.params[name]))}"
            for name in item.params]
    others = [(f.name, 3) for f in header.of_kind("function")
              if f.name != item.name]
    sections = [
        ("LIBRARY", LIBRARY),
        ("SYNOPSIS", "::\n\n" + indent(code)),
        ("DESCRIPTION", markup(comment.text)),
        ("PARAMETERS", "\n\n".join(rows)),
        ("RETURN VALUE", markup(comment.returns)),
        ("TYPES AND CONSTANTS", man_types(item, header)),
        ("NOTES", f"What holds for all of ``<{header.name}>``:\n\n"
         + markup(header.comment.text)),
        ("SEE ALSO", see_also(others + [("libhone", 3)])),
    ]
    return ":orphan:\n\n" + heading(item.name, 1) + "\n" + "\n".join(
        f"{heading(title, 2)}\n{text}\n" for title, text in sections if text)


def man_overview(headers):
    """The manual page libhone(3): every header and its functions."""
    parts = [":orphan:\n", heading("libhone", 1)]
    parts += [heading("LIBRARY", 2), LIBRARY + "\n", heading("HEADERS", 2)]
    for header in headers:
        parts.append(heading(f"<{header.name}>", 3))
        parts.append(markup(header.comment.text) + "\n")
        for item in header.of_kind("function"):
            parts.append(f"**{item.name}**\\ (3)\n"
                         f"{indent(item.comment.summary)}\n")
    parts.append(heading("SEE ALSO", 2))
    parts.append(see_also([("hone", 1)]) + "\n")
    return "\n".join(parts)
