// SPDX-License-Identifier: Apache-2.0
// The receiving end of a link under whatever its lanes may bring: packets of a sender with wrong
// bits, slips and lanes apart, and bits that are of no sender. What comes out is what a packet may
// be, and counted; and whatever came before, a link that is trained again brings its packets.
//
// Byte 0 chooses the width and the clock, then come steps.
#include <algorithm>
#include <array>
#include <cstdint>
#include <vector>

#include "input.h"
#include "phy/lanes/link_receiver.h"
#include "phy/lanes/link_transmitter.h"

namespace {

using namespace weft;
using namespace weft::phy;
using fuzz::Input;
using fuzz::require;

constexpr std::size_t kLongest = 400;
constexpr std::size_t kMostSteps = 64;

class Sink final : public PacketSink {
 public:
  void receive(const ReceivedPacket& packet) override {
    ++count;
    require(packet.bytes.size() <= kLongest);
    if (packet.fault == PacketFault::kNone) {
      require(is_packet_size(packet.kind, packet.bytes.size()));
    }
    last_fault = packet.fault;
    last.assign(packet.bytes.begin(), packet.bytes.end());
  }
  std::uint64_t count = 0;
  PacketFault last_fault = PacketFault::kNone;
  std::vector<std::byte> last;
};

class Link {
 public:
  Link(LinkWidth width, bool own_clock)
      : lanes_(lanes_of(width)),
        own_clock_(own_clock),
        sender_(width),
        receiver_({.width = width, .own_clock = own_clock, .longest_packet = kLongest}) {}

  void step(Input& input) {
    switch (input.one_of(8)) {
      case 0:
        sender_.send_training(OrderedSet::kTs1, input.byte() % 8U);
        break;
      case 1:
        sender_.send_training(OrderedSet::kTs2, input.byte() % 8U);
        break;
      case 2:
        sender_.send_idle(input.byte());
        break;
      case 3:
        send_packet(input);
        break;
      case 4:
        send_characters(input);
        break;
      case 5:
        bring_noise(input);
        return;
      case 6:
        receiver_.restart(sink_);
        return;
      case 7:
        crossed_ = input.word();
        reversed_ = input.byte() % 2 != 0;
        return;
    }
    bring(input);
  }

  // Everything begins again, and must work.
  void bring_a_packet_at_last() {
    receiver_.restart(sink_);
    Input none(Bytes{});
    sender_.send_training(OrderedSet::kTs1, 6);
    sender_.send_training(OrderedSet::kTs2, 10);
    sender_.send_idle(10);
    std::array<std::byte, 66> packet;
    for (std::size_t i = 0; i < packet.size(); ++i)
      packet[i] = static_cast<std::byte>(i * 7);
    sender_.send_packet(PacketKind::kData, packet);
    sender_.send_idle(40);
    bring(none);
    require(receiver_.in_step());
    require(sink_.last_fault == PacketFault::kNone);
    require(std::equal(packet.begin(), packet.end(), sink_.last.begin(), sink_.last.end()));
  }

  void check() const {
    std::uint64_t counted = 0;
    for (const LaneCounter counter :
         {LaneCounter::kDataPackets, LaneCounter::kLinkPackets, LaneCounter::kBadByEnd,
          LaneCounter::kBadBySymbol, LaneCounter::kMalformed, LaneCounter::kOverlong}) {
      counted += receiver_.counters().get(counter);
    }
    require(counted == sink_.count);
  }

 private:
  void send_packet(Input& input) {
    const Bytes some = input.some();
    std::vector<std::byte> bytes(some.begin(), some.end());
    if (bytes.size() < 10) {
      bytes.resize(kLinkPacketSize);
      sender_.send_packet(PacketKind::kLink, bytes);
    } else {
      bytes.resize(bytes.size() / 4 * 4 + 2);
      if (bytes.size() < 10) bytes.resize(10);
      const bool good = input.byte() % 4 != 0;
      sender_.send_packet(PacketKind::kData, bytes, good ? PacketEnd::kGood : PacketEnd::kBad);
    }
  }

  // Control characters where a sender would not put them.
  void send_characters(Input& input) {
    constexpr std::array kChoice{kCom, kSdp, kSlp, kEgp, kEbp, kPad, kSkp};
    std::vector<Character> characters;
    for (const std::byte byte : input.some()) {
      const auto value = std::to_integer<std::uint8_t>(byte);
      characters.push_back(value < 200 ? Character{value, false} : kChoice[value % kChoice.size()]);
    }
    while (characters.size() % lanes_ != 0)
      characters.push_back(kPad);
    sender_.send_columns(characters);
  }

  // What was sent, with wrong bits as the input says.
  void bring(Input& input) {
    std::array<BitVector, kMaxLanes> lanes;
    for (std::size_t place = 0; place < lanes_; ++place) {
      const std::size_t from = reversed_ ? lanes_ - 1 - place : place;
      const BitSpan bits = sender_.bits(from);
      const bool crossed = (crossed_ >> place & 1) != 0;
      std::size_t wrong = bits.count;
      unsigned copies = 1;
      if (input.rarely()) {
        wrong = bits.count == 0 ? 0 : input.word() % bits.count;
        copies = input.one_of(3);  // one wrong bit, or one that slipped
      }
      for (std::size_t i = 0; i < bits.count; ++i) {
        const bool flips = i == wrong && copies == 1;
        const unsigned bit = bits.bit(i) != (crossed != flips) ? 1 : 0;
        for (unsigned n = i == wrong ? copies : 1; n != 0; --n)
          lanes[place].put(bit, 1);
      }
    }
    sender_.clear();
    deliver(lanes);
  }

  void bring_noise(Input& input) {
    std::array<BitVector, kMaxLanes> lanes;
    for (std::size_t place = 0; place < lanes_; ++place) {
      for (const std::byte byte : input.some()) {
        lanes[place].put(std::to_integer<std::uint32_t>(byte), 8);
      }
    }
    deliver(lanes);
  }

  void deliver(const std::array<BitVector, kMaxLanes>& lanes) {
    if (!own_clock_) {
      for (std::size_t place = 0; place < lanes_; ++place) {
        receiver_.receive(place, lanes[place].span());
      }
      receiver_.read(sink_);
      return;
    }
    std::size_t longest = 0;
    for (const BitVector& lane : lanes)
      longest = std::max(longest, lane.size());
    for (std::size_t at = 0; at < longest; at += kSymbolBits) {
      for (std::size_t place = 0; place < lanes_; ++place) {
        const BitSpan bits = lanes[place].span();
        if (at >= bits.count) continue;
        const auto size =
            static_cast<unsigned>(std::min<std::size_t>(kSymbolBits, bits.count - at));
        BitVector piece;
        piece.put(bits.take(at, size), size);
        receiver_.receive(place, piece.span());
      }
      receiver_.tick(1, sink_);
    }
  }

  const std::size_t lanes_;
  const bool own_clock_;
  LinkTransmitter sender_;
  LinkReceiver receiver_;
  Sink sink_;
  std::uint32_t crossed_ = 0;
  bool reversed_ = false;
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  Input input(std::as_bytes(std::span(data, size)));
  const std::uint8_t first = input.byte();
  Link link(kWidestFirst[first % kWidestFirst.size()], (first & 0x80) != 0);
  for (std::size_t step = 0; step < kMostSteps && !input.empty(); ++step) {
    link.step(input);
    link.check();
  }
  link.bring_a_packet_at_last();
  link.check();
  return 0;
}
