// SPDX-License-Identifier: Apache-2.0
// Finds the host agent, or starts it, or finds the daemon of the program's lab. No C++ runtime, and
// system calls made directly: see verbs/rdmacm_door.cc.
#include "host/agent_start.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

namespace weft::host {
namespace {

constexpr const char* kProgram = "WEFT_AGENT";
constexpr const char* kDirectory = "WEFT_RUNTIME_DIR";
constexpr const char* kLab = "WEFT_LAB";
constexpr const char* kNode = "WEFT_NODE";

// The libraries of this run are for the program, not for the agent.
bool is_for_program_only(const char* variable) {
  return strncmp(variable, "LD_", 3) == 0;
}

// An agent that is about to end may not answer any more: the next one will.
constexpr int kAttempts = 3;

bool address_of_agent(sockaddr_un* address) {
  const char* directory = getenv(kDirectory);
  struct stat status;
  if (directory == nullptr || syscall(SYS_newfstatat, AT_FDCWD, "/proc/self/ns/net", &status, 0)) {
    return false;
  }
  address->sun_family = AF_UNIX;
  const int length = snprintf(address->sun_path, sizeof address->sun_path, "%s/agent-%lu.sock",
                              directory, static_cast<unsigned long>(status.st_ino));
  return length > 0 && static_cast<size_t>(length) < sizeof address->sun_path;
}

int try_connect(const sockaddr_un& address) {
  const long fd = syscall(SYS_socket, AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
  if (fd < 0) return -errno;
  long result = 0;
  do {
    result = syscall(SYS_connect, fd, &address, sizeof address);
  } while (result < 0 && errno == EINTR);
  if (result == 0) return static_cast<int>(fd);
  const int error = errno;
  syscall(SYS_close, fd);
  return -error;
}

char** environment_for_agent() {
  size_t count = 0;
  while (environ[count] != nullptr)
    ++count;
  auto** out = static_cast<char**>(calloc(count + 1, sizeof(char*)));
  if (out == nullptr) return nullptr;
  size_t kept = 0;
  for (size_t i = 0; i < count; ++i) {
    if (!is_for_program_only(environ[i])) out[kept++] = environ[i];
  }
  return out;
}

// Runs weftd, which ends once an agent listens. A child without an exit signal: the program's own
// waiting for its children, and its handler for SIGCHLD, never see it. errno, or 0.
int start_agent() {
  const char* program = getenv(kProgram);
  const char* directory = getenv(kDirectory);
  char** environment = environment_for_agent();
  if (environment == nullptr) return ENOMEM;
  const char* const arguments[] = {program, "--directory", directory, nullptr};

  // No handler of the program may run in the child.
  sigset_t all;
  sigset_t before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  const long child = syscall(SYS_clone, 0UL, nullptr, nullptr, nullptr, 0UL);
  if (child == 0) {
    syscall(SYS_execve, program, arguments, environment);
    syscall(SYS_exit_group, 127);
  }
  int error = child < 0 ? errno : 0;
  int status = 0;
  if (child > 0) {
    long ended = 0;
    do {
      ended = syscall(SYS_wait4, child, &status, __WALL, nullptr);
    } while (ended < 0 && errno == EINTR);
    if (ended != child || status != 0) error = ENODEV;
  }
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  free(environment);
  return error;
}

}  // namespace

bool agent_is_named() {
  return getenv(kProgram) != nullptr && getenv(kDirectory) != nullptr;
}

const char* node_of_lab() {
  const char* node = getenv(kNode);
  return node != nullptr && *node != '\0' && getenv(kLab) != nullptr ? node : nullptr;
}

int connect_to_lab() {
  sockaddr_un address = {};
  address.sun_family = AF_UNIX;
  const int length =
      snprintf(address.sun_path, sizeof address.sun_path, "%s/rdma_cm", getenv(kLab));
  if (length < 0 || static_cast<size_t>(length) >= sizeof address.sun_path) return -ENAMETOOLONG;
  return try_connect(address);
}

int connect_to_agent() {
  sockaddr_un address = {};
  if (!address_of_agent(&address)) return -ENODEV;
  int result = try_connect(address);
  for (int i = 0; i < kAttempts && (result == -ENOENT || result == -ECONNREFUSED); ++i) {
    const int error = start_agent();
    if (error != 0) return -error;
    result = try_connect(address);
  }
  return result;
}

}  // namespace weft::host
