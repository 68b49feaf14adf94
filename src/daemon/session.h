// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "base/bytes.h"
#include "base/error.h"
#include "hca/types.h"
#include "host/door.h"
#include "io/reactor.h"
#include "io/unique_fd.h"
#include "io/unix_socket.h"
#include "port/roce/slot.h"

namespace weft::daemon {

class Agent;

// One connection of a program. What it says is checked; what makes no sense ends the connection.
class Session {
 public:
  // `peer`: who connected.
  Session(Agent& agent, std::uint64_t id, io::UniqueFd socket, const io::PeerCredentials& peer);
  ~Session();
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  Expected<void> start(io::Reactor& reactor);

  [[nodiscard]] pid_t pid() const { return peer_.pid; }
  // The rdma_cm file that it has open.
  [[nodiscard]] std::optional<std::uint64_t> file() const { return file_; }
  [[nodiscard]] bool has_said_hello() const { return has_said_hello_; }
  // A file or a slot.
  [[nodiscard]] bool holds_something() const { return file_ || slot_; }
  // The slot of UDP port 4791 that it has.
  [[nodiscard]] std::optional<std::uint8_t> slot() const;
  // To who has a slot. Is not repeated: a program that does not read it sends what any peer takes.
  void tell(const hca::Agreement& agreement);

 private:
  // False when the connection is over.
  bool read_all();
  bool on_message(Bytes message);
  bool on_hello(Bytes message);
  bool on_request(Bytes message);
  bool send_report();
  bool welcome(const host::door::Welcome& welcome, int descriptor);
  bool turn_away(const Error& why);
  bool answer(Bytes message, int descriptor = -1);
  bool keep(const Expected<void>& sent);  // counts who does not read
  bool nonsense();                        // counts it

  Agent& agent_;
  std::uint64_t id_;
  io::UniqueFd socket_;
  io::PeerCredentials peer_;
  bool has_said_hello_ = false;
  std::optional<std::uint64_t> file_;
  std::optional<port::Slot> slot_;
  std::vector<std::byte> buffer_;
  io::Reactor::Registration watch_;
};

}  // namespace weft::daemon
