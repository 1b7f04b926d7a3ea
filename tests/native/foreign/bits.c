/* Prints, as bits, the bands, scores and phones that the C ABI gives for raw samples: the same on every system.
 * Usage: bits MODEL SAMPLES, a file of 16-bit samples at 16 kHz. */

#include <stdio.h>
#include <string.h>

#include "recognizer_c.h"

const char* tetraphone_instruction_set(void);

enum { kMost = 4096, kPiece = 1234 };

static int Fail(const char* what) {
  fprintf(stderr, "%s: %s\n", what, tetraphone_error());
  return 1;
}

static void PrintFloats(const char* name, const float* values, int64_t count) {
  for (int64_t i = 0; i < count; ++i) {
    uint32_t bits;
    memcpy(&bits, &values[i], sizeof bits);
    printf("%s %08x\n", name, (unsigned)bits);
  }
}

static int PrintNew(tetraphone_handle stream) {
  static float values[kMost];
  static tetraphone_phone phones[kMost];
  int64_t count;
  while ((count = tetraphone_stream_bands(stream, values, kMost)) > 0) PrintFloats("band", values, count);
  if (count < 0) return 0;
  while ((count = tetraphone_stream_scores(stream, values, kMost)) > 0) PrintFloats("score", values, count);
  if (count < 0) return 0;
  while ((count = tetraphone_stream_poll(stream, phones, kMost)) > 0) {
    for (int64_t i = 0; i < count; ++i) {
      printf("phone %d %a %a %a\n", (int)phones[i].index, phones[i].start, phones[i].end, phones[i].confidence);
    }
  }
  return count == 0;
}

int main(int count, char** arguments) {
  if (count != 3) return 2;
  const tetraphone_handle recognizer = tetraphone_recognizer_load(arguments[1]);
  if (recognizer == 0) return Fail("load");
  tetraphone_stream_options options = {.size = sizeof options};
  if (tetraphone_default_options(&options) < 0) return Fail("options");
  options.keep_bands = options.keep_scores = 1;
  const tetraphone_handle stream = tetraphone_stream_open(recognizer, &options);
  if (stream == 0) return Fail("open");
  FILE* file = fopen(arguments[2], "rb");
  if (file == NULL) return 3;
  static int16_t samples[kPiece];
  static float scaled[kPiece];
  size_t read;
  while ((read = fread(samples, sizeof samples[0], kPiece, file)) > 0) {
    for (size_t i = 0; i < read; ++i) scaled[i] = (float)samples[i] / 32768.0f;
    if (tetraphone_stream_accept(stream, scaled, read, 16000, 1) < 0) return Fail("accept");
    if (!PrintNew(stream)) return Fail("poll");
  }
  fclose(file);
  if (tetraphone_stream_finish(stream) < 0 || !PrintNew(stream)) return Fail("finish");
  fprintf(stderr, "%s\n", tetraphone_instruction_set());
  return 0;
}
