// SPDX-License-Identifier: Apache-2.0
// Ports, links and a worker to run them, in virtual time.
#pragma once

#include <algorithm>
#include <functional>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "base/buffer_pool.h"
#include "link/direct_link.h"
#include "link/packet_pool.h"
#include "link/port.h"
#include "wire/bth.h"
#include "wire/endian.h"
#include "wire/link_crc.h"
#include "wire/packet.h"

namespace weft::link {

inline std::uint64_t count(const Port& port, PortCounter counter) {
  return port.counters().get(counter);
}

struct PacketSpec {
  Vl vl{0};
  Sl sl{0};
  Lid dlid{2};
  Lid slid{1};
  std::size_t payload = 64;  // bytes, a multiple of 4
  std::uint32_t number = 0;  // its PSN, and in its payload
};

// A UC SEND, sealed.
inline std::vector<std::byte> make_packet(const PacketSpec& spec) {
  const std::size_t covered = 8 + 12 + spec.payload + 4;
  std::vector<std::byte> bytes(covered + 2);
  wire::Lrh{.vl = spec.vl,
            .sl = spec.sl,
            .dlid = spec.dlid,
            .packet_words = static_cast<std::uint16_t>(covered / 4),
            .slid = spec.slid}
      .write(bytes);
  wire::Bth{.opcode = wire::Opcode::uc_send_only, .dest_qp = Qpn{7}, .psn = Psn{spec.number}}.write(
      MutableBytes(bytes).subspan(8));
  for (std::size_t i = 0; i < spec.payload; ++i)
    bytes[20 + i] = std::byte(static_cast<std::uint8_t>(spec.number + i));
  wire::seal_link_packet(bytes);
  return bytes;
}

inline std::uint32_t number_of(const Packet& packet) {
  return wire::Bth::parse(packet.header().subspan(8))->psn.value();
}

// Runs ports as a worker does: those that were woken, and those whose deadline has come.
class Worker {
 public:
  [[nodiscard]] Time now() const { return now_; }
  void add(Port& port) { ports_.push_back(&port); }
  void wake(Port& port) { woken_.push_back(&port); }
  [[nodiscard]] bool has_woken() const { return !woken_.empty(); }

  // Until nothing happens any more at this moment.
  void settle() {
    int rounds = 0;
    for (;;) {
      auto woken = std::exchange(woken_, {});
      for (Port* const port : ports_) {
        const auto deadline = port->deadline();
        if (deadline && *deadline <= now_) woken.push_back(port);
      }
      if (woken.empty()) return;
      if (++rounds > 100'000) std::abort();  // never comes to rest
      for (Port* const port : woken)
        port->run(now_);
    }
  }
  // Through every deadline up to then.
  void run_until(Time end) {
    settle();
    while (const auto next = next_deadline()) {
      if (*next > end) break;
      now_ = std::max(now_, *next);
      settle();
    }
    now_ = std::max(now_, end);
    settle();
  }
  void run_for(Duration time) { run_until(now_ + time); }
  [[nodiscard]] std::optional<Time> next_deadline() const {
    std::optional<Time> first;
    for (const Port* const port : ports_) {
      const auto deadline = port->deadline();
      if (deadline && (!first || *deadline < *first)) first = deadline;
    }
    return first;
  }

 private:
  Time now_{1s};
  std::vector<Port*> ports_;
  std::vector<Port*> woken_;
};

// An element of one port that keeps what arrives, until it is told to let go.
class Station : public PortOwner {
 public:
  Station(Worker& worker, const PortOptions& options) : worker_(worker), port(options, *this) {
    worker_.add(port);
  }

  void received(Port&, PacketPtr packet, Time) override {
    numbers.push_back(number_of(*packet));
    if (keep) kept.push_back(std::move(packet));
  }
  void state_changed(Port&, PortState before, Time) override {
    changes.push_back({before, port.state()});
  }
  void wake(Port& woken) override {
    ++wakes;
    worker_.wake(woken);
  }

 private:
  Worker& worker_;

 public:
  std::vector<std::uint32_t> numbers;
  std::vector<std::pair<PortState, PortState>> changes;
  bool keep = false;
  std::vector<PacketPtr> kept;
  int wakes = 0;
  Port port;
};

// Two stations and the link between them.
struct Rig {
  explicit Rig(const PortOptions& options = {}, const Emulation& emulation = {})
      : Rig(options, options, emulation) {}
  Rig(const PortOptions& a_options, const PortOptions& b_options, const Emulation& emulation)
      : link(pool), a(worker, a_options), b(worker, b_options) {
    if (emulation.any()) link.set_emulation(emulation, now());
    link.join(a.port, b.port, now());
  }
  ~Rig() {
    a.kept.clear();
    b.kept.clear();
    a.port.connect(nullptr, now());
    b.port.connect(nullptr, now());
  }

  [[nodiscard]] Time now() const { return worker.now(); }
  // As a subnet manager does.
  void activate() {
    worker.settle();
    worker.run_for(link.emulation().delay + 1ms);
    for (Station* const each : {&a, &b})
      each->port.set_state(PortState::kArmed, now());
    worker.run_for(link.emulation().delay + 1ms);
    for (Station* const each : {&a, &b})
      each->port.set_state(PortState::kActive, now());
    worker.settle();
  }
  [[nodiscard]] PacketPtr packet(const PacketSpec& spec) { return pool.copy(make_packet(spec)); }
  void send(Station& from, const PacketSpec& spec) {
    from.port.transmit(packet(spec), spec.vl, now());
  }

  BufferPool payloads{PacketPool::kPayloadBlock, 100'000};
  PacketPool pool{100'000, payloads};
  Worker worker;
  DirectLink link;
  Station a;
  Station b;
};

}  // namespace weft::link
