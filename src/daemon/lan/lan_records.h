// SPDX-License-Identifier: Apache-2.0
// What a subnet administrator answers to the questions of lan::Directory, checked: nothing but what
// was asked for gets through, and of that no more than there is room for.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/bytes.h"
#include "base/ids.h"
#include "lan/directory.h"
#include "wire/mad.h"
#include "wire/sa/sa_header.h"

namespace weft::daemon {

// By what others know our port.
struct LanView {
  std::uint64_t gid_prefix = 0;
  lan::PortLids lids{};

  // Of a port of this subnet.
  [[nodiscard]] Gid gid_of(Guid port) const;
  // Whose a GID is; nothing: it is not of this subnet, or nobody's.
  [[nodiscard]] std::optional<Guid> port_of(const Gid& gid) const;
};

// The question, but for kEnd; `own` is the GID that paths begin at.
[[nodiscard]] wire::MadBuffer lan_question(const lan::Question& question, const Gid& own,
                                           const LanView& view, std::uint32_t transaction);
// Of kPaths, once there are some: for the LIDs of the port that has this one.
[[nodiscard]] wire::MadBuffer lan_lids_question(Lid lid, std::uint32_t transaction);
// And before that for one of them, where all paths lead through a data service, whose LID says
// nothing of the port.
[[nodiscard]] wire::MadBuffer lan_lid_question(Guid port, std::uint32_t transaction);

// The status of an answer to this question; nothing: it is none.
[[nodiscard]] std::optional<wire::SaStatus> lan_answer_status(const lan::Question& question,
                                                              Bytes mad);

struct LanGuids {
  std::vector<Guid> guids;    // each once
  std::size_t malformed = 0;  // records that are not what was asked for
};
// What nodes call themselves, by their ports, of an answer to kPorts: printable characters.
[[nodiscard]] std::vector<std::pair<Guid, std::string>> read_lan_names(Bytes mad);

// Of kMembers, kPorts and kPortAt.
[[nodiscard]] LanGuids read_lan_guids(const lan::Question& question, const LanView& view,
                                      Bytes mad);

struct LanPaths {
  std::vector<lan::PeerPath> paths;
  std::size_t malformed = 0;
};
[[nodiscard]] LanPaths read_lan_paths(Guid port, const LanView& view, Bytes mad);
// Of the answer to lan_lid_question(); nothing: it is none, an error, or of another port.
[[nodiscard]] std::optional<Lid> read_lan_lid(Guid port, Bytes mad);
// Valid ones; nothing: it is no such answer, or an error.
[[nodiscard]] std::optional<lan::PortLids> read_lan_lids(Bytes mad);

}  // namespace weft::daemon
