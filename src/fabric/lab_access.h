// SPDX-License-Identifier: Apache-2.0
// Who may use a running lab besides the user who runs it (docs/fabric.md). Who is in a group is the
// business of the machine that the lab runs on.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace weft::fabric {

struct LabUsers {
  enum class Who : std::uint8_t {
    kOwner,     // nobody else, but root
    kGroup,     // and the members of a group
    kEveryone,  // and all users of the machine
  };
  Who who = Who::kOwner;
  std::string group;  // of kGroup: its name, or its number
  friend bool operator==(const LabUsers&, const LabUsers&) = default;
};

// "owner", "everyone", "group:rdma". Nothing: it is none of these, or no group could be called so.
[[nodiscard]] std::optional<LabUsers> parse_lab_users(std::string_view text);
[[nodiscard]] std::string to_string(const LabUsers& users);

struct LabAccess {
  LabUsers attach;      // run programs on nodes; where it is the owner, whoever may manage
  LabUsers manage;      // send management packets: who may do that owns the fabric
  LabUsers administer;  // ask for its state, change and record links, end it
  friend bool operator==(const LabAccess&, const LabAccess&) = default;
};

// What is given to somebody, as lab files and commands call it.
struct LabRight {
  std::string_view name;
  LabUsers LabAccess::*users;
};
inline constexpr std::array<LabRight, 3> kLabRights{{{"attach", &LabAccess::attach},
                                                     {"manage", &LabAccess::manage},
                                                     {"administer", &LabAccess::administer}}};

}  // namespace weft::fabric
