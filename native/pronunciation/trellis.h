// Goodness of pronunciation (Witt and Young, 2000) without fixed boundaries: the sums of CTC (Graves et al., 2006) over
// all ways to say known phones, and over those with one substitution, deletion or insertion. Exact, but for posteriors
// below e^kLeastLog and ways that are further than kReach phones from where the phones were found.

#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace tetraphone {

class Trellis {
 public:
  // Phones on each side of the one that is spoken that a way may be at.
  static constexpr std::size_t kReach = 8;
  // The least posterior that is counted, e^-20: in a product of many, what is nearly impossible stays a number.
  static constexpr double kLeastLog = -20.0;

  // scores [frames, outputs]: unnormalised, the blank's first. `labels`: an output, above 0, for each phone; at least
  // one. `spoken` [frames]: the phone that is spoken in a frame or was last, which never decreases.
  Trellis(const float* scores, std::size_t frames, std::size_t outputs, std::vector<std::size_t> labels,
          std::vector<std::size_t> spoken);

  // Whether the phones can be said in so many frames; if not, sums are 0, and a logarithm is minus infinity.
  bool possible() const { return ending_ > 0; }
  // Of the sound, if it is these phones: natural.
  double LogLikelihood() const;
  // The likelihood of the sound over that of the phones as they are: with phone i as each output, at 0 with it left
  // out. At its own label 1, but for rounding. Writes [outputs].
  void Replaced(std::size_t phone, double* ratios) const;
  // And with one more of each label before phone i, or behind the last for i = phones. Writes [outputs]; 0 at 0.
  void Added(std::size_t phone, double* ratios) const;
  // How likely phone i is at frame t; 0 beyond its reach.
  double Occupancy(std::size_t phone, std::size_t frame) const;
  // The frames, [first, end), that are within reach of a phone.
  std::size_t first(std::size_t phone) const { return first_[phone]; }
  std::size_t end(std::size_t phone) const { return end_[phone]; }
  // The posterior of an output, at least e^kLeastLog.
  double posterior(std::size_t frame, std::size_t output) const { return posteriors_[frame * outputs_ + output]; }

 private:
  // States are a blank before each phone, the phone, and a blank behind the last: phone i is state 2i + 1.
  static constexpr std::size_t kWidth = 4 * kReach + 3;

  std::size_t states() const { return 2 * labels_.size() + 1; }
  std::size_t label(std::size_t state) const { return state % 2 == 0 ? 0 : labels_[state / 2]; }
  // Whether a way may come into a state from the second before it: a phone behind another one.
  bool skips(std::size_t state) const { return state % 2 == 1 && state >= 3 && label(state) != label(state - 2); }
  std::size_t low(std::size_t frame) const;
  std::size_t high(std::size_t frame) const;  // behind the last
  // Of a table, [frames, kWidth]; 0 for a state that is out of reach, or −1.
  double At(const std::vector<double>& table, std::size_t frame, std::size_t state) const;
  // The share of ways on which the sound goes on in a state at the next frame, that frame's posterior included.
  double Onward(std::size_t frame, std::size_t state) const;
  void Forward();
  void Backward();
  // Of the ways that come into one more state or go on from it: those by a blank, and those by a phone beside it,
  // whose label the state's must not be.
  struct Ways {
    double blank;
    double phone;
    std::size_t label;
    double Of(std::size_t own) const { return own == label ? blank : blank + phone; }
  };
  template <typename Enter, typename Leave>
  void Sum(std::size_t first, std::size_t end, Enter enter, Leave leave, double* ratios) const;

  std::size_t frames_;
  std::size_t outputs_;
  std::vector<std::size_t> labels_;
  std::vector<std::size_t> spoken_;
  std::vector<float> posteriors_;
  std::vector<double> scales_;    // by which the sums of a frame are divided, so that they stay near 1
  std::vector<double> forward_;   // of the ways up to a frame, that frame included
  std::vector<double> backward_;  // of the ways behind it
  double ending_ = 0;             // of a way that ends in one of the last two states
  std::vector<std::size_t> first_;
  std::vector<std::size_t> end_;
};

}  // namespace tetraphone
