// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/error.h"
#include "io/reactor.h"
#include "io/spare_descriptor.h"
#include "io/unique_fd.h"
#include "io/unix_socket.h"

namespace weft::daemon {

// Who may open a file that other users can see: a socket, or a FIFO.
struct Admission {
  enum class Who : std::uint8_t { kOwner, kGroup, kEveryone } who = Who::kOwner;
  gid_t group = 0;  // of kGroup
  // Of the file at `path`, which is the owner's alone until then: lets them open it, to write if
  // `to_write`. Root may open everything. operation_not_permitted: the group is not this user's.
  [[nodiscard]] Expected<void> give(const std::string& path, bool to_write) const;
};

// A socket that other users can see, and who of them is let in.
struct Entrance {
  std::string path;
  Admission admission;
};

// A local SEQPACKET socket at which only this user's processes, and root's, are let in, or else
// those whom its file's mode lets in. The file goes with it.
class Listener {
 public:
  // Who came, non-blocking.
  using Take = std::function<void(io::UniqueFd socket, const io::PeerCredentials& peer)>;
  enum class Refused : std::uint8_t { kForeign, kNoDescriptor };
  using Count = std::function<void(Refused)>;

  // address_in_use: somebody listens at `path` already. Neither callback may destroy it.
  static Expected<std::unique_ptr<Listener>> open(std::string path, io::Reactor& reactor, Take take,
                                                  Count count);
  // Where others have an entrance of their own, that too: who floods it is not in the owner's way.
  static Expected<std::vector<std::unique_ptr<Listener>>> open_all(
      const std::string& path, const std::optional<Entrance>& shared, io::Reactor& reactor,
      const Take& take, const Count& count);
  Listener(const Listener&) = delete;
  Listener& operator=(const Listener&) = delete;
  ~Listener();

 private:
  Listener(Entrance entrance, io::UniqueFd listener, Take take, Count count);
  static Expected<std::unique_ptr<Listener>> open(Entrance entrance, io::Reactor& reactor,
                                                  Take take, Count count);
  [[nodiscard]] bool admits(const io::PeerCredentials& peer) const;
  void accept_all();
  void turn_away_one();

  const Entrance entrance_;
  io::UniqueFd listener_;
  io::SpareDescriptor spare_;
  const Take take_;
  const Count count_;
  io::Reactor::Registration watch_;
};

}  // namespace weft::daemon
