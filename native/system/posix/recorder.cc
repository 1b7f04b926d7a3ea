#include "../recorder.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#if defined(__linux__)
#include <sys/prctl.h>
#endif

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <cstdlib>
#include <map>
#include <system_error>
#include <utility>
#include <vector>

namespace tetraphone {
namespace {

constexpr std::size_t kMostWords = 4096;
constexpr int kEndSteps = 100;  // of 5 ms
constexpr auto kGrace = std::chrono::seconds(1);  // for what a recorder had heard before a signal

// The arguments of the recorders, in the order in which they are tried.
using Arguments = std::vector<const char*>;

#if defined(__APPLE__)
constexpr char kInstall[] = "install sox (rec) or ffmpeg";
std::vector<Arguments> Recorders(const char* rate) {
  return {{"rec", "-q", "-t", "raw", "-e", "signed", "-b", "16", "-L", "-c", "1", "-r", rate, "-", nullptr},
          {"ffmpeg", "-nostdin", "-loglevel", "error", "-f", "avfoundation", "-i", ":default", "-f", "s16le", "-ac",
           "1", "-ar", rate, "-", nullptr}};
}
#else
constexpr char kInstall[] = "install pw-record (PipeWire), parecord (PulseAudio) or arecord (ALSA)";
std::vector<Arguments> Recorders(const char* rate) {
  // An older pw-record lacks --raw and writes raw samples to "-"; a newer one writes a header without --raw.
  return {
      {"pw-record", "--raw", "--format", "s16", "--channels", "1", "--latency", "50ms", "--rate", rate, "-", nullptr},
      {"pw-record", "--format", "s16", "--channels", "1", "--latency", "50ms", "--rate", rate, "-", nullptr},
      {"parecord", "--raw", "--format=s16le", "--channels=1", "--latency-msec=50", "--rate", rate, nullptr},
      {"arecord", "-q", "-t", "raw", "-f", "S16_LE", "-c", "1", "-F", "50000", "-r", rate, nullptr}};
}
#endif

std::atomic<bool> running{false};
std::atomic<bool> stopped{false};
std::atomic<pid_t> recording{0};

void Stop(int) {
  const int error = errno;
  stopped = true;
  const pid_t child = recording;
  if (child > 0) kill(-child, SIGTERM);
  errno = error;
}

Error Fault(const std::string& what) { return Error{ErrorCode::kUnreadable, what}; }

// The path of a program, as a shell finds it; "" if there is none.
std::string Find(const std::string& name) {
  const char* places = std::getenv("PATH");
  for (const char* place = places; place != nullptr && *place != 0;) {
    const std::string rest = place;
    const std::string folder = rest.substr(0, rest.find(':'));
    place += std::min(folder.size() + 1, rest.size());
    const std::string path = (folder.empty() ? "." : folder) + "/" + name;
    struct stat status = {};
    if (stat(path.c_str(), &status) == 0 && S_ISREG(status.st_mode) && access(path.c_str(), X_OK) == 0) return path;
  }
  return "";
}

void Close(int& descriptor) {
  if (descriptor >= 0) close(descriptor);
  descriptor = -1;
}

// A pipe of which no program that is started keeps an end.
bool Pipe(int (&ends)[2]) {
#if defined(__linux__)
  return pipe2(ends, O_CLOEXEC) == 0;
#else
  if (pipe(ends) != 0) return false;
  for (const int end : ends) fcntl(end, F_SETFD, FD_CLOEXEC);
  return true;
#endif
}

// Half a minute of sound, should recognition stall; smaller where the system allows no more.
void Widen([[maybe_unused]] int pipe) {
#if defined(__linux__)
  fcntl(pipe, F_SETPIPE_SZ, 1 << 20);
#endif
}

// The calling process ends with its parent; where the system lacks this, with the pipe that it writes to.
void EndWithParent() {
#if defined(__linux__)
  prctl(PR_SET_PDEATHSIG, SIGTERM);
#endif
}

// A recorder that the system has, as a child process: nothing of theirs is linked.
class Child : public Recorder {
 public:
  explicit Child(double patience);
  ~Child() override;
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;

  // Starts the first that delivers sound.
  Failure Launch(const std::string& rate);
  Result<std::size_t> Read(std::uint8_t* to, std::size_t size) override;
  const std::string& name() const override { return name_; }

 private:
  Failure Run(const std::string& path, const Arguments& arguments);
  Result<bool> Await();
  bool Overdue();
  void Listen();
  void End(bool wait);
  std::string LastWords() const;

  using Clock = std::chrono::steady_clock;

  double patience_;
  Clock::time_point grace_ = Clock::time_point::max();  // until then sound is read after a signal
  std::string name_;
  std::string words_;  // the last that it wrote to stderr
  pid_t child_ = 0;
  int status_ = 0;
  int sound_ = -1;   // its stdout
  int errors_ = -1;  // its stderr
  struct sigaction interrupt_ = {};  // as they were before
  struct sigaction terminate_ = {};
};

Child::Child(double patience) : patience_(patience) {
  stopped = false;
  struct sigaction action = {};
  action.sa_handler = Stop;
  action.sa_flags = static_cast<int>(SA_RESETHAND);  // a second one ends the process
  sigaction(SIGINT, &action, &interrupt_);
  sigaction(SIGTERM, &action, &terminate_);
}

Child::~Child() {
  End(false);
  sigaction(SIGINT, &interrupt_, nullptr);
  sigaction(SIGTERM, &terminate_, nullptr);
  running = false;
}

Failure Child::Launch(const std::string& rate) {
  std::map<std::string, std::string> failed;
  for (const Arguments& arguments : Recorders(rate.c_str())) {
    name_ = arguments[0];
    const std::string path = Find(name_);
    if (path.empty()) continue;
    if (Failure failure = Run(path, arguments)) return failure;
    const Result<bool> sound = Await();
    if (!sound) return sound.error();
    if (*sound || stopped) return {};
    End(true);
    failed[name_] = LastWords();
  }
  if (failed.empty()) {
    return Fault("no recorder is installed; " + std::string(kInstall) + ", or give raw samples on standard input");
  }
  std::string reasons;
  for (const auto& [name, words] : failed) reasons += (reasons.empty() ? "" : ", ") + name + " ended at once: " + words;
  return Fault("cannot record (" + reasons + "); connect a microphone, or give a recording");
}

Failure Child::Run(const std::string& path, const Arguments& arguments) {
  int sound[2] = {-1, -1}, errors[2] = {-1, -1};
  int nothing = open("/dev/null", O_RDONLY | O_CLOEXEC);
  const pid_t parent = getpid();
  words_.clear();
  if (nothing >= 0 && Pipe(sound) && Pipe(errors)) {
    Widen(sound[0]);
    fcntl(errors[0], F_SETFL, O_NONBLOCK);
    child_ = fork();
  } else {
    child_ = -1;
  }
  if (child_ == 0) {  // only calls that are safe after fork
    sigset_t none;
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, nullptr);
    setpgid(0, 0);  // a terminal's SIGINT reaches this process alone, and it passes on SIGTERM
    EndWithParent();
    if (getppid() != parent || dup2(nothing, 0) < 0 || dup2(sound[1], 1) < 0 || dup2(errors[1], 2) < 0) _exit(127);
    execv(path.c_str(), const_cast<char* const*>(arguments.data()));
    _exit(127);
  }
  const int error = errno;
  Close(nothing);
  Close(sound[1]);
  Close(errors[1]);
  sound_ = sound[0];
  errors_ = errors[0];
  if (child_ < 0) {
    child_ = 0;
    Close(sound_);
    Close(errors_);
    return Fault("cannot start " + path + ": " + std::generic_category().message(error) + "; end other programs");
  }
  setpgid(child_, child_);
  recording = child_;
  if (stopped) kill(-child_, SIGTERM);
  return {};
}

// Waits for sound: true if there is some, false at the recorder's end.
Result<bool> Child::Await() {
  const auto wait = std::chrono::milliseconds(static_cast<std::int64_t>(patience_ * 1000));
  const auto until = Clock::now() + wait;
  for (;;) {
    const auto left =
        std::chrono::duration_cast<std::chrono::milliseconds>(std::min(until, grace_) - Clock::now()).count();
    pollfd ready[] = {{sound_, POLLIN, 0}, {errors_, POLLIN, 0}};
    const int count = poll(ready, 2, static_cast<int>(std::max<std::int64_t>(left, 0)));
    if (Overdue()) return false;
    if (count < 0 && errno == EINTR) continue;
    if (count > 0 && ready[1].revents != 0) Listen();
    if (count > 0 && ready[0].revents != 0) return (ready[0].revents & POLLIN) != 0;
    if (count > 0 && left > 0) continue;
    if (stopped) return false;
    return Fault(name_ + " delivers no sound for " + std::to_string(wait.count()) +
                 " ms; connect a microphone, and choose it in the system's settings");
  }
}

// Whether a signal came and the recorder still delivers sound after a while.
bool Child::Overdue() {
  if (stopped && grace_ == Clock::time_point::max()) grace_ = Clock::now() + kGrace;
  return Clock::now() > grace_;
}

// Reads what the recorder complains of, as far as it is there.
void Child::Listen() {
  char text[1024];
  ssize_t count;
  while ((count = read(errors_, text, sizeof text)) > 0) {
    words_.append(text, static_cast<std::size_t>(count));
    if (words_.size() > kMostWords) words_.erase(0, words_.size() - kMostWords);
  }
  if (count == 0) Close(errors_);
}

// Ends the recorder; with `wait`, after giving it time to end by itself.
void Child::End(bool wait) {
  recording = 0;
  Close(sound_);
  for (int step = wait ? 0 : kEndSteps; child_ != 0; ++step) {
    if (step >= kEndSteps) kill(-child_, step < 3 * kEndSteps ? SIGTERM : SIGKILL);
    const pid_t ended = waitpid(child_, &status_, WNOHANG);
    if (ended != 0 && !(ended < 0 && errno == EINTR)) {
      child_ = 0;
    } else {
      usleep(5000);
    }
  }
  if (errors_ >= 0) Listen();
  Close(errors_);
}

std::string Child::LastWords() const {
  std::string line;
  for (std::size_t from = 0; from < words_.size();) {
    const std::size_t to = std::min(words_.find('\n', from), words_.size());
    if (to > from) line = words_.substr(from, to - from);
    from = to + 1;
  }
  std::replace_if(line.begin(), line.end(), [](unsigned char c) { return c < ' '; }, ' ');
  if (!line.empty()) return "\"" + line + "\"";
  return WIFSIGNALED(status_) ? "signal " + std::to_string(WTERMSIG(status_))
                              : "status " + std::to_string(WEXITSTATUS(status_));
}

Result<std::size_t> Child::Read(std::uint8_t* to, std::size_t size) {
  if (sound_ >= 0) {
    const Result<bool> sound = Await();
    if (!sound) return sound.error();
    const ssize_t count = *sound ? read(sound_, to, size) : 0;
    if (count > 0) return static_cast<std::size_t>(count);
    End(!stopped);
  }
  if (stopped || (WIFEXITED(status_) && WEXITSTATUS(status_) == 0)) return std::size_t{0};
  return Fault("the recording ended: " + name_ + " says " + LastWords() + "; see to the microphone and start again");
}

}  // namespace

Result<std::unique_ptr<Recorder>> Recorder::Start(int rate, double patience) {
  if (running.exchange(true)) return Fault("the microphone is in use by this process; end the other recording first");
  auto recorder = std::make_unique<Child>(patience);
  if (Failure failure = recorder->Launch(std::to_string(rate))) return *failure;
  return std::unique_ptr<Recorder>(std::move(recorder));
}

}  // namespace tetraphone
