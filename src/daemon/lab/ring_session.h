// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <deque>
#include <span>
#include <vector>

#include "base/bytes.h"
#include "base/error.h"
#include "io/reactor.h"
#include "io/unique_fd.h"

namespace weft::daemon {

// One connection between two parts of a lab: messages with files, as ring_protocol.h has them. What
// the socket does not take at once waits here.
class RingSession {
 public:
  class Owner {
   public:
    virtual ~Owner() = default;
    // False: it makes no sense, and the connection is over.
    virtual bool heard(RingSession& session, Bytes message, std::span<io::UniqueFd> files) = 0;
    // The other end is gone, or over(). The session may be destroyed by then, and not before.
    virtual void ended(RingSession& session) = 0;
  };

  // `socket` does not block. The owner may change; each outlives the session or the next one.
  RingSession(io::UniqueFd socket, Owner& owner) : socket_(std::move(socket)), owner_(&owner) {}
  RingSession(const RingSession&) = delete;
  RingSession& operator=(const RingSession&) = delete;

  Expected<void> start(io::Reactor& reactor);
  void set_owner(Owner& owner) { owner_ = &owner; }

  void send(Bytes message, std::vector<io::UniqueFd> files = {});
  // Whether something waits for room: then whoever reads there is awake.
  [[nodiscard]] bool is_full() const { return !waiting_.empty(); }
  [[nodiscard]] std::size_t waiting() const { return waiting_.size(); }

 private:
  struct Message {
    std::vector<std::byte> bytes;
    std::vector<io::UniqueFd> files;
  };

  void on_ready(std::uint32_t events);
  bool read_all();
  void flush();
  [[nodiscard]] bool pass(const Message& message);

  io::UniqueFd socket_;
  Owner* owner_;
  std::deque<Message> waiting_;
  bool broken_ = false;  // nothing more can be said
  io::Reactor* reactor_ = nullptr;
  io::Reactor::Registration watch_;
};

}  // namespace weft::daemon
