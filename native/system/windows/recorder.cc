#include "../recorder.h"

#define WIN32_LEAN_AND_MEAN
#include <windows.h>

#include <mmsystem.h>  // after windows.h

#include <algorithm>
#include <array>
#include <atomic>
#include <cstring>
#include <vector>

namespace tetraphone {
namespace {

constexpr std::size_t kBuffers = 100;  // of 50 ms, should recognition stall
constexpr int kPiecesASecond = 20;

std::atomic<bool> running{false};
std::atomic<bool> stopped{false};
std::atomic<HANDLE> heard{nullptr};  // set with each buffer and at the end

BOOL WINAPI Stop(DWORD) {
  if (stopped.exchange(true)) return FALSE;  // a second one ends the process
  SetEvent(heard);
  return TRUE;
}

Error Fault(const std::string& what) { return Error{ErrorCode::kUnreadable, what}; }

// The system's own recording, by winmm.
class WaveIn : public Recorder {
 public:
  explicit WaveIn(double patience) : patience_(static_cast<DWORD>(patience * 1000)) {
    stopped = false;
    heard = CreateEventW(nullptr, FALSE, FALSE, nullptr);
    SetConsoleCtrlHandler(Stop, TRUE);
  }

  ~WaveIn() override {
    SetConsoleCtrlHandler(Stop, FALSE);
    if (device_ != nullptr) {
      waveInReset(device_);
      for (WAVEHDR& buffer : buffers_) waveInUnprepareHeader(device_, &buffer, sizeof buffer);
      waveInClose(device_);
    }
    CloseHandle(heard.exchange(nullptr));
    running = false;
  }

  Failure Open(int rate) {
    if (waveInGetNumDevs() == 0) return Fault("Windows has no microphone; connect one, or give a recording");
    WAVEFORMATEX form{};
    form.wFormatTag = WAVE_FORMAT_PCM;
    form.nChannels = 1;
    form.nSamplesPerSec = static_cast<DWORD>(rate);
    form.wBitsPerSample = 16;
    form.nBlockAlign = 2;
    form.nAvgBytesPerSec = form.nSamplesPerSec * form.nBlockAlign;
    const auto event = reinterpret_cast<DWORD_PTR>(heard.load());
    if (const MMRESULT code = waveInOpen(&device_, WAVE_MAPPER, &form, event, 0, CALLBACK_EVENT)) {
      device_ = nullptr;
      return Refused(code);
    }
    const auto bytes = static_cast<DWORD>(rate / kPiecesASecond * 2);
    samples_.resize(kBuffers * bytes);
    for (std::size_t i = 0; i < kBuffers; ++i) {
      buffers_[i].lpData = reinterpret_cast<char*>(samples_.data() + i * bytes);
      buffers_[i].dwBufferLength = bytes;
      if (const MMRESULT code = waveInPrepareHeader(device_, &buffers_[i], sizeof buffers_[i])) return Refused(code);
      if (const MMRESULT code = waveInAddBuffer(device_, &buffers_[i], sizeof buffers_[i])) return Refused(code);
    }
    if (const MMRESULT code = waveInStart(device_)) return Refused(code);
    return std::nullopt;
  }

  Result<std::size_t> Read(std::uint8_t* to, std::size_t size) override {
    for (;;) {
      WAVEHDR& buffer = buffers_[next_];
      if ((buffer.dwFlags & WHDR_DONE) != 0) {
        const std::size_t count = std::min<std::size_t>(size, buffer.dwBytesRecorded - taken_);
        std::memcpy(to, buffer.lpData + taken_, count);
        taken_ += count;
        if (taken_ == buffer.dwBytesRecorded) {
          taken_ = 0;
          next_ = (next_ + 1) % kBuffers;
          buffer.dwFlags &= ~static_cast<DWORD>(WHDR_DONE);
          if (!ended_) waveInAddBuffer(device_, &buffer, sizeof buffer);
        }
        if (count > 0 || ended_) return count;
      } else if (ended_) {
        return std::size_t{0};
      } else if (stopped) {
        ended_ = true;
        waveInReset(device_);  // gives back all buffers, with what was heard
      } else if (WaitForSingleObject(heard, patience_) == WAIT_TIMEOUT && !stopped) {
        return Fault(name_ + " delivers no sound for " + std::to_string(patience_) +
                     " ms; connect a microphone, and choose it in the system's settings");
      }
    }
  }

  const std::string& name() const override { return name_; }

 private:
  static Error Refused(MMRESULT code) {
    return Fault("Windows gives no sound of the microphone (error " + std::to_string(code) +
                 "); allow it in the system's settings of privacy, or give a recording");
  }

  DWORD patience_;  // milliseconds
  std::string name_ = "Windows";
  HWAVEIN device_ = nullptr;
  std::vector<std::uint8_t> samples_;
  std::array<WAVEHDR, kBuffers> buffers_{};
  std::size_t next_ = 0;   // the buffer that is read
  std::size_t taken_ = 0;  // bytes of it
  bool ended_ = false;
};

}  // namespace

Result<std::unique_ptr<Recorder>> Recorder::Start(int rate, double patience) {
  if (running.exchange(true)) return Fault("the microphone is in use by this process; end the other recording first");
  auto recorder = std::make_unique<WaveIn>(patience);
  if (Failure failure = recorder->Open(rate)) return *failure;
  return std::unique_ptr<Recorder>(std::move(recorder));
}

}  // namespace tetraphone
