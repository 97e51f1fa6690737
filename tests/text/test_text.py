"""Text that somebody else wrote, as a page shows it: nothing acts, nothing is lost."""

from __future__ import annotations

import base64
import re
import time
from pathlib import Path

import html5lib
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from markupsafe import Markup

from kbsite.text import banner, code_lines, json, markdown, picture, plain, unmarked, visible
from kbsite.text.terminal import IN_PLACE, breakable, inner_terminal, terminal

ROOT = Path(__file__).parents[2]
CSS = (ROOT / "static" / "kbsite.css").read_text("utf-8")

TAGS = {
    "a", "blockquote", "br", "code", "em", "h4", "h5", "h6", "hr", "i", "li", "ol", "p", "pre", "s",
    "span", "strong", "table", "tbody", "td", "th", "thead", "tr", "ul",
}  # fmt: skip
ATTRIBUTES = {
    ("a", "href"), ("a", "rel"), ("a", "title"), ("ol", "start"), ("pre", "class"),
    ("span", "class"), ("table", "aria-label"), ("table", "tabindex"), ("td", "class"),
    ("th", "class"),
}  # fmt: skip
CLASSES = {"align-center", "align-left", "align-right", "image", "text"}
HOSTILE = [
    "javascript:alert(1)", "JaVaScRiPt:alert(1)", "data:text/html,<script>alert(1)</script>",
    "vbscript:x", "//evil.example/x", "///evil.example", "/etc/passwd", "../up", "#here", "x.html",
    "file:///etc/passwd", "&#106;avascript:alert(1)", "&#x6A;avascript:alert(1)",
    "java&Tab;script:alert(1)", "java&NewLine;script:alert(1)", "&#1;javascript:alert(1)",
    "java\\script:alert(1)", "%6Aavascript:alert(1)", " javascript:alert(1)", "blob:x", "ftp://x",
    "http:evil.example", "https:/evil", "http:///evil.example", "feed:javascript:alert(1)",
    "data:image/png;base64,AAAA", "data:image/svg+xml,<svg onload=alert(1)>", "ws://x", "\\\\evil",
    "javascript&colon;alert(1)", "\tjavascript:alert(1)", "httpſ://evil",
]  # fmt: skip
FORMS = ["[a]({})", "[a](<{}>)", "![a]({})", "<{}>", "[a]\n\n[a]: {}", "[![i]({0})]({0})",
         "[a]({} 'title')", "{}", "> - [*b*]({})", "|a|\n|-|\n|[a]({})|", "# [a]({})"]  # fmt: skip
CHUNKS = st.sampled_from(
    ["<", ">", "&", "`", "```", "~~~", "[", "](", ")", "![", "**", "_", "\n", "\n\n", "\t", "    ",
     "|", "|-|", "# ", "> ", "- ", "1. ", "\\", '"', "'", "<script>", "</pre>", "<!--", "-->",
     "javascript:", "http://x", "mailto:a@b", "&lt;", "&#0;", "&#x202e;", "&#13;", "[a]: ", "~~",
     "\x00", "\x1b[31m", "\x7f", "\x85", "\ud800", "\udcff", "\u202e", "\u2028", "\r", "\r\n",
     "\ufffe", "\U0001ffff", "onerror=", "<img src=x onerror=alert(1)>", "<a href='x'>"]
)  # fmt: skip
ANY = st.characters(codec=None)
TEXTS = st.lists(CHUNKS | st.text(ANY, max_size=5), max_size=25).map("".join)
UNHOLDABLE = re.compile(
    "[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ud800-\udfff\ufdd0-\ufdef\ufffe\uffff\U0001fffe\U0010ffff"
    "\u202a-\u202e\u2066-\u2069\ufeff]|\r(?!\n)"
)


def elements(html: Markup) -> list[tuple[str, dict[str, str]]]:
    """The elements of a piece of a page, with their attributes."""
    tree = html5lib.parseFragment(str(html), namespaceHTMLElements=False)
    return [(node.tag, dict(node.attrib)) for node in tree.iter() if node is not tree]


def text_of(html: Markup) -> str:
    """What a browser shows of a piece of a page; within <pre>, where no first line end is lost."""
    tree = html5lib.parseFragment(f"<pre>\n{html}</pre>", namespaceHTMLElements=False)
    return "".join(tree.itertext())


def normal(text: str) -> str:
    return visible(text).replace("\r\n", "\n")


def assert_harmless(html: Markup) -> None:
    for tag, attributes in elements(html):
        assert tag in TAGS, tag
        assert {(tag, name) for name in attributes} <= ATTRIBUTES
        assert set(attributes.get("class", "").split()) <= CLASSES
        if tag == "a":
            assert re.match(r"(https?://|mailto:)[^/]", attributes["href"], re.IGNORECASE)
            assert attributes["rel"] == "noopener nofollow"
    assert not UNHOLDABLE.search(str(html))
    str(html).encode("utf-8")


# What a page can hold.


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("\x00\x07\x1b\x7f", "␀␇␛␡"),
        ("\x0b\x0c\x1c", "␋␌␜"),
        ("\x85\x9b", "\\x85\\x9b"),
        (b"\xff\x80a".decode("utf-8", "surrogateescape"), "\\xff\\x80a"),
        ("\ud800\udc00", "\\ud800\\udc00"),
        ("\ufffe\ufdd0", "\\ufffe\\ufdd0"),
        ("\U0001fffe", "\\U0001fffe"),
        ("a\u202eb\u2066c", "a\\u202eb\\u2066c"),
        ("\ufeffimport os", "\\ufeffimport os"),
        ("\U000e0068\U000e0069", "\\U000e0068\\U000e0069"),
        ("10 %\r20 %\r\n", "10 %␍20 %\r\n"),
    ],
)
def test_what_a_page_cannot_hold_gets_a_sign(text: str, expected: str) -> None:
    assert visible(text) == expected


@pytest.mark.parametrize(
    "text",
    [
        "",
        "a b\tc\nd\r\ne",
        "<b>&amp;",
        "Größe 漢字 עברית العربية",
        "👩‍👩‍👧 🇬🇧 e\u0301",
        "\xa0\xad",
        "µ½☠★",
    ],
)
def test_ordinary_text_stays_as_it_is(text: str) -> None:
    assert visible(text) == text


@given(TEXTS)
@settings(deadline=None)
def test_nothing_is_left_that_a_page_cannot_hold(text: str) -> None:
    shown = visible(text)

    assert not UNHOLDABLE.search(shown)
    assert visible(shown) == shown
    assert shown.count("\n") == text.count("\n")


@given(TEXTS)
@settings(deadline=None)
def test_plain_text_reads_as_it_was_written(text: str) -> None:
    assert text_of(plain(text)) == normal(text)
    assert elements(plain(text)) == []


# Markdown.


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("address", HOSTILE)
def test_no_hostile_address_becomes_a_link_or_an_image(address: str, form: str) -> None:
    html = markdown(form.format(address))

    assert_harmless(html)
    assert not [tag for tag, _ in elements(html) if tag == "a"]


@pytest.mark.parametrize(
    ("text", "address"),
    [
        ("[a](http://x.example/y?z#w)", "http://x.example/y?z#w"),
        ("<https://x.example>", "https://x.example"),
        ("[a](HTTPS://x.example)", "HTTPS://x.example"),
        ("[a](mailto:a@b.example)", "mailto:a@b.example"),
        ('[a](http://x.example/"onclick="alert)', "http://x.example/%22onclick=%22alert"),
    ],
)
def test_links_of_the_web_and_of_mail_are_marked(text: str, address: str) -> None:
    [(_, attributes)] = [found for found in elements(markdown(text)) if found[0] == "a"]

    assert attributes == {"href": address, "rel": "noopener nofollow"}


@pytest.mark.parametrize("text", ["[*a* b]()", "[*a* b]( )", "[*a* b]()[c](http://x.example)"])
def test_a_link_that_leads_nowhere_is_words_alone(text: str) -> None:
    html = markdown(text)

    assert html.startswith("<p><em>a</em> b")
    assert all(attributes["href"] for tag, attributes in elements(html) if tag == "a")


@given(TEXTS)
@settings(deadline=None)
@example("[a]()")
@example("![<b>](http://x 'onerror=')")
@example('```"><script>\nx\n```')
@example("~~~ a\u2028b onclick=x\n~~~")
def test_markdown_is_harmless_whatever_it_says(text: str) -> None:
    assert_harmless(markdown(text))


@pytest.mark.parametrize(
    "text",
    ["<script>alert(1)</script>", "<!-- unseen -->", '<img src=x onerror="a">', "<br/>", "a<b>c"],
)
def test_html_in_markdown_is_text(text: str) -> None:
    html = markdown(text)

    assert {tag for tag, _ in elements(html)} == {"p"}
    assert text_of(html).strip() == text


def test_an_image_is_named_and_not_fetched() -> None:
    html = markdown('![the <b>](http://x.example/y.png "its title")')

    assert text_of(html).strip() == "[image: the <b> http://x.example/y.png its title]"
    assert ("span", {"class": "image"}) in elements(html)


def test_headings_stand_below_those_of_the_page() -> None:
    html = markdown("# a\n\n## b\n\n### c\n\n###### d\n\ne\n=")

    assert [tag for tag, _ in elements(html)] == ["h4", "h5", "h6", "h6", "h4"]
    assert str(html).count("</h4>") == 2


def test_tables_are_aligned_without_inline_styles() -> None:
    html = markdown("|a|b|c|\n|:-|-:|:-:|\n|1|2|3|")

    assert [found for found in elements(html) if found[0] == "td"] == [
        ("td", {"class": f"align-{side}"}) for side in ("left", "right", "center")
    ]


@pytest.mark.parametrize(
    ("text", "turned"),
    [
        ("- \u05d0 a\n- b", ["ul"]),
        ("1. 2 \u0627\n2. b", ["ol"]),
        ("|\u05d0|b|\n|-|-|\n|1|2|", ["table"]),
        ("- a \u05d0\n- \u05d0", []),
        ("- a\n    - \u05d0\n    - b", ["ul"]),
        ("- \u05d0\n    1. b", ["ul"]),
        ("-\n\n\u05d0", []),
        ("- 1\n- \u4e2d", []),
    ],
)
def test_lists_and_tables_go_where_their_words_go(text: str, turned: list[str]) -> None:
    held = elements(markdown(text))

    assert [tag for tag, has in held if has.get("dir") == "rtl"] == turned
    assert {has["dir"] for _, has in held if "dir" in has} <= {"rtl"}


@pytest.mark.parametrize(
    ("table", "name"),
    [
        ("|a|\n|-|\n|1|\n", "a"),
        ("> |a|\n> |-|\n> |1|", "a"),
        ("|**Shape** `M`|ms|\n|-|-|\n|1|2|", "Shape M, ms"),
        ("|**Shape** `M`|[ms](https://x.example)|\n|-|-|\n|1|2|", "Shape M, ms"),
        ('|`<"a">`|&|\n|-|-|\n|1|2|', '<"a">, &'),
        ('|`<"a">` \\||&|\n|-|-|\n|1|2|', '<"a"> |, &'),
        ("| | |\n|-|-|\n|1|2|", "table"),
        ("> | |\n> |-|\n> |1|", "table"),
        (f"|{'a' * 99}|\n|-|\n|1|", "a" * 80 + "…"),
        ("|a|*b &#x202e;*|\n|-|-|\n|1|2|", "a, b \\u202e"),
    ],
)
def test_a_table_takes_the_focus_by_the_name_of_its_heads_so_that_keys_scroll_a_wide_one(
    table: str, name: str
) -> None:
    assert ("table", {"tabindex": "0", "aria-label": name}) in elements(markdown(table))


@pytest.mark.parametrize(
    "text",
    [
        "[//]: # (unseen)",
        "[a]: http://x.example 'unseen'",
        "```python unseen\nx\n```",
        "> " * 39 + "unseen",
        "> " * 500 + "unseen",
        ">" * 20000 + "unseen",
        "".join("  " * depth + "- a\n" for depth in range(60)) + "  " * 60 + "- unseen",
        "![a](http://x.example 'unseen')",
        "`unseen`{.x}",
    ],
)
def test_markdown_cannot_hide_words(text: str) -> None:
    html = markdown(text)

    assert "unseen" in text_of(html)
    assert_harmless(html)


def test_entities_cannot_spell_what_a_page_cannot_hold() -> None:
    assert text_of(markdown("a&#x202e;b&#xfeff;&#12;&#13;")).strip() == "a\\u202eb\\ufeff␌␍"


@pytest.mark.parametrize(
    "text",
    ["[" * 20000, "[a](" * 10000, "*_" * 10000 + "a", "![" * 10000, "`" * 20000 + "a",
     "&" * 50000, "<" * 50000, "|a" * 500 + "\n" + "|-" * 500 + "\n" + "|b\n" * 500],
)  # fmt: skip
def test_hostile_markdown_comes_to_an_end(text: str) -> None:
    assert_harmless(markdown(text))


@pytest.mark.parametrize(
    "text",
    [
        "|a" * 125 + "|\n" + "|-" * 125 + "|\n" + "|\n" * 500,
        "|a" * 125 + "|\r" + "|-" * 125 + "|\r" + "|\r" * 500,
        "> " + "|a" * 125 + "|\n> " + "|-" * 125 + "|\n" + "> |\n" * 500,
        "> " * 36 + "a\n" + "b\n" * 8000,
        "> - " * 18 + "a\n" + "b\n" * 8000,
    ],
)
def test_a_flood_of_empty_cells_or_quoted_lines_is_shown_as_it_is(text: str) -> None:
    started = time.process_time()
    rendered = markdown(text)
    # It took 1.3 and 2.4 seconds, and came to two hundred times what was written.
    assert time.process_time() - started < 0.4
    assert len(rendered) < 3 * len(text) + 100


def test_a_table_with_a_row_that_is_too_short_is_a_table() -> None:
    assert "<td>c" in markdown("|a|b|\n|-|-|\n|c|\n|d|e|\n")


def test_words_below_a_quote_belong_to_it() -> None:
    assert "<blockquote>" in markdown("> > a\n" + "b\n" * 200)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Casts with `tl.dot`, **not** _once_.", "Casts with tl.dot, not once."),
        ("`__init__` a*b*c, 2 * 3", "__init__ abc, 2 * 3"),
        ("two\nlines\\\nand  a third", "two lines and a third"),
        ("# Head\n\nand body", "Head and body"),
        ("```\nx = 1\n```", "x = 1"),
        ("<https://x.example> &amp; <b>bold</b>", "https://x.example & <b>bold</b>"),
        ("a_b_c and `unclosed", "a_b_c and `unclosed"),
        (" \n", ""),
    ],
)
def test_a_row_has_the_words_of_markdown_without_its_marks(text: str, expected: str) -> None:
    assert unmarked(text) == expected


@pytest.mark.parametrize(
    "text",
    [
        "[unseen](https://x.example/unseen)", "![a](http://x.example 'unseen')", "1. one\n2. two",
        "```unseen\nx\n```", ">" * 20000 + "unseen",
        "[a]: http://x.example 'unseen'",
    ],
)  # fmt: skip
def test_what_a_row_could_not_show_every_word_of_is_shown_as_it_is(text: str) -> None:
    assert unmarked(text) == " ".join(text.split())


@given(TEXTS)
@settings(deadline=None)
def test_a_row_is_one_line_that_a_page_can_hold(text: str) -> None:
    told = unmarked(text)

    assert not UNHOLDABLE.search(told)
    assert told == " ".join(told.split())


# Terminal output.


def classes(text: str) -> list[str]:
    """The classes of each coloured piece of terminal output, or its tag."""
    return [attributes.get("class", tag) for tag, attributes in elements(terminal(text))]


STYLED = {"u": ":where(pre u) {", "i": ":where(pre i:not([class])) {"}
"""The rules of what has no class."""


@pytest.mark.parametrize(
    ("codes", "expected"),
    [
        ("1", "a1"), ("2", "i"), ("3", "a3"), ("4", "a4"),
        ("7", "a7"), ("9", "a9"), ("31", "a31"), ("97", "a37"),
        ("44", "a44"), ("101", "a41"),
        ("1;31;42", "a1 a31 a42"),
        ("31;32", "u"), ("32;2", "a2 a32"), ("001", "a1"), ("00000031", "a31"),
        ("38;5;1", "a31"), ("38;5;9", "a31"), ("48;5;2", "a42"),
        ("48;5;15", "a47"), ("38;5;200;1", "a1"),
        ("38;2;1;31;3;4", "a4"),
        ("31;38;5;200;1", "a1"), ("31;38;2;9;9;9;1", "a1"),
    ],
)  # fmt: skip
def test_a_code_is_a_class(codes: str, expected: str) -> None:
    assert classes(f"\x1b[{codes}ma\x1b[0mb") == [expected]


@pytest.mark.parametrize(
    ("on", "off"),
    [("1", "22"), ("2", "22"), ("1", "21"), ("3", "23"), ("4", "24"), ("7", "27"), ("9", "29"),
     ("31", "39"), ("91", "39"), ("41", "49"), ("105", "49"), ("1;2;3;31;41", ""),
     ("1;31", "0"), ("31", "38;5;200"), ("31", "38"), ("41", "48;2;1;2;3")],
)  # fmt: skip
def test_a_code_is_taken_back(on: str, off: str) -> None:
    assert text_of(terminal(f"\x1b[{on}ma\x1b[{off}mb")) == "ab"
    assert str(terminal(f"\x1b[{on}ma\x1b[{off}mb")).endswith("</i>b")


ABSURD = ["9999", "1" + "0" * 30, "1" + "0" * 5000, "0" * 5000]


@pytest.mark.parametrize("number", [*map(str, range(300)), *ABSURD], ids=lambda n: n[:40])
def test_every_number_is_survived(number: str) -> None:
    for codes in (number, f"38;5;{number}", f"48;2;{number};1", f"1;{number}", f"38;{number}"):
        text = f"\x1b[{codes}ma"

        assert text_of(terminal(text)) == "a"
        assert all(
            STYLED.get(name, f".{name} ") in CSS for kept in classes(text) for name in kept.split()
        )


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("\x1b[31", "␛[31"),
        ("\x1b[31mred", "red"),
        ("\x1b[31;;mred", "red"),
        ("\x1b[mred", "red"),
        ("\x1b[;mred", "red"),
        ("\x1b[38;5mred", "red"),
        ("\x1b[38:2::1:2:3mred", "␛[38:2::1:2:3mred"),
        ("\x1b[2Kgone\x1b[1A", "␛[2Kgone␛[1A"),
        ("\x1b]0;title\x07", "␛]0;title␇"),
        ("\x1b[\x1b[31mred", "␛[red"),
        ("\x1b[31m\x1b[", "␛["),
        ("\x1b[３１mred", "␛[３１mred"),
        ("\x1b[31m<b>&\x00", "<b>&␀"),
        ("\x1b[31m", ""),
    ],
)
def test_broken_sequences_are_seen(text: str, expected: str) -> None:
    assert text_of(terminal(text)) == expected


@pytest.mark.parametrize("sign", ["50%\r", "\x1b[2Ka", "\x1b[31m<&\x1b[0m\b", "a\u0301"])
def test_a_long_line_of_signs_can_be_broken_and_loses_nothing(sign: str) -> None:
    text = f"before\n{sign * 4000}\nafter {sign}"
    pieces = breakable(text).split("<wbr>")
    assert "".join(pieces) == inner_terminal(text, len(text))
    assert max(len(text_of(piece)) for piece in pieces) <= 1100
    assert len(pieces) >= 4
    assert "<wbr>" not in pieces[-1]


def test_lines_that_a_browser_lays_out_at_once_are_left_alone() -> None:
    for text in ("x" * 9000, "é\n" * 1900, "50%\r" * 100):
        assert breakable(text) == terminal(text)


@pytest.mark.parametrize("end", ["", "\n", "\n\n"])
@pytest.mark.parametrize("line", ["<&", "é", "", "\x1b[31mred\x1b[0m", "\x1b[31mon\x1b[0m\non"])
def test_a_text_of_many_lines_stands_in_stretches_and_loses_nothing(line: str, end: str) -> None:
    text = "\n".join([line] * 5000) + end
    html = breakable(text)
    stretches = re.findall("<span>(.*?)</span>", html, re.DOTALL)

    assert re.sub("</?span>", "", html) == inner_terminal(text, len(text))
    assert len(stretches) >= 199
    assert {stretch.count("\n") for stretch in stretches} <= {25, 26}
    assert all(stretch.count("<i") == stretch.count("</i") for stretch in stretches)


def test_a_text_of_very_many_lines_stands_in_longer_stretches() -> None:
    html = breakable("line\n" * 100_000)

    assert set(re.findall("<span[^>]*>(?:line\n)*</span>", html)) == {
        "<span class=many>" + "line\n" * 250 + "</span>"
    }
    assert text_of(html) == "line\n" * 100_000


def test_a_colour_that_never_ends_starts_anew_in_each_stretch() -> None:
    html = breakable("\x1b[31m" + "on\n" * 5000 + "end")
    stretches = re.findall("<span>(.*?)</span>", html, re.DOTALL)

    assert text_of(html) == "on\n" * 5000 + "end"
    assert set(stretches) == {"<i class=a31>" + "on\n" * 50 + "</i>"}
    assert html.endswith("<i class=a31>end</i>")


WIDE = {"words": "word ", "none": "x", "json": '{"a":[1,2]},', "marks": "<&amp;", "bar": "▌é\r",
        "red": "\x1b[31mred\x1b[0m ", "colours": "\x1b[1;31;44m<&\x1b[0m"}  # fmt: skip


@pytest.mark.parametrize("end", ["", "\n", "\nafter\n", "\n\n"])
@pytest.mark.parametrize("sign", WIDE.values(), ids=WIDE)
def test_a_very_long_line_stands_in_stretches_and_loses_nothing(sign: str, end: str) -> None:
    text = f"before\n\x1b[2m{sign * (400_000 // len(sign))}{end}"
    html = breakable(text)
    stretches = re.findall("<span class=wide>(.*?)</span>", html, re.DOTALL)

    assert _untagged(html) == _untagged(inner_terminal(text, len(text)))
    assert len(stretches) >= 20
    assert max(len(one.replace("<wbr>", "")) for one in stretches) <= 10_100
    for one in stretches:
        assert one.count("<i") == one.count("</i")
        assert not re.search("&[a-z]*$|<[^>]*$", one)
        assert "\n" not in one[:-5]


def _untagged(html: str) -> str:
    return re.sub("<[^>]*>", "", html)


def test_a_very_long_line_is_cut_after_a_word_where_it_has_some() -> None:
    html = breakable("kernel time_ms " * 50_000)
    stretches = re.findall("<span class=wide>(.*?)</span>", html, re.DOTALL)

    assert all(one.endswith(" ") for one in stretches)


@given(
    st.lists(CHUNKS | st.sampled_from(["\x1b[", "m", ";", "38", "5", "0", "\x1b[1m"])).map("".join)
)
@settings(deadline=None)
def test_terminal_output_loses_nothing_but_its_codes(text: str) -> None:
    html = terminal(text)
    without = re.split(r"\x1b\[[0-9;]*m", text)

    assert text_of(html) == "".join(map(visible, without)).replace("\r\n", "\n")
    assert {tag for tag, _ in elements(html)} <= {"b", "del", "i", "ins"}
    assert all(set(kept) == {"class"} for _, kept in elements(html))


@pytest.mark.parametrize(
    "text",
    ["\x1b[31ma\x1b[0m" * 100_000, "\x1b[" + "1;31;" * 100_000 + "ma", "\x1b[" * 100_000,
     "\x1b[" + "1" * 1_000_000 + "ma", "\x1b[" + ";" * 1_000_000],
    ids=["sequences", "codes", "starts", "digits", "unterminated"],
)  # fmt: skip
def test_a_flood_of_codes_comes_to_an_end(text: str) -> None:
    html = terminal(text)

    assert {tag for tag, _ in elements(html)} <= {"b", "del", "i", "ins"}


def test_a_colour_change_at_each_sign_costs_no_more_than_a_page_can_show() -> None:
    text = "\x1b[31ma\x1b[44m \x1b[0mb" * 30_000
    for html, most in ((terminal(text), IN_PLACE), (breakable(text), 20_000)):
        assert html.count("</i>") == most
        assert re.sub("<wbr>|</?span[^>]*>", "", html).endswith("a ba b")
        assert text_of(html) == "a b" * 30_000


def test_what_is_coloured_sign_by_sign_is_one_piece() -> None:
    assert terminal("\x1b[32m.\x1b[0m" * 9 + "\x1b[31mF\x1b[0m\x1b[31mF\x1b[0m [ 1%]") == (
        "<u>.........</u><i class=a31>FF</i> [ 1%]"
    )


@pytest.mark.parametrize("sign", ["\x00", "\x01\x02", "5%\r", "\udc80\udc81", "\x1b[2Kword é\n"])
def test_text_full_of_control_characters_is_shown_quickly(sign: str) -> None:
    text = sign * (1_000_000 // len(sign))
    started = time.process_time()
    shown = visible(text)
    # It took 0.2 to 0.8 seconds, six times what plain text takes to become HTML.
    assert time.process_time() - started < 0.15
    assert shown.startswith(visible(sign))


# Pictures.

PNG = base64.b64encode(b"\x89PNG\r\n\x1a\n" + bytes(20)).decode()
RASTERS = {
    "image/png": PNG,
    "image/jpeg": base64.b64encode(b"\xff\xd8\xff\xe0" + bytes(9)).decode(),
    "image/gif": base64.b64encode(b"GIF89a" + bytes(9)).decode(),
    "image/webp": base64.b64encode(b"RIFF\x00\x0a\x00\x00WEBP" + bytes(9)).decode(),
}
SVG = base64.b64encode(b"<svg xmlns='http://www.w3.org/2000/svg' onload='alert(1)'/>").decode()


@pytest.mark.parametrize(("media_type", "data"), RASTERS.items())
def test_a_raster_image_is_shown(media_type: str, data: str) -> None:
    [(tag, attributes)] = elements(picture(media_type, f"{data[:5]}\n{data[5:]}\n", ""))

    assert tag == "img"
    assert attributes["src"] == f"data:{media_type};base64,{data}"
    assert attributes["alt"]


def test_an_image_without_padding_is_shown() -> None:
    assert "<img" in picture("image/png", PNG.rstrip("="), "")


@pytest.mark.parametrize(
    ("media_type", "data"),
    [
        ("image/svg+xml", SVG), ("image/png", SVG), ("image/svg+xml", PNG), ("text/html", PNG),
        ("image/png", ""), ("image/png", "A"), ("image/png", f"{PNG}<script>"),
        ("image/png", f'{PNG}" onerror="alert(1)'), ("IMAGE/PNG;x", PNG), ("", PNG),
        ("image/png", "é"), ("image/png", "not base64!"), ("image/png", "\ud800"),
    ],
)  # fmt: skip
def test_what_is_no_raster_image_is_named_and_not_shown(media_type: str, data: str) -> None:
    html = picture(media_type, data, "http://x.example/<y>")

    assert elements(html) == [("pre", {"class": "text"})]
    assert visible(data) in text_of(html)
    assert "http://x.example/<y>" in text_of(html)


def test_data_that_is_almost_base64_is_named() -> None:
    html = picture("image/png", " " * 1_000_000 + "!", "")

    assert elements(html) == [("pre", {"class": "text"})]


# Source.


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("", []),
        ("\n", [""]),
        ("a", ["a"]),
        ("a\n", ["a"]),
        ("a\n\n\n", ["a", "", ""]),
        ("\n\n  a  \n", ["", "", "  a  "]),
        ("a\r\nb\r\n", ["a", "b"]),
        ("a\rb\n", ["a␍b"]),
        ("a\x0cb\n\x0b", ["a␌b", "␋"]),
        ("a\u2028b\u2029c\x85d\x1ce\n", ["a\u2028b\u2029c\\x85d␜e"]),
        ("'''a\nb\n'''", ["'''a", "b", "'''"]),
        ("\ufeffa = 1", ["\\ufeffa = 1"]),
        ("\ta\n", ["\ta"]),
        ("x = '<b>&'\x00", ["x = '<b>&'␀"]),
    ],
)
def test_every_line_of_a_source_is_kept(source: str, expected: list[str]) -> None:
    lines = code_lines(source)

    assert [text_of(line.html) for line in lines] == expected
    assert [line.number for line in lines] == list(range(1, len(expected) + 1))


def test_a_source_is_highlighted_alike_after_one_that_ends_in_the_middle_of_something() -> None:
    source = "def f(x):\n    return x\n"
    first = code_lines(source)

    assert code_lines('"""a text without an end\n') != first
    assert code_lines(source) == first
    assert code_lines(source, "cuda") != first


PIECES = st.sampled_from(
    ["def f(x):", "'''", '"', "#", "\n", "\n    ", "f'{", "\\", "@", "lambda", "1_0", "</code>",
     "<script>", "&", "\x00", "\r", "\r\n", "\x0c"]
)  # fmt: skip


@given(st.lists(PIECES | st.text(ANY, max_size=4)).map("".join))
@settings(deadline=None)
def test_source_reads_as_it_was_written(source: str) -> None:
    lines = code_lines(source)
    whole = visible(source.replace("\r\n", "\n").replace("\r", "␍"))

    assert "\n".join(text_of(line.html) for line in lines) == whole.removesuffix("\n")
    for line in lines:
        assert {tag for tag, _ in elements(line.html)} <= {"span"}
        assert all(kept["class"].startswith("hl-") for _, kept in elements(line.html))


@pytest.mark.parametrize(
    "source", ["'''" * 20000, "f'{" * 20000, "(" * 50000, "@a." * 20000, '"a\n' * 20000]
)
def test_hostile_source_comes_to_an_end(source: str) -> None:
    assert len(code_lines(source)) == max(1, source.count("\n"))


# Banners.

TITLES = ["", " ", "kbsite", "Größe", "漢字" * 300, "😀", "\x00", "\ud800", "<script>", "a\nb\tc",
          "x" * 1000, "word " * 200, "\u202eevil", "{{7*7}}", "\u0300", "i", "."]  # fmt: skip


def assert_fits(title: str) -> None:
    made = banner(title)

    assert f".banner-{made.width} " in CSS
    assert all(len(line) <= made.width for line in made.lines)
    assert not UNHOLDABLE.search("".join(made.lines))
    assert "\n" not in "".join(made.lines)
    assert len(made.lines) <= 30
    assert made.title == title


@pytest.mark.parametrize("title", TITLES)
def test_the_theme_has_a_size_for_every_banner(title: str) -> None:
    assert_fits(title)


@given(st.text(ANY, max_size=60) | st.text("Wm_ .i", max_size=120))
@settings(deadline=None)
def test_the_theme_has_a_size_for_any_banner(title: str) -> None:
    assert_fits(title)


@pytest.mark.parametrize("title", ["漢字 board", "a 😀", "x" * 101])
def test_a_title_that_cannot_be_drawn_whole_is_not_drawn_in_part(title: str) -> None:
    assert "".join(banner(title).lines) == title


def test_a_drawn_title_starts_at_the_edge() -> None:
    lines = banner("kbsite").lines

    assert len(lines) == 5
    assert min(len(line) - len(line.lstrip()) for line in lines) == 0


# Values.


def test_a_value_is_written_with_all_its_characters() -> None:
    assert json({"a": ["é", "\ud800"]}) == '{\n  "a": [\n    "é",\n    "\ud800"\n  ]\n}'


def test_a_value_that_is_nested_too_deeply_is_told() -> None:
    deep: list[object] = []
    for _ in range(100_000):
        deep = [deep]

    assert "nested too deeply" in json(deep)


@pytest.mark.parametrize(
    "text",
    [
        "", "Does what was asked.", "Two lines,\nand (one) more.", "One.\n\nAnother: a_b, 1.5x!",
        "Entities &amp; such", "- an item", "1. first", "Heading\n===", "a  \nb", "    code", "*a*",
        "[link](https://example.org)", "`c`", "\u202e hidden",
    ],
)  # fmt: skip
def test_words_of_plain_paragraphs_are_those_that_the_parser_finds(
    text: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    told = unmarked(text)
    monkeypatch.setattr("kbsite.text.prose._MARKED", re.compile(""))
    assert told == unmarked(text)


def test_plain_paragraphs_need_no_parser(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("kbsite.text.prose._markdown", None)
    assert unmarked("Does what was asked.\n\nAnd  no more.") == "Does what was asked. And no more."
