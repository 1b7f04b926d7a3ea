// The power spectrum of a frame, by an FFT of our own.
//
// Sums stand in the order that kissfft's have in kaldi-native-fbank's wheel for x86-64, where -ffast-math made
// a + (b - c) into (a + b) - c. Training's features come from there; in quiet bands the order of the sums alone would
// make up to 1e-4 of a log unit.

#pragma once

#include <cstddef>
#include <utility>
#include <vector>

#include "../common/heap_bytes.h"
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
    for (std::size_t i = 0; i < half_; ++i) {  // even samples are the real parts, odd ones the imaginary parts
      scratch[i] = samples[2 * i];
      scratch[half_ + i] = samples[2 * i + 1];
    }
    const float* re = Transform(scratch);
    const float* im = re + half_;
    samples[0] = (re[0] + im[0]) * (re[0] + im[0]);
    for (std::size_t k = 1, l = half_ - 1; k <= half_ / 2; ++k, --l) {
      const float u = split_.cosines[k], v = split_.sines[k];
      const float even_re = re[k] + re[l], even_im = im[k] - im[l];
      const float odd_re = re[k] - re[l], odd_im = im[k] + im[l];
      const float odd_xu = odd_re * u, odd_yv = odd_im * v, turned_im = odd_re * v + odd_im * u;
      const float k_re = 0.5f * ((even_re + odd_xu) - odd_yv), k_im = 0.5f * (even_im + turned_im);
      const float l_re = 0.5f * ((even_re + odd_yv) - odd_xu), l_im = 0.5f * (turned_im - even_im);
      samples[k] = k_re * k_re + k_im * k_im;
      samples[l] = l_re * l_re + l_im * l_im;
    }
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

  static void Join(const Stage& stage, std::size_t count, const float* __restrict re, const float* __restrict im,
                   float* __restrict to_re, float* __restrict to_im) {
    const std::size_t length = stage.length;
    const std::size_t quarter = length * count;
    const float* __restrict cosines = stage.cosines.data();
    const float* __restrict sines = stage.sines.data();
    const auto butterfly = [=](std::size_t k, std::size_t q) {
      const std::size_t to = k * count + q;
      const auto x = [=](std::size_t j) { return re[(4 * k + j) * count + q]; };
      const auto y = [=](std::size_t j) { return im[(4 * k + j) * count + q]; };
      const auto u = [=](std::size_t j) { return cosines[(j - 1) * length + k]; };
      const auto v = [=](std::size_t j) { return sines[(j - 1) * length + k]; };
      const float b_re = x(1) * u(1) - y(1) * v(1), b_im = x(1) * v(1) + y(1) * u(1);
      const float c_xu = x(2) * u(2), c_yv = y(2) * v(2), c_im = x(2) * v(2) + y(2) * u(2);
      const float d_xu = x(3) * u(3), d_yv = y(3) * v(3), d_im = x(3) * v(3) + y(3) * u(3);
      const float even_re = (x(0) + c_xu) - c_yv, even_im = y(0) + c_im;
      const float odd_re = (x(0) + c_yv) - c_xu, odd_im = y(0) - c_im;
      const float sum_re = (b_re - d_yv) + d_xu, sum_im = b_im + d_im;
      const float difference_re = (b_re - d_xu) + d_yv;
      to_re[to] = even_re + sum_re;
      to_im[to] = even_im + sum_im;
      to_re[to + quarter] = (odd_re + b_im) - d_im;
      to_im[to + quarter] = odd_im - difference_re;
      to_re[to + 2 * quarter] = even_re - sum_re;
      to_im[to + 2 * quarter] = even_im - sum_im;
      to_re[to + 3 * quarter] = (odd_re + d_im) - b_im;
      to_im[to + 3 * quarter] = odd_im + difference_re;
    };
    if (count == 1) {  // two loops, so that compilers vectorise the longer one
      for (std::size_t k = 0; k < length; ++k) butterfly(k, 0);
    } else {
      for (std::size_t k = 0; k < length; ++k) {
        for (std::size_t q = 0; q < count; ++q) butterfly(k, q);
      }
    }
  }

  std::size_t half_;
  std::vector<Stage> stages_;
  Stage split_{0, {}, {}};  // that takes the transform of the samples in pairs apart
};

}  // namespace tetraphone
