// What the decoder approximates, by definition: slow, and of no code of the decoder's.

#pragma once

#include <functional>
#include <string>
#include <vector>

#include "decoding.h"

namespace tetraphone {

std::vector<Token> NaiveBestPath(const Scores& scores);

// The labelling that is best by all its alignments and `weight` (of its phones, a logarithm), at its best alignment.
std::vector<Token> Exhaustive(const Scores& scores, const std::function<double(const Labels&)>& weight);

// The cost of the cheapest way through a grammar's text, by trying all.
double Cost(const std::string& text, const Labels& labels);

// The log of the chance of phones, by all alignments: the forward algorithm over [blank, phone, blank, …, blank].
double LogChance(const Scores& scores, const std::vector<Token>& tokens);

}  // namespace tetraphone
