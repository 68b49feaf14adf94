// SPDX-License-Identifier: Apache-2.0
#include "daemon/notice_reports.h"

#include <algorithm>

#include "daemon/sa_question.h"
#include "hca/types.h"
#include "io/clock.h"
#include "mgmt/mad_answer.h"
#include "wire/sa/inform_info.h"

namespace weft::daemon {
namespace {

// As sa_question() wants it.
struct Subscription : wire::InformInfo {
  static constexpr auto kAttributeId = static_cast<std::uint16_t>(wire::SaAttribute::kInformInfo);
};

}  // namespace

wire::MadBuffer notice_subscription(wire::TrapNumber trap, bool subscribe,
                                    std::uint32_t transaction) {
  Subscription wanted;
  wanted.lid_begin = wire::InformInfo::kAnyLid;
  wanted.subscribe = subscribe;
  wanted.trap = static_cast<std::uint16_t>(trap);
  wanted.qpn = kQp1;
  return sa_question(wire::MadMethod::kSet, 0, wanted, transaction);
}

std::optional<wire::Notice> read_notice_report(const mgmt::ReceivedMad& report, Lid administrator) {
  const auto header = wire::MadHeader::parse(report.mad);
  const bool good =
      header && header->method == wire::MadMethod::kReport &&
      header->attribute_id == static_cast<std::uint16_t>(wire::SaAttribute::kNotice) &&
      report.mad.size() == wire::kMadSize && report.from.lid == administrator &&
      report.from.qpn == kQp1;
  if (!good) return std::nullopt;
  return wire::Notice::parse(report.mad.subspan(wire::SaHeader::kDataOffset));
}

void confirm_notice_report(fabric::Node& node, mgmt::PortNumber port, mgmt::AgentId agent,
                           const mgmt::ReceivedMad& report) {
  confirm_notice_report(node.management().mad_port(port), agent, report);
  node.management_used();
}

void confirm_notice_report(mgmt::MadLayer& port, mgmt::AgentId agent,
                           const mgmt::ReceivedMad& report) {
  wire::MadBuffer answer{};
  std::ranges::copy(report.mad, answer.begin());
  mgmt::make_answer(answer, wire::MadStatus::kOk);
  auto to = report.from;
  to.qkey = kGsiQKey;
  // Where it is lost, the administrator says it again.
  static_cast<void>(port.send(agent, {.to = to, .mad = answer}, io::now()));
}

}  // namespace weft::daemon
