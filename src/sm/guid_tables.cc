// SPDX-License-Identifier: Apache-2.0
#include "sm/guid_tables.h"

#include <algorithm>
#include <array>
#include <utility>

#include "sm/subnet_changes.h"
#include "wire/sm/tables.h"

namespace weft::sm {
namespace {

constexpr std::size_t kGuidTablesBlock = wire::GuidBlock::kEntries;

// Of ports that had some, and are not there to be told that they have none.
constexpr std::size_t kMostGone = 65'536;

}  // namespace

void GuidTables::set(std::vector<PortGuids> ports) {
  std::map<Guid, std::vector<Guid>> then;
  for (PortGuids& port : ports)
    then[port.port] = std::move(port.guids);
  for (const auto& [port, guids] : ports_) {
    if (then.size() < kMostGone) then.try_emplace(port);
  }
  changed_ = changed_ || then != ports_;
  ports_ = std::move(then);
}

void GuidTables::read(Changes& changes, Subnet& subnet) {
  for (const PortRef& end : subnet.end_ports()) {
    SubnetPort& port = subnet.port(end);
    if (std::exchange(port.tables.asked_guids, true)) continue;
    // The first entry is its own. A port without a LID has forgotten what it was told.
    if (port.info->lid == Lid{} || port.info->guid_cap <= 1) continue;
    port.tables.guids.resize((std::size_t{port.info->guid_cap} + kGuidTablesBlock - 1) /
                             kGuidTablesBlock);
    for (std::size_t number = 0; number < port.tables.guids.size(); ++number) {
      changes.get(subnet.route_to(end), wire::SmAttribute::kGuidInfo,
                  static_cast<std::uint32_t>(number),
                  [&subnet, end, number](const SmpResult& result) {
                    if (!result.answered()) return;
                    subnet.port(end).tables.guids[number] = wire::GuidBlock::parse(result.data);
                  });
    }
  }
}

void GuidTables::write(Changes& changes, Subnet& subnet) {
  changed_ = false;
  if (ports_.empty()) return;
  for (const PortRef& end : subnet.end_ports()) {
    const auto found = ports_.find(subnet.port(end).guid);
    if (found == ports_.end()) continue;
    const bool is_right = write_port(changes, subnet, end, found->second);
    if (is_right && found->second.empty()) ports_.erase(found);
  }
}

bool GuidTables::write_port(Changes& changes, Subnet& subnet, const PortRef& at,
                            const std::vector<Guid>& guids) {
  SubnetPort& port = subnet.port(at);
  const std::size_t entries = port.info->guid_cap;
  bool is_right = true;
  port.tables.guids.resize((entries + kGuidTablesBlock - 1) / kGuidTablesBlock);
  for (std::size_t number = 0; number < port.tables.guids.size(); ++number) {
    wire::GuidBlock block;
    for (std::size_t i = 0; i < kGuidTablesBlock; ++i) {
      const std::size_t index = number * kGuidTablesBlock + i;
      if (index < std::min(guids.size(), entries)) block.guids[i] = guids[index];
    }
    if (number == 0) block.guids[0] = port.guid;
    if (port.tables.guids[number] == block) continue;
    is_right = false;
    port.tables.guids[number].reset();  // until the port has confirmed it
    std::array<std::byte, wire::smp::kDataSize> data{};
    block.write(data);
    changes.set(subnet.route_to(at), wire::SmAttribute::kGuidInfo,
                static_cast<std::uint32_t>(number), data,
                [&changes, &subnet, at, number, block](const SmpResult& result) {
                  if (result.answered()) {
                    subnet.port(at).tables.guids[number] = block;
                  } else {
                    changes.failed("GUIDInfo of " + name_of(subnet, at), result);
                  }
                });
  }
  return is_right;
}

}  // namespace weft::sm
