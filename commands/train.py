"""`tetraphone train`: a network trained with CTC, or a recipe from corpora to the models that ship."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any

from tyro.conf import Positional, arg

from tetraphone.common.errors import InputError
from tetraphone.common.progress import say
from tetraphone.train.options import TrainOptions

from .training.flags import Json, Quiet


@dataclass(frozen=True)
class Train:
    """Train a network with CTC; writes model.pt (the best model), metrics.jsonl, TensorBoard events and pictures."""

    corpora: Positional[Annotated[tuple[str, ...], arg(metavar="CORPUS ...")]]
    """Folders of prepared corpora (FOLDER or FOLDER:PART) or JSON-lines manifests; with --recipe, the one folder that
    holds the recipe's corpora."""
    output: Annotated[Path, arg(metavar="FOLDER")]
    """A new folder for the run, or with --resume the folder of an interrupted one."""
    recipe: str = ""
    """Train, calibrate, quantise and export models as a recipe says: pretrained, tiny, or a .toml file of options like
    train/recipes/pretrained.toml."""
    options: Annotated[TrainOptions, arg(name="")] = field(default_factory=TrainOptions)
    resume: bool = False
    """Continue an interrupted run of the same options; the final weights are those of an uninterrupted one."""
    profile: bool = False
    """Only show where the time of a step goes: 20 steps under torch's profiler."""
    quiet: Quiet = False
    json: Json = False

    def run(self) -> dict[str, Any]:
        from tetraphone.quant.aware import rounded
        from tetraphone.train.loop.run import train

        from .training.recipe import follow, read_recipe

        if not self.corpora:
            raise InputError(
                "no corpus to train on; give a folder or a .jsonl manifest, or make one: `tetraphone corpus`"
            )
        if self.recipe:
            defaults = TrainOptions(threads=self.options.threads)
            if self.options != defaults or self.profile or len(self.corpora) != 1:
                raise InputError(
                    "--recipe takes one folder and no option but --threads; copy the recipe's file to change others"
                )
            return follow(read_recipe(self.recipe, defaults), Path(self.corpora[0]), self.output, self.resume, say)
        return train(self.corpora, self.output, self.options, self.resume, say, rounded=rounded, profile=self.profile)
