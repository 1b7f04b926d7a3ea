// What a command asks of its system: arguments, its own place, terminals, the end by Ctrl-C.

#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace tetraphone {

// Once, at the start: streams are binary, text on a terminal is UTF-8, a failed write is told and not a signal.
void PrepareProcess();

// main's arguments in UTF-8.
std::vector<std::string> Arguments(int count, char** arguments);

// The folder of this program's file, as far as it is known; else "".
std::string ProgramFolder();

// Whether a descriptor is a terminal whose line can be rewritten; from then on it can.
bool IsTerminal(int descriptor);
// 80 where the terminal does not say.
std::size_t TerminalColumns(int descriptor);
// Whether terminals show block characters.
bool TerminalHasBlocks();

}  // namespace tetraphone
