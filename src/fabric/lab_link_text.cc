// SPDX-License-Identifier: Apache-2.0
#include "fabric/lab_link_text.h"

#include <charconv>
#include <cstdint>
#include <optional>
#include <string_view>
#include <system_error>

#include "fabric/lab_negotiation_text.h"
#include "link/emulation_text.h"

namespace weft::fabric {
namespace {

// "leaf1:3", or "leaf1" for any port of it.
Expected<LabBuilder::EndText> read_end(const Value& value) {
  const auto text = value.string();
  if (!text) return tl::unexpected(text.error());
  const std::size_t colon = text->rfind(':');
  LabBuilder::EndText end{.node = text->substr(0, colon), .port = std::nullopt};
  if (colon == std::string::npos) return end;
  std::uint64_t port = 0;
  const char* const last = text->data() + text->size();
  const auto [stop, error] = std::from_chars(text->data() + colon + 1, last, port);
  if (error != std::errc{} || stop != last) {
    return value.wrong(fmt::format("{}: a port is a number, as in leaf1:3", *text));
  }
  end.port = port;
  return end;
}

Done read_ends(LabBuilder::LinkText& link, const Value& value) {
  const auto ends = value.array();
  if (!ends || ends->size() != 2) {
    return value.wrong("must be the two ports, as in [\"host1:1\", \"leaf1:3\"]");
  }
  for (std::size_t side = 0; side < 2; ++side) {
    if (Done done = store(link.ends[side], read_end((*ends)[side])); !done) return done;
  }
  return {};
}

LabNegotiation& negotiation_of(LabLink& link) {
  return link.negotiation ? *link.negotiation : link.negotiation.emplace();
}

Done read_link_speed(LabBuilder::LinkText& text, const Value& value) {
  const auto word = value.string();
  if (word && *word == "auto") {
    text.negotiates = true;
    negotiation_of(text.link);
    return {};
  }
  if (Done done = store(text.link.speed, value.speed()); !done) {
    return value.wrong(fmt::format("must be {}, or auto", kSpeedNames));
  }
  return {};
}

}  // namespace

Keys<LabBuilder::LinkText> link_keys() {
  using LinkText = LabBuilder::LinkText;
  Keys<LinkText> keys{
      {"ends", read_ends},
      {"name",
       [](LinkText& text, const Value& value) { return store(text.link.name, value.string()); }},
      {"width",
       [](LinkText& text, const Value& value) { return store(text.link.width, value.width()); }},
      {"speed", read_link_speed},
      {"negotiation",
       [](LinkText& text, const Value& value) {
         return read_negotiation(negotiation_of(text.link), value);
       }},
      {"channel",
       [](LinkText& text, const Value& value) {
         return read_channel(negotiation_of(text.link), value);
       }},
      {"up",
       [](LinkText& text, const Value& value) { return store(text.link.up, value.boolean()); }},
  };
  for (const std::string_view name : link::emulation_names()) {
    keys.push_back({name, [name](LinkText& text, const Value& value) -> Done {
                      const auto words = value.words();
                      if (!words) return tl::unexpected(words.error());
                      const Done done = link::set_emulation(text.link.emulation, name, *words);
                      if (!done) return value.wrong(done.error().message);
                      return {};
                    }});
  }
  return keys;
}

}  // namespace weft::fabric
