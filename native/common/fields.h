/* The one list of a stream's options, that of the commands' and that of what is told of a model. The C structs, C++'s
 * options, defaults, checks and the commands' flags follow from them; Python makes its structs from them and Kotlin
 * goes by their names (recognizer_c.h). Plain C, for recognizer_c.h. */

#ifndef TETRAPHONE_FIELDS_H_
#define TETRAPHONE_FIELDS_H_

/* X(kind, name, default, least, greatest, needs_beam, flag, help)
 *   kind        Whole, Real, Switch or File
 *   least, greatest  of a number; see limits.h
 *   needs_beam  whether another value than the default is refused without a beam
 *   flag        what the usage of the commands calls the value; empty: no flag is made from the list
 *   help        the same sentences as in Python (recognition/recognizer.py) */
#define TETRAPHONE_DECODER_OPTIONS(X)                                                                                  \
  X(Whole, beam, 0, 0, kMostBeam, false, "N",                                                                          \
    "Number of prefixes that the beam search keeps; 0 takes the best path instead.")                                   \
  X(File, grammar, 0, 0, 0, true, "FST",                                                                               \
    "A phone grammar in OpenFst's text form, such as `tetraphone corpus bigram` writes; needs a beam.")                \
  X(Real, grammar_scale, 0.3, 0, kMostWeight, false, "X",                                                              \
    "Weight of the grammar's costs; the full weight of a bigram, 1, deletes phones.")                                  \
  X(Real, phone_bonus, 0, -kMostWeight, kMostWeight, true, "X",                                                        \
    "Added to the log score of each phone, against deletions; needs a beam.")                                          \
  X(Whole, context, 2, 0, kMostContext, false, "N",                                                                    \
    "Of prefixes whose last phones (this many) are the same, at the same place in the grammar, the beam search keeps " \
    "the best alone: a narrow beam then searches as well as a much wider one; 0 keeps all.")                           \
  X(Real, blank_shift, 0, -kMostWeight, kMostWeight, false, "X",                                                       \
    "Added to the blank's score in every frame before decoding: below 0 more phones are found, above 0 fewer.")

/* Of a stream of sound, whatever is asked of it. */
#define TETRAPHONE_SOUND_OPTIONS(X)                                                                                    \
  X(Switch, keep_bands, 0, 0, 1, false, "", "Whether log-mel energies are kept for the caller.")                       \
  X(Switch, keep_scores, 0, 0, 1, false, "", "Whether the network's scores are kept for the caller.")                  \
  X(Whole, channel, -1, -1, kMostChannels - 1, false, "",                                                              \
    "The channel that is heard, counted from 0; -1: the mean of all.")

#define TETRAPHONE_OTHER_OPTIONS(X)                                                                                    \
  X(Real, pause, 0.6, 0, kLongestPause, false, "SECONDS",                                                              \
    "Seconds without a phone after which a stream is paused.")                                                         \
  TETRAPHONE_SOUND_OPTIONS(X)

#define TETRAPHONE_STREAM_OPTIONS(X) TETRAPHONE_DECODER_OPTIONS(X) TETRAPHONE_OTHER_OPTIONS(X)

/* Of an aligner's stream (aligner/aligner.h). */
#define TETRAPHONE_ALIGNMENT_OPTIONS(X)                                                                                \
  X(Switch, phones, 0, 0, 1, false, "", "Whether the text is phones between blanks, with | where silence may be.")     \
  X(Switch, pronounce, 0, 0, 1, false, "",                                                                             \
    "Whether each phone is measured and scored, which needs memory for each second.")                                  \
  X(Switch, plain, 0, 0, 1, false, "",                                                                                 \
    "Whether scores are the plain ones, though the model has a head that scores.")                                     \
  TETRAPHONE_SOUND_OPTIONS(X)

/* What `tetraphone recognize` and `tetraphone-recognize` take besides those that have a flag above.
 * X(kind, name, flag, help): kind is Whole, Switch, File, Folder or Choice. */
#define TETRAPHONE_COMMAND_OPTIONS(X)                                                                                  \
  X(File, model, "FILE", "A model's file; by default TETRAPHONE_MODEL's, else english-int8.pte beside the program.")   \
  X(Folder, output, "DIR",                                                                                             \
    "Write a file of results for each recording into this folder. What is there already, made by the same model with " \
    "the same options from the same recording, is left.")                                                              \
  X(Switch, overwrite, "", "With --output: make all results anew, also in a folder of other options.")                 \
  X(Choice, format, "FORMAT", "How results are written; see below. Default: text.")                                    \
  X(Switch, json, "", "The same as --format json.")                                                                    \
  X(Choice, alphabet, "ALPHABET", "arpabet: phones as the model has them (the default); ipa: those of the ARPABET in " \
    "the International Phonetic Alphabet.")                                                                            \
  X(Whole, channel, "N", "Hear this channel of a recording, counted from 0; default: the mean of all.")                \
  X(Switch, microphone, "", "Listen until Ctrl-C, with the level and the phones as they come.")                        \
  X(Switch, quiet, "", "No progress and no level on the terminal.")

/* X(kind, name, value, help)
 *   kind   Whole, Real or Bytes
 *   value  of `model`, a Model (model.h) */
#define TETRAPHONE_MODEL_INFO(X)                                                                                       \
  X(Whole, sample_rate, model.info().features.sample_rate, "Hz; any other rate is resampled to it")                    \
  X(Whole, phones, model.info().phones.size(), "number of phones")                                                     \
  X(Whole, bands, model.info().features.bands, "mel bands of a feature frame")                                         \
  X(Real, hop, model.info().features.hop_ms / 1000, "seconds from one feature frame to the next")                      \
  X(Real, frame_shift, model.info().frame_shift, "seconds from one network frame to the next")                         \
  X(Real, frame_offset, model.info().frame_offset,                                                                     \
    "seconds from a network frame's index times frame_shift to the sound it stands for")                               \
  X(Real, delay, model.info().delay,                                                                                   \
    "seconds from a network frame's start to the last sample that its scores need")                                    \
  X(Whole, aligns, model.info().aligns,          "1: it aligns known words; 0: it recognises alone")                   \
  X(Whole, scores, model.info().scores, "1: it has a head that scores known words; 0: plain scores alone")        \
  X(Bytes, file_bytes, model.file_bytes(), "size of the file")

#endif /* TETRAPHONE_FIELDS_H_ */
