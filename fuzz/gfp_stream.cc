// SPDX-License-Identifier: Apache-2.0
// A line in GFP under any octets, in pieces of any size, with frames of a transmitter among them,
// whole or not, and sessions at any times: it does not matter where octets are cut, each packet is
// handed on and counted once and is within its bounds, and no deadline that has passed stays.
#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "input.h"
#include "line_packets.h"
#include "wan/line/gfp/gfp_fields.h"
#include "wan/line/gfp/gfp_session.h"

using namespace weft;
using namespace weft::wan;
using fuzz::LinePackets;
using fuzz::require;

namespace {

constexpr std::size_t kLongest = 200;

class Sink final : public PacketSink {
 public:
  std::vector<std::byte> all;
  std::uint64_t count = 0;
  void packet(Bytes bytes) override {
    require(!bytes.empty() && bytes.size() <= kLongest);
    all.insert(all.end(), bytes.begin(), bytes.end());
    ++count;
  }
};

struct End {
  Sink sink;
  GfpReceiver receiver;
  LinePackets packets;
  GfpTransmitter transmitter;
  GfpSession session{{}, receiver, transmitter};
  explicit End(const GfpOptions& options)
      : receiver(options, sink), transmitter(options, packets) {}
};

void check_fields(Bytes frame) {
  for (const FrameField& field : gfp_fields(frame))
    require(!field.name.empty() && field.at + field.size <= frame.size());
}

// All of it at once, and octet by octet.
void hand(End& whole, End& cut, Bytes octets) {
  whole.receiver.take(octets);
  for (std::size_t at = 0; at < octets.size(); ++at)
    cut.receiver.take(octets.subspan(at, 1));
}

void compare(const End& whole, const End& cut) {
  require(whole.receiver.state() == cut.receiver.state());
  require(whole.sink.all == cut.sink.all);
  const auto a = whole.receiver.counters().snapshot();
  const auto b = cut.receiver.counters().snapshot();
  for (std::size_t i = 0; i < a.size(); ++i)
    require(a[i].value == b[i].value);
  require(whole.receiver.counters().get(GfpReceiveCounter::kPackets) == whole.sink.count);
}

// Frames of whoever makes up the headers, with right checks but for what is changed.
std::vector<std::byte> made_up(fuzz::Input& input, PayloadScrambler& scrambler) {
  const Bytes rest = input.some();
  std::vector<std::byte> frame(2 * kGfpHeader);
  const std::uint16_t type = input.word();
  const auto store = [&frame](std::size_t at, std::uint32_t word) {
    for (std::size_t i = 0; i < kGfpHeader; ++i)
      frame[at + i] = static_cast<std::byte>(word >> (24 - 8 * i));
  };
  store(0, gfp_with_hec(static_cast<std::uint16_t>(kGfpHeader + rest.size())));
  store(kGfpHeader, gfp_with_hec(type));
  frame.insert(frame.end(), rest.begin(), rest.end());
  check_fields(frame);
  store(0, gfp_with_hec(static_cast<std::uint16_t>(kGfpHeader + rest.size())) ^ kGfpCoreScramble);
  scrambler.scramble(MutableBytes(frame).subspan(kGfpHeader));
  return frame;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  fuzz::Input input(std::as_bytes(std::span(data, size)));
  const unsigned kind = input.byte();
  GfpOptions options{.fcs = (kind & 1) != 0, .longest_packet = kLongest};
  if ((kind & 2) != 0) options.channel = static_cast<std::uint8_t>(kind >> 4);
  if ((kind & 4) != 0) options.delta = 3;
  End whole(options);
  End cut(options);
  PayloadScrambler scrambler;
  Time now{1s};
  while (!input.empty()) {
    std::vector<std::byte> octets;
    switch (input.one_of(7)) {
      case 0: {
        const Bytes some = input.some();
        check_fields(some);
        octets.assign(some.begin(), some.end());
        break;
      }
      case 1:
        whole.packets.put(input.some());
        octets.resize(input.byte());
        whole.transmitter.fill(octets);
        break;
      case 2:
        octets.resize(1U + input.byte());
        whole.transmitter.fill(octets);
        octets[input.byte() % octets.size()] ^= static_cast<std::byte>(input.byte());
        break;
      case 3:
        octets = made_up(input, scrambler);
        break;
      case 4:
        whole.receiver.interrupted();
        cut.receiver.interrupted();
        break;
      case 5:
        whole.session.set_client((input.byte() & 1) != 0);
        break;
      default:
        now += Duration(input.number());
        whole.session.advance(now);
        require(whole.session.next_deadline() > now);
        require(!whole.session.up() || !whole.session.remote_defect());
    }
    hand(whole, cut, octets);
    compare(whole, cut);
  }
  return 0;
}
