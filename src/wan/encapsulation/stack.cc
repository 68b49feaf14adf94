// SPDX-License-Identifier: Apache-2.0
#include "wan/encapsulation/stack.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <utility>

#include "wan/encapsulation/ethernet_layer.h"
#include "wan/encapsulation/ipv4_layer.h"
#include "wan/encapsulation/ipv6_layer.h"
#include "wan/encapsulation/mpls_layer.h"
#include "wan/encapsulation/options_layer.h"
#include "wan/encapsulation/udp_layer.h"

namespace weft::wan {
namespace {

constexpr std::string_view kNull = "null";

// A layer that a text can name, and which ones may be right outside of it, with blanks around
// them; "-" stands for none.
struct Known {
  std::string_view name;
  std::string_view outside;
  std::unique_ptr<Layer> (*make)(const Ends&);  // null: kDccp
};

template <class L>
std::unique_ptr<Layer> make(const Ends& ends) {
  return std::make_unique<L>(ends);
}

constexpr std::array<Known, 7> kKnown{{
    {"dccp", " ipv6 ipv4 ", nullptr},
    {"udp", " options ipv6 ipv4 ", make<UdpLayer>},
    {"options", " ipv6 ",
     [](const Ends&) -> std::unique_ptr<Layer> { return std::make_unique<OptionsLayer>(); }},
    {"ipv6", " - mpls ethernet ", make<Ipv6Layer>},
    {"ipv4", " - mpls ethernet ", make<Ipv4Layer>},
    {"mpls", " ethernet ", make<MplsLayer>},
    {"ethernet", " - ", make<EthernetLayer>},
}};
// Of a frame itself.
constexpr std::string_view kOutsideOfFrames = " dccp udp options ipv6 ipv4 mpls ethernet ";

bool may_be_outside(std::string_view choices, std::string_view name) {
  return choices.find(fmt::format(" {} ", name)) != std::string_view::npos;
}

tl::unexpected<Error> misplaced(std::string_view text, std::string_view inner,
                                std::string_view outer) {
  return fail(std::errc::invalid_argument,
              outer == "-" ? fmt::format("{}: {} must be in another layer", text, inner)
                           : fmt::format("{}: {} cannot be in {}", text, inner, outer));
}

Expected<void> check_addresses(std::string_view layer, const Ends& ends) {
  const bool ipv4 = layer == "ipv4";
  if (!ipv4 && layer != "ipv6") return {};
  if (ends.local.is_ipv4_mapped() == ipv4 && ends.remote.is_ipv4_mapped() == ipv4) return {};
  return fail(std::errc::invalid_argument,
              fmt::format("{}: the addresses of both ends must be of this version", layer));
}

Expected<void> check_labels(std::string_view layer, const Ends& ends) {
  if (layer != "mpls") return {};
  for (const auto& labels : {ends.labels, ends.own_labels}) {
    if (MplsLayer::is_stack(labels)) continue;
    return fail(
        std::errc::invalid_argument,
        fmt::format("mpls: packets need one to {} labels from {} to {} each way",
                    MplsLayer::kMostLabels, MplsLayer::kLeastLabel, MplsLayer::kGreatestLabel));
  }
  return {};
}

bool fits(const Carried& says, const Carried& inside) {
  if (says.ip_protocol) return says.ip_protocol == inside.ip_protocol;
  if (says.ether_type) return says.ether_type == inside.ether_type;
  return true;
}

}  // namespace

Expected<Stack> Stack::parse(std::string_view text, const Ends& ends, bool on_line) {
  std::vector<std::unique_ptr<Layer>> layers;
  Carried inside = kFrame;
  std::string_view inner = "a frame";
  std::string_view may_follow = kOutsideOfFrames;
  for (std::string_view rest = text; text != kNull;) {
    const std::string_view name = rest.substr(0, rest.find('/'));
    const auto known = std::find_if(kKnown.begin(), kKnown.end(),
                                    [&](const Known& row) { return row.name == name; });
    if (known == kKnown.end()) {
      std::vector<std::string_view> names{kNull};
      for (const Known& row : kKnown)
        names.push_back(row.name);
      return fail(std::errc::invalid_argument,
                  fmt::format("{}: there is no layer \"{}\"; there are {}", text, name,
                              fmt::join(names, ", ")));
    }
    if (!may_be_outside(may_follow, name)) return misplaced(text, inner, name);
    if (auto ok = check_addresses(name, ends); !ok) return tl::unexpected(ok.error());
    if (auto ok = check_labels(name, ends); !ok) return tl::unexpected(ok.error());
    if (known->make == nullptr) {
      inside = kDccp;
    } else {
      layers.push_back(known->make(ends));
    }
    inner = known->name;
    may_follow = known->outside;
    if (name.size() == rest.size()) {
      const bool bare = may_be_outside(may_follow, "-") || (on_line && inner == "mpls");
      if (!bare) return misplaced(text, inner, "-");
      break;
    }
    rest.remove_prefix(name.size() + 1);
  }
  return Stack(std::move(layers), inside);
}

std::string Stack::to_string() const {
  if (layers_.empty()) return std::string(kNull);
  std::string text = inside_.ip_protocol == kDccp.ip_protocol ? "dccp" : "";
  for (const auto& layer : layers_)
    text += fmt::format("{}{}", text.empty() ? "" : "/", layer->name());
  return text;
}

std::size_t Stack::wrapped_size(std::size_t size) const {
  for (const auto& layer : layers_)
    size = layer->wrapped_size(size);
  return size;
}

std::size_t Stack::longest_frame(std::size_t mtu, bool bare) const {
  const auto fits_in = [&](std::size_t size) {
    for (const auto& layer : layers_) {
      if (bare && layer->may_be_absent()) continue;
      if (size > layer->longest_body()) return false;
      size = layer->wrapped_size(size);
    }
    return size <= mtu;
  };
  std::size_t fits_yet = 0;
  std::size_t too_long = mtu + 1;
  while (too_long - fits_yet > 1) {
    const std::size_t middle = fits_yet + (too_long - fits_yet) / 2;
    (fits_in(middle) ? fits_yet : too_long) = middle;
  }
  return fits_yet;
}

bool Stack::wrap(OutPacket& packet) const {
  const bool carries_options = std::any_of(
      layers_.begin(), layers_.end(), [](const auto& layer) { return layer->may_be_absent(); });
  if (packet.options.size() > (carries_options ? OutPacket::kMostOptions : 0)) return false;
  packet.carried = inside_;
  for (const auto& layer : layers_) {
    if (packet.size() > layer->longest_body()) return false;
    layer->wrap(packet);
  }
  return true;
}

std::optional<PacketRefusal> Stack::take_off(InPacket& packet) const {
  for (auto layer = layers_.rbegin(); layer != layers_.rend(); ++layer) {
    if (!fits(packet.says, (*layer)->identity())) {
      if ((*layer)->may_be_absent()) continue;
      return PacketRefusal::kProtocol;
    }
    if (const auto why = (*layer)->unwrap(packet)) return why;
  }
  if (!fits(packet.says, inside_)) return PacketRefusal::kProtocol;
  return std::nullopt;
}

tl::expected<Stack::Frame, PacketRefusal> Stack::unwrap(Bytes bytes) {
  InPacket packet(bytes);
  if (const auto why = take_off(packet)) {
    refused_->add_in_turn(*why);
    return tl::unexpected(*why);
  }
  return Frame{.bytes = packet.bytes,
               .options = packet.options,
               .traffic_class = packet.traffic_class,
               .held = std::move(packet.rewritten)};
}

}  // namespace weft::wan
