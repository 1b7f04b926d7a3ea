"""The one error that is the user's to mend."""


class InputError(Exception):
    """One sentence: what is wrong, in which file or value, and how to mend it. The command line exits with 1."""


class DivergedError(InputError):
    """Training left the finite numbers."""
