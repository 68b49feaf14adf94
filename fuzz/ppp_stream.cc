// SPDX-License-Identifier: Apache-2.0
// A line in PPP under any octets, in pieces of any size, and a session under whatever frames may
// come at any time: it does not matter where octets are cut, each packet is handed on and counted
// once, what waits stays within its bounds, no deadline that has passed stays, and in the end it
// comes up with another one on a good line.
#include <algorithm>
#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "base/random.h"
#include "input.h"
#include "line_packets.h"
#include "wan/line/ppp/control_text.h"
#include "wan/line/ppp/ppp_fields.h"
#include "wan/line/ppp/ppp_receiver.h"
#include "wan/line/ppp/ppp_session.h"
#include "wan/line/ppp/ppp_transmitter.h"

using namespace weft;
using namespace weft::wan;
using fuzz::LinePackets;
using fuzz::require;

namespace {

constexpr std::size_t kLongest = 200;

class Sink final : public PacketSink {
 public:
  std::uint64_t count = 0;
  void packet(Bytes bytes) override {
    require(!bytes.empty() && bytes.size() <= kLongest);
    ++count;
  }
};

// Hands frames on, and remembers them.
class Frames final : public PppFrameSink {
 public:
  explicit Frames(PppFrameSink* next) : next_(next) {}
  std::vector<std::byte> all;
  void frame(PppProtocol protocol, Bytes information) override {
    require(information.size() <= kLongest);
    all.push_back(static_cast<std::byte>(protocol));
    all.insert(all.end(), information.begin(), information.end());
    if (next_ != nullptr) next_->frame(protocol, information);
  }

 private:
  PppFrameSink* next_;
};

struct End {
  LinePackets packets;
  Sink sink;
  SeededEntropy entropy;
  PppSession session;
  PppTransmitter transmitter;
  Frames frames{&session};
  PppReceiver receiver;
  End(const PppSessionOptions& options, PppFcs fcs, std::uint64_t seed)
      : entropy(Random(seed)),
        session(options, packets, sink, entropy),
        transmitter(fcs, session),
        receiver(fcs, kLongest, frames) {}

  void advance(Time now) {
    session.advance(now);
    require(session.next_deadline() > now);
    require(!session.up() || session.link_state() == ControlState::kOpened);
    require(!to_text(session.link_state()).empty() && !to_text(session.network_state()).empty());
    require(session.counters().get(PppCounter::kPacketsReceived) == sink.count);
  }
};

void carry(End& from, End& to) {
  std::vector<std::byte> octets(400);
  from.transmitter.fill(octets);
  to.receiver.take(octets);
}

void exchange(End& a, End& b, Time& now, unsigned turns) {
  for (unsigned i = 0; i < turns; ++i, now += 100ms) {
    a.advance(now);
    b.advance(now);
    carry(a, b);
    carry(b, a);
  }
}

constexpr std::array kProtocols{PppProtocol::kLcp,    PppProtocol::kIpv6cp, PppProtocol::kIpcp,
                                PppProtocol::kMplscp, PppProtocol::kIpv6,   PppProtocol::kIpv4,
                                PppProtocol::kMpls,   PppProtocol::kVendor};

void check_fields(PppFcs fcs, Bytes frame) {
  for (const FrameField& field : ppp_fields(fcs, frame))
    require(!field.name.empty() && field.at + field.size <= frame.size());
  for (const PppProtocol protocol : kProtocols) {
    for (const FrameField& field : control_fields(protocol, frame))
      require(field.at + field.size <= frame.size());
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  fuzz::Input input(std::as_bytes(std::span(data, size)));
  const unsigned kind = input.byte();
  const PppFcs fcs = (kind & 4) != 0 ? PppFcs::k16 : PppFcs::k32;
  PppSessionOptions options{.payload = PppPayload(kind & 3), .receive_unit = kLongest};
  if ((kind & 8) != 0) options.network = {0x77, 0x01020304, 0x01020305};
  End a(options, fcs, kind);
  End b(options, fcs, kind + 1000U);
  Frames cut_frames(nullptr);
  PppReceiver cut(fcs, kLongest, cut_frames);
  Time now{1s};
  const auto hand = [&](Bytes octets) {
    a.receiver.take(octets);
    for (std::size_t at = 0; at < octets.size(); ++at)
      cut.take(octets.subspan(at, 1));
    require(a.frames.all == cut_frames.all);
  };
  while (!input.empty()) {
    switch (input.one_of(8)) {
      case 0: {
        const Bytes some = input.some();
        check_fields(fcs, some);
        hand(some);
        break;
      }
      case 1: {
        std::vector<std::byte> octets(1U + input.byte());
        b.transmitter.fill(octets);
        octets[input.byte() % octets.size()] ^= static_cast<std::byte>(input.byte());
        hand(octets);
        break;
      }
      case 2: {
        const PppProtocol protocol = kProtocols[input.one_of(kProtocols.size())];
        const Bytes some = input.some();
        if (some.size() <= kLongest) a.session.frame(protocol, some);
        break;
      }
      case 3:
        a.packets.put(input.some());
        b.packets.put(input.some());
        break;
      case 4:
        a.receiver.interrupted();
        cut.interrupted();
        a.session.set_line((input.byte() & 1) != 0);
        break;
      case 5:
        a.session.set_wanted((input.byte() & 1) != 0);
        break;
      case 6:
        now += Duration(input.number());
        break;
      default: {
        // A good line for a while, of which the one that is cut hears nothing.
        exchange(a, b, now, input.one_of(40));
        a.receiver.take(std::array{kPppFlag});
        cut.take(std::array{kPppFlag});
        cut_frames.all = a.frames.all;
        break;
      }
    }
    a.advance(now);
  }
  a.session.set_line(true);
  a.session.set_wanted(true);
  exchange(a, b, now, 900);
  require(a.session.up() && b.session.up());
  return 0;
}
