#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <tuple>
#include <vector>

#include "../common/heap_bytes.h"
#include "../common/limits.h"
#include "../common/numerics.h"
#include "place.h"
#include "runs.h"
#include "search.h"

namespace tetraphone {
namespace {

constexpr std::int64_t kLag = 50;  // frames after its end at which the best prefix decides on a phone
static_assert(kMostPhones < 65535, "a phone is 16 bits of Prefix::suffix");

double LogAdd(double a, double b) {
  constexpr double kNegligible = -40.0;
  if (a < b) std::swap(a, b);
  const double difference = b - a;
  return difference > kNegligible ? a + Log(1.0 + Exp(difference)) : a;  // NaN, of two kNever, is not greater either
}

// Prefix beam search (Graves et al., 2006; Hannun et al., 2014): alignments that give the same phones are one prefix,
// whose chances are added up; times are those of its best alignment.
class Beam final : public Search {
 public:
  Beam(std::size_t phones, const DecoderOptions& options)
      : Search(phones, options),
        options_(options),
        log_posteriors_(phones + 1),
        posteriors_(phones + 1),
        gains_(phones, options.phone_bonus) {
    if (options_.grammar) places_.resize(2 * static_cast<std::size_t>(options_.beam) + 1);
    Clear();
  }

  std::size_t heap_bytes() const override {
    return Search::heap_bytes() + sizeof *this - sizeof(Search) + runs_.heap_bytes() + NestedHeapBytes(places_) +
           HeapBytes(log_posteriors_, posteriors_, gains_, prefixes_, next_) +
           HeapBytes(free_places_, candidates_, hashes_, taken_);
  }

 private:
  // Prefixes whose chance is below e^-60 of the best one's are dropped, and paths that add nothing to a prefix's.
  static constexpr double kWidth = 60.0;
  static constexpr double kNegligible = 40.0;
  // For each prefix kept, as some of them are covered by others.
  static constexpr std::size_t kCandidates = 2;

  // The alignments of a prefix that end with the blank, or with its last phone.
  struct Path {
    double sum = kNever;   // log of their chances' sum
    double best = kNever;  // of the greatest chance; what follows belongs to that alignment
    int ended = kNone;     // its newest run that ended
    int oldest = kNone;    // its oldest run that ended and is not final
    Run run;               // that goes on

    bool alive() const { return ended != kNone; }
  };

  struct Prefix {
    std::uint64_t hash = 0;         // of its phones
    std::uint64_t parent_hash = 0;  // of all but the last
    std::uint64_t suffix = 0;       // the last DecoderOptions::context phones, 16 bits each
    int phone = kNone;              // the last
    int place = kNone;              // in the grammar
    double sum = kNever;            // of both paths
    Path blank;
    Path phones;
    // What becomes of it in a frame:
    double blank_sum = kNever;
    double phones_sum = kNever;
    std::size_t parent = 0;  // the index of the prefix without the last phone; beyond the end if it was dropped
    int closed = kNone;      // phones.run, once another phone or the blank follows
    bool stays = false;

    const Path& better() const { return phones.best > blank.best ? phones : blank; }
  };

  // A prefix of the next frame: one of this frame's that stays (phone: kNone), or such a one and a phone.
  struct Candidate {
    double sum;
    int prefix;
    int phone;

    bool operator<(const Candidate& other) const {  // which is better; of equals the lower index, the one that stays
      if (sum != other.sum) return sum > other.sum;
      return std::tie(prefix, phone) < std::tie(other.prefix, other.phone);
    }
  };

  void Step(const float* scores) override {
    Score(scores);
    Select();
    Build();
    Settle();
    Normalise();
  }

  void Score(const float* scores) {
    const double greatest = Bounded(scores[Greatest(scores, outputs_)]);
    double sum = 0.0;
    for (std::size_t i = 0; i < outputs_; ++i) sum += posteriors_[i] = Exp(Bounded(scores[i]) - greatest);
    const double log_sum = Log(sum);
    for (std::size_t i = 0; i < outputs_; ++i) {
      posteriors_[i] /= sum;
      log_posteriors_[i] = Bounded(scores[i]) - greatest - log_sum;
    }
  }

  // The best candidates, in order.
  void Select() {
    const std::size_t phones = outputs_ - 1;
    hashes_.clear();
    for (const Prefix& prefix : prefixes_) hashes_.push_back(prefix.hash);
    taken_.assign(prefixes_.size() * phones, false);
    candidates_.clear();
    for (std::size_t i = 0; i < prefixes_.size(); ++i) {
      Prefix& prefix = prefixes_[i];
      prefix.blank_sum = prefix.sum + log_posteriors_[0];
      prefix.phones_sum = kNever;
      prefix.parent = prefixes_.size();
      if (prefix.phone != kNone) {
        const auto phone = static_cast<std::size_t>(prefix.phone);
        prefix.phones_sum = prefix.phones.sum + log_posteriors_[phone + 1];
        const auto parent = std::find(hashes_.begin(), hashes_.end(), prefix.parent_hash);
        prefix.parent = static_cast<std::size_t>(parent - hashes_.begin());
        if (prefix.parent < prefixes_.size()) {
          taken_[prefix.parent * phones + phone] = true;
          prefix.phones_sum = LogAdd(prefix.phones_sum, Entering(prefixes_[prefix.parent], phone));
        }
      }
      Offer({LogAdd(prefix.blank_sum, prefix.phones_sum), static_cast<int>(i), kNone});
    }
    for (std::size_t i = 0; i < prefixes_.size(); ++i) {
      for (std::size_t phone = 0; phone < phones; ++phone) {
        if (taken_[i * phones + phone]) continue;
        Offer({Entering(prefixes_[i], phone), static_cast<int>(i), static_cast<int>(phone)});
      }
    }
    std::sort(candidates_.begin(), candidates_.end());
    while (candidates_.back().sum < candidates_.front().sum - kWidth) candidates_.pop_back();
  }

  // Keeps `candidates_` a heap of the best, the worst of them in front.
  void Offer(const Candidate& candidate) {
    if (candidate.sum == kNever) return;
    if (candidates_.size() == kCandidates * static_cast<std::size_t>(options_.beam)) {
      if (!(candidate < candidates_.front())) return;
      std::pop_heap(candidates_.begin(), candidates_.end());
      candidates_.pop_back();
    }
    candidates_.push_back(candidate);
    std::push_heap(candidates_.begin(), candidates_.end());
  }

  const double* Gains(const Prefix& prefix) const {
    return prefix.place == kNone ? gains_.data() : At(prefix.place).gains();
  }

  // The log of the chance of a prefix and a phone that starts in this frame; the same phone needs a blank between.
  double Entering(const Prefix& from, std::size_t phone) const {
    const double sum = static_cast<int>(phone) == from.phone ? from.blank.sum : from.sum;
    return sum + log_posteriors_[phone + 1] + Gains(from)[phone];
  }

  // The prefixes of the next frame, from the candidates.
  void Build() {
    next_.clear();
    for (Prefix& prefix : prefixes_) prefix.stays = false;
    for (const Candidate& candidate : candidates_) {
      if (next_.size() == static_cast<std::size_t>(options_.beam)) break;
      Prefix& from = prefixes_[static_cast<std::size_t>(candidate.prefix)];
      Prefix prefix = candidate.phone == kNone ? Staying(from) : Followed(from, candidate.phone);
      if (Covered(prefix)) {
        if (candidate.phone != kNone) Leave(prefix.place);
        continue;
      }
      from.stays = from.stays || candidate.phone == kNone;
      for (Path* path : {&prefix.blank, &prefix.phones}) {
        if (path->sum < candidate.sum - kNegligible) *path = Path();
        if (path->alive()) runs_.Hold(path->ended);
      }
      prefix.sum = LogAdd(prefix.blank.sum, prefix.phones.sum);
      next_.push_back(prefix);
    }
    for (const Prefix& prefix : prefixes_) {
      for (const int run : {prefix.blank.ended, prefix.phones.ended, prefix.closed}) runs_.Drop(run);
      if (!prefix.stays) Leave(prefix.place);
    }
    prefixes_.swap(next_);
  }

  // Whether a better prefix ends in the same phones at the same place in the grammar: what is to come will hardly tell
  // them apart, and prefixes that differ only in older phones would crowd the beam.
  bool Covered(const Prefix& prefix) const {
    if (options_.context == 0 || prefix.suffix >> (16 * (options_.context - 1)) == 0) return false;
    return std::any_of(next_.begin(), next_.end(), [&](const Prefix& better) {
      return better.suffix == prefix.suffix && (prefix.place == kNone || At(better.place) == At(prefix.place));
    });
  }

  const Place& At(int place) const { return places_[static_cast<std::size_t>(place)]; }

  void Leave(int place) {
    if (place != kNone) free_places_.push_back(place);
  }

  Prefix Staying(Prefix& from) {
    Prefix prefix;
    prefix.hash = from.hash;
    prefix.parent_hash = from.parent_hash;
    prefix.suffix = from.suffix;
    prefix.phone = from.phone;
    prefix.place = from.place;
    prefix.blank = After(from, from.better());
    prefix.blank.best += log_posteriors_[0];
    prefix.blank.sum = from.blank_sum;
    if (from.phones.alive()) {
      const auto output = static_cast<std::size_t>(from.phone) + 1;
      prefix.phones = from.phones;
      prefix.phones.best += log_posteriors_[output];
      prefix.phones.run.Extend(frames_, posteriors_[output]);
    }
    if (from.parent < prefixes_.size()) {
      const Path entered = Entered(prefixes_[from.parent], from.phone);
      if (entered.best > prefix.phones.best) prefix.phones = entered;
    }
    prefix.phones.sum = from.phones_sum;
    return prefix;
  }

  Prefix Followed(Prefix& from, int phone) {
    Prefix prefix;
    prefix.hash = Mixed(from.hash, phone);
    prefix.parent_hash = from.hash;
    if (options_.context > 0) {
      const std::uint64_t kept = ~std::uint64_t{0} >> (16 * (kMostContext - options_.context));
      prefix.suffix = (from.suffix << 16 | (static_cast<std::uint64_t>(phone) + 1)) & kept;
    }
    prefix.phone = phone;
    if (options_.grammar) {
      prefix.place = free_places_.back();
      free_places_.pop_back();
      places_[static_cast<std::size_t>(prefix.place)].Follow(At(from.place), phone, *options_.grammar, options_);
    }
    prefix.phones = Entered(from, phone);
    prefix.phones.sum = Entering(from, static_cast<std::size_t>(phone));
    return prefix;
  }

  // The best alignment of a prefix whose new last phone starts in this frame.
  Path Entered(Prefix& from, int phone) {
    const auto at = static_cast<std::size_t>(phone);
    Path path = After(from, phone == from.phone ? from.blank : from.better());
    path.best += log_posteriors_[at + 1] + Gains(from)[at];
    path.run = Run{phone, frames_, frames_, posteriors_[at + 1]};
    return path;
  }

  // `path`, one of the prefix's, once its run ended.
  Path After(Prefix& prefix, const Path& path) {
    Path after = path;
    if (path.run.phone == kNone) return after;
    if (prefix.closed == kNone) prefix.closed = runs_.Append(path.ended, path.run);
    after.ended = prefix.closed;
    if (path.oldest == kNone) after.oldest = prefix.closed;
    after.run = Run();
    return after;
  }

  // Makes tokens final.
  void Settle() {
    const std::int64_t due = frames_ - kLag;
    for (;;) {
      int oldest = Shared();
      if (oldest == kNone) {
        oldest = Best().better().oldest;
        if (oldest == kNone || runs_[oldest].last > due) break;
      }
      const Run run = runs_[oldest];
      Give(run.Finished());
      Keep([&](const Path& path) { return path.oldest != kNone && runs_[path.oldest].phone == run.phone; });
      for (Prefix& prefix : prefixes_) {
        for (Path* path : {&prefix.blank, &prefix.phones}) {
          if (path->alive()) runs_.MakeFinal(path->oldest);
        }
      }
      for (Prefix& prefix : prefixes_) {
        for (Path* path : {&prefix.blank, &prefix.phones}) {
          if (path->alive()) path->oldest = runs_.Oldest(path->ended);
        }
      }
    }
    // Where the best path found nothing for long, what others found there.
    Keep([&](const Path& path) { return path.oldest == kNone || runs_[path.oldest].last > due - kLag; });
  }

  // The run that is the oldest of all paths.
  int Shared() const {
    const int oldest = prefixes_[0].better().oldest;
    for (const Prefix& prefix : prefixes_) {
      for (const Path* path : {&prefix.blank, &prefix.phones}) {
        if (path->alive() && path->oldest != oldest) return kNone;
      }
    }
    return oldest;
  }

  template <typename Wanted>
  void Keep(Wanted wanted) {
    for (Prefix& prefix : prefixes_) {
      for (Path* path : {&prefix.blank, &prefix.phones}) {
        if (!path->alive() || wanted(*path)) continue;
        runs_.Drop(path->ended);
        *path = Path();
        prefix.sum = LogAdd(prefix.blank.sum, prefix.phones.sum);
      }
      if (prefix.sum == kNever) Leave(prefix.place);
    }
    const auto lost = [](const Prefix& prefix) { return prefix.sum == kNever; };
    prefixes_.erase(std::remove_if(prefixes_.begin(), prefixes_.end(), lost), prefixes_.end());
  }

  // So that numbers stay small over hours.
  void Normalise() {
    const double sum = Best().sum;
    const double best = Best().better().best;
    for (Prefix& prefix : prefixes_) {
      prefix.sum -= sum;
      for (Path* path : {&prefix.blank, &prefix.phones}) {
        path->sum -= sum;
        path->best -= best;
      }
    }
  }

  const Prefix& Best() const {
    const auto less = [](const Prefix& a, const Prefix& b) { return a.sum < b.sum; };
    return *std::max_element(prefixes_.begin(), prefixes_.end(), less);
  }

  // The best prefix if the stream ended now.
  const Prefix& Winner() const {
    const Prefix* winner = nullptr;
    double greatest = kNever;
    for (const Prefix& prefix : prefixes_) {
      const double end = prefix.place == kNone ? 0.0 : At(prefix.place).end();
      if (prefix.sum + end > greatest) {
        greatest = prefix.sum + end;
        winner = &prefix;
      }
    }
    return winner == nullptr ? Best() : *winner;
  }

  std::vector<Token> Pending() const override {
    const Path& path = Winner().better();
    std::vector<Token> tokens;
    if (path.run.phone != kNone) tokens.push_back(path.run.Finished());
    for (int run = path.ended; runs_.Before(run) != kNone; run = runs_.Before(run)) {
      tokens.push_back(runs_[run].Finished());
    }
    std::reverse(tokens.begin(), tokens.end());
    return tokens;
  }

  void Clear() override {
    runs_.Clear();
    prefixes_.assign(1, Prefix());
    Prefix& empty = prefixes_[0];
    empty.sum = empty.blank.sum = empty.blank.best = 0.0;
    empty.blank.ended = 0;
    runs_.Hold(0);
    free_places_.clear();
    for (std::size_t i = 0; i < places_.size(); ++i) free_places_.push_back(static_cast<int>(i));
    if (options_.grammar) {
      empty.place = free_places_.back();
      free_places_.pop_back();
      places_[static_cast<std::size_t>(empty.place)].Start(*options_.grammar, options_);
    }
  }

  // A hash of a prefix and one more phone (the finaliser of SplitMix64).
  static std::uint64_t Mixed(std::uint64_t hash, int phone) {
    hash = (hash + static_cast<std::uint64_t>(phone) + 1) * 0x9e3779b97f4a7c15u;
    hash = (hash ^ (hash >> 30)) * 0xbf58476d1ce4e5b9u;
    hash = (hash ^ (hash >> 27)) * 0x94d049bb133111ebu;
    return hash ^ (hash >> 31);
  }

  const DecoderOptions options_;
  std::vector<double> log_posteriors_;  // of the frame
  std::vector<double> posteriors_;
  const std::vector<double> gains_;  // of each phone without a grammar
  Runs runs_;
  std::vector<Prefix> prefixes_;
  std::vector<Prefix> next_;
  std::vector<Place> places_;  // of a frame's prefixes, of the next one's, and of one that is looked at
  std::vector<int> free_places_;
  std::vector<Candidate> candidates_;
  std::vector<std::uint64_t> hashes_;  // of the prefixes
  std::vector<char> taken_;            // [prefixes, phones]: the prefix and that phone are a prefix of the beam
};

}  // namespace

std::unique_ptr<Search> NewBeam(std::size_t phones, const DecoderOptions& options) {
  return std::make_unique<Beam>(phones, options);
}

}  // namespace tetraphone
