// SPDX-License-Identifier: Apache-2.0
// Which datagrams a program wants of a port that it has opened.
#include <array>
#include <cerrno>
#include <cstring>
#include <optional>

#include "base/plain_bytes.h"
#include "umad/abi.h"
#include "umad/connection.h"
#include "umad/guard.h"

using namespace weft;
using namespace weft::umad;

namespace {

// Of those who have not said whose vendor class they mean: OpenIB's.
constexpr std::array<std::uint8_t, 3> kOpenIb{0x00, 0x14, 0x05};

bool names_a_vendor(unsigned mgmt_class) {
  return mgmt_class >= 0x30 && mgmt_class <= 0x4F;
}

protocol::Register request_for(int mgmt_class, int version, std::uint8_t rmpp_version,
                               const std::uint8_t* oui, const void* methods) {
  protocol::Register out{};
  out.kind = protocol::kRegister;
  out.mgmt_class = static_cast<std::uint8_t>(mgmt_class);
  out.class_version = static_cast<std::uint8_t>(version);
  out.rmpp = rmpp_version != 0;
  std::memcpy(out.oui, oui, sizeof out.oui);
  static_assert(sizeof out.methods == 16);
  if (methods != nullptr) std::memcpy(out.methods, methods, sizeof out.methods);
  return out;
}

// Versions above 1 of RMPP do not exist.
bool is_possible(int mgmt_class, int version, std::uint8_t rmpp_version) {
  return mgmt_class > 0 && mgmt_class <= 0xFF && version >= 0 && version <= 0xFF &&
         rmpp_version <= 1;
}

// The agent's number, or -EPERM and why in errno.
int register_agent(int port, const protocol::Register& request) {
  const auto answer = ask(port, plain::bytes_of(request));
  if (answer) return static_cast<int>(answer->agent);
  io::report(answer.error());
  return -EPERM;
}

}  // namespace

int umad_register(int port, int mgmt_class, int mgmt_version, uint8_t rmpp_version,
                  long method_mask[16 / sizeof(long)]) {
  return guarded(-EPERM, [&] {
    if (!is_possible(mgmt_class, mgmt_version, rmpp_version)) {
      errno = EINVAL;
      return -EPERM;
    }
    return register_agent(
        port, request_for(mgmt_class, mgmt_version, rmpp_version, kOpenIb.data(), method_mask));
  });
}

int umad_register_oui(int port, int mgmt_class, uint8_t rmpp_version, uint8_t oui[3],
                      long method_mask[16 / sizeof(long)]) {
  return guarded(-EPERM, [&] {
    if (mgmt_class < 0 || !names_a_vendor(static_cast<unsigned>(mgmt_class)) || rmpp_version > 1) {
      errno = EINVAL;
      return -EINVAL;
    }
    return register_agent(port, request_for(mgmt_class, 1, rmpp_version, oui, method_mask));
  });
}

int umad_register2(int port, umad_reg_attr* attributes, uint32_t* agent_id) {
  if (attributes == nullptr || agent_id == nullptr) return EINVAL;
  return guarded(ENOMEM, [&] {
    const umad_reg_attr& wanted = *attributes;
    const bool bad_oui =
        names_a_vendor(wanted.mgmt_class) && (wanted.oui == 0 || wanted.oui > 0xFFFFFF);
    const bool unknown = (wanted.flags & ~std::uint32_t{UMAD_USER_RMPP}) != 0;
    attributes->flags &= UMAD_USER_RMPP;
    if (unknown || bad_oui ||
        !is_possible(wanted.mgmt_class, wanted.mgmt_class_version, wanted.rmpp_version)) {
      return errno = EINVAL;
    }
    const std::array<std::uint8_t, 3> oui{static_cast<std::uint8_t>(wanted.oui >> 16),
                                          static_cast<std::uint8_t>(wanted.oui >> 8),
                                          static_cast<std::uint8_t>(wanted.oui)};
    const bool own_rmpp = (wanted.flags & UMAD_USER_RMPP) != 0;
    const auto answer =
        ask(port, plain::bytes_of(request_for(wanted.mgmt_class, wanted.mgmt_class_version,
                                              own_rmpp ? std::uint8_t{0} : wanted.rmpp_version,
                                              oui.data(), wanted.method_mask)));
    if (!answer) return io::report(answer.error());
    *agent_id = answer->agent;
    return 0;
  });
}

int umad_unregister(int port, int agent) {
  return guarded(-1, [&] {
    const protocol::Unregister request{.kind = protocol::kUnregister,
                                       .agent = static_cast<std::uint32_t>(agent)};
    const auto answer = ask(port, plain::bytes_of(request));
    if (answer) return 0;
    io::report(answer.error());
    return -1;
  });
}
