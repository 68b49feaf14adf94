// SPDX-License-Identifier: Apache-2.0
#include "wan/line/pcs/explain.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <string>
#include <utility>

namespace weft::wan {
namespace {

std::string words_of(const XgmiiWord& word) {
  std::string out;
  for (unsigned lane = 0; lane < 8; ++lane) {
    const std::uint8_t octet = word.octet(lane);
    if (lane > 0) out += ' ';
    if (!word.is_control(lane)) {
      out += fmt::format("{:02X}", octet);
    } else if (octet == Xgmii::kIdle) {
      out += "C";
    } else if (octet == Xgmii::kStart) {
      out += "S";
    } else if (octet == Xgmii::kTerminate) {
      out += "T";
    } else if (octet == Xgmii::kSequence || octet == Xgmii::kSignal) {
      out += octet == Xgmii::kSequence ? "O(sequence)" : "O(signal)";
    } else {
      out += octet == Xgmii::kError ? "E" : fmt::format("C({:02X})", octet);
    }
  }
  return out;
}

std::string header_words(std::uint8_t header) {
  if (header == Block::kData) return "01: data";
  return header == Block::kControl ? "10: control" : "not one";
}

// And the blocks from there on. Nothing: at none of 66 places all headers are good.
std::optional<std::size_t> first_bit(Bytes octets, std::span<std::uint64_t> payloads,
                                     std::span<std::uint8_t> headers) {
  for (std::size_t at = 0; at < kBlockBits; ++at) {
    const std::size_t bits = 8 * octets.size();
    const std::size_t count = bits < at ? 0 : (bits - at) / kBlockBits;
    if (count == 0) return std::nullopt;
    BlockDescrambler().unpack(octets, at, payloads.first(count), headers);
    if (std::ranges::all_of(headers.first(count), is_header)) return at;
  }
  return std::nullopt;
}

}  // namespace

std::vector<FrameField> explain_blocks(Bytes octets, BitOrder order) {
  std::vector<std::byte> line(octets.begin(), octets.end());
  if (order == BitOrder::kMostFirst) reverse_bits(line, line);
  std::vector<std::uint64_t> payloads(8 * line.size() / kBlockBits);
  std::vector<std::uint8_t> headers(payloads.size());
  std::vector<FrameField> fields;
  const auto start = first_bit(line, payloads, headers);
  if (!start) return fields;
  const std::size_t count = (8 * line.size() - *start) / kBlockBits;
  for (std::size_t i = 0; i < count; ++i) {
    const std::size_t bit = *start + i * kBlockBits;
    const std::size_t at = bit / 8;
    const std::size_t size = (bit + kBlockBits + 7) / 8 - at;
    const auto add = [&](const char* what, std::string value) {
      fields.push_back({fmt::format("block {} {}", i, what), std::move(value), at, size});
    };
    add("header", header_words(headers[i]));
    if (i == 0) continue;
    const DecodedBlock decoded = decode_block({headers[i], payloads[i]});
    if (headers[i] == Block::kControl) add("type", fmt::format("{:02X}", payloads[i] & 0xFF));
    add("lanes", decoded.kind == BlockKind::kError ? "an error" : words_of(decoded.word));
  }
  return fields;
}

}  // namespace weft::wan
