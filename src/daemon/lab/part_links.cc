// SPDX-License-Identifier: Apache-2.0
#include "daemon/lab/part_links.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>

#include "carrier/datagram_peer.h"
#include "daemon/counters_json.h"
#include "io/clock.h"

namespace weft::daemon {
namespace {

using Json = nlohmann::json;
using fabric::Lab;
using fabric::LabLink;
using fabric::PartCarrier;

const char* text(PartCarrier carrier) {
  return carrier == PartCarrier::kRings ? "rings" : "udp";
}

}  // namespace

std::uint64_t number_of_link(const Lab& lab, std::size_t index) {
  const LabLink& link = lab.links[index];
  std::string out = fmt::format("{} {}", lab.name, link.name);
  for (const fabric::LabEnd& end : link.ends) {
    const fabric::LabNode& node = lab.nodes[end.node];
    out += fmt::format(" {} {} {} {} {} {}", lab.end_name(end), lab.parts[node.part].name,
                       fabric::to_string(node.guid), node.limits.data_vls, node.limits.mtu,
                       to_string(link.width.value_or(node.limits.width)));
  }
  return carrier::link_number(out);
}

Expected<std::unique_ptr<PartLinks>> PartLinks::open(fabric::Fabric& fabric, const LabPaths& paths,
                                                     io::Reactor& reactor, Entropy& entropy) {
  std::unique_ptr<PartLinks> links(new PartLinks(fabric, entropy));
  if (auto opened = links->open_carriers(paths, reactor); !opened) {
    return tl::unexpected(opened.error());
  }
  return links;
}

Expected<void> PartLinks::open_carriers(const LabPaths& paths, io::Reactor& reactor) {
  const Lab& lab = fabric_.lab();
  const std::uint16_t own = *fabric_.part();
  for (std::size_t i = 0; i < lab.links.size(); ++i) {
    const std::uint16_t first = lab.nodes[lab.links[i].ends[0].node].part;
    const std::uint16_t second = lab.nodes[lab.links[i].ends[1].node].part;
    if (first == second || (first != own && second != own)) continue;
    const std::uint16_t other = first == own ? second : first;
    // The builder refuses labs where it is not known.
    cuts_[i] = {.part = other, .carrier = *carrier_between(lab.parts[own], lab.parts[other])};
  }
  const auto has = [this](PartCarrier carrier) {
    return std::any_of(cuts_.begin(), cuts_.end(),
                       [carrier](const auto& cut) { return cut.second.carrier == carrier; });
  };
  if (has(PartCarrier::kRings) || !sharing_parts().empty()) {
    auto rings = RingParts::open(
        {.lab = lab.name, .part = lab.parts[own].name, .socket = paths.parts},
        [paths](const std::string& part) { return paths_of_part(paths, part).parts; }, reactor);
    if (!rings) return tl::unexpected(rings.error());
    rings_ = std::move(*rings);
  }
  if (has(PartCarrier::kDatagrams)) {
    auto datagrams = DatagramParts::open(*lab.parts[own].address, reactor);
    if (!datagrams) return tl::unexpected(datagrams.error());
    datagrams_ = std::move(*datagrams);
  }
  return {};
}

std::vector<std::uint16_t> PartLinks::sharing_parts() const {
  const Lab& lab = fabric_.lab();
  const std::uint16_t own = *fabric_.part();
  std::set<std::uint16_t> out;
  for (const fabric::LabService& service : lab.data.services) {
    std::set<std::uint16_t> parts;
    for (const fabric::LabServiceInstance& instance : service.instances) {
      for (const fabric::LabServiceMember& member : instance)
        parts.insert(lab.find_node(member.at.node)->part);
    }
    if (parts.erase(own) > 0) out.merge(parts);
  }
  std::erase_if(out, [&](std::uint16_t part) {
    return carrier_between(lab.parts[own], lab.parts[part]) != PartCarrier::kRings;
  });
  return {out.begin(), out.end()};
}

void PartLinks::tell(const PartRecord& record) {
  for (const auto& [index, part] : ring_parts_)
    part->tell(record);
}

void PartLinks::add_part(std::uint16_t index) {
  const Lab& lab = fabric_.lab();
  const fabric::LabPart& part = lab.parts[index];
  const std::uint16_t own = *fabric_.part();
  if (*carrier_between(lab.parts[own], part) == PartCarrier::kRings) {
    ring_parts_[index] = &rings_->add(part.name, own < index);
    ring_parts_[index]->set_record_user(record_user_);
  } else {
    datagram_parts_[index] = &datagrams_->add(part.name, *part.address);
  }
}

void PartLinks::add_link(std::size_t link, Time now) {
  Cut& cut = cuts_.at(link);
  const std::uint64_t number = number_of_link(fabric_.lab(), link);
  if (!ring_parts_.contains(cut.part) && !datagram_parts_.contains(cut.part)) add_part(cut.part);
  if (cut.carrier == PartCarrier::kRings) {
    carrier::RingChannel& channel = ring_parts_.at(cut.part)->add(number);
    cut.ring = &channel;
    fabric_.half_link(link)->set_channel(&channel, now);
  } else {
    carrier::DatagramChannel& channel = datagram_parts_.at(cut.part)->add(number, entropy_);
    cut.datagrams = &channel;
    fabric_.half_link(link)->set_channel(&channel, now);
  }
}

void PartLinks::start(Time now) {
  for (const auto& [link, cut] : cuts_)
    add_link(link, now);
  for (const std::uint16_t part : sharing_parts()) {
    if (!ring_parts_.contains(part)) add_part(part);
  }
  if (rings_) rings_->start(now);
}

PartLinks::~PartLinks() {
  for (const auto& [link, cut] : cuts_) {
    if (cut.ring == nullptr && cut.datagrams == nullptr) continue;
    fabric_.half_link(link)->set_channel(nullptr, io::now());
  }
  flush();
}

bool PartLinks::poll(Time now) {
  if (datagrams_) datagrams_->run(now);
  return rings_ && rings_->poll(now);
}

void PartLinks::flush() {
  if (rings_) rings_->flush();
  if (datagrams_) datagrams_->flush();
}

bool PartLinks::sleep() {
  return !rings_ || rings_->sleep();
}

void PartLinks::awake() {
  if (rings_) rings_->awake();
}

std::optional<Time> PartLinks::deadline() const {
  return datagrams_ ? datagrams_->deadline() : std::nullopt;
}

Json PartLinks::report() const {
  Json out = Json::array();
  for (const auto& [index, part] : ring_parts_) {
    out.push_back({{"name", part->name()},
                   {"carrier", text(PartCarrier::kRings)},
                   {"connected", part->open_links()}});
  }
  for (const auto& [index, part] : datagram_parts_) {
    out.push_back({{"name", part->name()},
                   {"carrier", text(PartCarrier::kDatagrams)},
                   {"address", part->address().to_string()},
                   {"connected", part->connected_links()}});
  }
  for (Json& part : out) {
    part["links"] = std::count_if(cuts_.begin(), cuts_.end(), [&](const auto& cut) {
      return fabric_.lab().parts[cut.second.part].name == part["name"];
    });
  }
  return out;
}

Json PartLinks::report(std::size_t link) const {
  const auto found = cuts_.find(link);
  if (found == cuts_.end()) return {};
  const Cut& cut = found->second;
  Json out{{"part", fabric_.lab().parts[cut.part].name}, {"carrier", text(cut.carrier)}};
  if (cut.ring != nullptr) out["counters"] = counters_json(cut.ring->counters().snapshot());
  if (cut.datagrams != nullptr) {
    out["counters"] = counters_json(cut.datagrams->counters().snapshot());
  }
  return out;
}

std::vector<CounterValue> PartLinks::counters() const {
  std::vector<CounterValue> out;
  if (rings_) accumulate(out, rings_->counters());
  CounterValue lost{"parts_records_lost", "records of data services that a part was not told", 0};
  for (const auto& [index, part] : ring_parts_)
    lost.value += part->records_lost();
  out.push_back(lost);
  if (datagrams_) accumulate(out, datagrams_->counters());
  for (const auto& [link, cut] : cuts_) {
    if (cut.ring != nullptr) accumulate(out, cut.ring->counters().snapshot());
    if (cut.datagrams != nullptr) accumulate(out, cut.datagrams->counters().snapshot());
  }
  return out;
}

}  // namespace weft::daemon
