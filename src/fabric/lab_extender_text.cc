// SPDX-License-Identifier: Apache-2.0
#include "fabric/lab_extender_text.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <utility>

#include "base/quantity.h"

namespace weft::fabric {
namespace {

// What the standard's credit can grant (IBA 7.9.4.4): with less, a tunnel is no better than a link.
constexpr std::uint64_t kStandardCredit = std::uint64_t{128} << 10;

struct ExtenderText {
  LabNode node;
  LabExtender extender;
  bool insecure = false;
};

Done read_buffer(ExtenderText& text, const Value& value) {
  const auto words = value.words();
  const auto bytes = words ? parse_quantity(*words, kSizeUnits) : std::nullopt;
  if (!bytes || *bytes <= kStandardCredit) {
    return value.wrong("must be more than 128 KiB, as in \"64MiB\"");
  }
  text.extender.buffer_bytes = *bytes;
  return {};
}

Done read_remotes(ExtenderText& text, const Value& table) {
  const auto entries = table.table();
  if (!entries) return tl::unexpected(entries.error());
  const Keys<LabRemote> keys{{"address", [](LabRemote& remote, const Value& value) {
                                return store(remote.address, value.udp_address());
                              }}};
  for (const auto& [name, value] : *entries) {
    LabRemote remote{.name = name, .address = {}};
    if (Done done = read_keys(keys, remote, value); !done) return done;
    text.extender.remotes.push_back(std::move(remote));
  }
  return {};
}

Keys<ExtenderText> extender_keys(const Keys<LabNode>& switch_keys) {
  Keys<ExtenderText> keys{
      {"listen",
       [](ExtenderText& text, const Value& value) {
         return store(text.extender.listen, value.udp_address());
       }},
      {"buffer", read_buffer},
      {"insecure", [](ExtenderText& text,
                      const Value& value) { return store(text.insecure, value.boolean()); }},
      {"remote", read_remotes},
  };
  for (const Key<LabNode>& key : switch_keys) {
    keys.push_back({key.name, [set = key.set](ExtenderText& text, const Value& value) {
                      return set(text.node, value);
                    }});
  }
  return keys;
}

}  // namespace

Done add_extenders(LabBuilder& builder, const Value& table, const Keys<LabNode>& switch_keys,
                   const LabNode& model) {
  const auto entries = table.table();
  if (!entries) return tl::unexpected(entries.error());
  const Keys<ExtenderText> keys = extender_keys(switch_keys);
  for (const auto& [name, value] : *entries) {
    ExtenderText text{.node = model, .extender = {}};
    text.node.name = name;
    if (Done done = read_keys(keys, text, value); !done) return done;
    if (text.extender.listen == PartAddress{}) {
      return value.wrong("needs an address of this machine, as in listen = \"192.0.2.1:7471\"");
    }
    if (!text.insecure) {
      return value.wrong(
          "what crosses the WAN is not encrypted: insecure = true says that this is known");
    }
    Done done = builder.add_extender(std::move(text.node), std::move(text.extender), value.where());
    if (!done) return done;
  }
  return {};
}

std::string extender_words(const LabExtender& extender, std::vector<std::string> words) {
  words.push_back(fmt::format("listen = \"{}\"", to_string(extender.listen)));
  if (extender.buffer_bytes != LabExtender{}.buffer_bytes) {
    words.push_back(fmt::format("buffer = \"{}\"", size_text(extender.buffer_bytes)));
  }
  words.emplace_back("insecure = true");
  for (const LabRemote& remote : extender.remotes) {
    const std::string address =
        remote.address ? fmt::format("address = \"{}\"", to_string(*remote.address)) : "";
    words.push_back(fmt::format("remote.\"{}\" = {{ {} }}", remote.name, address));
  }
  return fmt::format("{{ {} }}", fmt::join(words, ", "));
}

}  // namespace weft::fabric
