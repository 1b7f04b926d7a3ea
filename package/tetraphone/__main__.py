"""`python -m tetraphone`: the command `tetraphone`."""

import sys

from tetraphone.commands.main import main

sys.exit(main())
