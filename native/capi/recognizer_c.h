/* The recogniser for C, and for whatever calls C: Python (recognition/recognizer.py), JNI. Meanings: recognizer.h.
 *
 * Recognisers and streams are numbers, never 0. A number that was closed, or never given out, is an error, not a crash:
 * closing while another thread is in a call is safe. A call that fails returns a negative error code (-ErrorCode of
 * result.h) or 0 for a handle; tetraphone_error() then says what is wrong, for the calling thread's last failed call.
 *
 * A function that takes the room for a text and its `capacity`, at least 1, copies the text in UTF-8, cut to that many
 * bytes with its final 0, and returns its length, that 0 not counted: `capacity` or more means that it was cut.
 */

#ifndef TETRAPHONE_RECOGNIZER_C_H_
#define TETRAPHONE_RECOGNIZER_C_H_

#include <stddef.h>
#include <stdint.h>

#include "../common/fields.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef uint64_t tetraphone_handle;

/* The fields of the next two structs; their lists are in fields.h. A struct begins with its own size, which the caller
 * sets before any call: a library of another version, with other fields, refuses it. */
#define TETRAPHONE_TYPE_Whole int32_t
#define TETRAPHONE_TYPE_Real double
#define TETRAPHONE_TYPE_Switch int32_t    /* 1 or 0 */
#define TETRAPHONE_TYPE_File const char*  /* its name; null: none */
#define TETRAPHONE_TYPE_Bytes uint64_t
#define TETRAPHONE_FIELD(kind, name, ...) TETRAPHONE_TYPE_##kind name;

typedef struct {
  uint64_t size;
  TETRAPHONE_MODEL_INFO(TETRAPHONE_FIELD)
} tetraphone_model_info;

typedef struct {
  uint64_t size;
  TETRAPHONE_STREAM_OPTIONS(TETRAPHONE_FIELD)
} tetraphone_stream_options;

typedef struct {
  const char* name;
  const char* kind; /* Whole, Real, Switch, File, Bytes, Choice or Folder */
  const char* flag; /* of an option: what the usage calls its value; empty: no command has the flag */
  const char* help;
  double initial; /* of an option that is a number: its default and its range */
  double least;
  double greatest;
  int32_t needs_beam; /* of an option: 1 if another value than the default is refused without a beam */
} tetraphone_field;

/* The field after the struct's size that stands at `index` in its list: 1, or 0 behind the last. */
int tetraphone_model_info_at(size_t index, tetraphone_field* field);
int tetraphone_stream_option_at(size_t index, tetraphone_field* field);
/* What both commands take besides. */
int tetraphone_command_option_at(size_t index, tetraphone_field* field);

typedef struct {
  int32_t index; /* of the phone, for tetraphone_phone_symbol */
  double start;  /* seconds */
  double end;
  double confidence;
} tetraphone_phone;

const char* tetraphone_error(void);
int tetraphone_error_code(void); /* of the same call; 0 before any failed */

/* What a model and a recording may be (limits.h), as the readers of files have it: 0, or an error that names the value
 * and the limit. A symbol is `sizes[i]` bytes of UTF-8. */
int tetraphone_check_phones(const char* const* symbols, const size_t* sizes, size_t count);
/* All options of features.h's FeatureOptions by their names, in any order. */
int tetraphone_check_features(const char* const* names, const double* values, size_t count);
int tetraphone_check_network(const char* kind, const char* direction, int64_t inputs, int64_t hidden, int64_t layers,
                             int64_t outputs);
int tetraphone_check_sound(int64_t rate, int64_t channels);
/* Sound that was heard: `energies` of each channel and that of their mean, summed over frames; the greatest magnitude.
 * The sentence follows the recording's name. */
int tetraphone_check_levels(const double* energies, size_t channels, uint64_t frames, double mean_energy, double peak);
/* Refuses a file that begins with these bytes, if it is known to be of a format that no reader of ours decodes. */
int tetraphone_check_decoded(const uint8_t* begin, size_t size);

/* What runs the programs of models that are loaded from now on (engine.h): its name; null, and an error, where
 * TETRAPHONE_ENGINE names none of this build. */
const char* tetraphone_engine(void);
/* The index-th of this build; null behind the last. */
const char* tetraphone_engine_at(size_t index);
int tetraphone_choose_engine(const char* name);

tetraphone_handle tetraphone_recognizer_load(const char* path);
tetraphone_handle tetraphone_recognizer_load_bytes(const uint8_t* data, size_t size, const char* name);
int tetraphone_recognizer_info(tetraphone_handle recognizer, tetraphone_model_info* info);
int64_t tetraphone_phone_symbol(tetraphone_handle recognizer, int32_t index, char* symbol, size_t capacity);
/* Streams of it go on living. */
int tetraphone_recognizer_close(tetraphone_handle recognizer);

int tetraphone_default_options(tetraphone_stream_options* options);
/* Sets one by its name, a whole number or a switch too; the name of a file must stay as it is while it is in use. Fails
 * where no option of that kind has the name. */
int tetraphone_set_number(tetraphone_stream_options* options, const char* name, double value);
int tetraphone_set_file(tetraphone_stream_options* options, const char* name, const char* file);
/* Whether a stream can have such options; the grammar is not read. */
int tetraphone_check_options(const tetraphone_stream_options* options);
tetraphone_handle tetraphone_stream_open(tetraphone_handle recognizer, const tetraphone_stream_options* options);
int tetraphone_stream_accept(tetraphone_handle stream, const float* samples, size_t frames, int32_t rate,
                             int32_t channels);
int tetraphone_stream_finish(tetraphone_handle stream);
int tetraphone_stream_reset(tetraphone_handle stream);
int tetraphone_stream_close(tetraphone_handle stream);
int tetraphone_stream_paused(tetraphone_handle stream); /* 1 or 0 */
int tetraphone_stream_seconds(tetraphone_handle stream, double* seconds);

/* Of heap that all open recognisers and streams hold, as they count it; not mapped files. */
uint64_t tetraphone_heap_bytes(void);

/* Copies the first provisional phones, at most `capacity`, and returns how many; they stay. */
int64_t tetraphone_stream_provisional(tetraphone_handle stream, tetraphone_phone* phones, size_t capacity);
/* Each hands over at most `capacity` items and returns how many; call again until it gives 0. */
int64_t tetraphone_stream_poll(tetraphone_handle stream, tetraphone_phone* phones, size_t capacity);
int64_t tetraphone_stream_bands(tetraphone_handle stream, float* bands, size_t capacity);
int64_t tetraphone_stream_scores(tetraphone_handle stream, float* scores, size_t capacity);

#ifdef __cplusplus
}
#endif

#endif /* TETRAPHONE_RECOGNIZER_C_H_ */
