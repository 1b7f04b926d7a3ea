/* Known words for C, and for whatever calls C. Meanings: aligner.h; numbers and errors: recognizer_c.h. */

#ifndef TETRAPHONE_ALIGNER_C_H_
#define TETRAPHONE_ALIGNER_C_H_

#include <stddef.h>
#include <stdint.h>

#include "recognizer_c.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct {
  uint64_t size;
  TETRAPHONE_ALIGNMENT_OPTIONS(TETRAPHONE_FIELD)
} tetraphone_alignment_options;

typedef struct {
  const char* text;
  size_t size;  /* of the text, bytes */
  double start; /* seconds */
  double end;   /* infinite: the end of the sound */
} tetraphone_stretch;

typedef struct {
  int32_t index; /* of the phone, for tetraphone_phone_symbol */
  int32_t word;  /* of the text, counted from 0 */
  double start;  /* seconds */
  double end;
  double fit; /* 0 at most */
} tetraphone_aligned_phone;

typedef struct {
  int32_t guessed; /* 1: its pronunciation was guessed by its spelling; else 0 */
  int32_t fits;    /* 1: it is likely to have been said there; else 0 */
  int32_t first;   /* of its phones */
  int32_t phones;  /* their number */
  double start;    /* seconds */
  double end;
  double fit;
} tetraphone_aligned_word;

/* Scores from 0 to 100; of plain ones some are not numbers (pronunciation/scorer.h). */
typedef struct {
  int32_t heard; /* the phone that was likeliest said there; -1: none, it was left out */
  int32_t added; /* the phone that was said too much before it; -1: none */
  double score;
  double heard_probability;
  double added_probability;
} tetraphone_phone_score;

typedef struct {
  double accuracy;
  double stress;
  double total;
} tetraphone_word_score;

typedef struct {
  int32_t trained; /* 1: by a head; 0: plain scores */
  double accuracy;
  double fluency;
  double completeness;
  double total;
} tetraphone_sentence_score;

/* `lexicon` 0: none (lexicon_c.h); `dictionary`: the name of a user's own, null: none. */
tetraphone_handle tetraphone_aligner_open(tetraphone_handle recognizer, uint64_t lexicon, const char* dictionary);
/* Alignments of it go on living. */
int tetraphone_aligner_close(tetraphone_handle aligner);

/* The field after the struct's size that stands at `index`: 1, or 0 behind the last. */
int tetraphone_alignment_option_at(size_t index, tetraphone_field* field);
int tetraphone_default_alignment_options(tetraphone_alignment_options* options);
/* For a text of `size` bytes. */
tetraphone_handle tetraphone_alignment_open(tetraphone_handle aligner, const char* text, size_t size,
                                            const tetraphone_alignment_options* options);
/* For texts that are said each within its stretch, one behind another. */
tetraphone_handle tetraphone_alignment_open_stretches(tetraphone_handle aligner, const tetraphone_stretch* stretches,
                                                      size_t count, const tetraphone_alignment_options* options);
int tetraphone_alignment_accept(tetraphone_handle alignment, const float* samples, size_t frames, int32_t rate,
                                int32_t channels);
int tetraphone_alignment_finish(tetraphone_handle alignment);
int tetraphone_alignment_reset(tetraphone_handle alignment);
int tetraphone_alignment_close(tetraphone_handle alignment);
int tetraphone_alignment_seconds(tetraphone_handle alignment, double* seconds);

/* The number of the text's words. */
int64_t tetraphone_alignment_words(tetraphone_handle alignment);
/* One of them. */
int64_t tetraphone_alignment_word(tetraphone_handle alignment, size_t index, char* text, size_t capacity);

/* The same of the sentences that say which stretches cannot be aligned, and why; returns 0 behind the last. */
int64_t tetraphone_alignment_fault(tetraphone_handle alignment, size_t index, char* text, size_t capacity);

/* Copies the first provisional phones, at most `capacity`, and returns how many; they stay. */
int64_t tetraphone_alignment_provisional(tetraphone_handle alignment, tetraphone_aligned_phone* phones,
                                         size_t capacity);
/* Each hands over at most `capacity` items and returns how many; call again until it gives 0. */
int64_t tetraphone_alignment_poll(tetraphone_handle alignment, tetraphone_aligned_phone* phones, size_t capacity);
int64_t tetraphone_alignment_bands(tetraphone_handle alignment, float* bands, size_t capacity);
int64_t tetraphone_alignment_scores(tetraphone_handle alignment, float* scores, size_t capacity);

/* Of an alignment that is finished. Each of the first two copies at most `capacity` items and returns how many there
 * are. */
int64_t tetraphone_alignment_all_words(tetraphone_handle alignment, tetraphone_aligned_word* words, size_t capacity);
int64_t tetraphone_alignment_all_phones(tetraphone_handle alignment, tetraphone_aligned_phone* phones,
                                        size_t capacity);
/* What is measured of its phones, one after another (pronunciation/measures.h), where the option pronounce was set. */
int64_t tetraphone_alignment_measures(tetraphone_handle alignment, float* measures, size_t capacity);
/* Of one that was opened with the option pronounce, as the two above; an error where the text does not fit the sound.
 * Of phones there is one more: what was added behind the last; its score counts for nothing. */
int64_t tetraphone_alignment_phone_scores(tetraphone_handle alignment, tetraphone_phone_score* scores, size_t capacity);
int64_t tetraphone_alignment_word_scores(tetraphone_handle alignment, tetraphone_word_score* scores, size_t capacity);
int tetraphone_alignment_sentence_score(tetraphone_handle alignment, tetraphone_sentence_score* score);
/* Of the sound, if the text is said, natural; minus infinity where it cannot be. Of several texts, to compare them. */
int tetraphone_alignment_log_likelihood(tetraphone_handle alignment, double* log_likelihood);
int tetraphone_alignment_fit(tetraphone_handle alignment, double* fit, int32_t* fits);
/* The index-th problem; 0 and nothing behind the last. */
int64_t tetraphone_alignment_problem(tetraphone_handle alignment, size_t index, char* text, size_t capacity);

#ifdef __cplusplus
}
#endif

#endif /* TETRAPHONE_ALIGNER_C_H_ */
