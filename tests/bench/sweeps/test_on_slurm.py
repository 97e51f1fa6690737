"""Slurm through submitit: what it would refuse is told before anything is started."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from bench.sweeps.conduct import drive, opened
from bench.sweeps.executors.on_slurm import OnSlurm
from bench.sweeps.sheet import Choice, Engine
from kbsite.errors import KbsiteError, MachineError, UsageError
from tests.bench.sweeps.sweeps import works


@pytest.mark.parametrize(
    ("cluster", "options", "said"),
    [
        ("local", {"nonsense": 1}, "Parameter 'nonsense' need to be prefixed"),
        ("local", {"timeout_min": "soon"}, '"timeout_min" expected type'),
        ("nowhere", {}, "doesn't know any executor named nowhere"),
    ],
)
def test_options_that_submitit_refuses_are_wrong_use(
    cluster: str, options: dict[str, Any], said: str, tmp_path: Path
) -> None:
    choice = Choice(kind=Engine.SLURM, cluster=cluster, options=options)
    with pytest.raises(UsageError, match=r"executor: submitit refuses") as caught:
        OnSlurm(choice, gpus=False, name="night")
    assert said in str(caught.value)
    assert "\n" not in str(caught.value)
    executor = {"kind": "slurm", "cluster": cluster, "options": options}
    work = works(tmp_path, executor=executor)
    with pytest.raises(UsageError):
        drive(work, lambda *_: None, lambda _: None)
    with opened(work) as ledger:
        assert not ledger.tries()


def test_without_slurm_nothing_is_started(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nowhere")
    with pytest.raises(MachineError, match="srun") as caught:
        OnSlurm(Choice(kind=Engine.SLURM), gpus=False, name="night")
    assert isinstance(caught.value, KbsiteError)
