// SPDX-License-Identifier: Apache-2.0
// lab_daemon LAB.toml DIRECTORY: runs a lab with its management socket until SIGTERM comes. Says
// "ready" when programs may come, and its counters when it ends.
#include "lab_daemon.h"

#include <fmt/format.h>

#include <csignal>
#include <cstdio>
#include <fstream>
#include <sstream>

#include "fabric/lab_file.h"

namespace {

weft::daemon::LabDaemon* running = nullptr;

}  // namespace

int main(int count, char** arguments) {
  if (count != 3) return 2;
  std::ostringstream text;
  text << std::ifstream(arguments[1]).rdbuf();
  auto lab = weft::fabric::parse_lab(text.str(), arguments[1]);
  if (!lab) {
    fmt::print(stderr, "{}\n", lab.error().message);
    return 1;
  }
  auto daemon = weft::daemon::LabDaemon::open(std::move(*lab), arguments[2]);
  if (!daemon) {
    fmt::print(stderr, "{}\n", daemon.error().message);
    return 1;
  }
  running = daemon->get();
  std::signal(SIGTERM, [](int) { running->stop(); });
  fmt::print("ready\n");
  std::fflush(stdout);
  (*daemon)->run();
  for (const weft::CounterValue& counter : (*daemon)->counters().snapshot())
    fmt::print("{} {}\n", counter.name, counter.value);
  return 0;
}
