// SPDX-License-Identifier: Apache-2.0
// Who watches which link of a lab: captured packets go to local sockets, each in a message of its
// own, and are dropped and counted where nobody reads fast enough. The lab never waits.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <vector>

#include "base/time.h"
#include "link/link.h"

namespace weft::daemon {

// What precedes a captured packet in its message, in host order: both ends are one build on one
// machine.
struct CapturedHead {
  std::int64_t timestamp_ns = 0;  // since 1970-01-01 UTC
  std::uint32_t from = 0;         // the end of the link that sent it, 0 or 1
  std::uint32_t missed = 0;       // packets dropped here since the message before
};

class LinkCaptures {
 public:
  LinkCaptures() = default;
  LinkCaptures(const LinkCaptures&) = delete;
  LinkCaptures& operator=(const LinkCaptures&) = delete;

  // Packets that `link`, number `index` of its fabric, carries go to `socket` from now on. The link
  // and the socket stay until remove().
  void add(std::size_t index, link::Link& link, int socket);
  void remove(std::size_t index, int socket);

 private:
  struct Watcher {
    int socket = -1;
    std::uint32_t missed = 0;
  };
  class Tap final : public link::LinkTap {
   public:
    explicit Tap(link::Link& link);
    void sent(std::size_t from, const link::Packet& packet, Time now) override;
    // Credit is no packet to those who look for packets; `weft link show` counts it.
    void sent(std::size_t, const wire::FlowControl&, Time) override {}

    link::Link* link_;
    std::vector<Watcher> watchers;

   private:
    const Duration clocks_apart_;  // what the wall clock is ahead of the monotonic one
  };

  std::map<std::size_t, std::unique_ptr<Tap>> taps_;
};

}  // namespace weft::daemon
