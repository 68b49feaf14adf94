// SPDX-License-Identifier: Apache-2.0
#include "daemon/sa_paths.h"

#include <algorithm>

#include "daemon/sa_question.h"
#include "hca/types.h"
#include "sm/sa/subnet_view.h"

namespace weft::daemon {
namespace {

using wire::PathRecord;
using Outcome = SaPathAnswer::Outcome;

// For one answer of the administrator, and how often it is asked again.
constexpr Duration kSaPathsPatience = 250ms;
constexpr unsigned kSaPathsRetries = 3;
constexpr std::uint16_t kSaPathsBusy = 1;  // of a MAD's status, IBA 13.4.7

SaPathAnswer read_answer(mgmt::PortNumber port, Bytes mad) {
  SaPathAnswer answer{.port = port};
  const auto header = wire::MadHeader::parse(mad);
  if (!header) return answer;
  if ((header->status & kSaPathsBusy) != 0) {
    answer.outcome = Outcome::kBusy;
    return answer;
  }
  if (header->status != 0 || header->method != wire::MadMethod::kGetResponse ||
      header->attribute_id != PathRecord::kAttributeId || mad.size() < wire::kMadSize) {
    return answer;
  }
  const auto record = PathRecord::parse(mad.subspan(wire::SaHeader::kDataOffset));
  if (!record || !hca::is_unicast(record->dlid)) return answer;
  answer.outcome = Outcome::kFound;
  answer.record = *record;
  return answer;
}

}  // namespace

SaPathQuestion sa_path_question(const service::PathQuestion& question) {
  // Full members may talk to everybody of a partition, so that a question about it is answered.
  return {.mask = PathRecord::kHasDgid | PathRecord::kHasSgid | PathRecord::kHasSlid |
                  PathRecord::kHasPKey,
          .like = {.dgid = question.dgid,
                   .sgid = question.sgid,
                   .slid = question.via,
                   .pkey = PKey(question.pkey.value() | kFullMemberBit)}};
}

std::optional<service::Path> SaPathAnswer::path() const {
  if (outcome != Outcome::kFound) return std::nullopt;
  return service::Path{.dlid = record.dlid, .slid = record.slid, .sl = record.sl};
}

void lead_back(service::Path& path, std::span<const Lid> own) {
  const bool is_own = std::ranges::find(own, path.slid) != own.end();
  if (!own.empty() && !is_own) path.slid = own.front();
}

// --- at one port ---------------------------------------------------------------------------------

Expected<void> SaPathAsker::open() {
  auto agent = layer_.add_agent(
      {.mgmt_class = wire::MgmtClass::kSubnAdm, .class_version = wire::kSaClassVersion}, *this);
  if (!agent) return tl::unexpected(agent.error());
  agent_ = *agent;
  return {};
}

void SaPathAsker::close() {
  if (agent_) layer_.remove_agent(*agent_);
  agent_.reset();
}

bool SaPathAsker::ask(Lid administrator, Sl sl, std::uint64_t number,
                      const SaPathQuestion& question, Time now) {
  if (!agent_) return false;
  PathRecord like = question.like;
  like.reversible = true;
  like.paths = 1;
  const std::uint64_t mask = question.mask | PathRecord::kHasReversible | PathRecord::kHasNumbPath;
  const auto mad =
      sa_question(wire::MadMethod::kGet, mask, like, static_cast<std::uint32_t>(number));
  const mgmt::MadRequest request{
      .to = {.lid = administrator, .sl = sl, .qpn = kQp1, .qkey = kGsiQKey},
      .mad = mad,
      .timeout = kSaPathsPatience,
      .retries = kSaPathsRetries,
      .cookie = number};
  return layer_.send(*agent_, request, now).has_value();
}

void SaPathAsker::received(mgmt::AgentId, const mgmt::ReceivedMad& mad) {
  if (mad.cookie) user_.path_answered(*mad.cookie, read_answer(port_, mad.mad));
}

void SaPathAsker::finished(mgmt::AgentId, std::uint64_t cookie, Bytes, mgmt::MadResult) {
  user_.path_answered(cookie, {.outcome = Outcome::kUnanswered, .port = port_});
}

// --- at all ports of a node ----------------------------------------------------------------------

Expected<void> SaPaths::open() {
  for (std::size_t port = 1; port <= node_.port_count(); ++port) {
    const auto number = static_cast<mgmt::PortNumber>(port);
    SaPathAsker& asker = askers_.emplace_back(node_.management().mad_port(number), number, user_);
    if (auto opened = asker.open(); !opened) {
      close();
      return opened;
    }
  }
  return {};
}

Gid SaPaths::gid_of(mgmt::PortNumber port) const {
  return sm::make_gid(node_.port_info(port).gid_prefix, node_.port(port).guid());
}

bool SaPaths::is_own(mgmt::PortNumber port, Lid lid) const {
  const wire::PortInfo info = node_.port_info(port);
  return hca::is_unicast(info.lid) && (lid.value() >> info.lmc) == (info.lid.value() >> info.lmc);
}

SaPathQuestion SaPaths::of_service(mgmt::PortNumber port, const service::PathQuestion& question,
                                   std::span<const Lid> lids) const {
  SaPathQuestion asked = sa_path_question(question);
  const bool crosses = question.port != 0;
  const bool brings = crosses && question.sgid != Gid{} && !lids.empty();
  if (brings) asked.like.slid = lids.front();
  if (crosses && !brings) asked.like.sgid = gid_of(port);
  // A LID of the port's own, by which what other rules than those of LIDs divert may come, says
  // not that a service asks: with the GID of another port as source it is that of no path.
  const bool as_service = brings || (!crosses && !is_own(port, question.via));
  if (!as_service) asked.mask &= ~PathRecord::kHasSlid;
  return asked;
}

bool SaPaths::can_ask(mgmt::PortNumber port) const {
  const wire::PortInfo info = node_.port_info(port);
  return info.state == wire::PortState::kActive && hca::is_unicast(info.master_sm_lid);
}

bool SaPaths::ask(mgmt::PortNumber port, std::uint64_t number, const SaPathQuestion& question,
                  Time now) {
  if (!can_ask(port)) return false;
  const wire::PortInfo info = node_.port_info(port);
  const bool sent =
      askers_[port - 1u].ask(info.master_sm_lid, info.master_sm_sl, number, question, now);
  if (sent) node_.management_used();
  return sent;
}

}  // namespace weft::daemon
