"""One run on two processes, as torchrun starts them, against the same run on one."""

import pytest
import torch

from tetraphone.train.errors import InputError
from tetraphone.train.parallel import Processes

OPTIONS = (
    "--hidden 16 --layers 2 --dropout 0 --epochs 3 --batch-size 7 --warmup-steps 5 --bands 20 --threads 1 --device cpu "
    "--spec-augment --acoustics 1 --json"
)


@pytest.mark.skipif(torch.cuda.is_available(), reason="this machine has a GPU")
def test_a_missing_gpu_is_named() -> None:
    with pytest.raises(InputError, match="device is cuda, but torch finds no GPU"):
        Processes.join("cuda")
    assert Processes.join("auto").device.type == "cpu"
