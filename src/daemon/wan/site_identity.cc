// SPDX-License-Identifier: Apache-2.0
#include "daemon/wan/site_identity.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>

#include "io/text_file.h"

namespace weft::daemon {
namespace {

constexpr std::size_t kMostFile = 65536;

// The first word of a file; empty where it is long, as in PEM.
std::string_view first_word(std::string_view text) {
  constexpr std::string_view kSpaces = " \t\r\n";
  const std::size_t begin = std::min(text.find_first_not_of(kSpaces), text.size());
  return text.substr(begin, text.find_first_of(kSpaces, begin) - begin);
}

// Who has copied a lab file has not made the keys that it names.
tl::unexpected<Error> with_advice(const Error& error, std::string_view advice) {
  if (error.code != std::errc::no_such_file_or_directory) return fail(error.code, error.message);
  return fail(error.code, fmt::format("{}: {}", error.message, advice));
}

Expected<io::TlsFingerprint> read_one(const std::string& said) {
  if (said.starts_with(fabric::kFingerprintPrefix)) return io::TlsFingerprint::parse(said);
  const auto text = io::read_text_file(said, kMostFile);
  if (!text) {
    return with_advice(text.error(), "it holds what `weft extend keygen` has printed at that site");
  }
  const std::string_view word = first_word(*text);
  if (!word.starts_with(fabric::kFingerprintPrefix)) return io::read_fingerprint(said);
  auto read = io::TlsFingerprint::parse(word);
  if (!read) return fail(read.error().code, fmt::format("{}: {}", said, read.error().message));
  return read;
}

}  // namespace

Expected<std::unique_ptr<io::TlsSite>> load_site(const fabric::LabExtender& extender) {
  auto site = io::TlsSite::load(
      {.key = extender.key, .certificate = extender.certificate, .ca = std::string()});
  if (!site) return with_advice(site.error(), "`weft extend keygen` makes a key");
  return site;
}

Expected<std::vector<std::vector<io::TlsFingerprint>>> read_remote_keys(
    const fabric::LabExtender& extender, const io::TlsFingerprint& own) {
  std::vector<std::vector<io::TlsFingerprint>> out;
  for (const fabric::LabRemote& remote : extender.remotes) {
    std::vector<io::TlsFingerprint> keys;
    const auto wrong = [&](const Error& error) {
      return fail(error.code, fmt::format("remote {}: {}", remote.name, error.message));
    };
    for (const std::string& said : remote.fingerprints) {
      auto key = read_one(said);
      if (!key) return wrong(key.error());
      if (*key == own) {
        return wrong({std::errc::invalid_argument,
                      fmt::format("{} is this site's own key: each site has one of its own",
                                  key->to_string())});
      }
      for (std::size_t i = 0; i < out.size(); ++i) {
        if (std::ranges::find(out[i], *key) == out[i].end()) continue;
        return wrong({std::errc::invalid_argument,
                      fmt::format("{} is the key of remote {} too: they could not be told apart",
                                  key->to_string(), extender.remotes[i].name)});
      }
      keys.push_back(*key);
    }
    out.push_back(std::move(keys));
  }
  return out;
}

}  // namespace weft::daemon
