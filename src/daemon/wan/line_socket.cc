// SPDX-License-Identifier: Apache-2.0
#include "daemon/wan/line_socket.h"

#include <algorithm>
#include <utility>

namespace weft::daemon {

Expected<void> LineSocket::open(const fabric::LabRemote& remote, const wan::Ends& ends) {
  auto path = LinePath::open(remote, ends, entropy_, reactor_);
  if (!path) return tl::unexpected(path.error());
  paths_.push_back({.remote = remote.name, .path = std::move(*path)});
  return {};
}

RemotePath& LineSocket::add(const fabric::LabRemote& remote, std::size_t, Time) {
  return *std::ranges::find(paths_, remote.name, &Of::remote)->path;
}

bool LineSocket::run(Time now) {
  bool worked = false;
  for (const Of& of : paths_)
    worked |= of.path->run(now);
  return worked;
}

std::optional<Time> LineSocket::deadline() const {
  std::optional<Time> first;
  for (const Of& of : paths_) {
    const auto when = of.path->deadline();
    if (when && (!first || *when < *first)) first = when;
  }
  return first;
}

void LineSocket::close() {
  for (const Of& of : paths_)
    of.path->close();
}

std::vector<CounterValue> LineSocket::counters() const {
  std::vector<CounterValue> out;
  for (const Of& of : paths_)
    accumulate(out, of.path->counters());
  return out;
}

}  // namespace weft::daemon
