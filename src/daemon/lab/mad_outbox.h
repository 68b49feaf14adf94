// SPDX-License-Identifier: Apache-2.0
// What waits to be read by a program that manages a port. A program that does not read keeps a
// bounded amount of memory, and loses what comes then.
#pragma once

#include <cstddef>
#include <deque>
#include <vector>

#include "base/bytes.h"
#include "io/unique_fd.h"
#include "umad/protocol.h"

namespace weft::daemon {

class MadOutbox {
 public:
  struct Limits {
    std::size_t bytes = std::size_t{64} << 20;     // in the queue
    std::size_t untaken = std::size_t{128} << 20;  // of long datagrams that are on their way
  };

  // `socket` stays open for as long.
  explicit MadOutbox(int socket) : MadOutbox(socket, Limits{}) {}
  MadOutbox(int socket, const Limits& limits) : socket_(socket), limits_(limits) {}

  // A datagram of header.length bytes. False: it is lost, because the program does not read or is
  // gone.
  bool put(const umad::protocol::Mad& header, Bytes datagram);

  // The program has read a long datagram of so many bytes.
  void taken(std::size_t bytes);

  // Sends what the socket takes. Call it when the socket can be written while wants_room().
  void flush();
  [[nodiscard]] bool wants_room() const { return wants_room_; }

 private:
  struct Message {
    std::vector<std::byte> bytes;
    io::UniqueFd file;          // of a long one
    std::size_t long_size = 0;  // its bytes
    [[nodiscard]] std::size_t size() const { return bytes.size() + long_size; }
  };

  // Long ones wait for those before them to be taken.
  [[nodiscard]] bool may_go(const Message& message) const;
  bool enqueue(Message message);

  int socket_;
  Limits limits_;
  std::deque<Message> queue_;
  std::size_t queued_ = 0;   // bytes
  std::size_t untaken_ = 0;  // bytes
  bool wants_room_ = false;
  bool gone_ = false;
};

}  // namespace weft::daemon
