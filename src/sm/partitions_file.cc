// SPDX-License-Identifier: Apache-2.0
// OpenSM's partitions.conf:
//
//   name=P_Key, flag, flag=value : member, member=full,
//       mgid=ff12::1,flag=value
//       member ;
//
// A definition begins in the line that has its first colon, and goes on to the next semicolon;
// "mgid" has the rest of its line to itself; "#" begins a comment.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "base/gid_text.h"
#include "base/ids.h"
#include "sm/option_text.h"
#include "sm/partitions.h"

namespace weft::sm {
namespace {

constexpr std::uint8_t kPartitionsFileLinkLocalScope = 2;
constexpr std::uint8_t kManyHops = 255;
constexpr std::size_t kMostNotes = 100;

struct GroupFlags {
  std::uint8_t mtu = 4;
  std::uint8_t rate = 3;
  std::uint8_t sl = 0;
  std::set<std::uint8_t> scopes{};
  std::uint32_t qkey = 0;  // 0: the default
  std::uint8_t traffic_class = 0;
  std::uint32_t flow_label = 0;
};

class Parser {
 public:
  Parser(const std::string& name, bool qos) : name_(name), qos_(qos) {}

  Expected<Partitions> parse(std::string_view text);

 private:
  struct Definition {
    std::size_t partition = 0;
    GroupFlags flags{};
    bool ipoib = false;
    bool index0 = false;
    Membership members = Membership::kLimited;
  };
  tl::unexpected<Error> wrong(const std::string& what) const {
    return fail(std::errc::invalid_argument, fmt::format("{}:{}: {}", name_, line_, what));
  }
  void note(const std::string& what) {
    if (all_.notes.size() < kMostNotes)
      all_.notes.push_back(fmt::format("{}:{}: {}", name_, line_, what));
  }

  Expected<void> piece(std::string_view text);
  Expected<void> header(std::string_view text);
  Expected<void> header_flag(const OptionToken& token, Definition& made);
  // False: it is no flag of groups.
  Expected<bool> group_flag(const OptionToken& token, GroupFlags& flags);
  Expected<std::uint64_t> value_of(const OptionToken& token, std::uint64_t least,
                                   std::uint64_t most, const char* meaning) const;
  Expected<std::size_t> partition_of(const OptionToken& token);
  std::optional<std::uint16_t> free_number();
  std::size_t add_partition(std::string name, std::uint16_t number);
  Expected<void> body(std::string_view text);
  Expected<void> member(const OptionToken& token);
  Expected<Membership> membership(std::string_view text) const;
  Expected<void> group(const OptionToken& token, std::string_view flags);
  Expected<void> ip_group(Gid& mgid, GroupFlags& flags) const;
  void add_groups(const Gid& mgid, const GroupFlags& flags);
  void add_group(const PartitionGroup& made);
  // Numbers that the file gives itself, so that none of them is chosen for others.
  void collect_numbers(std::string_view text);

  const std::string& name_;
  const bool qos_;
  Partitions all_;
  std::set<std::uint16_t> given_numbers_;
  std::uint16_t last_chosen_ = 0;
  std::map<std::uint16_t, std::size_t> by_number_;  // index in all_.partitions
  std::map<std::string, std::size_t, std::less<>> by_name_;
  struct Made {
    std::size_t index = 0;  // in all_.groups
    std::uint32_t line = 0;
  };
  std::map<Gid, Made> groups_;
  std::optional<Definition> open_;
  std::uint32_t line_ = 0;
  std::uint32_t rules_ = 1;
  bool any_ = false;
};

Expected<Partitions> Parser::parse(std::string_view text) {
  collect_numbers(text);
  // OpenSM begins with this, whatever the file says of the partition later.
  Partition& usual = all_.partitions[add_partition("Default", Partitions::kDefaultNumber)];
  usual.add(Members::kAll, {.membership = Membership::kLimited});
  usual.add(Members::kManager, {.membership = Membership::kFull, .order = rules_++});
  while (!text.empty()) {
    ++line_;
    std::string_view line = cut(text, '\n');
    line = line.substr(0, line.find('#'));
    while (!line.empty()) {
      const bool ends = line.find(';') != line.npos;
      if (auto done = piece(trim(cut(line, ';'))); !done) return tl::unexpected(done.error());
      if (ends) open_.reset();
    }
  }
  return any_ ? std::move(all_) : Partitions::standard();
}

void Parser::collect_numbers(std::string_view text) {
  while (!text.empty()) {
    std::string_view line = cut(text, '\n');
    line = line.substr(0, line.find('#'));
    while (!line.empty()) {
      std::string_view rest = cut(line, ';');
      std::string_view head = cut(rest, ':');
      const OptionToken token = token_of(cut(head, ','));
      const auto number = number_of(token.value.value_or(token.name));
      if (number) given_numbers_.insert(static_cast<std::uint16_t>(*number & 0x7FFF));
    }
  }
}

Expected<void> Parser::piece(std::string_view text) {
  if (text.empty()) return {};
  any_ = true;
  if (open_) return body(text);
  const std::size_t colon = text.find(':');
  if (colon == text.npos) {
    return wrong(quoted(text) + ": want 'NAME=P_KEY, FLAGS : MEMBERS ;' with the ':' in this line");
  }
  if (auto done = header(text.substr(0, colon)); !done) return done;
  return body(trim(text.substr(colon + 1)));
}

Expected<void> Parser::header(std::string_view text) {
  Definition made;
  const auto partition = partition_of(token_of(cut(text, ',')));
  if (!partition) return tl::unexpected(partition.error());
  made.partition = *partition;
  while (!text.empty()) {
    const OptionToken token = token_of(cut(text, ','));
    if (auto done = header_flag(token, made); !done) return done;
  }
  if (!qos_ && made.flags.sl != 0) {
    note(fmt::format("sl={} of P_Key {:#06x} counts with quality of service only: 0 is taken",
                     made.flags.sl, all_.partitions[made.partition].number()));
    made.flags.sl = 0;
  }
  open_ = made;
  all_.partitions[made.partition].sl = Sl{made.flags.sl};
  if (!made.ipoib) return {};
  GroupFlags flags = made.flags;
  if (flags.qkey == 0) flags.qkey = kIpoibQKey.value();
  add_groups(
      ipoib_broadcast(all_.partitions[made.partition].full_key(), kPartitionsFileLinkLocalScope),
      flags);
  return {};
}

Expected<void> Parser::header_flag(const OptionToken& token, Definition& made) {
  const auto of_group = group_flag(token, made.flags);
  if (!of_group) return tl::unexpected(of_group.error());
  if (*of_group) return {};
  if (token.name == "defmember") {
    const auto members = membership(token.value.value_or(""));
    if (!members) return tl::unexpected(members.error());
    made.members = *members;
    return {};
  }
  if (token.name != "ipoib" && token.name != "indx0") {
    return wrong(quoted(token.name) +
                 ": not a flag of partitions; these are indx0, ipoib, defmember=, mtu=, rate=, "
                 "sl=, scope=, Q_Key=, TClass= and FlowLabel=");
  }
  if (token.value) return wrong(fmt::format("{} has no value", token.name));
  (token.name == "ipoib" ? made.ipoib : made.index0) = true;
  return {};
}

Expected<std::uint64_t> Parser::value_of(const OptionToken& token, std::uint64_t least,
                                         std::uint64_t most, const char* meaning) const {
  const auto number = number_of(token.value.value_or(""));
  if (number && *number >= least && *number <= most) return *number;
  return wrong(fmt::format("{}={}: want {} to {:#x}{}", token.name,
                           quoted(token.value.value_or("")), least, most, meaning));
}

Expected<bool> Parser::group_flag(const OptionToken& token, GroupFlags& flags) {
  Expected<std::uint64_t> value = 0;
  const auto number = [&](std::uint64_t least, std::uint64_t most, const char* meaning) {
    value = value_of(token, least, most, meaning);
    return value.value_or(0);
  };
  if (token.name == "mtu") {
    flags.mtu = static_cast<std::uint8_t>(number(1, 5, ", the code: 4 is 2048 bytes"));
  } else if (token.name == "rate") {
    flags.rate = static_cast<std::uint8_t>(number(2, 22, ", the code: 3 is 10 Gb/s"));
  } else if (token.name == "sl") {
    flags.sl = static_cast<std::uint8_t>(number(0, 15, ""));
  } else if (token.name == "scope") {
    flags.scopes.insert(static_cast<std::uint8_t>(number(1, 15, "")));
  } else if (token.name == "Q_Key") {
    flags.qkey = static_cast<std::uint32_t>(number(0, 0xFFFF'FFFF, ""));
  } else if (token.name == "TClass") {
    flags.traffic_class = static_cast<std::uint8_t>(number(0, 255, ""));
  } else if (token.name == "FlowLabel") {
    flags.flow_label = static_cast<std::uint32_t>(number(0, 0xF'FFFF, ""));
  } else {
    return false;
  }
  if (!value) return tl::unexpected(value.error());
  return true;
}

std::optional<std::uint16_t> Parser::free_number() {
  while (last_chosen_ + 1 < Partitions::kDefaultNumber) {
    if (!given_numbers_.contains(++last_chosen_)) return last_chosen_;
  }
  return std::nullopt;
}

std::size_t Parser::add_partition(std::string name, std::uint16_t number) {
  const std::size_t index = all_.partitions.size();
  by_number_.emplace(number, index);
  if (!name.empty()) by_name_.emplace(name, index);
  all_.partitions.emplace_back(std::move(name), number);
  return index;
}

// The one that is meant: of this P_Key, else of this name, else a new one.
Expected<std::size_t> Parser::partition_of(const OptionToken& token) {
  const bool is_number =
      !token.value && !token.name.empty() && token.name[0] >= '0' && token.name[0] <= '9';
  const std::string name(is_number ? std::string_view{} : token.name);
  if (!is_number && !token.value) {
    const auto known = by_name_.find(name);
    if (known != by_name_.end()) return known->second;
    const auto number = free_number();
    if (!number) return wrong("there is no P_Key left for another partition");
    return add_partition(name, *number);
  }
  const std::string_view text = is_number ? token.name : *token.value;
  const auto number = number_of(text);
  if (!number || *number > 0xFFFF || (*number & 0x7FFF) == 0) {
    return wrong(quoted(text) + ": not a P_Key: want 0x1 to 0x7fff");
  }
  const auto wanted = static_cast<std::uint16_t>(*number & 0x7FFF);
  const auto known = by_number_.find(wanted);
  if (known == by_number_.end()) return add_partition(name, wanted);
  const std::string& first_name = all_.partitions[known->second].name();
  if (!name.empty() && first_name != name) {
    note(fmt::format("P_Key {:#06x} is that of {} already: both are one partition of that name",
                     wanted, quoted(first_name)));
  }
  return known->second;
}

Expected<void> Parser::body(std::string_view text) {
  while (!text.empty()) {
    const OptionToken token = token_of(cut(text, ','));
    if (token.name == "mgid") return group(token, text);
    if (token.name.empty() && !token.value) continue;
    if (auto done = member(token); !done) return done;
  }
  return {};
}

// The beginning of a word is enough, as in OpenSM's own example.
Expected<Membership> Parser::membership(std::string_view text) const {
  if (!text.empty()) {
    if (std::string_view("full").starts_with(text)) return Membership::kFull;
    if (std::string_view("limited").starts_with(text)) return Membership::kLimited;
    if (std::string_view("both").starts_with(text)) return Membership::kBoth;
  }
  return wrong(quoted(text) + ": want full, limited or both");
}

Expected<void> Parser::member(const OptionToken& token) {
  static constexpr std::pair<std::string_view, Members> kWords[] = {
      {"ALL", Members::kAll},
      {"ALL_CAS", Members::kAdapters},
      {"ALL_VCAS", Members::kVirtualAdapters},
      {"ALL_SWITCHES", Members::kSwitches},
      {"ALL_ROUTERS", Members::kRouters},
      {"SELF", Members::kManager}};
  Partition& partition = all_.partitions[open_->partition];
  Partition::Rule rule{
      .membership = open_->members, .index0 = open_->index0, .order = rules_++, .line = line_};
  if (token.value) {
    const auto asked = membership(*token.value);
    if (!asked) return tl::unexpected(asked.error());
    rule.membership = *asked;
  }
  if (token.name == "NONE") return {};
  for (const auto& [word, whom] : kWords) {
    if (token.name != word) continue;
    partition.add(whom, rule);
    return {};
  }
  const auto guid = number_of(token.name);
  if (!guid || *guid == 0) {
    return wrong(quoted(token.name) +
                 ": not a member: want a port GUID (0x…), ALL, ALL_CAS, ALL_VCAS, ALL_SWITCHES, "
                 "ALL_ROUTERS, SELF or NONE; flags stand before the ':'");
  }
  const auto earlier = partition.rule_naming(Guid{*guid});
  if (earlier && earlier->membership != rule.membership) {
    note(fmt::format("port {:#x} has another membership of {} in line {}: this line counts", *guid,
                     quoted(partition.name()), earlier->line));
  }
  partition.add(Guid{*guid}, rule);
  return {};
}

Expected<void> Parser::group(const OptionToken& token, std::string_view flags_text) {
  auto mgid = parse_gid(token.value.value_or(""));
  if (!mgid || mgid->bytes()[0] != 0xFF) {
    return wrong(quoted(token.value.value_or("")) +
                 ": not a multicast GID: want one that begins with ff, as ff12:401b::16");
  }
  GroupFlags flags = open_->flags;
  while (!flags_text.empty()) {
    const OptionToken flag = token_of(cut(flags_text, ','));
    const auto known = group_flag(flag, flags);
    if (!known) return tl::unexpected(known.error());
    if (!*known && !(flag.name.empty() && !flag.value)) {
      return wrong(quoted(flag.name) +
                   ": not a flag of groups; these are mtu=, rate=, sl=, scope=, Q_Key=, TClass= "
                   "and FlowLabel=; members stand in lines of their own");
    }
  }
  if (auto done = ip_group(*mgid, flags); !done) return done;
  if (flags.scopes.empty() && (mgid->bytes()[1] & 0x0F) != kPartitionsFileLinkLocalScope) {
    note(fmt::format("group {} is made with scope 2, as there is no scope=", mgid->to_string()));
  }
  add_groups(*mgid, flags);
  return {};
}

// Groups of IPoIB, RFC 4391: the P_Key is a part of the MGID, and rate and MTU are those of the
// broadcast group.
Expected<void> Parser::ip_group(Gid& mgid, GroupFlags& flags) const {
  auto bytes = mgid.bytes();
  const bool is_ip = (bytes[2] == 0x40 || bytes[2] == 0x60) && bytes[3] == 0x1B;
  if (!is_ip) return {};
  const std::uint16_t key = all_.partitions[open_->partition].full_key().value();
  const auto named = static_cast<std::uint16_t>(bytes[4] << 8 | bytes[5]);
  const bool is_any =
      named == 0 || mgid == ipoib_broadcast(kDefaultPKey, static_cast<std::uint8_t>(bytes[1] & 15));
  if (!is_any && named != key) {
    return wrong(
        fmt::format("group {} has P_Key {:#06x} in it: want {:#06x}, or 0 for this "
                    "partition's",
                    mgid.to_string(), named, key));
  }
  if (flags.rate != open_->flags.rate || flags.mtu != open_->flags.mtu) {
    return wrong(
        fmt::format("group {} carries IP: want the rate and mtu of the partition, {} and "
                    "{}",
                    mgid.to_string(), open_->flags.rate, open_->flags.mtu));
  }
  bytes[4] = static_cast<std::uint8_t>(key >> 8);
  bytes[5] = static_cast<std::uint8_t>(key);
  mgid = Gid(bytes);
  if (flags.qkey == 0) flags.qkey = kIpoibQKey.value();
  return {};
}

void Parser::add_groups(const Gid& mgid, const GroupFlags& flags) {
  PartitionGroup made{.mgid = {},
                      .pkey = all_.partitions[open_->partition].full_key(),
                      .qkey = QKey{flags.qkey},
                      .mtu = flags.mtu,
                      .rate = flags.rate,
                      .sl = Sl{flags.sl},
                      .traffic_class = flags.traffic_class,
                      .flow_label = flags.flow_label};
  std::set<std::uint8_t> scopes = flags.scopes;
  if (scopes.empty()) scopes.insert(kPartitionsFileLinkLocalScope);
  for (const std::uint8_t scope : scopes) {
    made.mgid = with_scope(mgid, scope);
    made.scope = scope;
    made.hop_limit = scope == kPartitionsFileLinkLocalScope ? 0 : kManyHops;
    add_group(made);
  }
}

// As in OpenSM the first one stays.
void Parser::add_group(const PartitionGroup& made) {
  const auto [earlier, is_new] =
      groups_.emplace(made.mgid, Made{.index = all_.groups.size(), .line = line_});
  if (is_new) {
    all_.groups.push_back(made);
  } else if (all_.groups[earlier->second.index] != made) {
    note(fmt::format("group {} is there since line {} with other values: those count",
                     made.mgid.to_string(), earlier->second.line));
  }
}

}  // namespace

Expected<Partitions> Partitions::parse(std::string_view text, const std::string& name, bool qos) {
  return Parser(name, qos).parse(text);
}

}  // namespace weft::sm
