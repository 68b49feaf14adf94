// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <unordered_map>

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

// What a port on a fabric, its endpoints and its inlet have in common.
struct FabricShared {
  // `arena`: the number of the program's own memory.
  FabricShared(std::unique_ptr<NodeAttachment> attachment_in, std::uint32_t arena,
               std::unique_ptr<ProgramEnd> end_in, PortFacts facts_in, Guard guard_in)
      : attachment(std::move(attachment_in)),
        own_arena(arena),
        end(std::move(end_in)),
        guard(guard_in),
        lmc(facts_in.attributes.lmc),
        facts(std::make_shared<const PortFacts>(std::move(facts_in))) {}

  const std::unique_ptr<NodeAttachment> attachment;
  const std::uint32_t own_arena;
  const std::unique_ptr<ProgramEnd> end;
  const Guard guard;                     // around what reads the payload of a burst
  std::unique_ptr<LinkCapture> capture;  // null: none
  RingCounters counters;
  Arenas arenas;
  std::atomic<bool> gone{false};     // the daemon has ended the attachment
  std::atomic<std::uint8_t> lmc{0};  // of `facts`, for those who receive

  // Guards the sending half of `end`, and `facts`: packets say by which facts they are made.
  SpinLock sending;
  std::shared_ptr<const PortFacts> facts;

  [[nodiscard]] std::shared_ptr<const PortFacts> current_facts() {
    const std::lock_guard guard_of_facts(sending);
    return facts;
  }
};

}  // namespace weft::port
