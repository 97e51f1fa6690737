"""The secret that inputs are drawn from: committed to before, told after, unlike on every path."""

from __future__ import annotations

import hashlib

from bench.grading.secret import Secret


def test_the_commitment_is_the_hash_of_what_is_told_later() -> None:
    told = Secret().commitment

    assert hashlib.sha256(bytes.fromhex(told.seed)).hexdigest() == told.sha256
    assert len(told.seed) == 64


def test_two_gradings_have_nothing_in_common() -> None:
    assert Secret().number("inputs", 1, 1, 1) != Secret().number("inputs", 1, 1, 1)


def test_a_secret_makes_the_same_numbers_again() -> None:
    first, second = Secret(b"x" * 32), Secret(b"x" * 32)

    assert first.number("inputs", 1, 2, 3) == second.number("inputs", 1, 2, 3)
    assert first.random("order", 1).random() == second.random("order", 1).random()


def test_every_path_has_a_number_of_its_own_that_fits_a_generator() -> None:
    secret = Secret(b"y" * 32)
    numbers = [
        secret.number("inputs", one, two, three)
        for one in range(8)
        for two in range(8)
        for three in range(8)
    ]

    assert len(set(numbers)) == len(numbers)
    assert all(0 <= number < 2**63 for number in numbers)
    assert secret.number("a", "b") != secret.number("ab")
