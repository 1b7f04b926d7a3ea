// Runs ExecuTorch programs of recurrent networks, (x, states...) -> (y, new states...), through Module::execute.
//
//   peers_module FRAMES INPUT PROGRAM...
//
// INPUT holds the float32 values of x. Each line of standard input, "INDEX CALLS", runs the program of that index from
// a zero state, feeding states back; the answer is one JSON object: processor seconds of all calls, h of the last
// layer. The last line, at the end of the input, tells the bytes of memory that loading and running added, beyond pages
// of mapped files.

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <fstream>
#include <iostream>
#include <memory>
#include <string>
#include <vector>

#include <malloc.h>

#include <executorch/extension/module/module.h>
#include <executorch/extension/tensor/tensor.h>

// The wheel has these in a library, but no header of them.
namespace executorch::extension::threadpool {
class ThreadPool {
 public:
  bool _unsafe_reset_threadpool(std::uint32_t threads);
};
ThreadPool* get_threadpool();
}  // namespace executorch::extension::threadpool

namespace {

using executorch::extension::from_blob;
using executorch::extension::Module;
using executorch::extension::TensorPtr;
using executorch::runtime::Error;
using executorch::runtime::EValue;
using Sizes = std::vector<executorch::aten::SizesType>;

// Bytes of this process that no file holds: heap, stacks, changed pages.
std::int64_t AnonymousBytes() {
  std::ifstream file("/proc/self/smaps_rollup");
  std::string word;
  std::int64_t kibibytes = 0;
  while (file >> word && word != "Anonymous:") continue;
  file >> kibibytes;
  return kibibytes * 1024;
}

[[noreturn]] void Fail(const std::string& path, const char* what, Error error) {
  std::fprintf(stderr, "%s: cannot %s: error %u\n", path.c_str(), what, static_cast<unsigned>(error));
  std::exit(1);
}

void Check(const std::string& path, const char* what, Error error) {
  if (error != Error::Ok) Fail(path, what, error);
}

class Network {
 public:
  Network(const std::string& path, int frames, const std::vector<float>& x)
      : path_(path), module_(std::make_unique<Module>(path, Module::LoadMode::Mmap)) {
    Check(path, "load", module_->load_forward());
    const auto meta = module_->method_meta("forward");
    if (!meta.ok()) Fail(path, "describe", meta.error());
    for (std::size_t i = 0; i < meta->num_inputs(); ++i) {
      const auto planned = meta->input_tensor_meta(i)->sizes();
      Sizes sizes(planned.begin(), planned.end());
      if (i == 0) sizes[0] = frames;
      Add(sizes, &inputs_, &input_tensors_);
      input_values_.emplace_back(input_tensors_.back());
    }
    if (inputs_[0].size() != x.size()) Fail(path, "run on an input of another size", Error::InvalidArgument);
    inputs_[0] = x;
    input_tensors_[0]->unsafeGetTensorImpl()->set_data(inputs_[0].data());
    for (std::size_t i = 0; i < meta->num_outputs(); ++i) {
      const auto planned = meta->output_tensor_meta(i)->sizes();
      Add(Sizes(planned.begin(), planned.end()), &outputs_, &output_tensors_);
      Check(path, "take its outputs", module_->set_output(output_tensors_.back(), i));
    }
  }

  void Run(int calls) {
    for (std::size_t i = 1; i < inputs_.size(); ++i) inputs_[i].assign(inputs_[i].size(), 0.0f);
    const std::clock_t begin = std::clock();
    for (int call = 0; call < calls; ++call) {
      const auto result = module_->execute("forward", input_values_);
      if (!result.ok()) Fail(path_, "run", result.error());
      for (std::size_t i = 1; i < inputs_.size(); ++i) {
        std::memcpy(inputs_[i].data(), outputs_[i].data(), inputs_[i].size() * sizeof(float));
      }
    }
    const double seconds = static_cast<double>(std::clock() - begin) / CLOCKS_PER_SEC;
    std::printf("{\"seconds\": %.9g, \"h\": [", seconds);
    const std::vector<float>& h = outputs_[outputs_.size() - 2];
    for (std::size_t i = 0; i < h.size(); ++i) std::printf("%s%.9g", i == 0 ? "" : ", ", h[i]);
    std::printf("]}\n");
    std::fflush(stdout);
  }

 private:
  static void Add(const Sizes& sizes, std::vector<std::vector<float>>* values, std::vector<TensorPtr>* tensors) {
    std::size_t count = 1;
    for (const auto size : sizes) count *= static_cast<std::size_t>(size);
    values->emplace_back(count);
    tensors->push_back(from_blob(values->back().data(), sizes));
  }

  std::string path_;
  std::unique_ptr<Module> module_;
  std::vector<std::vector<float>> inputs_, outputs_;
  std::vector<TensorPtr> input_tensors_, output_tensors_;
  std::vector<EValue> input_values_;
};

}  // namespace

int main(int argc, char** argv) {
  if (argc < 4) {
    std::fprintf(stderr, "usage: peers_module FRAMES INPUT PROGRAM...\n");
    return 2;
  }
  // The heap gives nothing back, so that what it has in the end is the most it had.
  mallopt(M_TRIM_THRESHOLD, 1 << 30);
  mallopt(M_MMAP_THRESHOLD, 1 << 25);
  executorch::extension::threadpool::get_threadpool()->_unsafe_reset_threadpool(1);
  std::ifstream file(argv[2], std::ios::binary);
  const std::string bytes((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  std::vector<float> x(bytes.size() / sizeof(float));
  std::memcpy(x.data(), bytes.data(), x.size() * sizeof(float));
  AnonymousBytes();  // what the measurement itself needs
  const std::int64_t before = AnonymousBytes();
  std::vector<Network> networks;
  for (int i = 3; i < argc; ++i) networks.emplace_back(argv[i], std::atoi(argv[1]), x);
  std::size_t index = 0;
  int calls = 0;
  while (std::cin >> index >> calls) networks.at(index).Run(calls);
  std::printf("{\"memory\": %lld}\n", static_cast<long long>(AnonymousBytes() - before));
}
