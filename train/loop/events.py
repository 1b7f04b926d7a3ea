"""Curves for TensorBoard, in its event files, written at once: a full disk is an error of the one who writes."""

import io
import os
import socket
import time
from collections.abc import Mapping
from pathlib import Path

from tensorboard.compat.proto.event_pb2 import Event, SessionLog, SourceMetadata
from tensorboard.compat.proto.summary_pb2 import Summary
from tensorboard.summary.writer.record_writer import RecordWriter

from tetraphone.common.files import append


class Events:
    """A new event file in a run's folder."""

    def __init__(self, folder: Path, purge_step: int) -> None:
        """
        Args:
            purge_step: what older files in the folder say of steps from this one on no longer counts.

        Raises:
            InputError: the file cannot be written.
        """
        self.path = folder / f"events.out.tfevents.{time.time_ns()}.{socket.gethostname()}.{os.getpid()}"
        self._append(Event(file_version="brain.Event:2", source_metadata=SourceMetadata(writer="tetraphone")))
        self._append(Event(step=purge_step, session_log=SessionLog(status=SessionLog.START)))

    def add(self, step: int, values: Mapping[str, float]) -> None:
        """Values of a step by their names.

        Raises:
            InputError: the file cannot be written.
        """
        found = [Summary.Value(tag=name, simple_value=value) for name, value in values.items()]
        self._append(Event(step=step, summary=Summary(value=found)))

    def _append(self, event: Event) -> None:
        event.wall_time = time.time()
        content = io.BytesIO()
        RecordWriter(content).write(event.SerializeToString())
        append(self.path, content.getvalue())
