"""The tiny corpus as the manifests and archives that streams read."""

from pathlib import Path

import pytest
from lhotse import CutSet, MonoCut
from streamed import pair_of

from tetraphone.corpora.corpus import read_corpus
from tetraphone.corpora.manifest import write_part
from tetraphone.corpora.utterance import Utterance


@pytest.fixture(scope="session")
def utterances(tiny_corpus: Path) -> dict[str, Utterance]:
    return {utterance.id: utterance for utterance in read_corpus(str(tiny_corpus), "train").utterances}


@pytest.fixture(scope="session")
def manifests(utterances: dict[str, Utterance], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The tiny corpus as lhotse manifests: three thirds of a part, to be read together or alone."""
    folder = tmp_path_factory.mktemp("manifests")
    write_part(folder, "tiny", "train", [pair_of(utterance) for utterance in utterances.values()])
    return folder


@pytest.fixture(scope="session")
def shar(utterances: dict[str, Utterance], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The tiny corpus as Shar archives of five, each utterance a piece of a recording."""
    folder = tmp_path_factory.mktemp("shar")
    cuts = []
    for utterance in utterances.values():
        recording, supervision = pair_of(utterance)
        cuts.append(MonoCut(supervision.id, 0, supervision.duration, 0, [supervision], recording=recording))
    CutSet.from_cuts(cuts).to_shar(folder, fields={"recording": "wav"}, shard_size=5, num_jobs=1)
    return folder
