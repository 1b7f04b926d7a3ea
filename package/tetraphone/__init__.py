"""Phoneme recognition on a phone, offline, in a few megabytes: quaternion recurrent networks."""

import os

# Threads that spin while they wait for one another make a step many times slower beside any other busy process.
os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
