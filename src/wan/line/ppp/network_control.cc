// SPDX-License-Identifier: Apache-2.0
#include "wan/line/ppp/network_control.h"

#include <array>
#include <cassert>

#include "wire/endian.h"

namespace weft::wan {
namespace {

constexpr std::uint64_t kUniversalBit = std::uint64_t{0x02} << 56;

}  // namespace

NetworkControl::NetworkControl(PppProtocol protocol, const NetworkOptions& options,
                               Entropy& entropy)
    : protocol_(protocol), options_(options), entropy_(entropy) {
}

std::size_t NetworkControl::width() const {
  return protocol_ == PppProtocol::kIpv6cp ? 8 : protocol_ == PppProtocol::kIpcp ? 4 : 0;
}

// Interface-Identifier; IP-Address.
std::uint8_t NetworkControl::type() const {
  return protocol_ == PppProtocol::kIpv6cp ? 1 : 3;
}

// One that nobody else has is made known as such (RFC 5072, 4.1).
std::uint64_t NetworkControl::draw_identifier() {
  std::uint64_t drawn = 0;
  do {
    drawn = entropy_.draw() & ~kUniversalBit;
  } while (drawn == 0 || drawn == own_ || drawn == last_wish_);
  return drawn;
}

void NetworkControl::begin() {
  asks_ = width() != 0;
  remote_ = 0;
  own_ = options_.address;
  if (protocol_ != PppProtocol::kIpv6cp) return;
  own_ = options_.interface_identifier;
  if (own_ == 0) own_ = draw_identifier();
}

void NetworkControl::put(std::vector<std::byte>& options, std::uint64_t number) const {
  std::array<std::byte, 8> value{};
  wire::store_be64(value.data(), number << (64 - 8 * width()));
  put_option(options, {type(), Bytes(value).first(width())});
}

// 0: of another length than it should be.
std::uint64_t NetworkControl::number_of(const ControlOption& option) const {
  if (option.value.size() != width()) return 0;
  return width() == 8 ? wire::load_be64(option.value.data()) : wire::load_be32(option.value.data());
}

std::vector<std::byte> NetworkControl::request() {
  std::vector<std::byte> options;
  if (asks_) put(options, own_);
  return options;
}

// What the other end might have instead of `theirs`, if that cannot be; 0: nothing.
std::optional<std::uint64_t> NetworkControl::better_than(std::uint64_t theirs) {
  if (protocol_ == PppProtocol::kIpcp) {
    if (theirs != 0) return std::nullopt;
    return options_.remote_address;
  }
  if (theirs != 0 && theirs != own_) return std::nullopt;
  return draw_identifier();
}

ControlPolicy::Verdict NetworkControl::judge(Bytes options, bool patient) {
  Verdict verdict;
  while (const auto option = take_option(options)) {
    if (width() == 0 || option->type != type()) {
      put_option(verdict.rejected, *option);
      continue;
    }
    const auto better = better_than(number_of(*option));
    if (!better) continue;
    if (*better == 0 || !patient) {
      put_option(verdict.rejected, *option);
    } else {
      last_wish_ = *better;
      put(verdict.wished, *better);
    }
  }
  return verdict;
}

void NetworkControl::agreed(Bytes options) {
  remote_ = 0;
  while (const auto option = take_option(options))
    remote_ = number_of(*option);
}

// An identifier is taken as it is wished, unless it is the one wished for the other end: then both
// have drawn alike, or the line is looped. An address is taken where there is none of one's own.
void NetworkControl::wished(Bytes options) {
  while (const auto option = take_option(options)) {
    if (width() == 0 || option->type != type()) continue;
    const std::uint64_t wish = number_of(*option);
    if (protocol_ == PppProtocol::kIpcp) {
      if (options_.address == 0) own_ = wish;
    } else {
      own_ = wish == 0 || wish == last_wish_ ? draw_identifier() : wish;
    }
  }
}

void NetworkControl::rejected(Bytes options) {
  while (const auto option = take_option(options))
    if (option->type == type()) asks_ = false;
}

}  // namespace weft::wan
