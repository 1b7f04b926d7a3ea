"""The operators, the program file and the command line."""

import os

# Threads that spin while they wait for one another make a step many times slower beside any other busy process.
os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
