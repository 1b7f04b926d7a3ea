// What is measured of each phone of a known text, where it was found: how likely it is beside every other phone, how
// long it is, how fast the speech is. The head that scores reads it (scorer.h), and training has it from here too.

#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace tetraphone {

// A phone where it was found.
struct FoundPhone {
  std::size_t label;   // its output of the network, above 0
  std::size_t word;    // of the text, counted from 0; never less than that of the phone before
  std::int64_t first;  // sub-frame
  std::int64_t end;    // the sub-frame behind its last
  bool skipped;        // its word was not said there
  bool apart;          // what is before it belongs to others: speech that the text lacks, another stretch's
};

// What was said instead of a phone, if anything.
struct Heard {
  std::size_t label;         // the likeliest: its own, another, or 0, where it was left out
  double probability;        // of that one
  double own;                // that the phone itself was said
  std::size_t added;         // the likeliest phone that was said too much before it; 0 where nothing was
  double added_probability;  // of that one, against none; 0 where nothing was
};

struct Measures {
  std::size_t count;         // of a phone, MeasureCount(outputs)
  std::vector<float> rows;   // [phones, count]
  std::vector<Heard> heard;  // [phones + 1]; of the last the added phone alone counts, which stands behind all
};

// The network's scores [frames, outputs], and those of the head that aligns for each of the frames' sub-frames
// [frames * kSubFrames, outputs], both unnormalised; the phones in order, one at least, all within the frames;
// `apart_behind`: as FoundPhone::apart, of what is behind the last. Phones that were skipped, or that cannot be said in
// the frames that they have, count as left out.
Measures Measured(const float* scores, const float* parts, std::size_t frames, std::size_t outputs,
                  const std::vector<FoundPhone>& phones, bool apart_behind);

// Of the sound, if it is these phones, whatever is skipped or apart: natural, minus infinity if it cannot be.
double LogLikelihood(const float* scores, std::size_t frames, std::size_t outputs,
                     const std::vector<FoundPhone>& phones);

}  // namespace tetraphone
