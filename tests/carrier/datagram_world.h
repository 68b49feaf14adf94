// SPDX-License-Identifier: Apache-2.0
// Two parts of a lab, links between them, and a network that loses, doubles, delays and reorders
// datagrams as a seed says, in virtual time.
#pragma once

#include <algorithm>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "base/random.h"
#include "carrier/datagram_peer.h"
#include "half_links.h"

namespace weft::carrier {

struct Weather {
  double loss = 0;
  double duplicate = 0;
  Duration delay = 1ms;
  Duration jitter = 0ns;  // up to so much longer, each by itself: they overtake each other
};

class DatagramWorld {
 public:
  explicit DatagramWorld(std::uint64_t seed, std::size_t links = 1,
                         const link::PortOptions& options = {})
      : random_(seed), options_(options) {
    for (std::size_t i = 0; i < links; ++i)
      rigs.push_back(std::make_unique<HalfLinks>(options_));
    for (auto& part : parts_)
      start(part);
  }
  ~DatagramWorld() {
    for (auto& part : parts_)
      kill(part);
  }

  // The ends of a link, 0 on the left, and its channel there.
  [[nodiscard]] HalfLinks& rig(std::size_t link = 0) { return *rigs[link]; }
  [[nodiscard]] DatagramChannel& channel(std::size_t side, std::size_t link = 0) {
    return *parts_[side].channels[link];
  }
  [[nodiscard]] DatagramPeer& peer(std::size_t side) { return *parts_[side].peer; }
  [[nodiscard]] Time now() const { return rigs[0]->now(); }

  // A part dies without a word, and comes back as one that knows nothing.
  void kill_and_restart(std::size_t side) {
    kill(parts_[side]);
    start(parts_[side]);
  }
  void kill(std::size_t side) { kill(parts_[side]); }
  void start(std::size_t side) { start(parts_[side]); }
  // Its process is stopped: it neither runs nor reads.
  void stop(std::size_t side, bool stopped) { parts_[side].stopped = stopped; }

  // Comes to `side` from the address of the other.
  void inject(std::size_t side, std::vector<std::byte> datagram) {
    in_flight_.emplace(now(), Flight{side, std::move(datagram)});
  }
  std::function<void(std::size_t to, Bytes datagram)> watch;

  void run_for(Duration time) {
    const Time end = now() + time;
    for (settle(); now() < end; settle()) {
      Time next = end;
      const auto earlier = [&](std::optional<Time> when) {
        if (when) next = std::min(next, std::max(*when, now()));
      };
      for (const auto& rig : rigs)
        earlier(rig->worker.next_deadline());
      for (const Part& part : parts_) {
        if (part.peer && !part.stopped) earlier(part.peer->deadline());
      }
      if (!in_flight_.empty()) earlier(in_flight_.begin()->first);
      for (const auto& rig : rigs)
        rig->worker.run_until(next);
    }
  }
  // As a subnet manager, which goes on trying.
  [[nodiscard]] bool activate(Duration patience = 20s) {
    for (const Time end = now() + patience; now() < end; run_for(20ms)) {
      bool all = true;
      for (const auto& rig : rigs) {
        rig->set_both(PortState::kArmed);
        rig->set_both(PortState::kActive);
        all = all && rig->a.port.state() == PortState::kActive &&
              rig->b.port.state() == PortState::kActive;
      }
      if (all) return true;
    }
    return false;
  }

  Weather weather;
  std::vector<std::unique_ptr<HalfLinks>> rigs;

 private:
  struct Flight {
    std::size_t to;
    std::vector<std::byte> bytes;
  };
  // What a channel writes is sent when it asks for more, or at the end of the turn.
  struct Part final : DatagramSink {
    Part(DatagramWorld& its_world, std::size_t its_side) : world(its_world), side(its_side) {}
    [[nodiscard]] bool ready() const override { return true; }
    [[nodiscard]] MutableBytes next(std::size_t size) override {
      flush();
      pending.assign(size, std::byte{0xEE});
      return pending;
    }
    void flush() {
      if (!pending.empty()) world.post(1 - side, std::exchange(pending, {}));
    }
    DatagramWorld& world;
    std::size_t side;
    std::vector<std::byte> pending;
    std::optional<SeededEntropy> entropy;
    std::unique_ptr<DatagramPeer> peer;
    std::vector<std::unique_ptr<DatagramChannel>> channels;
    bool stopped = false;
  };

  [[nodiscard]] link::HalfLink& half(std::size_t side, std::size_t link) {
    return side == 0 ? rigs[link]->left : rigs[link]->right;
  }
  void start(Part& part) {
    part.entropy.emplace(random_.fork());
    part.peer = std::make_unique<DatagramPeer>();
    for (std::size_t i = 0; i < rigs.size(); ++i) {
      part.channels.push_back(
          std::make_unique<DatagramChannel>(i + 1, part, *part.peer, *part.entropy));
      part.peer->add(*part.channels.back());
      half(part.side, i).set_channel(part.channels.back().get(), now());
    }
  }
  void kill(Part& part) {
    part.flush();
    for (std::size_t i = 0; i < part.channels.size(); ++i)
      half(part.side, i).set_channel(nullptr, now());
    part.pending.clear();  // it had no time for a goodbye
    part.channels.clear();
    part.peer.reset();
  }

  void post(std::size_t to, std::vector<std::byte> bytes) {
    if (watch) watch(to, bytes);
    if (random_.chance(weather.loss)) return;
    const int copies = random_.chance(weather.duplicate) ? 2 : 1;
    for (int i = 0; i < copies; ++i) {
      const auto jitter = static_cast<std::uint64_t>(weather.jitter.count());
      const Duration late{static_cast<std::int64_t>(random_.below(jitter + 1))};
      in_flight_.emplace(now() + weather.delay + late, Flight{to, bytes});
    }
  }

  void settle() {
    for (bool again = true; again;) {
      again = false;
      for (const auto& rig : rigs)
        rig->worker.settle();
      for (Part& part : parts_) {
        if (part.stopped || !part.peer) continue;
        const auto deadline = part.peer->deadline();
        if (deadline && *deadline <= now()) part.peer->run(now());
        part.flush();
      }
      again = deliver();
      for (const auto& rig : rigs)
        again = again || rig->worker.has_woken();
    }
  }
  bool deliver() {
    bool any = false;
    while (!in_flight_.empty() && in_flight_.begin()->first <= now()) {
      const Flight flight = std::move(in_flight_.begin()->second);
      in_flight_.erase(in_flight_.begin());
      Part& part = parts_[flight.to];
      any = true;
      if (!part.stopped && part.peer) part.peer->receive(flight.bytes, now());
    }
    return any;
  }

  Random random_;
  const link::PortOptions options_;
  std::array<Part, 2> parts_{Part{*this, 0}, Part{*this, 1}};
  std::multimap<Time, Flight> in_flight_;
};

}  // namespace weft::carrier
