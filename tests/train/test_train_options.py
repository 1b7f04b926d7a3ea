"""Options of a run that make no sense are refused by name."""

from typing import Any

import pytest

from tetraphone.common.errors import InputError
from tetraphone.train.network.options import NetworkOptions
from tetraphone.train.options import TrainOptions


@pytest.mark.parametrize("name", ["epochs", "batch_size", "learning_rate", "clip", "threads", "checkpoint_steps"])
@pytest.mark.parametrize("value", [0, -1, float("nan")])
def test_an_option_that_makes_no_sense_is_refused_by_name(name: str, value: float) -> None:
    with pytest.raises(InputError, match=name):
        TrainOptions(**{name: value})  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("seed", -1),
        ("seed", 2**32),
        ("weight_decay", -0.1),
        ("weight_decay", float("nan")),
        ("weight_decay", float("inf")),
        ("warmup_steps", -1),
        ("average_steps", -1),
    ],
)
def test_an_option_out_of_range_is_refused_by_name(name: str, value: float) -> None:
    with pytest.raises(InputError, match=f"{name} is {value}"):
        TrainOptions(**{name: value})  # type: ignore[arg-type]


@pytest.mark.parametrize("dropout", [-0.1, 1.0, float("nan")])
def test_a_dropout_that_is_no_probability_is_refused(dropout: float) -> None:
    with pytest.raises(InputError, match=f"dropout is {dropout}"):
        NetworkOptions(dropout=dropout)


@pytest.mark.parametrize("share", [0.0, 1.0, -0.1, float("nan")])
def test_a_share_to_hold_out_lies_between_0_and_1(share: float) -> None:
    with pytest.raises(InputError, match="hold_out"):
        TrainOptions(hold_out=share)


@pytest.mark.parametrize(
    ("options", "named"),
    [
        ({"stream": True, "phones": "corpus"}, "leave out --phones corpus"),
        ({"stream": True, "alignments": "a.npz"}, "leave out speed perturbation and streams"),
        ({"speed_perturbation": True, "alignments": "a.npz"}, "leave out speed perturbation and streams"),
        ({"stream": True, "teacher": ("a.pt",)}, "leave out alignments and streams"),
        ({"alignments": "a.npz", "teacher": ("a.pt",)}, "leave out alignments and streams"),
        ({"rounding": "int8", "network": NetworkOptions(direction="bi")}, "a bi-directional network for int8"),
    ],
)
def test_options_that_exclude_one_another_are_refused(options: dict[str, Any], named: str) -> None:
    with pytest.raises(InputError, match=named):
        TrainOptions(**options)
