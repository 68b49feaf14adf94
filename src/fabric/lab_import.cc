// SPDX-License-Identifier: Apache-2.0
#include "fabric/lab_import.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <map>
#include <optional>
#include <set>
#include <unordered_map>
#include <utility>

#include "base/gid_text.h"
#include "fabric/lab_builder.h"

namespace weft::fabric {
namespace {

constexpr std::string_view kBlank = " \t\r";

// Takes words from the front of a line.
class LineCursor {
 public:
  explicit LineCursor(std::string_view text) : rest_(text) {}

  void skip_blank() {
    rest_.remove_prefix(std::min(rest_.find_first_not_of(kBlank), rest_.size()));
  }
  [[nodiscard]] std::string_view rest() const { return rest_; }
  bool take(std::string_view word) {
    skip_blank();
    if (!rest_.starts_with(word)) return false;
    rest_.remove_prefix(word.size());
    return true;
  }
  std::optional<unsigned> number() {
    skip_blank();
    unsigned value = 0;
    const auto [end, error] = std::from_chars(rest_.data(), rest_.data() + rest_.size(), value);
    if (error != std::errc{}) return std::nullopt;
    rest_.remove_prefix(static_cast<std::size_t>(end - rest_.data()));
    return value;
  }
  // What stands between `open` and `close`.
  std::optional<std::string_view> between(char open, char close) {
    skip_blank();
    if (rest_.empty() || rest_.front() != open) return std::nullopt;
    const std::size_t end = rest_.find(close, 1);
    if (end == std::string_view::npos) return std::nullopt;
    const std::string_view inside = rest_.substr(1, end - 1);
    rest_.remove_prefix(end + 1);
    return inside;
  }

 private:
  std::string_view rest_;
};

struct ListedPort {
  std::size_t line = 0;
  unsigned port = 0;
  std::string remote;  // identifier
  unsigned remote_port = 1;
  std::optional<LinkWidth> width;
  std::optional<LinkSpeed> speed;
};

struct ListedNode {
  std::size_t line = 0;
  std::string id;
  LabNode node;
  std::vector<ListedPort> ports;
};

// Letters, digits and ._- as they are, everything else as one -.
std::string as_name(std::string_view text) {
  std::string name;
  for (const char c : text) {
    const bool plain = std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '.' || c == '_';
    if (plain) {
      name += c;
    } else if (!name.empty() && name.back() != '-') {
      name += '-';
    }
  }
  while (name.ends_with('-'))
    name.pop_back();
  return name.substr(0, 63);
}

// GUIDs of a kind of nodes: ibnetdiscover gives each, ibsim a first one from which it counts.
struct GuidLine {
  std::optional<std::uint64_t> next;
  Guid port{};  // of a switch's port 0
};

// Whose GUIDs a setting above a node gives; nothing: nobody's.
std::optional<NodeKind> kind_of_guids(std::string_view key) {
  if (key.starts_with("switchguid")) return NodeKind::kSwitch;
  if (key.starts_with("rtguid")) return NodeKind::kRouter;
  if (key.starts_with("caguid") || key.starts_with("hcaguid")) return NodeKind::kChannelAdapter;
  return std::nullopt;
}

class Listing {
 public:
  Listing(std::string file, std::string name) : file_(std::move(file)), builder_(file_) {
    builder_.set_name(std::move(name));
  }
  Expected<void> read(std::string_view text);
  Expected<ImportedLab> finish();

 private:
  using Done = Expected<void>;
  Done read_line(std::string_view line);
  Done read_setting(std::string_view key, std::string_view value);
  Done read_node(NodeKind kind, LineCursor cursor);
  Done read_port(LineCursor cursor);
  void read_rate(std::string_view comment, ListedPort& port) const;
  Done read_options(LineCursor cursor, ListedPort& port) const;
  GuidLine& guids_of(NodeKind kind);
  void choose_names();
  void limit_nodes();
  Done add_link(const ListedNode& node, const ListedPort& port);
  [[nodiscard]] const ListedPort* find_port(const ListedNode& node, unsigned port) const;

  tl::unexpected<Error> wrong(const std::string& message, std::size_t line, std::string key = "") {
    return builder_.wrong({.line = line, .key = std::move(key)}, message);
  }
  void note(std::size_t line, std::string_view text) {
    notes_.push_back(fmt::format("{}:{}: {}", file_, line, text));
  }

  std::string file_;
  LabBuilder builder_;
  std::vector<std::string> notes_;
  std::vector<ListedNode> nodes_;
  std::unordered_map<std::string, std::size_t> by_id_;
  std::size_t line_ = 0;
  bool in_node_ = false;
  // Of the lines above a node.
  std::uint32_t vendor_ = 0;
  std::uint16_t device_ = 0;
  Guid system_guid_{};
  GuidLine switch_guids_, adapter_guids_, router_guids_;
};

GuidLine& Listing::guids_of(NodeKind kind) {
  if (kind == NodeKind::kSwitch) return switch_guids_;
  return kind == NodeKind::kRouter ? router_guids_ : adapter_guids_;
}

Expected<void> Listing::read(std::string_view text) {
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    ++line_;
    if (Done done = read_line(text.substr(0, end)); !done) return done;
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return {};
}

Expected<void> Listing::read_line(std::string_view line) {
  LineCursor cursor(line);
  cursor.skip_blank();
  if (cursor.rest().empty() || cursor.rest().front() == '#') return {};
  if (cursor.rest().front() == '[') return read_port(cursor);
  in_node_ = false;
  const std::size_t word =
      std::min(cursor.rest().find_first_not_of("abcdefghijklmnopqrstuvwxyz"), cursor.rest().size());
  if (word < cursor.rest().size() && cursor.rest()[word] == '=') {
    return read_setting(cursor.rest().substr(0, word), cursor.rest().substr(word + 1));
  }
  if (cursor.take("Switch")) return read_node(NodeKind::kSwitch, cursor);
  if (cursor.take("Ca") || cursor.take("Hca")) {
    return read_node(NodeKind::kChannelAdapter, cursor);
  }
  if (cursor.take("Rt")) return read_node(NodeKind::kRouter, cursor);
  if (cursor.take("include")) {
    return wrong("put the files together first: labs have no include", line_, "include");
  }
  if (!cursor.rest().starts_with("Chassis") && !cursor.rest().starts_with("Non-Chassis")) {
    note(line_, fmt::format("left out: {}", cursor.rest()));
  }
  return {};
}

Expected<void> Listing::read_setting(std::string_view key, std::string_view value) {
  LineCursor cursor(value);
  cursor.skip_blank();
  const std::string_view number =
      cursor.rest().substr(0, cursor.rest().find_first_not_of("0123456789abcdefABCDEFxX"));
  const auto parsed = parse_guid(number);
  if (!parsed) return wrong("must be a number, as in 0x2c9", line_, std::string(key));
  cursor.take(number);
  if (key == "vendid") {
    vendor_ = static_cast<std::uint32_t>(parsed->value() & 0xFF'FFFF);
  } else if (key == "devid") {
    device_ = static_cast<std::uint16_t>(parsed->value());
  } else if (key == "sysimgguid") {
    system_guid_ = *parsed;
  } else if (const auto kind = kind_of_guids(key)) {
    GuidLine& guids = guids_of(*kind);
    guids = {.next = parsed->value(), .port = {}};
    if (const auto port = cursor.between('(', ')')) {
      const auto guid = parse_guid(*port);
      if (!guid) return wrong(fmt::format("({}): no GUID", *port), line_, std::string(key));
      guids.port = *guid;
    }
  } else {
    note(line_, fmt::format("left out: {}", key));
  }
  return {};
}

Expected<void> Listing::read_node(NodeKind kind, LineCursor cursor) {
  const auto ports = cursor.number();
  const auto id = cursor.between('"', '"');
  if (!ports || *ports < 1 || *ports > kMaxPorts || !id || id->empty()) {
    return wrong(fmt::format("must be a number of ports from 1 to {} and an identifier, as in "
                             "Switch 36 \"S-0002c9020040d6a8\"",
                             kMaxPorts),
                 line_);
  }
  ListedNode listed{.line = line_, .id = std::string(*id), .node = {}, .ports = {}};
  LabNode& node = listed.node;
  node.kind = kind;
  node.ports = static_cast<std::uint8_t>(*ports);
  node.vendor_id = vendor_;
  node.device_id = device_;
  node.system_guid = std::exchange(system_guid_, Guid{});
  if (cursor.take("#")) {
    if (const auto text = cursor.between('"', '"')) node.description = *text;
  }
  if (node.description.empty()) node.description = listed.id;
  std::replace_if(
      node.description.begin(), node.description.end(), [](char c) { return !printable(c); }, '?');
  node.enhanced_port0 =
      kind == NodeKind::kSwitch && cursor.rest().find("enhanced port 0") != std::string_view::npos;
  GuidLine& guids = guids_of(kind);
  if (guids.next) {
    node.guid = Guid{*guids.next};
    if (guids.port != Guid{}) node.port_guids = {std::exchange(guids.port, Guid{})};
    *guids.next += kind == NodeKind::kSwitch ? 1 : *ports + 1;
  } else if (id->size() == 18 && (*id)[1] == '-') {
    node.guid = parse_guid(id->substr(2)).value_or(Guid{});
  }
  if (kind != NodeKind::kSwitch) node.port_guids.assign(*ports, Guid{});
  if (!by_id_.emplace(listed.id, nodes_.size()).second) {
    return wrong(fmt::format("{} is listed twice", listed.id), line_);
  }
  nodes_.push_back(std::move(listed));
  in_node_ = true;
  return {};
}

// [1](2c90300001dd1)  "S-0002c9020040d6a8"[4]  # lid 2 lmc 0 "leaf1" lid 1 4xQDR
Expected<void> Listing::read_port(LineCursor cursor) {
  if (!in_node_) return wrong("a port, but no Switch, Ca, Hca or Rt above it", line_);
  ListedNode& node = nodes_.back();
  ListedPort port{
      .line = line_, .port = 0, .remote = {}, .remote_port = 1, .width = {}, .speed = {}};
  LineCursor inside(cursor.between('[', ']').value_or(""));
  port.port = inside.number().value_or(0);
  if (port.port < 1 || port.port > node.node.ports) {
    return wrong(fmt::format("must begin with a port from [1] to [{}]", node.node.ports), line_,
                 node.id);
  }
  if (find_port(node, port.port) != nullptr) {
    return wrong(fmt::format("port {} is listed twice", port.port), line_, node.id);
  }
  while (cursor.between('[', ']')) {  // [ext 3]: the number on a chassis's front
  }
  if (const auto guid = cursor.between('(', ')')) {
    const auto parsed = parse_guid(*guid);
    if (!parsed) return wrong(fmt::format("({}): no GUID", *guid), line_, node.id);
    if (node.node.kind != NodeKind::kSwitch) node.node.port_guids[port.port - 1] = *parsed;
  }
  const auto remote = cursor.between('"', '"');
  if (!remote || remote->empty()) {
    return wrong("the node at the other end is missing, as in \"S-0002c9020040d6a8\"[4]", line_,
                 node.id);
  }
  port.remote = *remote;
  if (const auto number = cursor.between('[', ']')) {
    port.remote_port = LineCursor(*number).number().value_or(0);
  }
  if (Done done = read_options(cursor, port); !done) return done;
  node.ports.push_back(std::move(port));
  return {};
}

// What ibsim allows behind a port, w=4 s=2, and what ibnetdiscover puts in the comment.
Expected<void> Listing::read_options(LineCursor cursor, ListedPort& port) const {
  const std::size_t hash = std::min(cursor.rest().find('#'), cursor.rest().size());
  read_rate(cursor.rest().substr(hash), port);
  LineCursor options(cursor.rest().substr(0, hash));
  while (options.between('(', ')') || options.between('[', ']')) {
  }
  for (options.skip_blank(); !options.rest().empty(); options.skip_blank()) {
    const bool width = options.take("w=");
    const auto bits = width || options.take("s=") ? options.number() : std::nullopt;
    if (!bits || *bits < 1 || *bits > 15) {
      return builder_.wrong(
          {.line = port.line, .key = {}},
          fmt::format("{}: options are w= and s=, with PortInfo's bits", options.rest()));
    }
    const auto byte = static_cast<std::uint8_t>(*bits);
    if (width) {
      port.width = widest(byte);
    } else {
      port.speed = fastest({.speed = byte, .extended = 0});
    }
  }
  return {};
}

void Listing::read_rate(std::string_view comment, ListedPort& port) const {
  const std::size_t last = comment.find_last_not_of(kBlank);
  if (last == std::string_view::npos) return;
  comment = comment.substr(0, last + 1);
  const std::size_t blank = comment.find_last_of(kBlank);
  const std::string_view word =
      blank == std::string_view::npos ? comment : comment.substr(blank + 1);
  const std::size_t x = word.find('x');
  if (x == std::string_view::npos) return;
  port.width = parse_width(word.substr(0, x + 1));
  // FDR10 is QDR's signalling with another coding.
  const std::string_view speed = word.substr(x + 1);
  port.speed = speed == "FDR10" ? LinkSpeed::kQdr : parse_speed(speed);
}

const ListedPort* Listing::find_port(const ListedNode& node, unsigned port) const {
  const auto found = std::find_if(node.ports.begin(), node.ports.end(),
                                  [&](const ListedPort& row) { return row.port == port; });
  return found == node.ports.end() ? nullptr : &*found;
}

// The shortest that nobody else would be called.
void Listing::choose_names() {
  const auto candidates = [](const ListedNode& listed) {
    const std::string_view text = listed.node.description;
    return std::array<std::string, 3>{as_name(text.substr(0, text.find(' '))), as_name(text),
                                      as_name(listed.id)};
  };
  std::map<std::string, std::set<std::size_t>> wanted;
  for (std::size_t i = 0; i < nodes_.size(); ++i) {
    for (const std::string& name : candidates(nodes_[i]))
      wanted[name].insert(i);
  }
  for (std::size_t i = 0; i < nodes_.size(); ++i) {
    for (const std::string& name : candidates(nodes_[i])) {
      nodes_[i].node.name = name;
      if (!name.empty() && wanted[name].size() == 1) break;
    }
  }
}

// A node can do what it was seen to do on one of its ports.
void Listing::limit_nodes() {
  for (ListedNode& listed : nodes_) {
    std::optional<LinkWidth> width;
    std::optional<LinkSpeed> speed;
    for (const ListedPort& port : listed.ports) {
      if (port.width) width = std::max(width.value_or(*port.width), *port.width);
      if (port.speed) speed = std::max(speed.value_or(*port.speed), *port.speed);
    }
    if (width) listed.node.limits.width = *width;
    if (speed) listed.node.limits.speed = *speed;
  }
}

Expected<void> Listing::add_link(const ListedNode& node, const ListedPort& port) {
  const auto other = by_id_.find(port.remote);
  if (other == by_id_.end()) {
    note(port.line,
         fmt::format("{} is not in the listing: the link to it is left out", port.remote));
    return {};
  }
  const ListedNode& peer = nodes_[other->second];
  const ListedPort* const back = find_port(peer, port.remote_port);
  if (back != nullptr && (back->remote != node.id || back->remote_port != port.port)) {
    return wrong(
        fmt::format("port {} leads to {}[{}], which line {} connects to {}[{}]", port.port,
                    port.remote, port.remote_port, back->line, back->remote, back->remote_port),
        port.line, node.id);
  }
  // Both ends list the link; the first one counts.
  if (back != nullptr && back->line < port.line) return {};
  LabBuilder::LinkText text;
  text.ends[0] = {.node = node.node.name, .port = port.port};
  text.ends[1] = {.node = peer.node.name, .port = port.remote_port};
  const PortLimits &a = node.node.limits, &b = peer.node.limits;
  if (port.width && *port.width < std::min(a.width, b.width)) text.link.width = port.width;
  if (port.speed && *port.speed < std::min(a.speed, b.speed)) text.link.speed = port.speed;
  builder_.add_link(std::move(text), {.line = port.line, .key = node.id});
  return {};
}

Expected<ImportedLab> Listing::finish() {
  choose_names();
  limit_nodes();
  for (const ListedNode& listed : nodes_) {
    const Done done = builder_.add_node(listed.node, {.line = listed.line, .key = listed.id});
    if (!done) return tl::unexpected(done.error());
  }
  for (const ListedNode& listed : nodes_) {
    for (const ListedPort& port : listed.ports) {
      if (const Done done = add_link(listed, port); !done) return tl::unexpected(done.error());
    }
  }
  auto lab = builder_.finish();
  if (!lab) return tl::unexpected(lab.error());
  return ImportedLab{.lab = std::move(*lab), .notes = std::move(notes_)};
}

}  // namespace

Expected<ImportedLab> import_listing(std::string_view text, const std::string& file,
                                     std::string name) {
  Listing listing(file, std::move(name));
  if (const auto read = listing.read(text); !read) return tl::unexpected(read.error());
  return listing.finish();
}

}  // namespace weft::fabric
