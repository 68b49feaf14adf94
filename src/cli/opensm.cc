// SPDX-License-Identifier: Apache-2.0
#include "cli/opensm.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <vector>

#include "cli/program.h"

namespace weft::cli {
namespace {

constexpr const char* kSelf = "/proc/self/exe";

constexpr useconds_t kOpensmPauseUs = 10'000;
constexpr int kOpensmMostPauses = 300;

// In the child.
[[noreturn]] void become(char* const* words, const std::string& directory, pid_t parent) {
  // It ends with the lab, also with one that is killed.
  prctl(PR_SET_PDEATHSIG, SIGTERM);
  if (getppid() != parent) _exit(1);
  for (const int signal : {SIGTERM, SIGINT, SIGHUP, SIGPIPE})
    ::signal(signal, SIG_DFL);
  const int in = open("/dev/null", O_RDONLY);
  const std::string output = directory + "/opensm.out";
  const int out = open(output.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
  if (in >= 0) dup2(in, STDIN_FILENO);
  if (out >= 0) {
    dup2(out, STDOUT_FILENO);
    dup2(out, STDERR_FILENO);
  }
  setenv("OSM_TMP_DIR", directory.c_str(), 1);
  setenv("OSM_CACHE_DIR", directory.c_str(), 1);
  execv(kSelf, words);
  _exit(127);
}

}  // namespace

Expected<std::string> OpenSm::find() {
  for (const std::string& path : {program_search_path(), std::string("/usr/sbin:/sbin")}) {
    if (auto found = find_program("opensm", path)) return *found;
  }
  return fail(std::errc::no_such_file_or_directory,
              "opensm is not installed: apt-get install opensm, or leave it to --sm weft");
}

Expected<void> OpenSm::start(const fabric::Lab& lab, const daemon::LabPaths& paths) {
  const auto program = find();
  if (!program) return tl::unexpected(program.error());
  const fabric::LabNode* const node = lab.managing_node();
  if (node == nullptr) {
    return fail(std::errc::no_such_device,
                "the lab has no channel adapter that OpenSM could run on");
  }
  const std::string& directory = paths.directory;
  std::vector<std::string> words{
      "weft",     "run", "--lab",  paths.title(), "--node",
      node->name, "--",  *program, "-f",          directory + "/opensm.log"};
  if (lab.management.subnet_prefix != fabric::kDefaultSubnetPrefix) {
    words.emplace_back("--subnet_prefix");
    words.push_back(fmt::format("0x{:016x}", lab.management.subnet_prefix));
  }
  std::vector<char*> arguments;
  arguments.reserve(words.size() + 1);
  for (std::string& word : words)
    arguments.push_back(word.data());
  arguments.push_back(nullptr);
  const pid_t parent = getpid();
  process_ = fork();
  if (process_ < 0) return fail_errno(errno, "fork");
  if (process_ == 0) become(arguments.data(), directory, parent);
  return {};
}

OpenSm::~OpenSm() {
  if (process_ < 0) return;
  kill(process_, SIGTERM);
  for (int pauses = 0; pauses < kOpensmMostPauses; ++pauses) {
    if (waitpid(process_, nullptr, WNOHANG) != 0) return;
    usleep(kOpensmPauseUs);
  }
  kill(process_, SIGKILL);
  waitpid(process_, nullptr, 0);
}

}  // namespace weft::cli
