// SPDX-License-Identifier: Apache-2.0
// Of every stack that ends in a line: how much of what the line carries is InfiniBand packets, and
// how fast one core makes its octets and finds the packets in them again. A frame holds four
// packets with 2 KiB of payload, as those of a busy tunnel do; octets are random, so that PPP
// stuffs as many as it must. Of stacks that end in packets, and of fibres, on which packets are as
// they are: the share alone (wan_encapsulation has how fast they are).
//
// usage: wan_lines [STACK ...]
#include <fmt/format.h>

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/fibre_address.h"
#include "base/random.h"
#include "turns.h"
#include "wan/dccp/dccp_header.h"
#include "wan/encapsulation/stack.h"
#include "wan/fibre_code.h"
#include "wan/fibre_packet.h"
#include "wan/line/stack/line_stack.h"
#include "wan_ends.h"
#include "wan_packet.h"

namespace {

using namespace weft;
using namespace weft::bench;
using namespace weft::wan;

constexpr std::size_t kPackets = 4;  // of a frame
constexpr std::size_t kPayload = 2048;
// A frame's head, that of a group, and what it says of each packet (docs/range-extension.md).
constexpr std::size_t kFrameHead = 32 + 4 + kPackets * 12;
constexpr std::size_t kPiece = std::size_t{64} << 10;  // octets of a line that are made at once
constexpr std::size_t kPiecesInTurn = 32;
constexpr double kBits = 8;

std::vector<std::string> all_stacks() {
  std::vector<std::string> out{"ethernet", "mpls/ethernet"};
  for (const std::string_view packets :
       {"udp/ipv6", "udp/ipv4", "ipv6", "ipv4", "dccp/ipv6", "dccp/ipv4"}) {
    for (const std::string_view around : {"", "/ethernet", "/mpls/ethernet"})
      out.push_back(fmt::format("{}{}", packets, around));
  }
  const std::array<std::string_view, 5> framings{"", "/stm1", "/stm4", "/stm16", "/stm64"};
  const std::array<std::string_view, 6> ip{"ipv6",     "ipv4",      "udp/ipv6",
                                           "udp/ipv4", "dccp/ipv6", "dccp/ipv4"};
  const auto add = [&](std::string_view packets, std::string_view mapping) {
    for (const std::string_view framing : framings)
      out.push_back(fmt::format("{}{}{}", packets, mapping, framing));
  };
  for (const std::string_view mapping : {"ppp", "gfp", "aal5"}) {
    add("", mapping);
    for (const std::string_view packets : ip)
      add(fmt::format("{}/", packets), mapping);
    if (mapping == "aal5") continue;
    for (const std::string_view packets : {"mpls/", "ipv6/mpls/", "ipv4/mpls/"})
      add(packets, mapping);
  }
  for (const std::string_view packets :
       {"", "ipv6/", "ipv4/", "udp/ipv6/", "udp/ipv4/", "dccp/ipv6/", "mpls/", "ipv6/mpls/"}) {
    add(fmt::format("{}ethernet/", packets), "gfp");
    for (const std::string_view line : {"10gbase-r", "10gbase-w"})
      out.push_back(fmt::format("{}ethernet/{}", packets, line));
  }
  return out;
}

// The same packet of the network again and again, and a count of those that came back.
class Packets final : public PacketSource, public PacketSink {
 public:
  // Has one frame in it. False: the stack does not carry that.
  bool make(const Stack& stack, bool dccp) {
    Random random(1);
    const std::size_t head = dccp ? wan::dccp::Header{}.size() : 0;
    std::vector<std::byte> frame(head + kFrameHead + kPackets * make_wan_packet(kPayload).size());
    for (std::byte& octet : frame)
      octet = static_cast<std::byte>(random.next());
    const Bytes whole(frame);
    OutPacket packet({&whole, 1});
    if (!stack.wrap(packet)) return false;
    for (const Bytes piece : packet.pieces())
      bytes_.insert(bytes_.end(), piece.begin(), piece.end());
    return true;
  }
  [[nodiscard]] std::size_t size() const { return bytes_.size(); }
  Bytes next() override { return bytes_; }
  void packet(Bytes bytes) override {
    if (bytes.size() >= bytes_.size()) ++came;
  }

  std::size_t came = 0;

 private:
  std::vector<std::byte> bytes_;
};

void print_share(std::string_view text, double share) {
  fmt::print("{}: {:.4f} of it is packets\n", text, share);
  fmt::print("result: {} packets / octets = {:.4f}\n", text, share);
}

bool measure_packets(const std::string& text) {
  const auto stack = Stack::parse(text, ends_of(text));
  Packets packets;
  if (!stack || !packets.make(*stack, text.starts_with("dccp/"))) {
    fmt::print(stderr, "wan_lines: {} does not carry such a frame\n", text);
    return false;
  }
  print_share(text, static_cast<double>(kPackets * make_wan_packet(kPayload).size()) /
                        static_cast<double>(packets.size()));
  return true;
}

bool measure_fibres() {
  constexpr std::size_t kMany = 1000;
  const std::vector<std::byte> packet = make_wan_packet(kPayload);
  for (std::size_t code = 0; code < kFibreCodeNames.size(); ++code) {
    const auto fibre = make_fibre_code(static_cast<FibreCodeKind>(code));
    std::vector<std::byte> stream;
    for (std::size_t i = 0; i < kMany; ++i) {
      if (!put_packet(*fibre, stream, packet)) return false;
    }
    const std::string coded = code == 0 ? "" : fmt::format("/{}", kFibreCodeNames[code]);
    print_share("null" + coded,
                static_cast<double>(kMany * packet.size()) / static_cast<double>(stream.size()));
  }
  return true;
}

bool measure(const std::string& text) {
  if (!LineStack::is_one(text)) return measure_packets(text);
  const auto names = LineStack::parse(text);
  if (!names) {
    fmt::print(stderr, "wan_lines: {}\n", names.error().message);
    return false;
  }
  const auto stack = Stack::parse(names->packets(), ends_of(text), true);
  Packets packets;
  if (!stack || !packets.make(*stack, text.starts_with("dccp/"))) {
    fmt::print(stderr, "wan_lines: {} does not carry such a frame\n", text);
    return false;
  }
  const auto line = names->make(stack->outermost(), nullptr, packets, packets);
  std::vector<std::byte> octets(kPiece);
  std::size_t made = 0;
  const auto put = [&] {
    line->out().fill(octets);
    made += octets.size();
  };
  const auto take = [&] { line->in().take(octets); };
  // Until it is understood.
  while (packets.came == 0 && made < (std::size_t{64} << 20)) {
    put();
    take();
  }
  packets.came = 0;
  made = 0;
  const auto seconds = seconds_of_bursts(kPiecesInTurn, put, take);
  // As it began, when something has just come: a receiver may hold back a whole frame of SONET/SDH.
  for (const std::size_t before = packets.came; packets.came == before;) {
    put();
    take();
  }
  const double carried = static_cast<double>(packets.came * kPackets) *
                         static_cast<double>(make_wan_packet(kPayload).size());
  const double share = carried / static_cast<double>(made);
  const double rate = static_cast<double>(names->octets_per_s()) * kBits / 1e9;
  const auto core = [](double of_piece) { return kPiece * kBits / of_piece / 1e9; };
  fmt::print("{}: {:.3f} of {:.3f} Gbit/s; one core makes {:.2f} Gbit/s of it, and reads {:.2f}\n",
             text, rate * share, rate, core(seconds[0]), core(seconds[1]));
  fmt::print("result: {} packets / octets of the line = {:.4f}\n", text, share);
  return packets.came != 0;
}

}  // namespace

int main(int argc, char** argv) {
  std::vector<std::string> stacks(argv + 1, argv + argc);
  if (stacks.empty()) stacks = all_stacks();
  bool good = argc > 1 || measure_fibres();
  for (const std::string& stack : stacks)
    good = measure(stack) && good;
  return good ? 0 : 1;
}
