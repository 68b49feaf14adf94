// SPDX-License-Identifier: Apache-2.0
// Genuine packets of DCCP, and two ends on a network that may lose, double, mix up and change what
// is sent, in virtual time.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <map>
#include <string>
#include <vector>

#include "base/random.h"
#include "wan/dccp/dccp_path.h"
#include "wan/frame.h"
#include "wire/endian.h"
#include "wire/grh.h"

namespace weft::wan::dccp {

// What an IP packet carries, with its addresses.
struct Genuine {
  std::string where;
  Gid source;
  Gid destination;
  std::vector<std::byte> bytes;
};

// Of a capture of Ethernet frames in tests/data/dccp, of little-endian pcap.
inline std::vector<Genuine> genuine(const std::string& name) {
  std::ifstream file(std::filesystem::path(WEFT_TEST_DATA) / "dccp" / name, std::ios::binary);
  const std::string all{std::istreambuf_iterator<char>(file), {}};
  const Bytes bytes = std::as_bytes(std::span(all));
  std::vector<Genuine> out;
  for (std::size_t at = 24; at + 16 <= bytes.size();) {
    std::uint32_t size = 0;
    std::memcpy(&size, bytes.data() + at + 8, 4);
    const Bytes frame = bytes.subspan(at + 16, size);
    at += 16 + size;
    Genuine one{.where = name + " #" + std::to_string(out.size() + 1),
                .source = {},
                .destination = {},
                .bytes = {}};
    Bytes body;
    if (wire::load_be16(frame.data() + 12) == 0x86DD) {
      one.source = wire::load_gid(frame.data() + 14 + 8);
      one.destination = wire::load_gid(frame.data() + 14 + 24);
      body = frame.subspan(14 + 40, wire::load_be16(frame.data() + 14 + 4));
    } else {
      one.source = Gid::from_ipv4(wire::load_be32(frame.data() + 14 + 12));
      one.destination = Gid::from_ipv4(wire::load_be32(frame.data() + 14 + 16));
      body = frame.subspan(14 + 20, wire::load_be16(frame.data() + 14 + 2) - 20U);
    }
    one.bytes.assign(body.begin(), body.end());
    out.push_back(std::move(one));
  }
  return out;
}

inline Gid address(std::size_t end) {
  return Gid{{0xFD, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, static_cast<std::uint8_t>(end + 1)}};
}

inline DccpEnds ends_of(std::size_t end, bool partial = false) {
  return {.local = address(end),
          .remote = address(1 - end),
          .local_port = static_cast<std::uint16_t>(7471 + end),
          .remote_port = static_cast<std::uint16_t>(7472 - end),
          .partial_coverage = partial};
}

struct Faults {
  double loss = 0;
  double duplicate = 0;
  double reorder = 0;
  double corrupt = 0;
  double mark = 0;
  Duration delay = 5ms;
  Duration reorder_delay = 8ms;
  std::size_t queue = SIZE_MAX;  // packets on the way, each way; more are lost
};

// End 0 is the client.
class World {
 public:
  explicit World(std::uint64_t seed, const Faults& faults = {}, bool partial = false)
      : faults(faults), random_(seed), entropy_(Random(seed ^ 0x5A5A)) {
    for (std::size_t end = 0; end < 2; ++end)
      begin(end, partial);
  }

  // An end forgets all, as a process that begins anew.
  void begin(std::size_t end, bool partial = false) {
    sides_[end].below.send_out = [this, end](Bytes packet, std::uint8_t marks) {
      launch(end, packet, marks);
    };
    sides_[end].path =
        std::make_unique<DccpPath>(sides_[end].below, ends_of(end, partial), entropy_);
  }

  DccpPath& path(std::size_t end) { return *sides_[end].path; }
  const std::vector<std::vector<std::byte>>& got(std::size_t end) { return sides_[end].got; }
  std::uint64_t count(std::size_t end, std::string_view name) {
    for (const CounterValue& counter : path(end).counters()) {
      if (counter.name == name) return counter.value;
    }
    ADD_FAILURE() << name;
    return 0;
  }

  void send(std::size_t end, Bytes frame, std::size_t times = 1) {
    const std::vector<OutFrame> out(times, {.parts = {&frame, 1}, .size = frame.size()});
    path(end).send(out, now);
  }
  // How often the path below was handed packets.
  [[nodiscard]] std::size_t calls(std::size_t end) const { return sides_[end].below.calls; }
  // Numbered frames while there is room, up to so many in all.
  void fill(std::size_t end, std::size_t most, std::size_t size = 600) {
    Side& side = sides_[end];
    while (side.numbers < most && path(end).established() && path(end).ready()) {
      std::vector<std::byte> frame(size, std::byte{0x11});
      wire::store_be32(frame.data(), static_cast<std::uint32_t>(side.numbers++));
      for (std::size_t i = 4; i < size; ++i)
        frame[i] = static_cast<std::byte>(side.numbers * 31 + i);
      send(end, frame);
    }
  }
  // What somebody else makes the end believe to come from the other one.
  void inject(std::size_t end, Bytes packet) {
    arrive(end, packet, false);
    path(end).run(now);
  }

  // Until then, with `each` before every step.
  void run(
      Duration length, const std::function<void()>& each = [] {}) {
    const Time end = now + length;
    for (;;) {
      for (Side& side : sides_)
        side.path->run(now);
      each();
      Time next = end;
      if (!flying_.empty()) next = std::min(next, flying_.begin()->first);
      for (const Side& side : sides_) {
        if (const auto due = side.path->deadline()) next = std::min(next, *due);
      }
      if (next >= end && now >= end) return;
      now = std::max(now, next);
      while (!flying_.empty() && flying_.begin()->first <= now) {
        const Flying packet = std::move(flying_.begin()->second);
        flying_.erase(flying_.begin());
        --under_way_[1 - packet.to];
        arrive(packet.to, packet.bytes, packet.marked);
      }
      if (now >= end && next >= end) {
        for (Side& side : sides_)
          side.path->run(now);
        return;
      }
    }
  }
  bool connect(Duration patience = 3s) {
    for (const Time end = now + patience; now < end;) {
      run(10ms);
      if (path(0).established() && path(1).established()) return true;
    }
    return false;
  }

  Time now = Time{} + 100s;
  Faults faults;
  bool cut = false;
  // Looks at each packet that is sent, before faults.
  std::function<void(std::size_t from, Bytes packet)> tap = [](std::size_t, Bytes) {};
  std::function<bool(std::size_t from, Bytes packet)> loses = [](std::size_t, Bytes) {
    return false;
  };

 private:
  struct Below final : Path {
    bool established() const override { return true; }
    bool ready() const override { return true; }
    std::size_t longest_frame() const override { return mtu; }
    void send(std::span<const OutFrame> frames, Time) override {
      ++calls;
      for (const OutFrame& frame : frames) {
        std::vector<std::byte> whole;
        for (const Bytes part : frame.parts)
          whole.insert(whole.end(), part.begin(), part.end());
        EXPECT_EQ(whole.size(), frame.size);
        EXPECT_LE(whole.size(), mtu);
        send_out(whole, frame.traffic_class);
      }
    }
    std::size_t mtu = 1400;
    std::size_t calls = 0;
    std::function<void(Bytes, std::uint8_t)> send_out;
  };
  struct Side {
    Below below;
    std::unique_ptr<DccpPath> path;
    std::vector<std::vector<std::byte>> got;
    std::size_t numbers = 0;
  };
  struct Flying {
    std::size_t to;
    std::vector<std::byte> bytes;
    bool marked;
  };

  bool happens(double probability) { return random_.chance(probability); }
  void launch(std::size_t from, Bytes packet, std::uint8_t marks) {
    EXPECT_EQ(marks & 3, 2) << "capable of ECN";
    tap(from, packet);
    if (cut || loses(from, packet) || happens(faults.loss)) return;
    if (under_way_[from] >= faults.queue) return;
    const int copies = happens(faults.duplicate) ? 2 : 1;
    for (int i = 0; i < copies; ++i) {
      std::vector<std::byte> bytes(packet.begin(), packet.end());
      if (happens(faults.corrupt)) {
        bytes[random_.below(bytes.size())] ^= std::byte(1U << random_.below(8));
      }
      Time when = now + faults.delay;
      if (happens(faults.reorder)) when += faults.reorder_delay * random_.below(100) / 100;
      ++under_way_[from];
      flying_.emplace(when, Flying{1 - from, std::move(bytes), happens(faults.mark)});
    }
  }
  void arrive(std::size_t end, Bytes packet, bool marked) {
    const Bytes frame = path(end).receive(packet, marked, now);
    if (!frame.empty()) sides_[end].got.emplace_back(frame.begin(), frame.end());
  }

  Random random_;
  SeededEntropy entropy_;
  std::array<Side, 2> sides_;
  std::multimap<Time, Flying> flying_;
  std::array<std::size_t, 2> under_way_{};
};

}  // namespace weft::wan::dccp
