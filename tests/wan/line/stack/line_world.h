// SPDX-License-Identifier: Apache-2.0
// Two ends of a line in virtual time, with a way for octets between them that can be spoilt.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "../../encapsulation_stage.h"
#include "base/entropy.h"
#include "base/random.h"
#include "wan/line/stack/line_stack.h"
#include "wan/line_channel.h"

namespace weft::wan {

class LineWorld {
 public:
  using Packet = std::vector<std::byte>;

  struct End final : PacketSource, PacketSink {
    Bytes next() override {
      if (waiting.empty()) return {};
      going = std::move(waiting.front());
      waiting.pop_front();
      return going;
    }
    void packet(Bytes bytes) override { came.emplace_back(bytes.begin(), bytes.end()); }

    std::deque<Packet> waiting;
    Packet going;
    std::vector<Packet> came;
    std::unique_ptr<Line> line;
    std::unique_ptr<LineChannel> channel;
    int changes = 0;
  };

  // No line is faster than an STM-1, so that virtual seconds do not take real ones.
  static constexpr std::uint64_t kFastest = 19'440'000;

  using Circuits = std::array<std::optional<SwitchedCircuit>, 2>;  // of the ends

  // `fastest`: octets a second of a line that would be faster.
  LineWorld(const std::string& stack, std::uint32_t seed, std::uint64_t fastest = kFastest,
            const Circuits& circuits = {})
      : random(seed), entropy_(Random(seed)) {
    const auto names = LineStack::parse(stack);
    const Carried carried = Stack::parse(names->packets(), here(is_ipv4(stack)), true)->outermost();
    for (std::size_t i = 0; i < ends.size(); ++i) {
      End& end = ends[i];
      end.line = names->make(carried, &entropy_, end, end, circuits[i]);
      end.channel = std::make_unique<LineChannel>(
          LineChannel::Options{.octets_per_s = std::min(fastest, names->octets_per_s())}, *end.line,
          [&end](Time) { ++end.changes; });
      end.channel->opened(now);
    }
  }

  // Octets that are on their way from an end are given to this, which may change them.
  std::function<void(std::size_t from, std::vector<std::byte>&)> spoil;
  // This end has no processor: it does nothing, and the other one's stream takes nothing any more.
  std::optional<std::size_t> stopped;

  void run(Duration time) {
    constexpr Duration kStep = 250us;
    for (const Time end = now + time; now < end;) {
      now += kStep;
      for (std::size_t from = 0; from < ends.size(); ++from)
        carry(from);
    }
  }
  [[nodiscard]] bool up() const { return ends[0].channel->is_up() && ends[1].channel->is_up(); }
  bool run_until_up(Duration most) {
    for (Duration spent{}; spent < most && !up(); spent += 10ms)
      run(10ms);
    return up();
  }
  Packet make_packet(std::size_t size) {
    Packet out(size);
    for (std::byte& byte : out)
      byte = static_cast<std::byte>(random());
    return out;
  }

  std::mt19937 random;
  Time now{};
  std::array<End, 2> ends;

 private:
  void carry(std::size_t from) {
    LineChannel& sender = *ends[from].channel;
    LineChannel& receiver = *ends[1 - from].channel;
    if (stopped == from) return;
    (void)sender.run(now);
    if (stopped) return;
    const Bytes pending = sender.pending();
    std::vector<std::byte> octets(pending.begin(), pending.end());
    sender.sent(octets.size(), now);
    if (spoil) spoil(from, octets);
    for (Bytes rest = octets; !rest.empty();) {
      const MutableBytes room = receiver.room();
      const Bytes piece = rest.first(std::min(rest.size(), room.size()));
      std::copy(piece.begin(), piece.end(), room.begin());
      (void)receiver.arrived(piece.size(), now);
      rest = rest.subspan(piece.size());
    }
  }

  SeededEntropy entropy_;
};

}  // namespace weft::wan
