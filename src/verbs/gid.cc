// SPDX-License-Identifier: Apache-2.0
// The GID and P_Key tables of the ports.
#include <endian.h>

#include <algorithm>
#include <cstring>
#include <span>

#include "verbs/guard.h"
#include "verbs/objects.h"

using namespace weft;
using namespace weft::verbs;

namespace {

// The old query functions return -1 and set errno.
int minus_one(int error_number) {
  report(error_number);
  return -1;
}

bool on_infiniband(const port::PortAttributes& port) {
  return port.link_layer == port::LinkLayer::kInfiniband;
}

ibv_gid_entry entry_of(const port::PortAttributes& port, std::uint8_t number, std::uint32_t index) {
  const port::GidEntry& gid = port.gids[index];
  ibv_gid_entry out{};
  std::ranges::copy(gid.gid.bytes(), out.gid.raw);
  out.gid_index = index;
  out.port_num = number;
  out.gid_type = on_infiniband(port) ? IBV_GID_TYPE_IB : IBV_GID_TYPE_ROCE_V2;
  out.ndev_ifindex = gid.ifindex;
  return out;
}

void copy_entry(void* to, std::size_t size, const ibv_gid_entry& entry) {
  std::memset(to, 0, size);
  std::memcpy(to, &entry, std::min(size, sizeof entry));
}

// The smallest entry that a program can know of: the first version of the structure.
constexpr std::size_t kEntrySize = sizeof(ibv_gid_entry);

int query_entry(ibv_context* context, std::uint32_t port_num, std::uint32_t index,
                ibv_gid_entry& out) {
  host::Context& host = *OpenDevice::of(context).host;
  if (!host.has_port(port_num)) return EINVAL;
  const auto number = static_cast<std::uint8_t>(port_num);
  const port::PortAttributes port = host.port_attributes(number);
  if (index >= port.gids.size()) return EINVAL;
  if (port.gids[index].gid.is_zero()) return ENODATA;
  out = entry_of(port, number, index);
  return 0;
}

// Any port number is accepted: rdma-core's own tests ask for port 0.
port::PortAttributes pkey_port(ibv_context* context, std::uint8_t port_num) {
  host::Context& host = *OpenDevice::of(context).host;
  return host.port_attributes(host.has_port(port_num) ? port_num : std::uint8_t{1});
}

}  // namespace

int _ibv_query_gid_ex(ibv_context* context, uint32_t port_num, uint32_t gid_index,
                      ibv_gid_entry* entry, uint32_t flags, size_t entry_size) {
  if (flags != 0) return report(EOPNOTSUPP);
  if (entry_size < kEntrySize) return report(EINVAL);
  return guard_errno([&] {
    ibv_gid_entry found{};
    if (const int error = query_entry(context, port_num, gid_index, found)) return report(error);
    copy_entry(entry, entry_size, found);
    return 0;
  });
}

ssize_t _ibv_query_gid_table(ibv_context* context, ibv_gid_entry* entries, size_t max_entries,
                             uint32_t flags, size_t entry_size) {
  if (flags != 0) return -report(EOPNOTSUPP);
  if (entry_size < kEntrySize) return -report(EINVAL);
  ssize_t count = 0;
  const int error = guard_errno([&] {
    host::Context& host = *OpenDevice::of(context).host;
    auto* to = reinterpret_cast<std::byte*>(entries);
    for (unsigned i = 1; i <= host.ports(); ++i) {
      const auto number = static_cast<std::uint8_t>(i);
      const port::PortAttributes port = host.port_attributes(number);
      for (std::uint32_t index = 0; index < port.gids.size(); ++index) {
        if (port.gids[index].gid.is_zero()) continue;
        if (static_cast<std::size_t>(count) == max_entries) return report(EINVAL);
        copy_entry(to + static_cast<std::size_t>(count) * entry_size, entry_size,
                   entry_of(port, number, index));
        ++count;
      }
    }
    return 0;
  });
  return error != 0 ? -error : count;
}

int ibv_query_gid(ibv_context* context, uint8_t port_num, int index, ibv_gid* gid) {
  ibv_gid_entry found{};
  const int error = guard_errno(
      [&] { return query_entry(context, port_num, static_cast<std::uint32_t>(index), found); });
  // An empty entry reads as zeros, as it does from sysfs.
  if (error != 0 && error != ENODATA) return minus_one(error);
  *gid = found.gid;
  return 0;
}

int ibv_query_gid_type(ibv_context* context, uint8_t port_num, unsigned int index,
                       ibv_gid_type_sysfs* type) {
  ibv_gid_entry found{};
  const int error = guard_errno([&] { return query_entry(context, port_num, index, found); });
  if (error != 0 && error != ENODATA) return minus_one(error);
  *type = error == 0 && found.gid_type == IBV_GID_TYPE_IB ? IBV_GID_TYPE_SYSFS_IB_ROCE_V1
                                                          : IBV_GID_TYPE_SYSFS_ROCE_V2;
  return 0;
}

int ibv_query_pkey(ibv_context* context, uint8_t port_num, int index, __be16* pkey) {
  const int error = guard_errno([&] {
    const port::PortAttributes port = pkey_port(context, port_num);
    if (index < 0 || static_cast<std::size_t>(index) >= port.pkeys.size()) return EINVAL;
    *pkey = htobe16(port.pkeys[static_cast<std::size_t>(index)].value());
    return 0;
  });
  return error != 0 ? minus_one(error) : 0;
}

int ibv_get_pkey_index(ibv_context* context, uint8_t port_num, __be16 pkey) {
  std::ptrdiff_t index = 0;
  const int error = guard_errno([&] {
    const port::PortAttributes port = pkey_port(context, port_num);
    const auto found = std::ranges::find(port.pkeys, PKey{be16toh(pkey)});
    index = found - port.pkeys.begin();
    return found == port.pkeys.end() ? ENOENT : 0;
  });
  return error != 0 ? minus_one(error) : static_cast<int>(index);
}
