// The power spectrum of a frame, by an FFT of our own.
//
// Sums stand in the order that kissfft's have in kaldi-native-fbank's wheel for x86-64, where -ffast-math made
// a + (b - c) into (a + b) - c. Training's features come from there; in quiet bands the order of the sums alone would
// make up to 1e-4 of a log unit.

#pragma once

#include <algorithm>
#include <cstddef>
#include <utility>
#include <vector>

#include "../common/heap_bytes.h"
#include "../common/lanes.h"
#include "../common/numerics.h"

namespace tetraphone {

class PowerSpectrum {
 public:
  // A power of two, at least 8.
  static std::size_t SizeFor(std::size_t least) {
    std::size_t size = 8;
    while (size < least) size *= 2;
    return size;
  }
  // For frames of so many samples, filled up to size().
  explicit PowerSpectrum(std::size_t least) : half_(SizeFor(least) / 2) {
    std::size_t length = 1;
    while (4 * length <= half_) length *= 4;
    for (length = length == half_ ? 1 : 2; length < half_; length *= 4) {
      stages_.push_back({length, {}, {}});
      for (std::size_t j = 1; j < 4; ++j) {
        for (std::size_t k = 0; k < length; ++k) {
          AddTurn(-2 * kPi * static_cast<double>(j * k) / static_cast<double>(4 * length), stages_.back());
        }
      }
    }
    for (std::size_t k = 0; k <= half_ / 2; ++k) {
      AddTurn(-kPi * (static_cast<double>(k) / static_cast<double>(half_) + 0.5), split_);
    }
  }

  std::size_t size() const { return 2 * half_; }
  std::size_t heap_bytes() const { return NestedHeapBytes(stages_) + split_.heap_bytes(); }

  // The samples [size] give way to the powers of bins 0 to size / 2 - 1. scratch: [2 * size].
  void Compute(float* samples, float* scratch) const {
    const std::size_t half = half_;  // in a register: what is stored below might be a member, for all a compiler knows
    for (std::size_t i = 0; i < half; i += kLanes) {  // even samples are the real parts, odd ones the imaginary parts
      const Lanes low = Load<Lanes>(samples + 2 * i), high = Load<Lanes>(samples + 2 * i + kLanes);
      Store(Even(low, high), scratch + i);
      Store(Odd(low, high), scratch + half + i);
    }
    const float* re = Transform(scratch);
    samples[0] = (re[0] + re[half]) * (re[0] + re[half]);
    half / 2 % kLanes == 0 ? Split<Lanes>(re, samples) : Split<float>(re, samples);
  }

 private:
  // A step of the FFT: transforms of `length` points are joined by fours.
  struct Stage {
    std::size_t length;
    std::vector<float> cosines;  // [3, length]
    std::vector<float> sines;

    std::size_t heap_bytes() const { return HeapBytes(cosines, sines); }
  };

  static void AddTurn(double angle, Stage& stage) {
    stage.cosines.push_back(static_cast<float>(Cos(angle)));
    stage.sines.push_back(static_cast<float>(Sin(angle)));
  }

  // A complex FFT, decimated in time, from one pair of planes (real, imaginary) to another: `planes` holds two pairs,
  // the input in the first; gives the pair that holds the output. Between stages, point k of transform q of n is at
  // k * n + q.
  float* Transform(float* planes) const {
    float* from = planes;
    float* to = planes + 2 * half_;
    if (stages_.front().length == 2) {
      for (std::size_t i = 0; i < 2 * half_; i += half_) {
        for (std::size_t q = 0; q < half_ / 2; ++q) {
          to[i + q] = from[i + q] + from[i + half_ / 2 + q];
          to[i + half_ / 2 + q] = from[i + q] - from[i + half_ / 2 + q];
        }
      }
      std::swap(from, to);
    }
    for (const Stage& stage : stages_) {
      Join(stage, half_ / (4 * stage.length), from, from + half_, to, to + half_);
      std::swap(from, to);
    }
    return from;
  }

  static void Join(const Stage& stage, std::size_t count, const float* re, const float* im, float* to_re,
                   float* to_im) {
    const std::size_t length = stage.length;
    const std::size_t quarter = length * count;
    const float* const u = stage.cosines.data();
    const float* const v = stage.sines.data();
    if (count % kLanes == 0) {
      for (std::size_t k = 0; k < length; ++k) {
        Lanes turns_re[3], turns_im[3];
        for (std::size_t j = 0; j < 3; ++j) {
          turns_re[j] = All(u[j * length + k]);
          turns_im[j] = All(v[j * length + k]);
        }
        for (std::size_t q = 0; q < count; q += kLanes) {
          Lanes x[4], y[4];
          for (std::size_t j = 0; j < 4; ++j) {
            x[j] = Load<Lanes>(re + (4 * k + j) * count + q);
            y[j] = Load<Lanes>(im + (4 * k + j) * count + q);
          }
          Butterfly(x, y, turns_re, turns_im, to_re + k * count + q, to_im + k * count + q, quarter);
        }
      }
    } else if (length % kLanes == 0) {
      for (std::size_t k = 0; k < length; k += kLanes) {
        Lanes x[4], y[4];
        LoadColumns(re + 4 * k, x);
        LoadColumns(im + 4 * k, y);
        JoinOne(x, y, u + k, v + k, to_re + k, to_im + k, length);
      }
    } else {
      for (std::size_t k = 0; k < length; ++k) {
        float x[4], y[4];
        std::copy_n(re + 4 * k, 4, x);
        std::copy_n(im + 4 * k, 4, y);
        JoinOne(x, y, u + k, v + k, to_re + k, to_im + k, length);
      }
    }
  }

  // columns[j]: points j, 4 + j, 8 + j, 12 + j.
  static void LoadColumns(const float* from, Lanes (&columns)[4]) {
    Transpose(Load<Lanes>(from), Load<Lanes>(from + 4), Load<Lanes>(from + 8), Load<Lanes>(from + 12), columns);
  }

  // Points k and on of the one transform that the last stage gives.
  template <typename T>
  static void JoinOne(const T (&x)[4], const T (&y)[4], const float* u, const float* v, float* to_re, float* to_im,
                      std::size_t length) {
    T turns_re[3], turns_im[3];
    for (std::size_t j = 0; j < 3; ++j) {
      turns_re[j] = Load<T>(u + j * length);
      turns_im[j] = Load<T>(v + j * length);
    }
    Butterfly(x, y, turns_re, turns_im, to_re, to_im, length);
  }

  template <typename T>
  static void Butterfly(const T (&x)[4], const T (&y)[4], const T (&u)[3], const T (&v)[3], float* re, float* im,
                        std::size_t quarter) {
    const T b_re = x[1] * u[0] - y[1] * v[0], b_im = x[1] * v[0] + y[1] * u[0];
    const T c_xu = x[2] * u[1], c_yv = y[2] * v[1], c_im = x[2] * v[1] + y[2] * u[1];
    const T d_xu = x[3] * u[2], d_yv = y[3] * v[2], d_im = x[3] * v[2] + y[3] * u[2];
    const T even_re = (x[0] + c_xu) - c_yv, even_im = y[0] + c_im;
    const T odd_re = (x[0] + c_yv) - c_xu, odd_im = y[0] - c_im;
    const T sum_re = (b_re - d_yv) + d_xu, sum_im = b_im + d_im;
    const T difference_re = (b_re - d_xu) + d_yv;
    Store(even_re + sum_re, re);
    Store(even_im + sum_im, im);
    Store((odd_re + b_im) - d_im, re + quarter);
    Store(odd_im - difference_re, im + quarter);
    Store(even_re - sum_re, re + 2 * quarter);
    Store(even_im - sum_im, im + 2 * quarter);
    Store((odd_re + d_im) - b_im, re + 3 * quarter);
    Store(odd_im + difference_re, im + 3 * quarter);
  }

  // Takes the transform of the samples in pairs, re and im in [2, size / 2], apart; writes the powers.
  template <typename T>
  void Split(const float* re, float* powers) const {
    constexpr std::size_t kTogether = sizeof(T) / sizeof(float);
    const std::size_t half = half_;
    const float* const im = re + half;
    const float* const cosines = split_.cosines.data();
    const float* const sines = split_.sines.data();
    for (std::size_t k = 1; k <= half / 2; k += kTogether) {
      const std::size_t l = half - k + 1 - kTogether;
      const T u = Load<T>(cosines + k), v = Load<T>(sines + k);
      const T re_k = Load<T>(re + k), im_k = Load<T>(im + k);
      const T re_l = Reversed(Load<T>(re + l)), im_l = Reversed(Load<T>(im + l));
      const T even_re = re_k + re_l, even_im = im_k - im_l;
      const T odd_re = re_k - re_l, odd_im = im_k + im_l;
      const T odd_xu = odd_re * u, odd_yv = odd_im * v, turned_im = odd_re * v + odd_im * u;
      const T k_re = 0.5f * ((even_re + odd_xu) - odd_yv), k_im = 0.5f * (even_im + turned_im);
      const T l_re = 0.5f * ((even_re + odd_yv) - odd_xu), l_im = 0.5f * (turned_im - even_im);
      Store(k_re * k_re + k_im * k_im, powers + k);
      Store(Reversed(l_re * l_re + l_im * l_im), powers + l);
    }
  }

  std::size_t half_;
  std::vector<Stage> stages_;
  Stage split_{0, {}, {}};  // that takes the transform of the samples in pairs apart
};

}  // namespace tetraphone
