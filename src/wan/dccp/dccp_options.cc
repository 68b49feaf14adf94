// SPDX-License-Identifier: Apache-2.0
#include "wan/dccp/dccp_options.h"

#include <algorithm>
#include <cassert>

namespace weft::wan::dccp {
namespace {

constexpr std::uint8_t kFirstWithLength = 32;
constexpr std::size_t kTypeAndLength = 2;

}  // namespace

std::optional<Option> OptionReader::next() {
  bool mandatory = false;
  while (!rest_.empty()) {
    const auto type = std::to_integer<std::uint8_t>(rest_[0]);
    std::size_t size = 1;
    std::size_t head = 1;
    if (type >= kFirstWithLength) {
      head = kTypeAndLength;
      size = rest_.size() < head ? 0 : std::to_integer<std::size_t>(rest_[1]);
      if (size < head || size > rest_.size()) break;
    }
    const Option option{.type = static_cast<OptionType>(type),
                        .value = rest_.subspan(head, size - head),
                        .mandatory = mandatory};
    rest_ = rest_.subspan(size);
    if (option.type == OptionType::kMandatory) {
      // What is behind it is an option, which is not this one again (RFC 4340, 5.8.2).
      if (mandatory) break;
      mandatory = true;
      continue;
    }
    if (option.type != OptionType::kPadding) return option;
    if (mandatory) break;
  }
  malformed_ = malformed_ || mandatory || !rest_.empty();
  rest_ = {};
  return std::nullopt;
}

bool OptionWriter::put(OptionType type, Bytes value, bool mandatory) {
  assert(value.size() <= kMostValue);
  const bool has_length = static_cast<std::uint8_t>(type) >= kFirstWithLength;
  const std::size_t size = (mandatory ? 1 : 0) + (has_length ? kTypeAndLength : 1) + value.size();
  if (size > room()) return false;
  if (mandatory) bytes_[size_++] = static_cast<std::byte>(OptionType::kMandatory);
  bytes_[size_++] = static_cast<std::byte>(type);
  if (has_length) bytes_[size_++] = static_cast<std::byte>(kTypeAndLength + value.size());
  std::copy(value.begin(), value.end(), bytes_.begin() + static_cast<std::ptrdiff_t>(size_));
  size_ += value.size();
  return true;
}

}  // namespace weft::wan::dccp
