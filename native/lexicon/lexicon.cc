#include "lexicon.h"

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <memory>
#include <optional>
#include <utility>

#include "../common/crc32.h"
#include "../system/files.h"

namespace tetraphone {
namespace {

constexpr char kMagic[] = "TETRALEX";
constexpr std::size_t kMagicBytes = 8;
constexpr std::uint32_t kVersion = 1;
constexpr std::size_t kCheckBytes = 4;
constexpr std::size_t kMostBytes = std::size_t{1} << 24;
constexpr std::size_t kLongestWord = 64;
constexpr std::uint32_t kMostSounds = 4096;
constexpr std::uint32_t kMostPronunciations = 16;

// The trees of a file, in order; their contexts have so many values, over so many symbols (0: as many as letters, and
// one for the word's end; or sounds).
enum Tree : std::size_t { kDropped, kLetter, kPronunciations, kSound, kTrees };
constexpr std::size_t kContextValues[kTrees] = {6, 9, 1, 15};

constexpr int kNear[] = {0, 1, -1, 2, -2, 3, -3, 4, -4};  // letters around one that is sounded
constexpr std::size_t kFormerLetters = 6;
constexpr std::size_t kLastLetters = 4;

std::uint16_t AtMost(std::size_t most, std::size_t value) { return static_cast<std::uint16_t>(std::min(most, value)); }

Error Damaged(const std::string& name) {
  return {ErrorCode::kDamaged, name + " is damaged; copy it again, or make it by `tetraphone corpus lexicon`"};
}

}  // namespace

// The symbols of a block, by the decoder of ranged asymmetric numeral systems.
struct Lexicon::Coded {
  explicit Coded(Bytes block) : bytes(block) {
    for (int i = 0; i < 4; ++i) state = state << 8 | bytes.Byte();
  }

  std::uint16_t Take(ContextTree::Leaf leaf) {
    const std::uint32_t place = state & ((1u << kFrequencyBits) - 1);
    std::uint32_t before = 0;
    const ContextTree::Entry* entry = leaf.begin();
    while (entry + 1 != leaf.end() && before + entry->frequency <= place) before += (entry++)->frequency;
    state = entry->frequency * (state >> kFrequencyBits) + place - before;
    while (state < kLeast && !bytes.failed()) state = state << 8 | bytes.Byte();
    return entry->symbol;
  }

  static constexpr std::uint32_t kLeast = 1u << 23;
  Bytes bytes;
  std::uint32_t state = 0;
};

struct Lexicon::Entries {
  Entries(const Lexicon& from, std::size_t block) : lexicon(from), coded(from.blocks_[block]) {}

  // The next word; false where the block is damaged.
  bool NextWord() {
    const Spelling former = word;
    std::vector<std::uint16_t> context{AtMost(7, dropped), AtMost(15, former.size())};
    for (std::size_t i = 1; i <= kLastLetters; ++i) {
      context.push_back(i <= former.size() ? former[former.size() - i] : 0);
    }
    dropped = coded.Take(lexicon.trees_[kDropped].Find(context));
    if (dropped > former.size()) return false;
    word.resize(former.size() - dropped);
    for (const std::size_t kept = word.size(); word.size() < kLongestWord && !coded.bytes.failed();) {
      const std::size_t at = word.size();
      context.clear();
      for (std::size_t i = 1; i <= kFormerLetters; ++i) context.push_back(i <= at ? word[at - i] : 0);
      context.push_back(at > kept ? 0 : at < former.size() ? former[at] + 1 : 1);
      context.push_back(AtMost(9, at));
      context.push_back(AtMost(6, at - kept));
      const Place letter = coded.Take(lexicon.trees_[kLetter].Find(context));
      if (letter == 0) return true;
      word.push_back(letter);
    }
    return false;
  }

  // Those of the word, which has to be the last that was read.
  bool NextPronunciations(std::vector<std::string>* spoken) {
    const std::size_t count = coded.Take(lexicon.trees_[kPronunciations].Find({0}));
    for (std::size_t i = 0; i < count; ++i) {
      Sounds sounds;
      while (sounds.size() < word.size()) {
        sounds.push_back(coded.Take(lexicon.trees_[kSound].Find(lexicon.SoundContext(word, sounds, i > 0))));
      }
      if (spoken != nullptr) spoken->push_back(lexicon.Spoken(sounds));
    }
    return !coded.bytes.failed();
  }

  const Lexicon& lexicon;
  Coded coded;
  Spelling word;
  std::size_t dropped = 0;  // letters of the word before the last, at its end
};

Result<Lexicon> Lexicon::Load(const std::string& path) {
  const Error unreadable{ErrorCode::kUnreadable,
                         "cannot read the lexicon " + path + "; give a plain file that you may read"};
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(OpenFile(path, "rb"), std::fclose);
  if (file == nullptr) return unreadable;
  std::vector<std::uint8_t> content;
  std::uint8_t part[4096];
  while (const std::size_t size = std::fread(part, 1, sizeof part, file.get())) {
    if (content.size() + size > kMostBytes) return Damaged(path);
    content.insert(content.end(), part, part + size);
  }
  if (std::ferror(file.get()) != 0) return unreadable;
  content.shrink_to_fit();
  return Read(std::move(content), path);
}

Result<Lexicon> Lexicon::Read(std::vector<std::uint8_t> content, const std::string& name) {
  if (content.size() < kMagicBytes + kCheckBytes || std::memcmp(content.data(), kMagic, kMagicBytes) != 0) {
    return Error{ErrorCode::kNotAModel, name + " is not a lexicon; `tetraphone corpus lexicon` writes one"};
  }
  const std::size_t size = content.size() - kCheckBytes;
  std::uint32_t checksum = 0;
  for (std::size_t i = 0; i < kCheckBytes; ++i) checksum |= static_cast<std::uint32_t>(content[size + i]) << 8 * i;
  if (Crc32(content.data(), size) != checksum) return Damaged(name);
  Bytes bytes(content.data() + kMagicBytes, size - kMagicBytes);
  if (const std::uint32_t version = bytes.Number(); version != kVersion) {
    return Error{ErrorCode::kVersion, name + " has format " + std::to_string(version) + ", this version reads " +
                                          std::to_string(kVersion) + "; make it by `tetraphone corpus lexicon`"};
  }
  Lexicon lexicon;
  lexicon.content_ = std::move(content);  // a vector's bytes stay where they are
  if (!lexicon.ReadTables(&bytes)) return Damaged(name);
  return lexicon;
}

bool Lexicon::ReadTables(Bytes* bytes) {
  letters_ = bytes->Text();
  vowel_letters_.assign(letters_.size() + 1, false);
  const std::string vowels = bytes->Text();
  for (std::size_t i = 0; i < letters_.size(); ++i) {
    places_[static_cast<std::uint8_t>(letters_[i])] = static_cast<Place>(i + 1);
    vowel_letters_[i + 1] = vowels.find(letters_[i]) != std::string::npos;
  }
  sounds_.resize(std::min(bytes->Count(), kMostSounds));
  for (Sound& sound : sounds_) {
    sound.phones = bytes->Text();
    for (const char c : sound.phones) {
      if (c != ' ' && (c < '0' || c > '2') && (c < 'A' || c > 'Z')) return false;
      if (c < '0' || c > '2') continue;
      ++sound.vowels;
      sound.stress = std::max<std::uint16_t>(sound.stress, c == '0' ? 1 : c == '1' ? 3 : 2);
    }
  }
  if (bytes->failed() || letters_.empty() || sounds_.empty()) return false;
  const std::size_t symbols[kTrees] = {kLongestWord, letters_.size() + 1, kMostPronunciations, sounds_.size()};
  for (std::size_t i = 0; i < kTrees; ++i) trees_.emplace_back(bytes, kContextValues[i], symbols[i]);
  words_ = bytes->Number();
  words_a_block_ = bytes->Number(1, 0xFFFF);
  std::vector<std::uint32_t> sizes(bytes->Count());
  if (sizes.size() != (words_ + words_a_block_ - 1) / words_a_block_) return false;
  for (std::uint32_t& size : sizes) size = bytes->Number();
  for (const std::uint32_t size : sizes) {
    const std::uint8_t* block = bytes->Skip(size);
    if (block == nullptr) return false;
    blocks_.emplace_back(block, size);
  }
  return !bytes->failed() && bytes->left() == 0;
}

Lexicon::Spelling Lexicon::Spell(std::string_view word) const {
  Spelling spelling;
  constexpr std::string_view kApostrophe = "\xE2\x80\x99";  // as in print
  for (std::size_t i = 0; i < word.size(); ++i) {
    const bool printed = word.substr(i, kApostrophe.size()) == kApostrophe;
    const Place place = places_[static_cast<std::uint8_t>(printed ? '\'' : word[i])];
    if (printed) i += kApostrophe.size() - 1;
    if (place == 0 || spelling.size() == kLongestWord) return {};
    spelling.push_back(place);
  }
  return spelling;
}

std::vector<std::uint16_t> Lexicon::SoundContext(const Spelling& word, const Sounds& sounds, bool other) const {
  const std::size_t at = sounds.size();
  std::vector<std::uint16_t> context;
  for (const int near : kNear) {
    const std::size_t place = at + static_cast<std::size_t>(near);  // below 0: beyond the end
    context.push_back(place < word.size() ? word[place] : 0);
  }
  for (std::size_t i = 1; i <= 2; ++i) context.push_back(at >= i ? static_cast<std::uint16_t>(sounds[at - i] + 1) : 0);
  std::uint16_t stress = 0;
  std::size_t vowels = 0;
  for (const std::uint16_t sound : sounds) {
    stress = std::max(stress, sounds_[sound].stress);
    vowels += sounds_[sound].vowels;
  }
  const auto to_come = std::count_if(word.begin() + static_cast<std::ptrdiff_t>(at) + 1, word.end(),
                                     [this](Place letter) { return vowel_letters_[letter]; });
  context.insert(context.end(), {stress, AtMost(3, vowels), AtMost(3, static_cast<std::size_t>(to_come)), other});
  return context;
}

std::string Lexicon::Spoken(const Sounds& sounds) const {
  std::string spoken;
  for (const std::uint16_t sound : sounds) {
    const std::string& phones = sounds_[sound].phones;
    if (!phones.empty()) spoken += (spoken.empty() ? "" : " ") + phones;
  }
  return spoken;
}

std::vector<std::string> Lexicon::Find(std::string_view word) const {
  const Spelling sought = Spell(word);
  if (sought.empty()) return {};
  // The last block whose first word is not behind the word.
  std::size_t first = 0;
  for (std::size_t last = blocks_.size(); last - first > 1;) {
    const std::size_t middle = (first + last) / 2;
    Entries entries(*this, middle);
    (entries.NextWord() && entries.word <= sought ? first : last) = middle;
  }
  if (first == blocks_.size()) return {};
  Entries entries(*this, first);
  const std::size_t count = std::min(words_a_block_, words_ - first * words_a_block_);
  for (std::size_t i = 0; i < count && entries.NextWord(); ++i) {
    const bool found = entries.word == sought;
    std::vector<std::string> spoken;
    if (!entries.NextPronunciations(found ? &spoken : nullptr)) return {};
    if (found) return spoken;
    if (entries.word > sought) return {};
  }
  return {};
}

std::string Lexicon::Guess(std::string_view word) const {
  const Spelling spelling = Spell(word);
  Sounds sounds;
  while (sounds.size() < spelling.size()) {
    sounds.push_back(trees_[kSound].Find(SoundContext(spelling, sounds, false)).begin()->symbol);
  }
  return Spoken(sounds);
}

std::size_t Lexicon::HeapBytes() const {
  std::size_t bytes = content_.capacity() + sounds_.capacity() * sizeof(Sound) + blocks_.capacity() * sizeof(Bytes);
  for (const ContextTree& tree : trees_) bytes += tree.HeapBytes();
  return bytes;
}

}  // namespace tetraphone
