"""The operators, the program file and the command line."""
