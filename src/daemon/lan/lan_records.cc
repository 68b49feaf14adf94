// SPDX-License-Identifier: Apache-2.0
#include "daemon/lan/lan_records.h"

#include <algorithm>
#include <unordered_set>

#include "daemon/lan/lan_service.h"
#include "daemon/sa_question.h"
#include "fabric/lab.h"
#include "hca/types.h"
#include "rdmacm/path_record.h"
#include "sm/sa/subnet_view.h"
#include "wire/sa/node_record.h"
#include "wire/sa/path_record.h"
#include "wire/sa/port_info_record.h"
#include "wire/sa/service_record.h"

namespace weft::daemon {
namespace {

using QuestionKind = lan::Question::Kind;
using wire::MadMethod;
using wire::NodeRecord;
using wire::PathRecord;
using wire::PortInfoRecord;
using wire::SaStatus;
using wire::ServiceRecord;

constexpr std::size_t kMostRecords = 65'536;  // of an answer that are looked at
constexpr std::size_t kMostPaths = 16;        // to one port

std::uint16_t attribute_of(QuestionKind kind) {
  switch (kind) {
    case QuestionKind::kPorts:
      return NodeRecord::kAttributeId;
    case QuestionKind::kMembers:
      return ServiceRecord::kAttributeId;
    case QuestionKind::kPortAt:
    case QuestionKind::kPaths:
    case QuestionKind::kEnd:
      break;
  }
  return PathRecord::kAttributeId;
}

std::optional<SaStatus> status_of(Bytes mad, MadMethod method, std::uint16_t attribute) {
  const auto header = wire::MadHeader::parse(mad);
  if (!header || mad.size() < wire::SaHeader::kDataOffset || header->method != method ||
      header->attribute_id != attribute) {
    return std::nullopt;
  }
  return static_cast<SaStatus>(header->status);
}

}  // namespace

Gid LanView::gid_of(Guid port) const {
  return sm::make_gid(gid_prefix, port);
}

std::optional<Guid> LanView::port_of(const Gid& gid) const {
  const Guid port = sm::guid_of(gid);
  if (gid.is_multicast() || port == Guid{}) return std::nullopt;
  const bool here = gid.is_link_local() || gid == gid_of(port);
  return here ? std::optional(port) : std::nullopt;
}

wire::MadBuffer lan_question(const lan::Question& question, const Gid& own, const LanView& view,
                             std::uint32_t transaction) {
  constexpr auto kTable = MadMethod::kGetTable;
  const bool one = question.of != Guid{};
  switch (question.kind) {
    case QuestionKind::kPorts: {
      NodeRecord record;
      record.info.type = wire::NodeType::kChannelAdapter;
      record.info.port_guid = question.of;
      return sa_question(kTable, NodeRecord::kHasNodeType | (one ? NodeRecord::kHasPortGuid : 0),
                         record, transaction);
    }
    case QuestionKind::kPortAt: {
      // Not every administrator finds a node by another LID than the first of a port.
      constexpr std::uint64_t kTo = PathRecord::kHasSgid | PathRecord::kHasDlid |
                                    PathRecord::kHasReversible | PathRecord::kHasNumbPath;
      const PathRecord record{
          .sgid = own, .dlid = question.path.dlid, .reversible = true, .paths = 1};
      return sa_question(kTable, kTo, record, transaction);
    }
    case QuestionKind::kMembers: {
      ServiceRecord record{.id = kLanService.value()};
      if (one) record.gid = view.gid_of(question.of);
      return sa_question(kTable, ServiceRecord::kHasId | (one ? ServiceRecord::kHasGid : 0), record,
                         transaction);
    }
    case QuestionKind::kPaths:
    case QuestionKind::kEnd:
      break;
  }
  constexpr std::uint64_t kBetween = PathRecord::kHasSgid | PathRecord::kHasDgid |
                                     PathRecord::kHasReversible | PathRecord::kHasNumbPath;
  const PathRecord record{
      .dgid = view.gid_of(question.of), .sgid = own, .reversible = true, .paths = kMostPaths};
  return sa_question(kTable, kBetween, record, transaction);
}

wire::MadBuffer lan_lids_question(Lid lid, std::uint32_t transaction) {
  PortInfoRecord record;
  record.lid = lid;
  return sa_question(MadMethod::kGet, PortInfoRecord::kHasLid, record, transaction);
}

wire::MadBuffer lan_lid_question(Guid port, std::uint32_t transaction) {
  NodeRecord record;
  record.info.port_guid = port;
  return sa_question(MadMethod::kGet, NodeRecord::kHasPortGuid, record, transaction);
}

std::optional<SaStatus> lan_answer_status(const lan::Question& question, Bytes mad) {
  return status_of(mad, MadMethod::kGetTableResponse, attribute_of(question.kind));
}

LanGuids read_lan_guids(const lan::Question& question, const LanView& view, Bytes mad) {
  LanGuids out;
  std::unordered_set<Guid> all;
  const bool one = question.of != Guid{};
  const auto add = [&](bool asked_for, std::optional<Guid> guid) {
    if (!asked_for || !guid || *guid == Guid{} || (one && *guid != question.of)) {
      ++out.malformed;
    } else if (all.insert(*guid).second) {
      out.guids.push_back(*guid);
    }
  };
  if (question.kind == QuestionKind::kMembers) {
    for (const auto& record : sa_records<ServiceRecord>(mad, kMostRecords))
      add(record.id == kLanService.value(), view.port_of(record.gid));
    return out;
  }
  if (question.kind == QuestionKind::kPortAt) {
    for (const auto& record : sa_records<PathRecord>(mad, kMostPaths))
      add(record.dlid == question.path.dlid, view.port_of(record.dgid));
    return out;
  }
  for (const auto& record : sa_records<NodeRecord>(mad, kMostRecords)) {
    add(record.info.type == wire::NodeType::kChannelAdapter, record.info.port_guid);
  }
  return out;
}

std::vector<std::pair<Guid, std::string>> read_lan_names(Bytes mad) {
  std::vector<std::pair<Guid, std::string>> out;
  for (const auto& record : sa_records<NodeRecord>(mad, kMostRecords)) {
    std::string name = record.description.to_string();
    std::ranges::replace_if(
        name, [](char c) { return !fabric::printable(c); }, '?');
    out.emplace_back(record.info.port_guid, std::move(name));
  }
  return out;
}

LanPaths read_lan_paths(Guid port, const LanView& view, Bytes mad) {
  LanPaths out;
  for (const auto& record : sa_records<PathRecord>(mad, kMostPaths)) {
    const std::uint32_t mtu = rdmacm::mtu_bytes(record.mtu.value);
    const bool good = record.dgid == view.gid_of(port) && view.lids.contains(record.slid) &&
                      hca::is_unicast(record.dlid) && mtu != 0 && record.reversible;
    if (good) {
      out.paths.push_back({.slid = record.slid,
                           .dlid = record.dlid,
                           .sl = record.sl,
                           .mtu = static_cast<std::uint16_t>(mtu),
                           // IBA 8.3.6; the subnet administrator says so of services too.
                           .global = record.hop_limit > 1});
    } else {
      ++out.malformed;
    }
  }
  return out;
}

std::optional<Lid> read_lan_lid(Guid port, Bytes mad) {
  if (status_of(mad, MadMethod::kGetResponse, NodeRecord::kAttributeId) != SaStatus::kOk) {
    return std::nullopt;
  }
  const auto record = NodeRecord::parse(mad.subspan(wire::SaHeader::kDataOffset));
  const bool good = record && record->info.port_guid == port && hca::is_unicast(record->lid);
  return good ? std::optional(record->lid) : std::nullopt;
}

std::optional<lan::PortLids> read_lan_lids(Bytes mad) {
  if (status_of(mad, MadMethod::kGetResponse, PortInfoRecord::kAttributeId) != SaStatus::kOk) {
    return std::nullopt;
  }
  const auto record = PortInfoRecord::parse(mad.subspan(wire::SaHeader::kDataOffset));
  if (!record) return std::nullopt;
  const lan::PortLids lids{.base = record->info.lid, .lmc = record->info.lmc};
  return lids.valid() ? std::optional(lids) : std::nullopt;
}

}  // namespace weft::daemon
