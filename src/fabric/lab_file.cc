// SPDX-License-Identifier: Apache-2.0
#include "fabric/lab_file.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <functional>
#include <optional>
#include <tuple>
#include <utility>
#include <vector>

#include "fabric/emulation_text.h"
#include "fabric/lab_builder.h"
#include "fabric/toml.h"

namespace weft::fabric {
namespace {

using Done = Expected<void>;

// A value of the file and where it stands: what it must be, or an error that says so.
class Value {
 public:
  Value(const LabBuilder& builder, const toml::node& node, std::string key)
      : builder_(builder), node_(node), where_{node.source().begin.line, std::move(key)} {}

  [[nodiscard]] const Where& where() const { return where_; }
  [[nodiscard]] tl::unexpected<Error> wrong(const std::string& message) const {
    return builder_.wrong(where_, message);
  }

  [[nodiscard]] Expected<std::int64_t> integer(std::int64_t low, std::int64_t high) const {
    const auto* value = node_.as_integer();
    if (value == nullptr || value->get() < low || value->get() > high) {
      return wrong(fmt::format("must be a number from {} to {}", low, high));
    }
    return value->get();
  }
  [[nodiscard]] Expected<std::int64_t> choice(const std::vector<std::int64_t>& choices) const {
    const auto* value = node_.as_integer();
    if (value == nullptr ||
        std::find(choices.begin(), choices.end(), value->get()) == choices.end()) {
      return wrong(fmt::format("must be one of {}", fmt::join(choices, ", ")));
    }
    return value->get();
  }
  [[nodiscard]] Expected<std::string> string() const {
    const auto* value = node_.as_string();
    if (value == nullptr || value->get().empty()) return wrong("must be a string, not empty");
    return value->get();
  }
  [[nodiscard]] Expected<bool> boolean() const {
    const auto* value = node_.as_boolean();
    if (value == nullptr) return wrong("must be true or false");
    return value->get();
  }
  [[nodiscard]] Expected<Guid> guid() const {
    const auto* text = node_.as_string();
    const auto guid = text == nullptr ? std::nullopt : parse_guid(text->get());
    if (!guid || *guid == Guid{}) {
      return wrong("must be a GUID other than 0, as in \"0x0002c90300001dd0\"");
    }
    return *guid;
  }
  [[nodiscard]] Expected<Ipv4> ipv4() const {
    const auto* text = node_.as_string();
    const auto address = text == nullptr ? std::nullopt : parse_ipv4(text->get());
    if (!address) return wrong("must be an IPv4 address, as in \"10.254.0.1\"");
    return *address;
  }
  [[nodiscard]] Expected<Ipv4Network> network() const {
    const auto* text = node_.as_string();
    const auto network = text == nullptr ? std::nullopt : parse_network(text->get());
    if (!network) return wrong("must be an IPv4 network, as in \"10.254.0.0/16\"");
    return *network;
  }
  [[nodiscard]] Expected<LinkWidth> width() const {
    const auto* text = node_.as_string();
    const auto width = text == nullptr ? std::nullopt : parse_width(text->get());
    if (!width) return wrong(fmt::format("must be {}", kWidthNames));
    return *width;
  }
  [[nodiscard]] Expected<LinkSpeed> speed() const {
    const auto* text = node_.as_string();
    const auto speed = text == nullptr ? std::nullopt : parse_speed(text->get());
    if (!speed) return wrong(fmt::format("must be {}", kSpeedNames));
    return *speed;
  }
  // A string, or a number as one would write it.
  [[nodiscard]] Expected<std::string> words() const;
  // Its values in the order of the file; the parser sorts them by name.
  [[nodiscard]] Expected<std::vector<std::pair<std::string, Value>>> table() const;
  [[nodiscard]] Expected<std::vector<Value>> array() const;

 private:
  const LabBuilder& builder_;
  const toml::node& node_;
  Where where_;
};

Expected<std::string> Value::words() const {
  if (const auto* number = node_.as_integer()) return fmt::to_string(number->get());
  if (const auto* number = node_.as_floating_point()) return fmt::format("{}", number->get());
  return string();
}

Expected<std::vector<std::pair<std::string, Value>>> Value::table() const {
  const toml::table* table = node_.as_table();
  if (table == nullptr) return wrong("must be a table");
  std::vector<std::pair<std::string_view, const toml::node*>> nodes;
  nodes.reserve(table->size());
  for (const auto& [key, node] : *table)
    nodes.emplace_back(key.str(), &node);
  std::stable_sort(nodes.begin(), nodes.end(), [](const auto& a, const auto& b) {
    const toml::source_position& left = a.second->source().begin;
    const toml::source_position& right = b.second->source().begin;
    return std::tie(left.line, left.column) < std::tie(right.line, right.column);
  });
  const std::string prefix = where_.key.empty() ? "" : where_.key + ".";
  std::vector<std::pair<std::string, Value>> values;
  values.reserve(nodes.size());
  for (const auto& [key, node] : nodes)
    values.emplace_back(key, Value(builder_, *node, prefix + std::string(key)));
  return values;
}

Expected<std::vector<Value>> Value::array() const {
  const toml::array* array = node_.as_array();
  if (array == nullptr) return wrong("must be an array");
  std::vector<Value> values;
  values.reserve(array->size());
  for (const toml::node& node : *array)
    values.emplace_back(builder_, node, where_.key);
  return values;
}

template <class Field, class Read>
Done store(Field& field, Expected<Read> read) {
  if (!read) return tl::unexpected(std::move(read.error()));
  field = static_cast<Field>(std::move(*read));
  return {};
}

template <class Target>
struct Key {
  std::string_view name;
  std::function<Done(Target&, const Value&)> set;
};
template <class Target>
using Keys = std::vector<Key<Target>>;

template <class Target>
Done read_keys(const Keys<Target>& keys, Target& target, const Value& value) {
  const auto entries = value.table();
  if (!entries) return tl::unexpected(entries.error());
  for (const auto& [name, entry] : *entries) {
    const std::string& wanted = name;
    const auto key = std::find_if(keys.begin(), keys.end(),
                                  [&](const Key<Target>& row) { return row.name == wanted; });
    if (key == keys.end()) {
      std::vector<std::string_view> names;
      for (const Key<Target>& row : keys)
        names.push_back(row.name);
      return entry.wrong(fmt::format("there is no such key; there are {}", fmt::join(names, ", ")));
    }
    if (Done done = key->set(target, entry); !done) return done;
  }
  return {};
}

template <class Target, PortLimits& (*kLimits)(Target&)>
void add_limits(Keys<Target>& keys) {
  keys.push_back({"vls", [](Target& target, const Value& value) {
                    return store(kLimits(target).data_vls, value.choice({1, 2, 4, 8, 15}));
                  }});
  keys.push_back({"mtu", [](Target& target, const Value& value) {
                    return store(kLimits(target).mtu, value.choice({256, 512, 1024, 2048, 4096}));
                  }});
  keys.push_back({"width", [](Target& target, const Value& value) {
                    return store(kLimits(target).width, value.width());
                  }});
  keys.push_back({"speed", [](Target& target, const Value& value) {
                    return store(kLimits(target).speed, value.speed());
                  }});
}

PortLimits& own_limits(LabNode& node) {
  return node.limits;
}

PortLimits& itself(PortLimits& limits) {
  return limits;
}

Keys<LabNode> node_keys() {
  Keys<LabNode> keys{
      {"ports", [](LabNode& node,
                   const Value& value) { return store(node.ports, value.integer(1, kMaxPorts)); }},
      {"description",
       [](LabNode& node, const Value& value) { return store(node.description, value.string()); }},
      {"guid", [](LabNode& node, const Value& value) { return store(node.guid, value.guid()); }},
      {"system_guid",
       [](LabNode& node, const Value& value) { return store(node.system_guid, value.guid()); }},
      {"vendor",
       [](LabNode& node, const Value& value) {
         return store(node.vendor_id, value.integer(0, 0xFF'FFFF));
       }},
      {"device",
       [](LabNode& node, const Value& value) {
         return store(node.device_id, value.integer(0, 0xFFFF));
       }},
      {"revision",
       [](LabNode& node, const Value& value) {
         return store(node.revision, value.integer(0, 0xFFFF'FFFF));
       }},
  };
  add_limits<LabNode, own_limits>(keys);
  return keys;
}

Keys<LabNode> switch_keys() {
  Keys<LabNode> keys = node_keys();
  keys.push_back({"port_guid", [](LabNode& node, const Value& value) {
                    node.port_guids.resize(1);
                    return store(node.port_guids[0], value.guid());
                  }});
  keys.push_back({"linear_entries", [](LabNode& node, const Value& value) {
                    return store(node.linear_entries, value.integer(1, 49152));
                  }});
  keys.push_back({"multicast_entries", [](LabNode& node, const Value& value) {
                    return store(node.multicast_entries, value.integer(0, 16383));
                  }});
  keys.push_back({"enhanced_port0", [](LabNode& node, const Value& value) {
                    return store(node.enhanced_port0, value.boolean());
                  }});
  return keys;
}

Done read_port_guids(LabNode& node, const Value& value) {
  const auto guids = value.array();
  if (!guids) return tl::unexpected(guids.error());
  for (const Value& entry : *guids) {
    if (Done done = store(node.port_guids.emplace_back(), entry.guid()); !done) return done;
  }
  return {};
}

// One address, which is the first port's, or one for each port.
Done read_addresses(LabNode& node, const Value& value) {
  auto addresses = value.array();
  if (!addresses) addresses = std::vector{value};
  for (const Value& entry : *addresses) {
    if (Done done = store(node.addresses.emplace_back(), entry.ipv4()); !done) return done;
  }
  return {};
}

Keys<LabNode> adapter_keys() {
  Keys<LabNode> keys = node_keys();
  keys.push_back({"ip", read_addresses});
  keys.push_back({"port_guids", read_port_guids});
  return keys;
}

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

Keys<LabBuilder::LinkText> link_keys() {
  using LinkText = LabBuilder::LinkText;
  Keys<LinkText> keys{
      {"ends", read_ends},
      {"name",
       [](LinkText& text, const Value& value) { return store(text.link.name, value.string()); }},
      {"width",
       [](LinkText& text, const Value& value) { return store(text.link.width, value.width()); }},
      {"speed",
       [](LinkText& text, const Value& value) { return store(text.link.speed, value.speed()); }},
      {"up",
       [](LinkText& text, const Value& value) { return store(text.link.up, value.boolean()); }},
  };
  for (const std::string_view name : emulation_names()) {
    keys.push_back({name, [name](LinkText& text, const Value& value) -> Done {
                      const auto words = value.words();
                      if (!words) return tl::unexpected(words.error());
                      const Done done = set_emulation(text.link.emulation, name, *words);
                      if (!done) return value.wrong(done.error().message);
                      return {};
                    }});
  }
  return keys;
}

Done read_manager(LabManagement& management, const Value& value) {
  const auto text = value.string();
  const auto manager = text ? parse_manager(*text) : std::nullopt;
  if (!manager) return value.wrong("must be weft, opensm or none");
  management.manager = *manager;
  return {};
}

Done read_engine(LabManagement& management, const Value& value) {
  const auto text = value.string();
  if (!text || std::find(kEngines.begin(), kEngines.end(), *text) == kEngines.end()) {
    return value.wrong(fmt::format("must be one of {}", fmt::join(kEngines, ", ")));
  }
  management.engine = *text;
  return {};
}

Keys<LabManagement> management_keys() {
  return {
      {"manager", read_manager},
      {"node", [](LabManagement& management,
                  const Value& value) { return store(management.node, value.string()); }},
      {"engine", read_engine},
      {"lmc", [](LabManagement& management,
                 const Value& value) { return store(management.lmc, value.integer(0, 7)); }},
      {"priority",
       [](LabManagement& management, const Value& value) {
         return store(management.priority, value.integer(0, 15));
       }},
      {"partitions",
       [](LabManagement& management, const Value& value) {
         return store(management.partitions, value.string());
       }},
      {"qos", [](LabManagement& management,
                 const Value& value) { return store(management.qos, value.string()); }},
      {"database", [](LabManagement& management,
                      const Value& value) { return store(management.database, value.string()); }},
  };
}

// sm = "none" for sm = { manager = "none" }.
Done read_management(LabManagement& management, const Value& value) {
  if (value.string()) return read_manager(management, value);
  if (!value.table()) return value.wrong("must be weft, opensm or none, or a table");
  return read_keys(management_keys(), management, value);
}

// What is read first, wherever it stands: the defaults hold for the whole file.
struct Top {
  std::string name;
  PortLimits limits;
  std::vector<Value> networks, managements, switches, nodes, links;
};

Keys<Top> top_keys() {
  return {
      {"name", [](Top& top, const Value& value) { return store(top.name, value.string()); }},
      {"network",
       [](Top& top, const Value& value) {
         top.networks.push_back(value);
         return Done{};
       }},
      {"sm",
       [](Top& top, const Value& value) {
         top.managements.push_back(value);
         return Done{};
       }},
      {"defaults",
       [](Top& top, const Value& value) {
         Keys<PortLimits> keys;
         add_limits<PortLimits, itself>(keys);
         return read_keys(keys, top.limits, value);
       }},
      {"switch",
       [](Top& top, const Value& value) {
         top.switches.push_back(value);
         return Done{};
       }},
      {"node",
       [](Top& top, const Value& value) {
         top.nodes.push_back(value);
         return Done{};
       }},
      {"link",
       [](Top& top, const Value& value) {
         top.links.push_back(value);
         return Done{};
       }},
  };
}

Done add_nodes(LabBuilder& builder, const Value& table, const Keys<LabNode>& keys,
               const LabNode& model) {
  const auto entries = table.table();
  if (!entries) return tl::unexpected(entries.error());
  for (const auto& [name, value] : *entries) {
    LabNode node = model;
    node.name = name;
    if (Done done = read_keys(keys, node, value); !done) return done;
    if (Done done = builder.add_node(std::move(node), value.where()); !done) return done;
  }
  return {};
}

Done add_links(LabBuilder& builder, const Value& array) {
  const auto entries = array.array();
  if (!entries) return array.wrong("links are written [[link]], one after the other");
  const Keys<LabBuilder::LinkText> keys = link_keys();
  for (const Value& value : *entries) {
    LabBuilder::LinkText link;
    if (Done done = read_keys(keys, link, value); !done) return done;
    if (link.ends[0].node.empty()) {
      return value.wrong("a link needs its ends, as in ends = [\"host1:1\", \"leaf1:3\"]");
    }
    builder.add_link(std::move(link), value.where());
  }
  return {};
}

Expected<Lab> read_lab(const toml::table& root, const std::string& file) {
  LabBuilder builder(file);
  Top top;
  if (const Done done = read_keys(top_keys(), top, Value(builder, root, "")); !done) {
    return tl::unexpected(done.error());
  }
  builder.set_name(top.name);
  for (const Value& value : top.networks) {
    const auto network = value.network();
    if (!network) return tl::unexpected(network.error());
    builder.set_network(*network, value.where());
  }
  for (const Value& value : top.managements) {
    LabManagement management;
    const Done done = read_management(management, value);
    if (!done) return tl::unexpected(done.error());
    builder.set_management(management, value.where());
  }
  LabNode model;
  model.limits = top.limits;
  for (const Value& value : top.nodes) {
    const Done done = add_nodes(builder, value, adapter_keys(), model);
    if (!done) return tl::unexpected(done.error());
  }
  model.kind = NodeKind::kSwitch;
  model.ports = 36;
  for (const Value& value : top.switches) {
    const Done done = add_nodes(builder, value, switch_keys(), model);
    if (!done) return tl::unexpected(done.error());
  }
  for (const Value& value : top.links) {
    if (const Done done = add_links(builder, value); !done) return tl::unexpected(done.error());
  }
  return builder.finish();
}

}  // namespace

Expected<Lab> parse_lab(std::string_view text, const std::string& file) {
  const toml::parse_result parsed = toml::parse(text);
  if (!parsed) {
    const toml::parse_error& error = parsed.error();
    return fail(std::errc::invalid_argument,
                fmt::format("{}:{}: {}", file, error.source().begin.line, error.description()));
  }
  return read_lab(parsed.table(), file);
}

}  // namespace weft::fabric
