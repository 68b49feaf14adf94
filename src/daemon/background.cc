// SPDX-License-Identifier: Apache-2.0
#include "daemon/background.h"

#include <fcntl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cstdlib>
#include <initializer_list>

namespace weft::daemon {

void leave_parent() {
  if (const pid_t child = fork(); child != 0) _exit(child > 0 ? EXIT_SUCCESS : EXIT_FAILURE);
  setsid();
  static_cast<void>(chdir("/") == 0);
  const int null = open("/dev/null", O_RDWR | O_CLOEXEC);
  for (const int standard : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO})
    dup2(null, standard);
  close(null);
}

void allow_many_descriptors() {
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
  limit.rlim_cur = limit.rlim_max;
  static_cast<void>(setrlimit(RLIMIT_NOFILE, &limit));
}

}  // namespace weft::daemon
