// SPDX-License-Identifier: Apache-2.0
// weftd: the host agent. Programs under `weft run` start it when they first need it; it goes when
// nobody does any more.
//
//   weftd [--directory DIR] [--idle SECONDS] [--foreground]
//
// Exit code 0 once an agent serves this user and network namespace, be it this one or another.
#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>
#include <sys/file.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <charconv>
#include <cstdlib>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "daemon/agent.h"
#include "daemon/agent_path.h"
#include "daemon/background.h"
#include "io/clock.h"
#include "io/runtime_dir.h"
#include "io/system_entropy.h"
#include "io/unix_socket.h"

namespace weft::daemon {
namespace {

constexpr Duration kMainPatience = 5s;
constexpr useconds_t kPauseUs = 5000;
constexpr int kUsage = 2;

struct Options {
  std::string directory;  // empty: the user's
  Duration idle = 30s;
  bool foreground = false;
};

std::optional<Options> parse(const std::vector<std::string_view>& words) {
  Options out;
  for (std::size_t i = 0; i < words.size(); ++i) {
    const bool has_value = i + 1 < words.size();
    if (words[i] == "--foreground") {
      out.foreground = true;
    } else if (words[i] == "--directory" && has_value) {
      out.directory = words[++i];
    } else if (words[i] == "--idle" && has_value) {
      const std::string_view text = words[++i];
      unsigned seconds = 0;
      const auto [end, error] = std::from_chars(text.begin(), text.end(), seconds);
      if (error != std::errc{} || end != text.end() || seconds > 86400) return std::nullopt;
      out.idle = std::chrono::seconds{seconds};
    } else {
      return std::nullopt;
    }
  }
  return out;
}

int complain(std::string_view what) {
  fmt::print(stderr, "weftd: {}\n", what);
  return EXIT_FAILURE;
}

bool somebody_serves(const std::string& socket) {
  return io::connect_unix(socket, io::UnixKind::kSeqPacket, 100ms).has_value();
}

// The lock, once it is ours; nothing when another agent serves instead.
Expected<std::optional<io::UniqueFd>> become_the_one(const AgentPaths& paths) {
  const Time deadline = io::now() + kMainPatience;
  while (true) {
    io::UniqueFd lock(open(paths.lock.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600));
    if (!lock) return fail_errno(errno, paths.lock);
    if (flock(lock.get(), LOCK_EX | LOCK_NB) == 0) return std::optional(std::move(lock));
    if (errno != EWOULDBLOCK) return fail_errno(errno, paths.lock);
    if (somebody_serves(paths.socket)) return std::optional<io::UniqueFd>();
    if (io::now() >= deadline) {
      return fail(std::errc::timed_out, paths.lock + " is held, but nobody serves");
    }
    usleep(kPauseUs);
  }
}

std::atomic<Agent*> serving{nullptr};  // for the signal handler, which can be told nothing

void on_signal(int) {
  if (Agent* const agent = serving.load()) agent->stop();
}

void handle_signals(Agent& agent) {
  serving = &agent;
  struct sigaction action {};
  action.sa_handler = on_signal;
  for (const int signal : {SIGTERM, SIGINT})
    sigaction(signal, &action, nullptr);
  // The terminal of the program that started us is not ours.
  action.sa_handler = SIG_IGN;
  for (const int signal : {SIGPIPE, SIGHUP})
    sigaction(signal, &action, nullptr);
}

// What the program that started us had open and blocked is none of our business.
void forget_parent() {
  close_range(STDERR_FILENO + 1, ~0U, 0);
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
}

int serve(const Options& options) {
  if (!options.foreground) forget_parent();
  allow_many_descriptors();
  auto directory = options.directory.empty() ? io::runtime_directory()
                                             : Expected<std::string>(options.directory);
  if (!directory) return complain(directory.error().message);
  const auto paths = agent_paths(*directory);
  if (!paths) return complain(paths.error().message);
  const auto lock = become_the_one(*paths);
  if (!lock) return complain(lock.error().message);
  if (!*lock) return EXIT_SUCCESS;

  io::SystemEntropy entropy;
  AgentConfig config;
  config.socket = paths->socket;
  config.idle = options.idle;
  const auto agent = Agent::open(config, entropy);
  if (!agent) return complain(agent.error().message);
  handle_signals(**agent);
  if (!options.foreground) leave_parent();
  const auto ended = (*agent)->run();
  serving = nullptr;
  return ended ? EXIT_SUCCESS : complain(ended.error().message);
}

}  // namespace
}  // namespace weft::daemon

int main(int argc, char** argv) {
  using namespace weft::daemon;
  const auto options = parse(std::vector<std::string_view>(argv + 1, argv + argc));
  if (!options) {
    fmt::print(stderr, "weftd: usage: weftd [--directory DIR] [--idle SECONDS] [--foreground]\n");
    return kUsage;
  }
  return serve(*options);
}
