// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "base/error.h"
#include "io/reactor.h"
#include "io/unique_fd.h"
#include "io/unix_socket.h"

namespace weft::daemon {

// A local SEQPACKET socket at which only this user's processes, and root's, are let in. The file
// goes with it.
class Listener {
 public:
  // Who came, non-blocking.
  using Take = std::function<void(io::UniqueFd socket, const io::PeerCredentials& peer)>;
  enum class Refused : std::uint8_t { kForeign, kNoDescriptor };
  using Count = std::function<void(Refused)>;

  // address_in_use: somebody listens at `path` already. Neither callback may destroy it.
  static Expected<std::unique_ptr<Listener>> open(std::string path, io::Reactor& reactor, Take take,
                                                  Count count);
  Listener(const Listener&) = delete;
  Listener& operator=(const Listener&) = delete;
  ~Listener();

 private:
  Listener(std::string path, io::UniqueFd listener, Take take, Count count);
  void accept_all();
  void turn_away_one();

  const std::string path_;
  io::UniqueFd listener_;
  io::UniqueFd spare_;  // see turn_away_one()
  const Take take_;
  const Count count_;
  io::Reactor::Registration watch_;
};

}  // namespace weft::daemon
