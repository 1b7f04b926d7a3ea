/* Prints the phones of samples: ./recognize MODEL.pte < samples, 16-bit little-endian mono at 16 kHz. */

#include <stdint.h>
#include <stdio.h>

#include "tetraphone/capi/recognizer_c.h"

static int fail(void) {
  fprintf(stderr, "%s\n", tetraphone_error());
  return 1;
}

int main(int count, char** arguments) {
  const tetraphone_handle recognizer = tetraphone_recognizer_load(count > 1 ? arguments[1] : "english-int8.pte");
  if (recognizer == 0) return fail();

  tetraphone_stream_options options = {.size = sizeof options};
  if (tetraphone_default_options(&options) < 0) return fail();
  const tetraphone_handle stream = tetraphone_stream_open(recognizer, &options);
  if (stream == 0) return fail();

  int16_t samples[1600];
  float block[1600];
  size_t size = 0;
  do { /* a block of sound, then the phones that nothing to come can change */
    size = fread(samples, sizeof *samples, 1600, stdin);
    for (size_t i = 0; i < size; ++i) block[i] = samples[i] / 32768.0f;
    if (size > 0 && tetraphone_stream_accept(stream, block, size, 16000, 1) < 0) return fail();
    if (size == 0 && tetraphone_stream_finish(stream) < 0) return fail();
    tetraphone_phone phones[16];
    int64_t found = 0;
    while ((found = tetraphone_stream_poll(stream, phones, 16)) > 0) {
      for (int64_t i = 0; i < found; ++i) {
        char symbol[32];
        tetraphone_phone_symbol(recognizer, phones[i].index, symbol, sizeof symbol);
        printf("%.2f %.2f %s %.4f\n", phones[i].start, phones[i].end, symbol, phones[i].confidence);
      }
    }
    if (found < 0) return fail();
  } while (size > 0);

  tetraphone_stream_close(stream);
  tetraphone_recognizer_close(recognizer);
  return 0;
}
