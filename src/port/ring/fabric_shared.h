// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/spin_lock.h"
#include "io/shared_mapping.h"
#include "port/guard.h"
#include "port/ring/link_capture.h"
#include "port/ring/node_attachment.h"
#include "port/ring/port_facts.h"
#include "port/ring/program_end.h"
#include "port/ring/ring_counters.h"

namespace weft::port {

// Memory of other programs that arrivals refer to.
class Arenas {
 public:
  // bad_message: it is not what such memory is.
  Expected<void> add(std::uint32_t arena, int file);
  void remove(std::uint32_t arena);

  // While it is held nothing is unmapped.
  [[nodiscard]] std::unique_lock<std::mutex> hold() { return std::unique_lock(mutex_); }
  // With hold(): the whole of a block of it; empty for one that is not here.
  [[nodiscard]] Bytes block(std::uint32_t arena, std::uint32_t number) const;

 private:
  std::mutex mutex_;
  std::unordered_map<std::uint32_t, io::SharedMapping> mappings_;
};

// What the ports of an adapter on a fabric, their endpoints and their inlet have in common.
struct FabricShared {
  // `ports_in`: of the adapter. `arena`: the number of the program's own memory.
  FabricShared(std::unique_ptr<NodeAttachment> attachment_in, std::uint8_t ports_in,
               std::uint32_t arena, std::unique_ptr<ProgramEnd> end_in, Guard guard_in)
      : attachment(std::move(attachment_in)),
        ports(ports_in),
        own_arena(arena),
        end(std::move(end_in)),
        guard(guard_in),
        facts(std::size_t{ports} + 1) {}

  const std::unique_ptr<NodeAttachment> attachment;
  const std::uint8_t ports;
  const std::uint32_t own_arena;
  const std::unique_ptr<ProgramEnd> end;
  const Guard guard;                     // around what reads the payload of a burst
  std::unique_ptr<LinkCapture> capture;  // null: none
  RingCounters counters;
  Arenas arenas;
  std::atomic<bool> gone{false};  // the daemon has ended the attachment
  // Of the facts of each port, by its number, for those who receive.
  std::array<std::atomic<std::uint8_t>, attach::kMostPorts + 1> lmcs{};

  // Guards the sending half of `end`, and `facts`: packets say by which facts they are made.
  SpinLock sending;
  std::vector<std::shared_ptr<const PortFacts>> facts;  // by the number of the port

  [[nodiscard]] bool has_port(std::uint8_t port) const { return port >= 1 && port <= ports; }
  [[nodiscard]] std::shared_ptr<const PortFacts> current_facts(std::uint8_t port) {
    const std::lock_guard guard_of_facts(sending);
    return facts[port];
  }
  void set_facts(PortFacts news) {
    const auto after = std::make_shared<const PortFacts>(std::move(news));
    lmcs[after->port].store(after->attributes.lmc, std::memory_order_relaxed);
    const std::lock_guard guard_of_facts(sending);
    facts[after->port] = after;
  }
};

}  // namespace weft::port
