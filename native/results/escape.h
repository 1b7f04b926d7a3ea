// Text of any bytes as a part of another text.

#pragma once

#include <string>

namespace tetraphone {

// A JSON string in ASCII; bytes that are no UTF-8 as Python's surrogate escapes.
std::string JsonText(const std::string& text);
// UTF-8 on one line: each byte that is none as U+FFFD, control characters as blanks.
std::string PlainText(const std::string& text);
// The same for XML, with its entities.
std::string XmlText(const std::string& text);
// A field of a CSV file (RFC 4180).
std::string CsvText(const std::string& text);
// Without blanks, not empty, not the beginning of a comment: "_" in their place.
std::string CtmText(const std::string& text);
// As a URL's path: all but letters, digits and -._~/ as %XX.
std::string UrlPath(const std::string& path);
// How many characters.
std::size_t Columns(const std::string& text);

}  // namespace tetraphone
