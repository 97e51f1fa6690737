"""What a style sheet loads is told as a browser tells it, whatever stands in texts and comments."""

from __future__ import annotations

import pytest

from kbsite.linting.css import addresses

LOADED = {
    "@import 'a.css' screen; p { background: url(b) }": ["a.css!", "b"],
    '@import url("a") supports(display: grid);': ["a!"],
    r'@\69mport "a"; p { background: u\72l(\2f/b) }': ["a!", "//b"],
    "@font-face { src: local('Arial'), url(a) format('woff') }": ["a"],
    """p { background: image-set("a" 1x, url(b) type("image/png")) }""": ["a", "b"],
    """p::before { content: "/*" } q { a: url(a) } p::after { content: "*/" }""": ["a"],
    "p { a: url(/*) } q { a: url(//b) } r { a: url(*/) }": ["/*", "//b", "*/"],
    "p { content: 'a\n} q { a: url(b) }": ["b"],
    "p { background: url(a": ["a"],
    """p { background: url("a""": ["a"],
    """p { content: "url(a)"; /* url(b) */ }""": [],
    "p:not(.a) { width: calc((1px)) }": [],
}


@pytest.mark.parametrize(("sheet", "told"), LOADED.items())
def test_what_a_sheet_loads(sheet: str, told: list[str]) -> None:
    assert [f"{one.raw}{'!' * one.sheet}" for one in addresses(sheet)] == told


@pytest.mark.parametrize("noise", ["url(", "@import ", "(", '"', "/*", "\\", "url( '", "@", "')"])
def test_noise_takes_the_time_of_its_length(noise: str) -> None:
    assert len(list(addresses(noise * 30_000))) <= 1
