// Texts, dictionaries and what their words sound like.

#include "lexicon/vocabulary.h"

#include <gtest/gtest.h>

#include <cstdio>
#include <memory>
#include <string>
#include <vector>

#include "lexicon/text.h"

namespace tetraphone {
namespace {

const std::vector<std::string> kPhones = {"AA", "AE", "AH", "B", "IY", "K", "S", "SH", "T", "W"};

std::string Joined(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "" : " ") + word;
  return text;
}

// A file of this process with that text.
std::string Written(const std::string& text) {
  const std::string path = testing::TempDir() + "dictionary.txt";
  std::FILE* file = std::fopen(path.c_str(), "wb");
  std::fwrite(text.data(), 1, text.size(), file);
  std::fclose(file);
  return path;
}

TEST(Text, IsSplitIntoWords) {
  const struct {
    const char* text;
    const char* words;
  } kTexts[] = {
      {"The ship's captain, Dr. Brown.", "THE SHIP'S CAPTAIN DR BROWN"},
      {"  one\ttwo\r\nthree\u00A0four\u2003five ", "ONE TWO THREE FOUR FIVE"},
      {"don\u2019t \u2018quote\u2019 \u201Cme\u201D \u00ABhere\u00BB", "DON'T 'QUOTE' ME HERE"},
      {"well-known \u2013 mother\u2010in\u2011law -- ten\u2014six -", "WELL-KNOWN MOTHER-IN-LAW TEN SIX"},
      {"wait\u2026 what?! (and/or) [x]; {y}: z!", "WAIT WHAT AND OR X Y Z"},
      {"\uFEFFna\u00EFve \u00E9t\u00E9", "NA\u00CFVE \u00C9T\u00C9"},
      {"\u03C3\u03C2 \u0434\u0451 \u0159", "\u03A3\u03A3 \u0414\u0401 \u0159"},
      {"\u6F22\u5B57\u3002\u304B", "\u6F22\u5B57 \u304B"},
      {"' '' rock 'n' roll", "ROCK 'N' ROLL"},
  };
  for (const auto& item : kTexts) {
    const auto words = SplitText(item.text);
    ASSERT_TRUE(words) << words.error().message;
    EXPECT_EQ(Joined(*words), item.words);
  }
}

TEST(Text, ThatCannotBeReadIsNamed) {
  const struct {
    std::string text;
    const char* message;
  } kFaults[] = {
      {"", "the text has no word; give"},
      {" .,' - \u2026 ", "the text has no word; give"},
      {"take 42, please", "the text has '42,'; write digits as the words"},
      {"x\u00B2", "the text has 'x\u00B2'; write digits"},
      {"50%", "the text has '50%'; write digits"},
      {"ten % of it", "the text has '%' in '%'; write it as the words"},
      {"you & I", "the text has '&' in '&'; write it"},
      {"<sil> so", "the text has '<' in '<sil>'; write it"},
      {"\u20ACten", "the text has '\u20AC' in '\u20ACten'; write it"},
      {"so \U0001F600", "the text has '\U0001F600'"},
      {"a\x01" "b", "the text has '?' in 'a?b'"},
      {std::string("a\0b", 3), "the text has '?' in 'a?b'"},
      {"good \xFF" "bad", "the text is not UTF-8 at '?bad'; write it in UTF-8"},
      {std::string(100, 'a') + "1", "the text has 'aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa\u2026'; write digits"},
  };
  for (const auto& item : kFaults) {
    const auto words = SplitText(item.text);
    ASSERT_FALSE(words) << item.text;
    EXPECT_EQ(words.error().message.find(item.message), 0u) << words.error().message;
  }
}

TEST(Dictionary, IsReadInItsForms) {
  const PhoneNames names(kPhones);
  const auto dictionary = Dictionary::Read(
      Written("\xEF\xBB\xBF;;; a comment\n"
              "Cat  K AE1 T # another\r\n"
              "cat(2)\tK AH0 T\n"
              "cat K AE2 T\n"
              "\n"
              "back\t0.99\t0.2\t1.0\t1\tb ae1 k\n"
              "(s) S\n"
              "\u00E9t\u00E9 T\n"),
      names);
  ASSERT_TRUE(dictionary) << dictionary.error().message;
  EXPECT_EQ(*dictionary->Find("CAT"), (std::vector<PhoneSequence>{{5, 1, 8}, {5, 2, 8}}));
  EXPECT_EQ(*dictionary->Find("BACK"), (std::vector<PhoneSequence>{{3, 1, 5}}));
  EXPECT_EQ(*dictionary->Find("(S)"), (std::vector<PhoneSequence>{{6}}));
  EXPECT_EQ(*dictionary->Find("\u00C9T\u00C9"), (std::vector<PhoneSequence>{{8}}));
  EXPECT_EQ(dictionary->Find("cat"), nullptr);
  EXPECT_GT(dictionary->heap_bytes(), 100u);
}

TEST(Dictionary, NamesWhatIsWrong) {
  std::string many;
  for (const char* a : {"AA", "AE", "AH", "IY", "B", "K"}) {
    for (const char* b : {"S", "SH", "T"}) many += std::string("x ") + a + " " + b + "\n";
  }
  const struct {
    std::string text;
    const char* message;
  } kFaults[] = {
      {"", "holds no word; write a word"},
      {";;; nothing\n", "holds no word"},
      {"cat K AE1 T\ndog\n", "line 2: 'dog' has no phones; give it some"},
      {"cat 0.5\n", "line 1: 'cat' has no phones"},
      {"cat K AE3 T\n", "line 1: 'cat': the model has no phone 'AE3'; it has AA AE AH B IY K S SH T W"},
      {"cat K AE 1.0 T\n", "line 1: 'cat': the model has no phone '1.0'"},
      {"a AA\n" + std::string(1001, 'x') + "\n", "line 2: longer than 1000 characters"},
      {many, "line 17: 'x' has more than 16 pronunciations"},
  };
  for (const auto& item : kFaults) {
    const auto dictionary = Dictionary::Read(Written(item.text), PhoneNames(kPhones));
    ASSERT_FALSE(dictionary) << item.text;
    EXPECT_NE(dictionary.error().message.find(item.message), std::string::npos) << dictionary.error().message;
    EXPECT_NE(dictionary.error().message.find("dictionary.txt"), std::string::npos);
    EXPECT_NE(dictionary.error().message.find(';'), std::string::npos) << "no mend";
  }
  EXPECT_EQ(Dictionary::Read(testing::TempDir(), PhoneNames(kPhones)).error().code, ErrorCode::kUnreadable);
}

class Shipped : public testing::Test {
 protected:
  void SetUp() override {
    auto loaded = Lexicon::Load(TETRAPHONE_LEXICON);
    ASSERT_TRUE(loaded) << loaded.error().message;
    lexicon_ = std::make_shared<const Lexicon>(*std::move(loaded));
  }

  std::shared_ptr<const Vocabulary> Made(const std::string& dictionary = "") const {
    const std::vector<std::string> phones = {"AA", "AE", "AH", "AO", "B", "D", "DH", "EH", "ER", "EY",
                                             "F",  "G",  "HH", "IH", "IY", "K", "L",  "M",  "N",  "NG",
                                             "OW", "P",  "R",  "S",  "SH", "T", "UW", "W",  "Y",  "Z"};
    return *Vocabulary::Make(phones, lexicon_, dictionary.empty() ? "" : Written(dictionary));
  }

  std::shared_ptr<const Lexicon> lexicon_;
};

TEST_F(Shipped, WordsAreLookedUpThenGuessed) {
  const auto vocabulary = Made("shipp SH IH P\nblorp-it B IH T\n");
  const auto words = vocabulary->Read("\u2018The ship\u2019 dogs' well-known cat-shelf blorp-it blorpy-ship SHIPP");
  ASSERT_TRUE(words) << words.error().message;
  std::vector<std::string> texts;
  for (const SpokenWord& word : *words) texts.push_back(word.text + (word.guessed ? "?" : ""));
  EXPECT_EQ(Joined(texts), "THE SHIP DOGS' WELL-KNOWN CAT SHELF BLORP-IT BLORPY? SHIP SHIPP");
  EXPECT_GE((*words)[0].pronunciations.size(), 2u);
  for (const SpokenWord& word : *words) {
    for (const PhoneSequence& sequence : word.pronunciations) EXPECT_FALSE(sequence.empty()) << word.text;
  }
}

TEST_F(Shipped, WordsThatCannotBeSaidAreNamed) {
  const struct {
    const char* text;
    const char* message;
  } kFaults[] = {
      {"a \u00FEorn", "the dictionary lacks '\u00DEORN', and its spelling does not say how it sounds; write it"},
      {"say xzqk", "the dictionary lacks 'XZQK', and it has no vowel; write it as it is said"},
      {"an oyster", "the model has no phone 'OY1'; it has AA AE"},
  };
  for (const auto& item : kFaults) {
    const auto words = Made()->Read(item.text);
    ASSERT_FALSE(words) << item.text;
    EXPECT_EQ(words.error().message.find(item.message), 0u) << words.error().message;
  }
  EXPECT_TRUE(Made()->Read("a na\u00EFf cat"));  // a word that is there without its accents
  const auto alone = *Vocabulary::Make(kPhones, nullptr, Written("cat K AE T\n"));
  EXPECT_TRUE(alone->Read("Cat"));
  EXPECT_EQ(alone->Read("dog").error().message, "the dictionary lacks 'DOG'; add it with its phones");
  EXPECT_FALSE(Vocabulary::Make(kPhones, nullptr, "none/none.txt"));
}

TEST(Phones, AreReadAsTheyAreGiven) {
  const auto vocabulary = *Vocabulary::Make(kPhones, nullptr, "");
  const auto words = vocabulary->ReadPhones("| SH iy1 |\n K  AE2 T| |");
  ASSERT_TRUE(words) << words.error().message;
  ASSERT_EQ(words->size(), 2u);
  EXPECT_EQ((*words)[0].text, "SH iy1");
  EXPECT_EQ((*words)[0].pronunciations, (std::vector<PhoneSequence>{{7, 4}}));
  EXPECT_EQ((*words)[1].pronunciations, (std::vector<PhoneSequence>{{5, 1, 8}}));
  const auto fault = [&](const char* text) { return vocabulary->ReadPhones(text).error().message; };
  EXPECT_EQ(fault(" | "), "there is no phone; give those that are said, between blanks");
  EXPECT_EQ(fault("SH X"), "the model has no phone 'X'; it has AA AE AH B IY K S SH T W");
}

}  // namespace
}  // namespace tetraphone
