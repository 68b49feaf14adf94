// SPDX-License-Identifier: Apache-2.0
// A fibre through memory of this machine: two rings of bytes (carrier/ring_bytes.h), and the Unix
// socket over which their files were handed over. A message there wakes who sleeps; its end says
// that the other process is gone.
#pragma once

#include <memory>
#include <optional>
#include <string_view>

#include "base/bytes.h"
#include "base/error.h"
#include "carrier/ring_bytes.h"
#include "daemon/ring_mappings.h"

namespace weft::daemon {

class FibreMemory {
 public:
  // Of who listens: makes the memory, and hands it over. `socket` is SEQPACKET, does not block, and
  // outlives this.
  static Expected<std::unique_ptr<FibreMemory>> hand_over(int socket);
  // Of who came: null as long as nothing has come. Errors: what came is no such memory.
  static Expected<std::unique_ptr<FibreMemory>> take_over(int socket);
  FibreMemory(const FibreMemory&) = delete;
  FibreMemory& operator=(const FibreMemory&) = delete;

  // What the other side wrote makes no sense: nothing is to be had from it any more.
  [[nodiscard]] std::optional<std::string_view> lie() const { return ring_.lie(); }

  [[nodiscard]] bool has_more() { return ring_.has_more(); }
  // As much as there is, and as there is room for; bytes.
  [[nodiscard]] std::size_t read(MutableBytes out) { return ring_.take(out); }
  [[nodiscard]] std::size_t write(Bytes bytes) { return ring_.put(bytes); }
  // Whether there is room for anything. False: the other side wakes this one when there is.
  [[nodiscard]] bool has_room() { return ring_.await_room(1); }
  // Shows the other side what was read and written, and wakes it if it sleeps for that.
  void show();

  // From now on the socket is ready when something has come. False: something has.
  [[nodiscard]] bool sleep() { return ring_.sleep(); }
  void awake() { ring_.look(); }
  // Reads what woke this side. False: the other one is gone.
  [[nodiscard]] bool hear_wakes() const;

 private:
  FibreMemory(int socket, RingMappings rings)
      : socket_(socket), rings_(std::move(rings)), ring_(rings_.ours(), rings_.theirs()) {}

  const int socket_;
  RingMappings rings_;
  carrier::RingBytes ring_;
};

}  // namespace weft::daemon
