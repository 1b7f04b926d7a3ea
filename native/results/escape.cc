#include "escape.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "../common/utf8.h"

namespace tetraphone {
namespace {

constexpr char kDigits[] = "0123456789abcdef";
constexpr char kReplacement[] = "\xEF\xBF\xBD";

// Calls take(bytes, point) for each character; the point of a byte that is no UTF-8 is `kNone`.
constexpr std::uint32_t kNone = 0xFFFFFFFF;

template <typename Take>
void EachCharacter(const std::string& text, Take take) {
  for (std::size_t i = 0; i < text.size();) {
    std::uint32_t point = 0;
    const std::size_t length = DecodeUtf8(text.data() + i, text.size() - i, point);
    take(text.substr(i, std::max<std::size_t>(length, 1)), length == 0 ? kNone : point);
    i += std::max<std::size_t>(length, 1);
  }
}

void AppendUnit(std::string& json, std::uint32_t unit) {
  json += "\\u";
  for (int shift = 12; shift >= 0; shift -= 4) json += kDigits[(unit >> shift) & 15];
}

}  // namespace

std::string JsonText(const std::string& text) {
  std::string json = "\"";
  EachCharacter(text, [&](const std::string& bytes, std::uint32_t point) {
    constexpr char kShort[] = "\"\"\\\\\bb\ff\nn\rr\tt";
    for (const char* pair = kShort; *pair != 0; pair += 2) {
      if (static_cast<std::uint32_t>(*pair) == point) {
        json += {'\\', pair[1]};
        return;
      }
    }
    if (point == kNone) {
      AppendUnit(json, 0xDC00 + static_cast<std::uint8_t>(bytes[0]));
    } else if (point >= ' ' && point <= '~') {
      json += bytes;
    } else if (point < 0x10000) {
      AppendUnit(json, point);
    } else {
      AppendUnit(json, 0xD800 + ((point - 0x10000) >> 10));
      AppendUnit(json, 0xDC00 + ((point - 0x10000) & 0x3FF));
    }
  });
  return json + "\"";
}

std::string PlainText(const std::string& text) {
  std::string plain;
  EachCharacter(text, [&](const std::string& bytes, std::uint32_t point) {
    const bool breaks = point < ' ' || (point >= 0x7F && point < 0xA0) || point == 0x2028 || point == 0x2029;
    const bool none = point == kNone || point == 0xFFFE || point == 0xFFFF;
    plain += breaks ? " " : none ? kReplacement : bytes;
  });
  return plain;
}

std::string XmlText(const std::string& text) {
  std::string xml;
  for (const char c : PlainText(text)) {
    switch (c) {
      case '&':
        xml += "&amp;";
        break;
      case '<':
        xml += "&lt;";
        break;
      case '>':
        xml += "&gt;";
        break;
      case '"':
        xml += "&quot;";
        break;
      default:
        xml += c;
    }
  }
  return xml;
}

std::string CsvText(const std::string& text) {
  std::string field;
  EachCharacter(text, [&](const std::string& bytes, std::uint32_t point) {
    field += point == '"' ? "\"\"" : point == kNone ? kReplacement : bytes;
  });
  const bool outer = !field.empty() && (field.front() == ' ' || field.back() == ' ');
  return outer || field.find_first_of("\",\r\n") != std::string::npos ? '"' + field + '"' : field;
}

std::string CtmText(const std::string& text) {
  std::string word;
  EachCharacter(PlainText(text), [&](const std::string& bytes, std::uint32_t point) {
    const bool blank = point == ' ' || point == 0xA0 || point == 0x1680 || (point >= 0x2000 && point <= 0x200A) ||
                       point == 0x202F || point == 0x205F || point == 0x3000;
    word += blank || (point == ';' && word.find_first_not_of('_') == std::string::npos) ? "_" : bytes;
  });
  return word.empty() ? "_" : word;
}

std::string UrlPath(const std::string& path) {
  std::string url;
  for (const char c : path) {
    const bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                       std::string("-._~/").find(c) != std::string::npos;
    const auto byte = static_cast<std::uint8_t>(c);
    url += plain ? std::string(1, c) : std::string{'%', "0123456789ABCDEF"[byte >> 4], "0123456789ABCDEF"[byte & 15]};
  }
  return url;
}

std::size_t Columns(const std::string& text) {
  return static_cast<std::size_t>(std::count_if(text.begin(), text.end(), [](char c) { return (c & 0xC0) != 0x80; }));
}

}  // namespace tetraphone
