// SPDX-License-Identifier: Apache-2.0
// What a context knows of its port: what happens to it, and which addresses lead somewhere.
#include <fmt/format.h>

#include <utility>

#include "host/context.h"
#include "wire/sa/rate.h"

namespace weft::host {
namespace {

Expected<void> refuse(const std::string& message) {
  return fail(std::errc::invalid_argument, message);
}

Expected<void> check_sgid_index(const hca::Path& path, const port::PortAttributes& port,
                                const std::string& device) {
  if (path.sgid_index < port.gids.size()) return {};
  return refuse(fmt::format("sgid_index {}: {} has GIDs 0 to {}", path.sgid_index, device,
                            static_cast<int>(port.gids.size()) - 1));
}

// On a fabric a LID leads there (IBA 10.2.2.2). Who sends to a group names it as well: its members
// are told apart by MGIDs (IBA 9.6.1.1.2).
Expected<void> complete_path_by_lid(hca::Path& path, const port::PortAttributes& port,
                                    const std::string& device) {
  if (path.dlid == Lid{}) {
    return refuse("dlid is 0: on InfiniBand a LID leads to the peer, or to the router on the way");
  }
  if (path.dlid.value() == 0xFFFF) {
    return refuse("dlid 0xffff: the permissive LID is for management packets");
  }
  const auto path_bits = static_cast<std::uint8_t>((1u << port.lmc) - 1);
  path.source_path_bits &= path_bits;
  if (!path.global) {
    if (hca::is_unicast(path.dlid)) return {};
    return refuse(
        fmt::format("dlid {:#x}: the address of a group has a dgid too", path.dlid.value()));
  }
  if (auto checked = check_sgid_index(path, port, device); !checked) return checked;
  if (path.dgid.is_zero()) return refuse("dgid is zero, and is_global is not");
  if (!hca::is_unicast(path.dlid) && !path.dgid.is_multicast()) {
    return refuse(fmt::format("dgid {}: dlid {:#x} is of a group, and that is not",
                              path.dgid.to_string(), path.dlid.value()));
  }
  path.sgid = port.gids[path.sgid_index].gid;
  if (path.sgid.is_zero()) return refuse(fmt::format("sgid_index {}: no GID", path.sgid_index));
  return {};
}

}  // namespace

std::uint32_t Context::port_news(std::uint8_t port) {
  if (!link_monitor_) return port_->take_news(port);
  if (!link_monitor_->drain(device_.ifindex)) return 0;
  const port::PortAttributes now = port_->attributes(port);
  std::uint32_t news = 0;
  if (now.state != last_state_) {
    const bool up = now.state == port::LinkState::kActive;
    news |= up ? port::kNewsActive : port::kNewsError;
  }
  if (now.gids != last_gids_) news |= port::kNewsGid;
  last_state_ = now.state;
  last_gids_ = now.gids;
  return news;
}

void Context::tell(std::uint8_t port, std::uint32_t port_news) {
  constexpr std::pair<port::PortNews, AsyncEventType> kTypes[]{
      {port::kNewsError, AsyncEventType::kPortError},
      {port::kNewsLid, AsyncEventType::kLidChange},
      {port::kNewsPKey, AsyncEventType::kPKeyChange},
      {port::kNewsGid, AsyncEventType::kGidChange},
      {port::kNewsSm, AsyncEventType::kSmChange},
      {port::kNewsReregister, AsyncEventType::kClientReregister},
      {port::kNewsActive, AsyncEventType::kPortActive},
  };
  const port::PortAttributes now = port_->attributes(port);
  pkeys(port).assign(now.pkeys);
  // Of a port that was Active for a moment only, the end comes last.
  if (now.state != port::LinkState::kActive && (port_news & port::kNewsActive) != 0) {
    async_events_->post({.type = AsyncEventType::kPortActive, .port = port});
    port_news &= ~std::uint32_t{port::kNewsActive};
  }
  for (const auto& [news, type] : kTypes) {
    if ((port_news & news) != 0) async_events_->post({.type = type, .port = port});
  }
  if ((port_news & port::kNewsDeviceFatal) == 0) return;
  async_events_->post({.type = AsyncEventType::kDeviceFatal});
  fail_queue_pairs();
}

void Context::fail_queue_pairs() {
  const std::lock_guard guard(mutex_);
  for (const auto& [number, queue_pair] : queue_pairs_)
    queue_pair->fail();
}

Expected<void> Context::complete_path(hca::Path& path) {
  if (!has_port(path.port)) {
    return refuse(
        fmt::format("ah_attr.port_num {}: {} has ports 1 to {}", path.port, device_.name, ports()));
  }
  const port::PortAttributes port = port_->attributes(path.port);
  if (wire::rate_mbps(path.static_rate) >= port.rate_mbps) path.static_rate = 0;
  if (port.link_layer == port::LinkLayer::kInfiniband) {
    return complete_path_by_lid(path, port, device_.name);
  }
  if (!path.global) {
    return refuse("ah_attr.is_global is 0: addresses are GIDs here, give the peer's in grh.dgid");
  }
  if (auto checked = check_sgid_index(path, port, device_.name); !checked) return checked;
  if (path.dgid.is_zero()) return refuse("dgid is zero: an address is needed on this wire");
  path.dlid = Lid{};  // nobody has one here
  path.source_path_bits = 0;
  path.sgid = port.gids[path.sgid_index].gid;
  if (path.dgid.is_multicast()) path.dgid = port_->group_address(path.dgid);
  path.scope_id = path.dgid.is_link_local() || path.dgid.is_multicast() ? device_.ifindex : 0;
  if (path.sgid.is_ipv4_mapped() == path.dgid.is_ipv4_mapped()) return {};
  // The source must be of the destination's family; a program that gives the index of the other
  // family means "this port".
  for (const port::GidEntry& entry : port.gids) {
    if (entry.gid.is_ipv4_mapped() == path.dgid.is_ipv4_mapped()) {
      path.sgid = entry.gid;
      return {};
    }
  }
  return refuse(fmt::format("dgid {}: {} has no address of that family", path.dgid.to_string(),
                            device_.name));
}

}  // namespace weft::host
