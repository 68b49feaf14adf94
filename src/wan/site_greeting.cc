// SPDX-License-Identifier: Apache-2.0
#include "wan/site_greeting.h"

#include <fmt/format.h>

#include <algorithm>

#include "wan/frame.h"
#include "wire/endian.h"

namespace weft::wan {
namespace {

constexpr std::size_t kSiteGreetingHead = 4;
constexpr std::string_view kUdp = "udp";
constexpr std::string_view kInEthernet = "/ethernet";
constexpr std::string_view kSiteGreetingOptions = "options/";

bool is_printable(std::byte each) {
  return each >= std::byte{' '} && each <= std::byte{'~'};
}

}  // namespace

std::vector<std::byte> SiteGreeting::write() const {
  const Bytes text = std::as_bytes(std::span(words)).first(std::min(words.size(), kMostWords));
  std::vector<std::byte> message(kSiteGreetingHead + text.size());
  wire::store_u8(message.data(), static_cast<std::uint8_t>(type));
  wire::store_u8(message.data() + 1, FrameHead::kVersion);
  wire::store_be16(message.data() + 2, port);
  std::ranges::copy(text, message.begin() + kSiteGreetingHead);
  return message;
}

Expected<SiteGreeting> SiteGreeting::read(Bytes message) {
  const auto type = message.size() < kSiteGreetingHead ? 0 : wire::load_u8(message.data());
  const bool known = type >= static_cast<std::uint8_t>(Type::kAsks) &&
                     type <= static_cast<std::uint8_t>(Type::kRefuses);
  if (!known || message.size() > kLongest ||
      !std::ranges::all_of(message.subspan(kSiteGreetingHead), is_printable)) {
    return fail(std::errc::protocol_error, "the other end is no extender that has setup = \"tcp\"");
  }
  const std::uint8_t version = wire::load_u8(message.data() + 1);
  if (version != FrameHead::kVersion) {
    return fail(std::errc::protocol_not_supported,
                fmt::format("the other end speaks version {} of the format, this one {}", version,
                            FrameHead::kVersion));
  }
  SiteGreeting greeting{
      .type = static_cast<Type>(type), .port = wire::load_be16(message.data() + 2), .words = {}};
  for (const std::byte each : message.subspan(kSiteGreetingHead))
    greeting.words += static_cast<char>(each);
  return greeting;
}

std::string_view layers_within_ip(std::string_view encapsulation) {
  if (encapsulation.ends_with(kInEthernet)) encapsulation.remove_suffix(kInEthernet.size());
  // Whether credit goes there, the hellos agree on.
  if (encapsulation.starts_with(kSiteGreetingOptions))
    encapsulation.remove_prefix(kSiteGreetingOptions.size());
  return encapsulation.empty() || encapsulation.starts_with(kUdp) ? kUdp : encapsulation;
}

}  // namespace weft::wan
