/* Results as other programs read them, for C. Meanings: results/formats.h; failures: recognizer_c.h. */

#ifndef TETRAPHONE_RESULTS_C_H_
#define TETRAPHONE_RESULTS_C_H_

#include <stddef.h>
#include <stdint.h>

#include "recognizer_c.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct {
  const char* label; /* UTF-8 */
  double start;      /* seconds */
  double end;
  double confidence; /* 0 to 1; -1: nothing is said of it */
} tetraphone_interval;

typedef struct {
  const char* name;                     /* "phones" */
  const tetraphone_interval* intervals; /* in the order of their starts */
  size_t count;
} tetraphone_tier;

typedef struct {
  uint64_t size;         /* of this struct */
  const char* recording; /* its name */
  double duration;       /* seconds */
  const tetraphone_tier* tiers;
  size_t tier_count;
  const char* const* problems; /* why this is not all of the recording */
  size_t problem_count;
} tetraphone_result;

typedef struct {
  const char* name;
  const char* suffix; /* of a file of it, such as ".TextGrid" */
  const char* help;
  int32_t joins; /* 1: results of several recordings make one file, one behind another; else 0 */
} tetraphone_result_format;

/* The format that stands at `index` in the list: 1, or 0 behind the last. */
int tetraphone_result_format_at(size_t index, tetraphone_result_format* format);

/* "arpabet", phones as the model has them, and "ipa"; null behind the last. */
const char* tetraphone_alphabet_at(size_t index);
/* The table of the alphabets: 1 and a phone in both, or 0 behind the last. */
int tetraphone_alphabet_phone_at(size_t index, const char** arpabet, const char** ipa);

/* The result as text. `first`: whether it begins a file; a format that joins leaves its header out elsewhere. */
int64_t tetraphone_format_result(const tetraphone_result* result, const char* format, const char* alphabet, int first,
                                 char* text, size_t capacity);

/* What results depend on besides the recordings (recognizer/settings.h), for the file tetraphone.json in a folder of
 * them. `model` is the name of a file. */
int64_t tetraphone_settings_text(const char* model, const tetraphone_stream_options* options, const char* alphabet,
                                 char* text, size_t capacity);

#ifdef __cplusplus
}
#endif

#endif /* TETRAPHONE_RESULTS_C_H_ */
