// SPDX-License-Identifier: Apache-2.0
// IP addresses with a subnet administrator, by which hosts of one subnet find each other without
// anything else in common: a ServiceRecord (IBA 15.2.5.14) for each, as the Address Translation
// Service of DAPL has them. Its name says what it is, the last four bytes of its first data have
// the address, and its ServiceGID is the port's.
#pragma once

#include <cstdint>
#include <optional>

#include "base/bytes.h"
#include "base/ids.h"
#include "wire/mad.h"

namespace weft::daemon {

// Who says that his port `gid` has `address`, ::ffff:a.b.c.d, has to say so again within this time,
// in seconds.
inline constexpr std::uint32_t kAddressLease = 300;

// Offers the address of a port.
[[nodiscard]] wire::MadBuffer address_offer(const Gid& address, const Gid& gid,
                                            std::uint32_t transaction);
// Asks whose the address is. An administrator that knows more than one answers with an error, so
// that who claims another's address gets nothing of what is meant for that one.
[[nodiscard]] wire::MadBuffer address_question(const Gid& address, std::uint32_t transaction);

// The GID that the answer to the question names. Nothing: it names none, or what is no port's.
[[nodiscard]] std::optional<Gid> read_address_answer(Bytes mad);

}  // namespace weft::daemon
