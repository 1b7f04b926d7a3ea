"""Where the time of a training step goes."""

import errno
import os
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from torch.profiler import ProfilerActivity, profile, record_function

from tetraphone.common.files import write_atomically

if TYPE_CHECKING:
    from .run import Run

WARMUP, STEPS = 3, 20
PHASES = ("batch", "forward", "loss", "backward", "update")
"""Reading and augmenting utterances; the network; CTC or the frames' loss; gradients; clipping, the
optimiser and averages."""
TRACE = "trace.json"


def profile_steps(run: "Run", say: Callable[[str], None], steps: int = STEPS) -> dict[str, Any]:
    """Trains a few steps under torch's profiler; writes TRACE (for a browser's trace viewer) and saves no model.

    Times are the processor's: on a GPU they are those of starting its work, and the trace tells the rest.

    Returns:
        {"steps", "milliseconds_per_step", "share": {phase: percent}, "trace"}.
    """
    os.environ.setdefault("KINETO_LOG_LEVEL", "99")  # else the profiler writes lines of its own
    run.learner.model.train()
    batches = (group for epoch in range(WARMUP + steps) for group in run.steps(epoch))  # of each step
    for _ in range(WARMUP):
        run.train_step(next(batches))
    activities = [ProfilerActivity.CPU, *([ProfilerActivity.CUDA] if run.processes.device.type == "cuda" else [])]
    with profile(activities=activities) as profiler:
        for _ in range(steps):
            with record_function("batch"):
                group = next(batches)
            run.train_step(group)
    averages = profiler.key_averages()
    spent = {event.key: event.cpu_time_total / 1000 for event in averages if event.key in PHASES}
    total = sum(spent.values())
    say(averages.table(sort_by="self_cpu_time_total", row_limit=12, max_name_column_width=40))
    trace = run.record.folder / TRACE
    if run.processes.first:
        with write_atomically(trace) as temporary:
            profiler.export_chrome_trace(str(temporary))
            temporary.with_name(f"{temporary.name}.tmp").unlink(missing_ok=True)  # what torch leaves of a failure
            if not temporary.read_bytes().rstrip().endswith(b"}"):  # torch does not say so
                with temporary.open("ab") as file:
                    file.write(bytes(1 << 20))  # tells why
                raise OSError(errno.EIO, os.strerror(errno.EIO))
    return {
        "steps": steps,
        "milliseconds_per_step": round(total / steps, 2),
        "share": {phase: round(100 * spent[phase] / total, 1) for phase in PHASES},
        "trace": str(trace),
    }
