"""How two texts differ that look alike: composed letters, kinds of blanks, signs without width."""

from __future__ import annotations

import unicodedata

LONGEST = 2000
"""Characters of a passage that are compared, and of the text that it is compared with."""

_BLANKS = " \t\r"


def unseen(quoted: str, found: str) -> str:
    """How a passage first differs from what stands in a text, in words; empty where it is seen.

    Such as "é is U+00E9 in the quote, U+0065 U+0301 in the file".
    """
    one = [line.rstrip(_BLANKS) for line in quoted[:LONGEST].strip("\n").split("\n")]
    other = [line.rstrip(_BLANKS) for line in found[:LONGEST].split("\n")]
    # The passage may lack indentation, which then is not what it fails by.
    bare = ([line.lstrip(_BLANKS) for line in lines] for lines in (one, other))
    return _first("\n".join(one), "\n".join(other)) or _first(*map("\n".join, bare))


def _first(quoted: str, found: str) -> str:
    one, other = _letters(quoted), _letters(found)
    seen, whole = [_seen(made) for made in one], [_seen(made) for made in other]
    for start in range(len(whole) - len(seen) + 1 if quoted else 0):
        if whole[start : start + len(seen)] == seen:
            pairs = zip(one, other[start:], strict=False)
            mine, theirs = next(((a, b) for a, b in pairs if a != b), ("", ""))
            if set(mine + theirs) <= {" "}:
                return ""
            letter = "a blank" if mine.isspace() else _seen(mine)
            return f"{letter} is {_points(mine)} in the quote, {_points(theirs)} in the file"
    return ""


def _letters(text: str) -> list[str]:
    """The characters of a text, those together of which one sees a single letter or blank."""
    letters: list[str] = []
    for char in text:
        before = letters[-1] if letters else "\n"
        joins = unicodedata.combining(char) or unicodedata.category(char) == "Cf"
        if char != "\n" != before and (joins or (char.isspace() and before.isspace())):
            letters[-1] = before + char
        else:
            letters.append(char)
    return letters


def _seen(made: str) -> str:
    if made.isspace():
        return "\n" if made == "\n" else " "
    bare = "".join(char for char in made if unicodedata.category(char) != "Cf")
    return unicodedata.normalize("NFC", bare)


def _points(chars: str) -> str:
    return " ".join(f"U+{ord(char):04X}" for char in chars[:8])
