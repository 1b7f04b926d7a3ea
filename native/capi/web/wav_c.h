/* WAV files as mono samples, for C. Meanings: recordings/wav.h; numbers and errors: recognizer_c.h. Of the module for
 * browsers alone: Python and the app read files by themselves. */

#ifndef TETRAPHONE_WAV_C_H_
#define TETRAPHONE_WAV_C_H_

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* `channel`, counted from 0, or -1: the mean of all. */
uint64_t tetraphone_wav_open(const char* path, int32_t channel);
int tetraphone_wav_close(uint64_t wav);
int tetraphone_wav_rate(uint64_t wav); /* Hz */
/* 1 to `capacity` samples; 0 at the end. */
int64_t tetraphone_wav_read(uint64_t wav, float* samples, size_t capacity);
/* After the end: copies the index-th sentence of what could not be read or is wrong with the samples, cut to `capacity`
 * with its final 0, and returns its length; 0 behind the last. */
int64_t tetraphone_wav_problem(uint64_t wav, size_t index, char* text, size_t capacity);

#ifdef __cplusplus
}
#endif

#endif /* TETRAPHONE_WAV_C_H_ */
