#include "text.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>

#include "../common/utf8.h"

namespace tetraphone {
namespace {

constexpr std::size_t kShown = 40;  // bytes

enum class Sort { kLetter, kApostrophe, kHyphen, kBreak, kDigit, kSymbol };

struct Range {
  std::uint32_t first;
  std::uint32_t last;
  Sort sort;
};

// What is not a letter, in order.
constexpr Range kRanges[] = {
    {0x00, 0x08, Sort::kSymbol}, {0x09, 0x0D, Sort::kBreak}, {0x0E, 0x1F, Sort::kSymbol}, {0x20, 0x22, Sort::kBreak},
    {0x23, 0x26, Sort::kSymbol}, {0x27, 0x27, Sort::kApostrophe}, {0x28, 0x29, Sort::kBreak},
    {0x2A, 0x2B, Sort::kSymbol}, {0x2C, 0x2C, Sort::kBreak}, {0x2D, 0x2D, Sort::kHyphen}, {0x2E, 0x2F, Sort::kBreak},
    {0x30, 0x39, Sort::kDigit}, {0x3A, 0x3B, Sort::kBreak}, {0x3C, 0x3E, Sort::kSymbol}, {0x3F, 0x3F, Sort::kBreak},
    {0x40, 0x40, Sort::kSymbol}, {0x5B, 0x5B, Sort::kBreak}, {0x5C, 0x5C, Sort::kSymbol}, {0x5D, 0x5D, Sort::kBreak},
    {0x5E, 0x5F, Sort::kSymbol}, {0x60, 0x60, Sort::kApostrophe}, {0x7B, 0x7B, Sort::kBreak},
    {0x7C, 0x7C, Sort::kSymbol}, {0x7D, 0x7D, Sort::kBreak}, {0x7E, 0x84, Sort::kSymbol}, {0x85, 0x85, Sort::kBreak},
    {0x86, 0x9F, Sort::kSymbol}, {0xA0, 0xA1, Sort::kBreak}, {0xA2, 0xA9, Sort::kSymbol}, {0xAB, 0xAB, Sort::kBreak},
    {0xAC, 0xAC, Sort::kSymbol}, {0xAD, 0xAD, Sort::kBreak}, {0xAE, 0xB1, Sort::kSymbol}, {0xB2, 0xB3, Sort::kDigit},
    {0xB4, 0xB4, Sort::kApostrophe}, {0xB6, 0xB6, Sort::kSymbol}, {0xB7, 0xB7, Sort::kBreak},
    {0xB9, 0xB9, Sort::kDigit}, {0xBB, 0xBB, Sort::kBreak}, {0xBC, 0xBE, Sort::kDigit}, {0xBF, 0xBF, Sort::kBreak},
    {0xD7, 0xD7, Sort::kSymbol}, {0xF7, 0xF7, Sort::kSymbol}, {0x2BC, 0x2BC, Sort::kApostrophe},
    {0x1680, 0x1680, Sort::kBreak}, {0x2000, 0x200F, Sort::kBreak}, {0x2010, 0x2011, Sort::kHyphen},
    {0x2012, 0x2017, Sort::kBreak}, {0x2018, 0x2019, Sort::kApostrophe}, {0x201A, 0x201A, Sort::kBreak},
    {0x201B, 0x201B, Sort::kApostrophe}, {0x201C, 0x201F, Sort::kBreak}, {0x2020, 0x2023, Sort::kSymbol},
    {0x2024, 0x202F, Sort::kBreak}, {0x2030, 0x2031, Sort::kSymbol}, {0x2032, 0x2032, Sort::kApostrophe},
    {0x2033, 0x2038, Sort::kSymbol}, {0x2039, 0x203A, Sort::kBreak}, {0x203B, 0x203B, Sort::kSymbol},
    {0x203C, 0x203D, Sort::kBreak}, {0x203E, 0x2044, Sort::kSymbol}, {0x2045, 0x206F, Sort::kBreak},
    {0x2070, 0x2079, Sort::kDigit}, {0x207A, 0x207E, Sort::kSymbol}, {0x2080, 0x2089, Sort::kDigit},
    {0x20A0, 0x20CF, Sort::kSymbol}, {0x2150, 0x218B, Sort::kDigit}, {0x2190, 0x245F, Sort::kSymbol},
    {0x2460, 0x249B, Sort::kDigit}, {0x2500, 0x2BFF, Sort::kSymbol}, {0x2E00, 0x2E7F, Sort::kBreak},
    {0x3000, 0x3003, Sort::kBreak}, {0x3008, 0x3011, Sort::kBreak}, {0x3014, 0x301F, Sort::kBreak},
    {0xFE10, 0xFE19, Sort::kBreak}, {0xFEFF, 0xFEFF, Sort::kBreak}, {0xFF01, 0xFF02, Sort::kBreak},
    {0xFF07, 0xFF07, Sort::kApostrophe}, {0xFF08, 0xFF09, Sort::kBreak}, {0xFF0C, 0xFF0F, Sort::kBreak},
    {0xFF10, 0xFF19, Sort::kDigit}, {0xFF1A, 0xFF1B, Sort::kBreak}, {0xFF1F, 0xFF1F, Sort::kBreak},
    {0xFFF9, 0xFFFD, Sort::kSymbol}, {0x1F000, 0x1FAFF, Sort::kSymbol},
};

Sort SortOf(std::uint32_t point) {
  const Range* found = std::lower_bound(std::begin(kRanges), std::end(kRanges), point,
                                        [](const Range& range, std::uint32_t p) { return range.last < p; });
  return found != std::end(kRanges) && found->first <= point ? found->sort : Sort::kLetter;
}

std::uint32_t Upper(std::uint32_t point) {
  const auto within = [point](std::uint32_t first, std::uint32_t last) { return point >= first && point <= last; };
  if (within('a', 'z') || (within(0xE0, 0xFE) && point != 0xF7) || within(0x3B1, 0x3C1) || within(0x3C3, 0x3C9) ||
      within(0x430, 0x44F)) {
    return point - 0x20;
  }
  return point == 0x3C2 ? 0x3A3 : point == 0xFF ? 0x178 : within(0x450, 0x45F) ? point - 0x50 : point;
}

// Of the characters that Upper gives other ones for, those that it gives have two bytes if they have.
void Append(std::uint32_t point, std::string* text) {
  if (point < 0x80) {
    *text += static_cast<char>(point);
  } else {
    *text += static_cast<char>(0xC0 | point >> 6);
    *text += static_cast<char>(0x80 | (point & 0x3F));
  }
}

// The word around a place, up to white space of ASCII.
std::string_view Around(std::string_view text, std::size_t place) {
  constexpr const char* kBlanks = " \t\n\v\f\r";
  const std::size_t before = text.find_last_of(kBlanks, place);
  const std::size_t first = before == std::string_view::npos ? 0 : before + 1;
  return text.substr(first, text.find_first_of(kBlanks, place) - first);
}

Error Refusal(const std::string& what) { return {ErrorCode::kInvalidArgument, what}; }

}  // namespace

std::string Shown(std::string_view text) {
  std::string shown = "'";
  for (std::size_t at = 0; at < text.size();) {
    std::uint32_t point = 0;
    const std::size_t length = DecodeUtf8(text.data() + at, text.size() - at, point);
    if (at + length > kShown) return shown + "…'";
    const bool plain = length > 0 && point >= 0x20 && (point < 0x7F || point > 0x9F);
    shown += plain ? text.substr(at, length) : std::string_view("?");
    at += std::max<std::size_t>(length, 1);
  }
  return shown + "'";
}

std::string UpperCase(std::string_view text) {
  std::string upper;
  for (std::size_t at = 0; at < text.size();) {
    std::uint32_t point = 0;
    const std::size_t length = DecodeUtf8(text.data() + at, text.size() - at, point);
    const std::uint32_t other = length == 0 ? point : Upper(point);
    if (length == 0 || other == point) {
      upper += text.substr(at, std::max<std::size_t>(length, 1));
    } else {
      Append(other, &upper);
    }
    at += std::max<std::size_t>(length, 1);
  }
  return upper;
}

std::string WithoutAccents(std::string_view text) {
  // Of U+00C0 to U+00DD; '?' keeps what is no letter with an accent.
  constexpr char kPlain[] = "AAAAAA?CEEEEIIII?NOOOOO?OUUUUY";
  std::string plain;
  for (std::size_t at = 0; at < text.size();) {
    std::uint32_t point = 0;
    const std::size_t length = std::max<std::size_t>(DecodeUtf8(text.data() + at, text.size() - at, point), 1);
    const char letter = length == 2 && point >= 0xC0 && point <= 0xDD ? kPlain[point - 0xC0] : '?';
    plain += letter == '?' ? text.substr(at, length) : std::string_view(&letter, 1);
    at += length;
  }
  return plain;
}

bool IsUtf8(std::string_view text) {
  for (std::size_t at = 0; at < text.size();) {
    std::uint32_t point = 0;
    const std::size_t length = DecodeUtf8(text.data() + at, text.size() - at, point);
    if (length == 0) return false;
    at += length;
  }
  return true;
}

Result<std::vector<std::string>> SplitText(std::string_view text) {
  std::vector<std::string> words;
  std::string word;
  const auto end = [&] {
    const std::size_t first = word.find_first_not_of('-');
    word = first == std::string::npos ? "" : word.substr(first, word.find_last_not_of('-') + 1 - first);
    if (word.find_first_not_of("'-") != std::string::npos) words.push_back(UpperCase(word));
    word.clear();
  };
  for (std::size_t at = 0; at < text.size();) {
    std::uint32_t point = 0;
    const std::size_t length = DecodeUtf8(text.data() + at, text.size() - at, point);
    if (length == 0) return Refusal("the text is not UTF-8 at " + Shown(Around(text, at)) + "; write it in UTF-8");
    const Sort sort = SortOf(point);
    if (sort == Sort::kDigit) {
      return Refusal("the text has " + Shown(Around(text, at)) + "; write digits as the words that are said");
    }
    if (sort == Sort::kSymbol) {
      return Refusal("the text has " + Shown(text.substr(at, length)) + " in " + Shown(Around(text, at)) +
                     "; write it as the words that are said, or take it out");
    }
    if (sort == Sort::kBreak) {
      end();
    } else {
      word += sort == Sort::kApostrophe ? "'" : sort == Sort::kHyphen ? "-" : text.substr(at, length);
    }
    at += length;
  }
  end();
  if (words.empty()) return Refusal("the text has no word; give the words that are said");
  return words;
}

}  // namespace tetraphone
