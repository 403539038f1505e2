# SPDX-License-Identifier: BSD-3-Clause
"""Write reStructuredText from headers: a page of the site for each header,
and a page of the manual, section 3, for each header and each function."""
import re

import headers

CALL = re.compile(r"(?<![\w`])(hone_\w+)\(\)")
CONSTANT = re.compile(r"(?<![\w`/])(HONE_[A-Z0-9_]+\*?)(?![\w`])")
ERROR = re.compile(r"(?<![\w`-])(-E[A-Z0-9]{2,})\b(?!`)")
DESIGN = re.compile(r"\bdocs(/design/[\w-]+)\.md\s+of\s+the\s+sources\b")
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


def design_link(match):
    """A link to a page that the manual names by its path."""
    begins = re.search(r"(^|\.\s+|\n\n)$", match.string[:match.start()])
    article = "The" if begins else "the"
    return f"{article} :doc:`design page <{match[1]}>`"


def markup(text):
    """Text of a comment with its functions linked, its constants and errors
    set as code. Tables and literal blocks stay as they are."""
    paragraphs = []
    for paragraph in text.split("\n\n"):
        if not paragraph.startswith(("=", "+", " ")):
            paragraph = CALL.sub(r":c:func:`\1`", paragraph)
            paragraph = CONSTANT.sub(r"``\1``", paragraph)
            paragraph = ERROR.sub(r"``\1``", paragraph)
        paragraphs.append(paragraph)
    return "\n\n".join(paragraphs)


def outcomes(text):
    """What a function returns: a list, if there are several outcomes."""
    lines = [line.removesuffix(";") for line in markup(text).splitlines()]
    return "\n".join(f"- {line}" for line in lines) if lines[1:] else lines[0]


def fields(item):
    """The parameters and the result as a field list."""
    rows = [f":param {name}: {markup(item.comment.params[name])}"
            for name in item.params]
    if item.comment.returns:
        text = outcomes(item.comment.returns)
        rows.append(f":return:\n{indent(text)}" if "\n" in text
                    else f":return: {text}")
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
    return DESIGN.sub(design_link, "\n".join(parts).rstrip()) + "\n"


def prototype(item, width=70, start=""):
    """A declaration, broken at its parameters if it is long."""
    text = f"{start}{item.text};"
    if len(text) <= width:
        return text
    begin, arguments = re.split(r"(?<=[\w)])\(", text, maxsplit=1)
    return begin + "(\n    " + arguments.replace(", ", ",\n    ")


def definition(item):
    """The public part of a struct or enum, as C."""
    lines = [f"{item.text} {{"]
    for text, _ in item.members:
        lines.append(f"    {text}{',' if item.kind == 'enum' else ';'}")
    if not item.members:
        lines.append("    /* private */")
    return "\n".join(lines) + "\n};"


def said(item):
    """The whole text of an item: its declaration and the comments."""
    comment = item.comment
    return " ".join([item.text, comment.text, comment.returns,
                     *comment.params.values(),
                     *(part for member in item.members for part in member)])


def names(item):
    """The names of an item; for an enumeration also those of its constants."""
    constants = ([text.split(" ")[0] for text, _ in item.members]
                 if item.kind == "enum" else [])
    return [n.split("(")[0] for n in item.names] or [item.name, *constants]


def mentioned(item, header):
    """The constants and types that the text of a function mentions, and those
    that these mention in turn."""
    found, unread = [], [item]
    while unread:
        text = said(unread.pop())
        groups = re.findall(r"(\w+_)\*", text)
        for other in header.items:
            if other.kind != "function" and other not in found and any(
                    re.search(rf"\b{word}\b", text)
                    or any(word.startswith(group) for group in groups)
                    for word in names(other)):
                found.append(other)
                unread.append(other)
    return [other for other in header.items if other in found]


def man_types(items):
    """A section on constants and types."""
    parts = []
    for other in items:
        if other.kind == "macro":
            parts.append(", ".join(f"``{name}``" for name in other.names))
            parts.append(indent(markup(other.comment.text)))
            continue
        code = (definition(other) if other.kind in ("struct", "union", "enum")
                else prototype(other, start="typedef "))
        parts += ["::", indent(code), markup(other.comment.text)]
        for text, about in other.members:
            if other.kind == "enum":
                name = text.split(" ")[0]
            else:
                name = headers.argument_name(text)
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
    others = [(name, 3) for name in [
        man_name(header), *(f.name for f in header.of_kind("function"))]
        if name != item.name]
    return man_sections(item.name, [
        ("LIBRARY", LIBRARY),
        ("SYNOPSIS", "::\n\n" + indent(code)),
        ("DESCRIPTION", markup(comment.text)),
        ("PARAMETERS", "\n\n".join(rows)),
        ("RETURN VALUE", comment.returns and outcomes(comment.returns)),
        ("TYPES AND CONSTANTS", man_types(mentioned(item, header))),
        ("NOTES", f"What holds for all of ``<{header.name}>``:\n\n"
         + markup(header.comment.text)),
        ("SEE ALSO", see_also(others + [("libhone", 3)])),
    ])


def man_name(header):
    """The name of a header's manual page: hone_ring, or hone_read_file.h if a
    function has the name hone_read_file."""
    name = "hone_" + header.stem
    return (name + ".h" if name in [f.name for f in header.of_kind("function")]
            else name)


def man_aliases(header):
    """The types that are described by a header's page of another name."""
    return [item.name
            for item in header.of_kind("struct", "union", "enum", "type")
            if item.name != man_name(header)]


def man_header(header):
    """The manual page of one header."""
    functions = header.of_kind("function")
    code = "\n".join([f"#include <{header.name}>\n",
                      *(prototype(item) for item in functions)])
    return man_sections(man_name(header), [
        ("LIBRARY", LIBRARY),
        ("SYNOPSIS", "::\n\n" + indent(code)),
        ("DESCRIPTION", markup(header.comment.text)),
        ("FUNCTIONS", function_list(header)),
        ("TYPES AND CONSTANTS", man_types(
            [item for item in header.items if item.kind != "function"])),
        ("SEE ALSO", see_also([("libhone", 3)])),
    ])


def man_sections(title, sections):
    """A manual page of the sections that have a text."""
    return ":orphan:\n\n" + heading(title, 1) + "\n" + "\n".join(
        f"{heading(name, 2)}\n{text}\n" for name, text in sections if text)


def function_list(header):
    """The functions of a header, each with its summary."""
    return "\n".join(
        f"**{item.name}**\\ (3)\n{indent(item.comment.summary)}\n"
        for item in header.of_kind("function"))


def man_overview(parsed, with_pages):
    """The manual page libhone(3): every header and its functions, and the
    headers that have a page of their own."""
    parts = [":orphan:\n", heading("libhone", 1)]
    parts += [heading("LIBRARY", 2), LIBRARY + "\n", heading("HEADERS", 2)]
    for header in parsed:
        parts.append(heading(f"<{header.name}>", 3))
        parts.append(markup(header.comment.text) + "\n")
        parts.append(function_list(header))
    parts.append(heading("SEE ALSO", 2))
    parts.append(see_also([(man_name(header), 3) for header in with_pages]
                          + [("hone", 1)]) + "\n")
    return "\n".join(parts)
