// What an aligner says of a text: where its words and phones are, and how well they fit the sound.

#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "../model/model.h"

namespace tetraphone {

class AlignmentGraph;  // graph.h
struct Course;         // course.h
struct Segment;        // search.h
struct Span;           // timeline.h
class Timeline;

// A phone of the text: of the pronunciation that was said, where a word has several.
struct AlignedPhone {
  int index;  // into ModelInfo::phones
  std::string symbol;
  std::size_t word;  // of the text, counted from 0
  double start;      // seconds since the stream's start
  double end;        // after the start
  // How well the sound fits: the mean, over its sub-frames, of its log-likelihood less that of what is likeliest there;
  // 0 where it is the likeliest itself, else below.
  double fit;
};

struct AlignedWord {
  std::string text;    // in capital letters
  bool guessed;        // whether its pronunciation was guessed by its spelling
  std::size_t first;   // of its phones
  std::size_t phones;  // their number
  double start;        // of its first phone
  double end;          // of its last
  double fit;          // the mean over its sub-frames
  bool fits;           // whether it, with the words around it, is likely to have been said there; false where it was
                       // skipped
};

struct Alignment {
  std::vector<AlignedWord> words;
  std::vector<AlignedPhone> phones;
  double fit;                         // the mean over all sub-frames, silences included
  bool fits;                          // whether the text is likely to be what was said
  std::vector<std::string> problems;  // what to know of it: words that were guessed, that do not fit
  std::vector<std::string> faults;    // stretches that could not be aligned, and why
};

// A phone of the graph that was found there.
AlignedPhone Placed(const Segment& segment, const Span& span, const AlignmentGraph& graph, const ModelInfo& info);

// Of a whole text; its phones are where the timeline says, of `frames` sub-frames.
Alignment AlignmentOf(const Course& course, const Timeline& timeline, std::int64_t frames, const AlignmentGraph& graph,
                      const ModelInfo& info);

}  // namespace tetraphone
