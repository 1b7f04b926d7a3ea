/* Pronunciations of words for C, and for whatever calls C. Meanings: lexicon.h; numbers and errors: recognizer_c.h. */

#ifndef TETRAPHONE_LEXICON_C_H_
#define TETRAPHONE_LEXICON_C_H_

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

uint64_t tetraphone_lexicon_load(const char* path);
int tetraphone_lexicon_close(uint64_t lexicon);
/* The number of its words. */
int64_t tetraphone_lexicon_words(uint64_t lexicon);

/* The pronunciations of a word in small letters, the usual one first, a line each: phones with stress between blanks.
 * Nothing where the lexicon lacks the word. */
int64_t tetraphone_lexicon_find(uint64_t lexicon, const char* word, char* lines, size_t capacity);
/* What its spelling says; nothing where a letter is unknown or no phone is heard. */
int64_t tetraphone_lexicon_guess(uint64_t lexicon, const char* word, char* line, size_t capacity);

#ifdef __cplusplus
}
#endif

#endif /* TETRAPHONE_LEXICON_C_H_ */
