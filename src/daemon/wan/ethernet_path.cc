// SPDX-License-Identifier: Apache-2.0
#include "daemon/wan/ethernet_path.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "daemon/wan/addressed_path.h"
#include "io/socket_address.h"
#include "wan/encapsulation/ethernet_layer.h"
#include "wan/encapsulation/ipv4_layer.h"
#include "wan/encapsulation/ipv6_layer.h"
#include "wan/encapsulation/mpls_layer.h"
#include "wan/frame.h"
#include "wire/endian.h"
#include "wire/grh.h"
#include "wire/ip.h"

namespace weft::daemon {
namespace {

// The source of an IP packet in a frame of Ethernet; nothing: it is none.
std::optional<Gid> ip_source(Bytes frame) {
  constexpr std::size_t kHeader = wan::EthernetLayer::kHeader;
  if (frame.size() < kHeader) return std::nullopt;
  const std::uint16_t type = wire::load_be16(frame.data() + 12);
  const Bytes packet = frame.subspan(kHeader);
  if (type == wan::Ipv4Layer::kEtherType && packet.size() >= wire::kIpv4HeaderSize) {
    return Gid::from_ipv4(wire::load_be32(packet.data() + 12));
  }
  if (type == wan::Ipv6Layer::kEtherType && packet.size() >= wire::kIpv6HeaderSize) {
    return wire::load_gid(packet.data() + 8);
  }
  return std::nullopt;
}

}  // namespace

EthernetPath::EthernetPath(const fabric::LabRemote& remote, const wan::Ends& ends,
                           io::EthernetDevice& device, const wan::NeighbourCache& neighbours)
    : encapsulation_(remote.encapsulation),
      options_room_(has_options(remote) ? wan::OutPacket::kMostOptions : 0),
      ends_(ends),
      device_(device),
      neighbours_(neighbours),
      stack_(make_stack()),
      longest_frame_(frame_that_fits()) {
}

wan::Stack EthernetPath::make_stack() const {
  return std::move(wan::Stack::parse(encapsulation_, ends_).value());
}

std::size_t EthernetPath::frame_that_fits() const {
  const std::size_t fits = stack_.longest_frame(device_.mtu() + wan::EthernetLayer::kHeader, true);
  return std::clamp(fits, wan::kLeastFrame, wan::kLongestFrame);
}

void EthernetPath::look_at_mtu(Time now) {
  const std::size_t fits = frame_that_fits();
  if (fits == longest_frame_) return;
  longest_frame_ = fits;
  changed(now);
}

void EthernetPath::set_mac(const std::optional<wan::MacAddress>& mac, Time now) {
  found_ = mac.has_value();
  if (mac) {
    ends_.remote_mac = *mac;
    accumulate(refused_before_, stack_.refused().snapshot());
    stack_ = make_stack();
    longest_frame_ = frame_that_fits();
  }
  changed(now);
}

void EthernetPath::set_own_mac(const wan::MacAddress& mac, Time now) {
  ends_.local_mac = mac;
  set_mac(found_ ? std::optional(ends_.remote_mac) : std::nullopt, now);
}

bool EthernetPath::is_from_remote(Bytes frame) const {
  if (!found_ || frame.size() < wan::EthernetLayer::kHeader) return false;
  if (std::memcmp(frame.data() + 6, ends_.remote_mac.data(), ends_.remote_mac.size()) != 0) {
    return false;
  }
  const auto source = ip_source(frame);
  return (!source || *source == ends_.remote) && has_own_label(frame);
}

// Whether it has none, or ends in the one of this path, or in a null that does not tell.
bool EthernetPath::has_own_label(Bytes frame) const {
  if (wire::load_be16(frame.data() + 12) != wan::MplsLayer::kEtherType) return true;
  const auto label = wan::MplsLayer::innermost(frame.subspan(wan::EthernetLayer::kHeader));
  if (ends_.own_labels.empty() || !label) return false;
  return *label < wan::MplsLayer::kLeastLabel || *label == ends_.own_labels.back();
}

bool EthernetPath::take(Bytes frame, Time now) {
  const auto inner = stack_.unwrap(frame);
  if (!inner) return false;
  const bool marked = (inner->traffic_class & wire::kEcnBits) == wire::kCongestionExperienced;
  return receive(inner->bytes, now, {.marked = marked, .options = inner->options}) ||
         !user().claims;
}

std::size_t EthernetPath::transmit(Frames frames, Time now) {
  packets_.clear();
  out_.clear();
  for (const wan::OutFrame& frame : frames) {
    wan::OutPacket& packet = packets_.emplace_back(frame.parts);
    packet.traffic_class = marked_capable(frame.traffic_class);
    packet.options = frame.options;
    const bool fits = stack_.wrap(packet);
    // In its place, so that the counts are those of frames: the kernel refuses it.
    out_.push_back(fits ? packet.pieces() : std::span<const Bytes>());
  }
  std::size_t done = 0;
  while (done < frames.size()) {
    const auto sent = device_.send(io::Datagrams(out_).subspan(done));
    done += sent.count;
    if (done == frames.size() || sent.error == std::errc{}) break;
    // One that is lost keeps none behind it.
    refuse(1);
    ++done;
    if (sent.error == std::errc::message_size) look_at_mtu(now);
  }
  return done;
}

std::string EthernetPath::remote_text() const {
  const std::string address = io::format_address(ends_.remote);
  if (!found_) return address + ", not found";
  return fmt::format("{} at {:02x}", address, fmt::join(ends_.remote_mac, ":"));
}

std::string_view EthernetPath::neighbour_text() const {
  return neighbours_.state_text(ends_.remote);
}

std::vector<CounterValue> EthernetPath::refused_counters() const {
  std::vector<CounterValue> out = refused_before_;
  accumulate(out, stack_.refused().snapshot());
  return out;
}

}  // namespace weft::daemon
