// SPDX-License-Identifier: Apache-2.0
// Names that rules have for numbers.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "service/firewall/field.h"

namespace weft::service::firewall {

// What a name stands for where `field` is spoken of; nothing: there is no such name.
[[nodiscard]] std::optional<Ranges> named_values(Field field, std::string_view name);
// All names of a field, in the order in which docs have them: "get, set, send".
[[nodiscard]] std::string list_names(Field field);
// "rc-rdma-write-only-imm" of an opcode; empty: it has no name.
[[nodiscard]] std::string opcode_name(std::uint8_t opcode);

}  // namespace weft::service::firewall
