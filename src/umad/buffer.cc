// SPDX-License-Identifier: Apache-2.0
// A program's datagram buffer: an ib_user_mad, whose address is in network order, and the datagram.
#include <fmt/format.h>
#include <unistd.h>

#include <atomic>
#include <cstring>
#include <string>

#include "umad/abi.h"
#include "umad/guard.h"

using namespace weft::umad;

namespace {

ib_user_mad& user_mad(void* umad) {
  return *static_cast<ib_user_mad*>(umad);
}

std::atomic<int>& debug_level() {
  static std::atomic<int> level{0};
  return level;
}

void print(const std::string& text) {
  // Nothing is left to tell it to when stderr does not take it.
  [[maybe_unused]] const auto written = ::write(STDERR_FILENO, text.data(), text.size());
}

std::string describe(const ib_mad_addr_t& address) {
  std::string gid;
  for (const std::uint8_t byte : address.gid)
    gid += fmt::format("{:02x}", byte);
  return fmt::format(
      "lid {} qpn {:#x} qkey {:#x} sl {} pkey_index {}\n"
      "  grh_present {} gid {} gid_index {} hop_limit {} traffic_class {} flow_label {:#x}\n",
      ntohs(address.lid), ntohl(address.qpn), ntohl(address.qkey), address.sl, address.pkey_index,
      address.grh_present, gid, address.gid_index, address.hop_limit, address.traffic_class,
      ntohl(address.flow_label));
}

}  // namespace

void* umad_get_mad(void* umad) {
  return user_mad(umad).data;
}

size_t umad_size(void) {
  return sizeof(ib_user_mad);
}

int umad_status(void* umad) {
  return static_cast<int>(user_mad(umad).status);
}

ib_mad_addr_t* umad_get_mad_addr(void* umad) {
  return &user_mad(umad).addr;
}

// The flow label is the caller's, in host order; all else is copied.
int umad_set_grh(void* umad, void* mad_addr) {
  ib_mad_addr_t& to = user_mad(umad).addr;
  to.grh_present = mad_addr != nullptr;
  if (mad_addr == nullptr) return 0;
  const auto& from = *static_cast<const ib_mad_addr_t*>(mad_addr);
  std::memcpy(to.gid, from.gid, sizeof to.gid);
  to.flow_label = htonl(from.flow_label);
  to.hop_limit = from.hop_limit;
  to.traffic_class = from.traffic_class;
  return 0;
}

int umad_set_addr_net(void* umad, __be16 dlid, __be32 dqp, int sl, __be32 qkey) {
  ib_mad_addr_t& to = user_mad(umad).addr;
  to.qpn = dqp;
  to.lid = dlid;
  to.qkey = qkey;
  to.sl = static_cast<std::uint8_t>(sl);
  return 0;
}

int umad_set_addr(void* umad, int dlid, int dqp, int sl, int qkey) {
  return umad_set_addr_net(umad, htons(static_cast<std::uint16_t>(dlid)),
                           htonl(static_cast<std::uint32_t>(dqp)), sl,
                           htonl(static_cast<std::uint32_t>(qkey)));
}

int umad_set_pkey(void* umad, int pkey_index) {
  user_mad(umad).addr.pkey_index = static_cast<std::uint16_t>(pkey_index);
  return 0;
}

int umad_get_pkey(void* umad) {
  return user_mad(umad).addr.pkey_index;
}

int umad_debug(int level) {
  if (level >= 0) debug_level() = level;
  return debug_level();
}

void umad_addr_dump(ib_mad_addr_t* address) {
  guarded(0, [&] {
    print("umad address: " + describe(*address));
    return 0;
  });
}

void umad_dump(void* umad) {
  guarded(0, [&] {
    const ib_user_mad& mad = user_mad(umad);
    print(fmt::format("umad: agent {} status {} timeout_ms {} retries {} length {}\n  {}",
                      mad.agent_id, mad.status, mad.timeout_ms, mad.retries, mad.length,
                      describe(mad.addr)));
    return 0;
  });
}
