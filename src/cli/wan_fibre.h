// SPDX-License-Identifier: Apache-2.0
// InfiniBand packets on a fibre of the WAN, in its line code, and back, without a fibre.
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <string_view>
#include <vector>

#include "base/bytes.h"
#include "base/error.h"
#include "cli/wan_codec.h"
#include "wan/fibre_code.h"
#include "wan/line/stack/line_explain.h"

namespace weft::cli {

// The code of a fibre, if a stack is one: "null", which is the symbols as they are, "null/8b10b",
// "null/64b66b".
[[nodiscard]] std::optional<wan::FibreCodeKind> fibre_code_of(std::string_view stack);

// As encode_line() and decode_line(); no other end is found, nor is there credit.
Expected<WanPackets> encode_fibre(wan::FibreCodeKind code, const std::vector<Bytes>& packets,
                                  const std::function<Expected<void>(Bytes)>& out);
Expected<WanPackets> decode_fibre(wan::FibreCodeKind code,
                                  const std::function<Expected<Bytes>()>& read,
                                  const std::function<Expected<void>(Bytes)>& out);
// As wan::explain_line(): packets, flow control and training sets.
Expected<std::vector<wan::LineUnit>> explain_fibre(wan::FibreCodeKind code, Bytes octets,
                                                   std::size_t most);

}  // namespace weft::cli
