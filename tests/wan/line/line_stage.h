// SPDX-License-Identifier: Apache-2.0
// What tests put at both ends of a line.
#pragma once

#include <algorithm>
#include <cstddef>
#include <deque>
#include <string>
#include <string_view>
#include <vector>

#include "base/random.h"
#include "wan/line/frame_field.h"
#include "wan/line/octet_stream.h"

namespace weft::wan {

using Packet = std::vector<std::byte>;

inline Packet from_hex(std::string_view text) {
  Packet bytes;
  for (std::size_t at = 0; at + 1 < text.size(); at += 2)
    bytes.push_back(
        static_cast<std::byte>(std::stoi(std::string(text.substr(at, 2)), nullptr, 16)));
  return bytes;
}

inline Packet random_packet(Random& random, std::size_t size) {
  Packet packet(size);
  std::generate(packet.begin(), packet.end(),
                [&] { return static_cast<std::byte>(random.next()); });
  return packet;
}

class WaitingPackets final : public PacketSource {
 public:
  std::deque<Packet> waiting;
  [[nodiscard]] Bytes next() override {
    if (waiting.empty()) return {};
    present_ = std::move(waiting.front());
    waiting.pop_front();
    return present_;
  }

 private:
  Packet present_;
};

class CollectedPackets final : public PacketSink {
 public:
  std::vector<Packet> packets;
  void packet(Bytes bytes) override { packets.emplace_back(bytes.begin(), bytes.end()); }
};

// `size` octets of the line.
inline Packet drawn(OctetSource& line, std::size_t size) {
  Packet octets(size);
  line.fill(octets);
  return octets;
}

// The same in pieces of any size.
inline Packet drawn_in_pieces(OctetSource& line, std::size_t size, Random& random) {
  Packet octets(size);
  for (std::size_t at = 0; at < size;) {
    const std::size_t piece = std::min<std::size_t>(random.between(1, 90), size - at);
    line.fill(MutableBytes(octets).subspan(at, piece));
    at += piece;
  }
  return octets;
}

inline void hand_in_pieces(OctetSink& line, Bytes octets, Random& random) {
  while (!octets.empty()) {
    const std::size_t piece = std::min<std::size_t>(random.between(1, 90), octets.size());
    line.take(octets.first(piece));
    octets = octets.subspan(piece);
  }
}

// Whether `some` is `all` with packets left out.
inline bool is_subsequence(const std::vector<Packet>& some, const std::vector<Packet>& all) {
  std::size_t at = 0;
  for (const Packet& packet : some) {
    while (at < all.size() && all[at] != packet)
      ++at;
    if (at++ >= all.size()) return false;
  }
  return true;
}

// What a line does to octets: a few of them wrong in a bit, some missing, some too many.
struct Damage {
  unsigned bit_errors = 0;
  unsigned slips = 0;
};
inline void damage(Packet& octets, const Damage& what, Random& random) {
  for (unsigned i = 0; i < what.bit_errors; ++i)
    octets[random.below(octets.size())] ^= static_cast<std::byte>(1U << random.below(8));
  for (unsigned i = 0; i < what.slips; ++i) {
    const auto at = octets.begin() + static_cast<std::ptrdiff_t>(random.below(octets.size() - 9));
    if (random.chance(0.5)) {
      octets.erase(at, at + static_cast<std::ptrdiff_t>(random.between(1, 8)));
    } else {
      const Packet more = random_packet(random, random.between(1, 8));
      octets.insert(at, more.begin(), more.end());
    }
  }
}

// "name: value" of each, a line for each.
inline std::string text_of(const std::vector<FrameField>& fields) {
  std::string text;
  for (const FrameField& field : fields)
    text += field.name + ": " + field.value + "\n";
  return text;
}

}  // namespace weft::wan
