// Windows' strings are UTF-16.

#pragma once

#include <string>

namespace tetraphone {

std::wstring Wide(const std::string& text);
std::string Narrow(const wchar_t* text);

}  // namespace tetraphone
