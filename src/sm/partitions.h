// SPDX-License-Identifier: Apache-2.0
// The partitions of a subnet: which P_Keys each end port is to have, and the multicast groups that
// are there before anybody joins. Meanings and defaults are OpenSM's, for its files are read.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/error.h"
#include "base/ids.h"
#include "wire/sm/node_info.h"

namespace weft::sm {

enum class Membership : std::uint8_t {
  kLimited,  // talks to full members only (IBA 10.9.1.2)
  kFull,
  kBoth,  // has both P_Keys, where that is allowed; else as kFull
};

// Whom a rule is about.
enum class Members : std::uint8_t {
  kAll,
  kAdapters,
  kVirtualAdapters,  // whose ports no sweep finds: they are part of no fabric here
  kSwitches,
  kRouters,
  kManager,  // the port of the subnet manager
};
inline constexpr std::size_t kMembersKinds = 6;

class Partition {
 public:
  struct Rule {
    Membership membership = Membership::kLimited;
    bool index0 = false;      // the P_Key belongs at index 0 of the port's table
    std::uint32_t order = 0;  // among all rules: the later one counts
    std::uint32_t line = 0;   // of the file; 0: built in
  };
  // An end port as rules see it.
  struct Port {
    Guid guid{};
    wire::NodeType type = wire::NodeType::kChannelAdapter;
    bool is_manager = false;
  };

  // `number`: 1 to 0x7FFF, the P_Key without its membership bit.
  Partition(std::string name, std::uint16_t number) : name_(std::move(name)), number_(number) {}

  void add(Members whom, const Rule& rule) { by_kind_[static_cast<std::size_t>(whom)] = rule; }
  void add(Guid port, const Rule& rule) { by_port_[port.value()] = rule; }
  // What counts for a port; nothing: it is no member.
  [[nodiscard]] std::optional<Rule> rule_of(const Port& port) const;
  // The rule that names this very port.
  [[nodiscard]] std::optional<Rule> rule_naming(Guid port) const;

  [[nodiscard]] const std::string& name() const { return name_; }
  [[nodiscard]] std::uint16_t number() const { return number_; }
  [[nodiscard]] PKey full_key() const { return PKey{static_cast<std::uint16_t>(number_ | 0x8000)}; }

  Sl sl{};  // of its paths, where routing needs no other

 private:
  std::string name_;
  std::uint16_t number_;
  std::array<std::optional<Rule>, kMembersKinds> by_kind_{};
  std::unordered_map<std::uint64_t, Rule> by_port_;
};

// A multicast group that is there from the beginning, and stays when its last member leaves.
struct PartitionGroup {
  Gid mgid{};
  PKey pkey{};
  QKey qkey{};
  std::uint8_t mtu = 4;   // code: 1 = 256 to 5 = 4096 bytes
  std::uint8_t rate = 3;  // code: 2 = 2.5 Gb/s, 3 = 10 Gb/s, …
  Sl sl{};
  std::uint8_t traffic_class = 0;
  std::uint32_t flow_label = 0;  // 20 bits
  std::uint8_t scope = 2;        // as in the MGID
  std::uint8_t hop_limit = 0;    // 0 within the subnet
  friend bool operator==(const PartitionGroup&, const PartitionGroup&) = default;
};

struct Partitions {
  static constexpr std::uint16_t kDefaultNumber = 0x7FFF;

  // Without a file: everybody is full member of the default partition, which has an IPoIB broadcast
  // group.
  [[nodiscard]] static Partitions standard();
  // Of a file in the format of OpenSM's partitions.conf. `name` is what errors call it. Errors: the
  // first line that cannot be understood, and what would be right. A file without any definition
  // stands for standard(). Without quality of service (`qos` false) the service level of a
  // partition is 0 whatever the file says, as OpenSM has it, and a note says so.
  [[nodiscard]] static Expected<Partitions> parse(std::string_view text, const std::string& name,
                                                  bool qos = true);

  struct Keys {
    std::vector<PKey> all;      // in the order of the partitions
    std::optional<PKey> first;  // that is to be at index 0
  };
  [[nodiscard]] Keys keys_of(const Partition::Port& port) const;

  std::vector<Partition> partitions;  // the default one first
  std::vector<PartitionGroup> groups;
  // What is legal, but hardly meant: a sentence each, with file and line.
  std::vector<std::string> notes;
  bool allow_both = false;  // a port may have the full and the limited P_Key of a partition
};

// IPoIB's broadcast group of a partition, RFC 4391, section 4.
[[nodiscard]] Gid ipoib_broadcast(PKey full_key, std::uint8_t scope);
// With another scope: 1 to 15.
[[nodiscard]] Gid with_scope(const Gid& mgid, std::uint8_t scope);

}  // namespace weft::sm
