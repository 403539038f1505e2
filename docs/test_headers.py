# SPDX-License-Identifier: BSD-3-Clause
"""headers.py reads the comments of a header, and refuses incomplete ones."""
import pathlib

import pytest

import headers
import pages

TOP = "/** About this header. */\n"


def parse(text):
    return headers.Parser("hone/x.h", TOP + text).parse()


def only(text):
    (item,) = parse(text).items
    return item


def refused(text):
    with pytest.raises(headers.HeaderError) as error:
        parse(text)
    return str(error.value)


FIND = """
/**
 * Find a thing. Slowly.
 *
 * :param buf: where; see
 *             hone_other().
 * :param n:   how many.
 * :return: its place.
 */
HONE_API size_t hone_find(
\tconst void *buf, size_t n);
"""


def test_a_function_with_everything():
    item = only(FIND)
    assert (item.kind, item.name) == ("function", "hone_find")
    assert item.text == "size_t hone_find(const void *buf, size_t n)"
    assert item.params == ["buf", "n"]
    assert item.comment.params == {"buf": "where; see hone_other().",
                                   "n": "how many."}
    assert item.comment.returns == "its place."
    assert item.comment.text == "Find a thing. Slowly.\n\nSince 0.1."
    assert item.comment.summary == "find a thing"


OPEN = """
/**
 * Open a thing.
 *
 * :return: 0 on success;
 *          -EINVAL if it is no thing, or
 *          none of ours;
 *          -ENOMEM.
 */
HONE_API int hone_open(void);
"""


def test_a_semicolon_ends_an_outcome():
    item = only(OPEN)
    assert item.comment.returns == (
        "0 on success;\n-EINVAL if it is no thing, or none of ours;\n-ENOMEM.")
    assert pages.fields(item) == (
        ":return:\n   - 0 on success\n"
        "   - ``-EINVAL`` if it is no thing, or none of ours\n   - ``-ENOMEM``.")


@pytest.mark.parametrize("summary, expected", [
    ("Tell: all of it.", "tell"),
    ("CPU features, one bit\neach.", "CPU features, one bit each"),
    ("Version 0.1 of it.", "version 0.1 of it"),
    ("Is it? Perhaps.", "is it"),
])
def test_summary_is_the_first_clause(summary, expected):
    assert headers.Comment(before=summary).summary == expected


@pytest.mark.parametrize("declaration, names", [
    ("void hone_f(void)", []),
    ("void hone_f(int a, char **b)", ["a", "b"]),
    ("void hone_f(void (*fn)(int x, int y), void *arg)", ["fn", "arg"]),
    ("void hone_f(char name[16], struct hone_x *s)", ["name", "s"]),
])
def test_names_of_parameters(declaration, names):
    params = "".join(f" * :param {n}: it.\n" for n in names)
    item = only(f"/**\n * Do.\n *\n{params} */\nHONE_API {declaration};\n")
    assert item.params == names
    assert item.text == declaration


def test_inline_body_and_what_follows_it():
    found = parse("/** One.\n * :return: 1. */\n"
                  "HONE_INLINE int hone_one(void)\n{ if (x) { y; } return 1; }"
                  "\n/** Two.\n * :return: 2. */\nint hone_two(void);\n")
    assert [i.text for i in found.items] == ["int hone_one(void)",
                                             "int hone_two(void)"]


def test_struct_members_and_their_comments():
    item = only("/** A pair. */\nstruct hone_pair {\n\t/** the first */\n"
                "\tsize_t a;\n\tint hidden;\n\t/** the\n\t * name */\n"
                "\tchar name[8];\n};\n")
    assert item.kind == "struct"
    assert item.members == [("size_t a", "the first"),
                            ("char name[8]", "the\nname")]


def test_a_member_that_is_a_function_pointer():
    item = only("/** Both. */\nstruct hone_both {\n\t/** called */\n"
                "\tvoid (*call)(int a, void *arg);\n\t/** with it */\n"
                "\tvoid *arg;\n};\n")
    assert item.members == [("void (*call)(int a, void *arg)", "called"),
                            ("void *arg", "with it")]


def test_enum_members():
    item = only("/** Ways. */\nenum hone_way {\n\t/** this */\n\tHONE_A,\n"
                "\t/** that */\n\tHONE_B\n};\n")
    assert item.members == [("HONE_A", "this"), ("HONE_B", "that")]


def test_macros_right_below_share_the_comment():
    found = parse("/** Bits. */\n#define HONE_A 1\n#define HONE_B 2\n"
                  "\n#define HONE_PRIVATE 3\n"
                  "/** Call. */\n#define HONE_C(x) \\\n\t(x)\n")
    assert [i.names for i in found.items] == [["HONE_A", "HONE_B"],
                                              ["HONE_C(x)"]]


def test_comment_reaches_its_define_through_a_condition():
    assert only("/** Mark. */\n#if X\n#define HONE_A a\n#else\n"
                "#define HONE_A\n#endif\n").names == ["HONE_A"]


def test_types():
    found = parse("/** Ask. */\ntypedef bool hone_fn(const void *p);\n"
                  "/** Tell. */\ntypedef int (*hone_cb)(int);\n")
    assert [(i.kind, i.name) for i in found.items] == [("type", "hone_fn"),
                                                       ("type", "hone_cb")]


def test_plain_comments_and_forward_declarations_are_left_out():
    assert parse("/* hone_a(); */\nstruct hone_x;\nHONE_BEGIN_DECLS\n"
                 "HONE_END_DECLS\n").items == []


@pytest.mark.parametrize("text, sentence", [
    ("\nint hone_f(void);\n", "hone/x.h:3: hone_f() has no comment"),
    ("/* plain */\nint hone_f(void);\n", "hone_f() has no comment"),
    ("/** F. */\nint hone_f(void);\n", "':return:' is missing"),
    ("/** F.\n * :return: x. */\nvoid hone_f(void);\n", "of a void function"),
    ("/** F. */\nvoid hone_f(int a);\n", "parameter 'a' has no ':param:'"),
    ("/** F.\n * :param b: x. */\nvoid hone_f(void);\n",
     "there is no parameter 'b'"),
    ("/**\n * :return: x.\n */\nint hone_f(void);\n", "what it does"),
    ("/** F.\n * :param a: x.\n * :param a: y. */\nvoid hone_f(int a);\n",
     "stands twice"),
    ("/** F.\n * :param a: x\n * y. */\nvoid hone_f(int a);\n", "indent it"),
    ("/** A. */\n/** B. */\nvoid hone_f(void);\n",
     "this comment describes nothing"),
    ("/** At the end. */\n", "this comment describes nothing"),
    ("typedef int hone_t;\n", "typedef without a comment"),
    ("/** F. */\nvoid hone_f(void)\n", "without an end"),
])
def test_refuses(text, sentence):
    assert sentence in refused(text)


def test_a_header_must_say_what_it_is_for():
    with pytest.raises(headers.HeaderError, match="what this header is for"):
        headers.Parser("hone/x.h", "#define HONE_X 1\n").parse()


def test_pages_of_a_function():
    header = parse(FIND)
    (item,) = header.items
    api = pages.api_page(header)
    assert (".. c:function:: size_t hone_find(const void *buf, size_t n)"
            in api)
    assert "   :param buf: where; see :c:func:`hone_other`." in api
    man = pages.man_page(item, header)
    order = [man.index(f"\n{title}\n---") for title in (
        "SYNOPSIS", "DESCRIPTION", "PARAMETERS", "RETURN VALUE", "NOTES",
        "SEE ALSO")]
    assert order == sorted(order)
    assert "   #include <hone/x.h>" in man
    assert "TYPES" not in man


def test_man_page_shows_the_types_and_constants_it_mentions():
    header = parse("/** Bits. */\n#define HONE_A_ONE 1\n"
                   "/** Others. */\n#define HONE_B_ONE 1\n"
                   "/** A pair. */\nstruct hone_pair {\n\t/** one */\n"
                   "\tint a;\n\tint b;\n};\n"
                   "/**\n * Set.\n * :param p: HONE_A_* bits.\n */\n"
                   "void hone_set(struct hone_pair *p);\n")
    man = pages.man_page(header.of_kind("function")[0], header)
    assert "``HONE_A_ONE``" in man and "HONE_B_ONE" not in man
    assert "   struct hone_pair {\n       int a;\n   };" in man


def test_the_page_of_a_header():
    header = parse("/** Bits. */\n#define HONE_A_ONE 1\n"
                   "/** A pair. */\nstruct hone_pair { int a; };\n"
                   "/** A whole. */\nvoid hone_find(void);\n"
                   "/** SET it: docs/design/set.md of the\n * sources. */\n"
                   "void hone_set(void);\n")
    man = pages.man_header(header)
    assert "   void hone_find(void);\n   void hone_set(void);" in man
    assert "**hone_find**\\ (3)\n   a whole\n" in man
    assert "**hone_set**\\ (3)\n   SET it\n" in man
    assert "``HONE_A_ONE``" in man and "   struct hone_pair {" in man
    assert pages.man_name(header) == "hone_x"
    assert pages.man_aliases(header) == ["hone_pair"]
    function = pages.man_page(header.of_kind("function")[1], header)
    assert "SET it: docs/design/set.md of the\nsources." in function
    assert ("SET it: the :doc:`design page </design/set>`."
            in pages.api_page(header))
    assert "**hone_x**\\ (3), **hone_find**\\ (3)" in function


def test_a_header_and_its_function_have_two_pages():
    header = parse("/** F. */\nvoid hone_x(void);\n"
                   "/** A pair. */\nstruct hone_pair { int a; };\n")
    assert pages.man_name(header) == "hone_x.h"


def test_a_long_prototype_is_broken():
    item = only("/** F.\n * :param aaaaaaaaaaaaaaaaaaaa: a.\n"
                " * :param bbbbbbbbbbbbbbbbbbbbbb: b. */\nvoid hone_f(struct "
                "hone_pair *aaaaaaaaaaaaaaaaaaaa, int bbbbbbbbbbbbbbbbbbbbbb);")
    lines = pages.prototype(item).splitlines()
    assert len(lines) == 3 and max(map(len, lines)) <= 70


def test_every_public_header_is_read():
    folder = pathlib.Path(__file__).parent.parent / "include" / "hone"
    names = [f.name for path in sorted(folder.glob("*.h"))
             for f in headers.parse_header(path).of_kind("function")]
    exported = (folder.parent.parent / "tests" / "exports.txt").read_text()
    public = [w.split("@")[0] for line in exported.splitlines()
              for w in line.split() if w.startswith("hone_")
              and not w.startswith("hone_detail_")]
    assert public and sorted(names) == sorted(public)
