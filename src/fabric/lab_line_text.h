// SPDX-License-Identifier: Apache-2.0
// How a lab file says that another site is at the other end of a transport network's line:
//
//   encapsulation = "ipv6/ppp/stm64"   # ends in a line, as wan/line_stack.h has them
//   line = "unix:/run/line"            # the stream that bears its octets, as of a fibre
//   line_rate = "1Gb/s"                # how fast its clock goes; else as fast as its standard says
//   svc = ["47.…", "47.…"]             # of ATM: between which addresses a connection is set up
#pragma once

#include <string>
#include <vector>

#include "fabric/lab_extender.h"
#include "fabric/lab_value.h"

namespace weft::fabric {

// Of a fibre's stream, with its code.
[[nodiscard]] Expected<std::string> read_fibre(const Value& value);

[[nodiscard]] Expected<void> read_line(LabRemote& remote, const Value& value);
[[nodiscard]] Expected<void> read_line_rate(LabRemote& remote, const Value& value);
[[nodiscard]] Expected<void> read_svc(LabRemote& remote, const Value& value);
// Whether what else is said of a remote of this extender goes with its having a line, or none.
[[nodiscard]] Expected<void> check_line(const LabExtender& extender, const LabRemote& remote,
                                        const Value& value);

// Its keys that are about that.
[[nodiscard]] std::vector<std::string> line_words(const LabRemote& remote);

}  // namespace weft::fabric
