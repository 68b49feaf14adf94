// SPDX-License-Identifier: Apache-2.0
// Packets of strangers, those of the other end cut or changed, and frames of ours, through every
// stack of a tunnel: what is taken lies within the packet and is what would have been sent so, what
// is refused is counted once, and what one end puts on the other takes off.
#include <algorithm>
#include <array>
#include <cstdint>
#include <string_view>
#include <vector>

#include "input.h"
#include "wan/encapsulation/mpls_layer.h"
#include "wan/encapsulation/options_layer.h"
#include "wan/encapsulation/stack.h"

namespace {

using namespace weft;
using namespace weft::wan;
using fuzz::Input;
using fuzz::require;

constexpr std::array<std::string_view, 12> kStacks{"null",
                                                   "udp/ipv6",
                                                   "udp/ipv4",
                                                   "ipv6",
                                                   "udp/options/ipv6",
                                                   "options/ipv6/ethernet",
                                                   "udp/ipv4/ethernet",
                                                   "ethernet",
                                                   "udp/options/ipv6/ethernet",
                                                   "mpls/ethernet",
                                                   "udp/ipv6/mpls/ethernet",
                                                   "dccp/ipv6"};

Ends ends_of(bool ipv4, bool here, bool zero_checksum) {
  const auto address = [&](bool near) {
    const std::uint8_t last = near == here ? 1 : 2;
    return ipv4 ? Gid::from_ipv4(0xC0000200U + last)
                : Gid{{0xFD, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, last}};
  };
  const auto mac = [&](bool near) {
    return MacAddress{2, 0, 0, 0, 0, static_cast<std::uint8_t>(near == here ? 1 : 2)};
  };
  return {.local = address(true),
          .remote = address(false),
          .local_port = static_cast<std::uint16_t>(here ? 4000 : 5000),
          .remote_port = static_cast<std::uint16_t>(here ? 5000 : 4000),
          .local_mac = mac(true),
          .remote_mac = mac(false),
          .zero_checksum = zero_checksum,
          .labels = {here ? 100016U : 17U},
          .own_labels = {here ? 17U : 100016U}};
}

std::uint64_t refused(const Stack& stack) {
  std::uint64_t sum = 0;
  for (const CounterValue& counter : stack.refused().snapshot())
    sum += counter.value;
  return sum;
}

bool lies_within(Bytes part, Bytes whole) {
  if (part.empty()) return true;
  return part.data() >= whole.data() && part.data() + part.size() <= whole.data() + whole.size();
}

std::vector<std::byte> put_on(const Stack& stack, Bytes frame, Bytes options,
                              std::uint8_t traffic_class) {
  const std::size_t cut = frame.size() / 3;
  const std::array<Bytes, 2> pieces{frame.first(cut), frame.subspan(cut)};
  OutPacket packet(pieces);
  packet.options = options;
  packet.traffic_class = traffic_class;
  std::vector<std::byte> out;
  if (!stack.wrap(packet)) return out;
  require(packet.size() <= stack.wrapped_size(frame.size()));
  for (const Bytes piece : packet.pieces())
    out.insert(out.end(), piece.begin(), piece.end());
  require(out.size() == packet.size());
  return out;
}

// A packet of the other end that has come to harm.
std::vector<std::byte> damaged(const Stack& far, Input input) {
  const Bytes frame = input.some();
  std::vector<std::byte> packet = put_on(far, frame, {}, 0);
  packet.resize(packet.size() - std::min<std::size_t>(packet.size(), input.byte()));
  while (!input.empty() && !packet.empty())
    packet[input.byte() % packet.size()] ^= std::byte{input.byte()};
  packet.shrink_to_fit();  // so that a sanitizer sees a read past the end
  return packet;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  Input input(std::as_bytes(std::span(data, size)));
  const std::string_view text = kStacks[input.one_of(kStacks.size())];
  const bool ipv4 = text.find("ipv4") != std::string_view::npos;
  const std::uint8_t flags = input.byte();
  Stack near = *Stack::parse(text, ends_of(ipv4, true, (flags & 1) != 0));
  const Stack far = *Stack::parse(text, ends_of(ipv4, false, (flags & 1) != 0));

  const Bytes rest = std::as_bytes(std::span(data, size)).subspan(std::min<std::size_t>(size, 2));
  std::vector<std::byte> harmed;
  if ((flags & 2) != 0) harmed = damaged(far, input);
  const Bytes stranger = (flags & 2) != 0 ? Bytes(harmed) : rest;
  // As a socket tells them.
  const auto alone = OptionsLayer::read(stranger);
  require(!alone || (lies_within(*alone, stranger) && alone->size() <= 255));
  const auto label = MplsLayer::innermost(stranger);
  require(!label || *label <= MplsLayer::kGreatestLabel);
  const auto taken = near.unwrap(stranger);
  require(refused(near) == (taken ? 0U : 1U));
  Bytes frame = stranger;
  Bytes options;
  std::uint8_t traffic_class = 0;
  if (taken) {
    require(lies_within(taken->bytes, stranger) && lies_within(taken->options, stranger));
    frame = taken->bytes;
    traffic_class = taken->traffic_class;
    if (taken->options.size() <= OutPacket::kMostOptions) options = taken->options;
  } else if (text.find("options") != std::string_view::npos) {
    options = frame.first(std::min<std::size_t>(frame.size(), flags));
    if (options.size() > OutPacket::kMostOptions) options = {};
  }
  const auto packet = put_on(far, frame, options, traffic_class);
  require(!packet.empty() || frame.empty() || frame.size() > far.longest_frame(100'000));
  if (packet.empty() && !(text == "null" && frame.empty())) return 0;
  const auto again = near.unwrap(packet);
  require(again.has_value());
  require(std::equal(again->bytes.begin(), again->bytes.end(), frame.begin(), frame.end()));
  require(std::equal(again->options.begin(), again->options.end(), options.begin(), options.end()));
  const bool ip = text.find("ip") != std::string_view::npos;
  require(again->traffic_class == (ip ? traffic_class : 0));
  return 0;
}
