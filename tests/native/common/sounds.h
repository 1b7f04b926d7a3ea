// Signals that Python can make to the last bit too, and a hash that shows whether two processors gave the same bits.

#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <vector>

// Uniform noise in [-0.5, 0.5), of 16 bits.
inline std::vector<float> Noise(std::size_t count, std::uint32_t seed) {
  std::vector<float> samples(count);
  for (float& sample : samples) {
    seed = seed * 1664525u + 1013904223u;
    sample = static_cast<float>(static_cast<std::int32_t>(seed >> 16) - 32768) / 65536.0f;
  }
  return samples;
}

// A sawtooth whose pitch and loudness change in steps, over noise 36 dB below the loudest: integers over 32768.
inline std::vector<float> Voice(std::size_t count) {
  std::vector<float> samples(count);
  std::uint32_t seed = 1;
  for (std::size_t n = 0; n < count; ++n) {
    seed = seed * 1664525u + 1013904223u;
    const auto saw = static_cast<std::int32_t>(n * (17 + n / 1600 % 5 * 3) % 2003) - 1001;
    const auto loudness = static_cast<std::int32_t>(1 + n / 400 % 9);
    samples[n] = static_cast<float>(saw * loudness + static_cast<std::int32_t>(seed >> 23) - 256) / 32768.0f;
  }
  return samples;
}

// FNV-1a over the bits.
template <typename T>
std::uint64_t Hash(const std::vector<T>& values) {
  std::uint64_t hash = 14695981039346656037u;
  for (const T& value : values) {
    unsigned char bytes[sizeof(T)];
    std::memcpy(bytes, &value, sizeof(T));
    for (const unsigned char byte : bytes) hash = (hash ^ byte) * 1099511628211u;
  }
  return hash;
}
