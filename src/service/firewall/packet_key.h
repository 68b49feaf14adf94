// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>

#include "base/bytes.h"
#include "service/fields.h"
#include "service/firewall/match_key.h"
#include "service/firewall/rule_set.h"

namespace weft::service::firewall {

// The service of the LAN's connections and datagrams, and the Q_Keys of its group and of IPoIB
// (RFC 4391, 4): what comes by these is of them, whatever else could be read into it.
inline constexpr wire::ServiceId kLanService{0x1002'574C'0000'0001};
inline constexpr QKey kLanGroupQKey{0x574C'0001};

// What the payload is taken for. On a connection it is the LAN's if it was made for the LAN. A
// program's own datagram may begin as one of IPoIB or the LAN does, but hardly be right in all that
// follows: where it is not known by its queue pair whose it is, it is theirs if nothing in it is
// wrong. `service`: of the packet's connection, 0 without one.
[[nodiscard]] Traffic traffic_of(const Fields& fields, wire::ServiceId service);
// Whether two receivers might read the packet in two ways, by what it is taken for.
[[nodiscard]] bool is_doubtful(const Fields& fields, Traffic traffic);

// What the packet itself says; neither its state nor what its connection was made for.
[[nodiscard]] MatchKey key_of(const Fields& fields, Traffic traffic);

// The private data of what asks for a connection: of a REQ or SIDR_REQ; else nothing.
[[nodiscard]] Bytes private_data_of(const Fields& fields, Bytes packet);
void add_private_data(MatchKey& key, Bytes private_data, std::span<const PrivateBytes> places);
// What packets of a connection have of what asked for it: service, private data, addresses of IP.
void add_request(MatchKey& key, const MatchKey& request);

}  // namespace weft::service::firewall
