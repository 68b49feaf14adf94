// SPDX-License-Identifier: Apache-2.0
// A TCP connection by which two extenders that seal nothing tell that they are there
// (wan/site_greeting.h). Nothing more is said on it; while it stands, so does the other end.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/time.h"
#include "io/message_stream.h"
#include "io/reactor.h"
#include "io/socket_address.h"
#include "io/unique_fd.h"
#include "wan/site_greeting.h"

namespace weft::daemon {

// Everything happens in the reactor's thread, in run().
class SiteCall {
 public:
  enum class State : std::uint8_t {
    kGreeting,
    kAsked,   // the other end has called, and waits for answer()
    kStands,  // both have agreed
    kEnded,
  };
  struct Config {
    io::SocketAddress peer;
    // To ask with; nothing: the other end asks.
    std::optional<wan::SiteGreeting> ask;
    std::function<void()> ready;  // run() has something to do
  };

  // `socket` does not block, and may still be connecting. The reactor outlives it.
  static Expected<std::unique_ptr<SiteCall>> begin(io::UniqueFd socket, Config config,
                                                   io::Reactor& reactor, Time now);
  SiteCall(const SiteCall&) = delete;
  SiteCall& operator=(const SiteCall&) = delete;
  ~SiteCall() { close(); }

  void run(Time now);
  [[nodiscard]] std::optional<Time> deadline() const;
  void close();

  [[nodiscard]] State state() const { return state_; }
  [[nodiscard]] const io::SocketAddress& address() const { return config_.peer; }
  // What the other end has said; before that, empty words.
  [[nodiscard]] const wan::SiteGreeting& heard() const { return heard_; }
  // While it is asked. Having refused, it has ended.
  void answer(const wan::SiteGreeting& greeting);
  // Why it has ended; nothing: one of the ends has closed it.
  [[nodiscard]] const std::optional<Error>& error() const { return error_; }

 private:
  SiteCall(io::UniqueFd socket, Config config, io::Reactor& reactor, Time deadline);
  Expected<void> talk(Time now);
  Expected<void> write();
  Expected<void> read();
  Expected<void> hang_up();
  Expected<void> hear(Bytes message);
  Expected<void> watch();

  io::UniqueFd socket_;
  const Config config_;
  io::Reactor& reactor_;
  const Time deadline_;  // for both to have agreed
  State state_ = State::kGreeting;
  std::vector<std::byte> unsent_;
  io::MessageReader reader_{wan::SiteGreeting::kLongest};
  bool began_ = false;  // something has come
  wan::SiteGreeting heard_;
  std::optional<Error> error_;
  std::uint32_t watched_ = 0;  // events
  io::Reactor::Registration watch_;
};

}  // namespace weft::daemon
