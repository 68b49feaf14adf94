// SPDX-License-Identifier: Apache-2.0
#include "fabric/lab_line_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

#include "base/fibre_address.h"
#include "base/quantity.h"
#include "fabric/toml_string.h"

namespace weft::fabric {
namespace {

// Beyond that no wire of this kind goes, and arithmetic on octets and nanoseconds would.
constexpr std::uint64_t kMostOctets = 12'500'000'000;  // 100 Gbit/s
constexpr std::uint64_t kLeastOctets = 1'000;

Expected<void> check_stream(const Value& value, std::string_view stream) {
  const auto begins = [&](std::string_view with) { return stream.starts_with(with); };
  if (std::ranges::any_of(std::array{"unix:", "shm:", "tcp:", "tcp-to:", "file:"}, begins))
    return {};
  return value.wrong(
      "must be \"unix:PATH\", \"shm:PATH\", \"tcp:HOST:PORT\", \"tcp-to:HOST:PORT\" or "
      "\"file:IN,OUT\"");
}

}  // namespace

Expected<std::string> read_fibre(const Value& value) {
  auto fibre = value.string();
  if (!fibre) return fibre;
  const auto parsed = FibreAddress::parse(*fibre);
  if (!parsed) return value.wrong("must have no code before its \"+\", or \"8b10b\", \"64b66b\"");
  if (auto done = check_stream(value, parsed->stream); !done) return tl::unexpected(done.error());
  return fibre;
}

Expected<void> read_line(LabRemote& remote, const Value& value) {
  auto stream = value.string();
  if (!stream) return tl::unexpected(stream.error());
  if (auto done = check_stream(value, *stream); !done) return done;
  remote.line = std::move(*stream);
  return {};
}

Expected<void> read_line_rate(LabRemote& remote, const Value& value) {
  const auto words = value.words();
  const auto octets = words ? parse_quantity(*words, kRateUnits) : std::nullopt;
  if (!octets || *octets < kLeastOctets || *octets > kMostOctets) {
    return value.wrong("must be a rate from 8kb/s to 100Gb/s, as in \"155.52Mb/s\"");
  }
  remote.line_octets_per_s = *octets;
  return {};
}

Expected<void> read_svc(LabRemote& remote, const Value& value) {
  const auto wrong = [&] {
    return value.wrong(
        "must be two ATM addresses of 40 hexadecimal digits, this end's and the other's, as in "
        "[\"47.000580ffe1000000f21a26d8.0020ea000ee0.00\", "
        "\"47.000580ffe1000000f21a26d8.0020ea000ee1.00\"]");
  };
  const auto both = value.array();
  if (!both || both->size() != 2) return wrong();
  LabSvc svc;
  for (const auto& [address, at] :
       {std::pair(&svc.own, &both->front()), std::pair(&svc.other, &both->back())}) {
    const auto text = at->string();
    const auto parsed = text ? parse_atm_address(*text) : std::nullopt;
    if (!parsed) return wrong();
    *address = *parsed;
  }
  if (svc.own == svc.other) return wrong();
  remote.svc = svc;
  return {};
}

Expected<void> check_line(const LabExtender& extender, const LabRemote& remote,
                          const Value& value) {
  if (remote.line.empty()) {
    if (remote.svc) {
      return value.wrong(fmt::format(
          "remote {} has an svc and no line, as in line = \"unix:/run/line\"", remote.name));
    }
    if (remote.line_octets_per_s == 0) return {};
    return value.wrong(fmt::format(
        "remote {} has a line_rate and no line, as in line = \"unix:/run/line\"", remote.name));
  }
  if (remote.encapsulation.empty()) {
    return value.wrong(fmt::format(
        "remote {} has a line: say what is on it, as in encapsulation = \"ipv6/ppp/stm64\"",
        remote.name));
  }
  if (!remote.interface.empty() || remote.paths != 1) {
    return value.wrong(fmt::format(
        "remote {} has a line, and neither an interface nor other ways besides", remote.name));
  }
  if (remote.adapts_rate) {
    return value.wrong(fmt::format(
        "remote {} has a line, which has a clock: rate = \"auto\" is for a WAN", remote.name));
  }
  if (extender.tcp_setup) {
    return value.wrong(fmt::format(
        "remote {} has a line, which says itself whether the other end is there: leave out setup",
        remote.name));
  }
  return {};
}

std::vector<std::string> line_words(const LabRemote& remote) {
  std::vector<std::string> words;
  if (!remote.line.empty()) words.push_back("line = " + quoted(remote.line));
  if (remote.line_octets_per_s != 0) {
    words.push_back("line_rate = " + quoted(quantity_text(remote.line_octets_per_s, kRateUnits)));
  }
  if (remote.svc) {
    words.push_back(fmt::format("svc = [{}, {}]", quoted(atm_address_text(remote.svc->own)),
                                quoted(atm_address_text(remote.svc->other))));
  }
  return words;
}

}  // namespace weft::fabric
