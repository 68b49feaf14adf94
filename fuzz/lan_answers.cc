// SPDX-License-Identifier: Apache-2.0
// What somebody says who may be the subnet administrator of a LAN port: answers to its questions
// and reports of notices. What is read of them is of the kind that was asked for, each once, and
// such as the port can use; anything else is left out.
#include <set>

#include "daemon/lan/lan_group.h"
#include "daemon/lan/lan_records.h"
#include "daemon/notice_reports.h"
#include "hca/types.h"
#include "input.h"
#include "sm/sa/subscriptions.h"

using namespace weft;
using namespace weft::daemon;
using fuzz::require;

namespace {

constexpr LanView kView{.gid_prefix = 0xFE80'0000'0000'0000, .lids = {.base = Lid{8}, .lmc = 2}};
constexpr Guid kAskedFor{0x0200'0000'0000'0001};
constexpr Lid kAdministrator{1};

lan::Question question_of(unsigned kind) {
  return {.kind = static_cast<lan::Question::Kind>(kind), .of = kAskedFor, .path = {}};
}

void check_guids(const lan::Question& question, Bytes mad) {
  const LanGuids read = read_lan_guids(question, kView, mad);
  const std::set<Guid> all(read.guids.begin(), read.guids.end());
  require(all.size() == read.guids.size() && !all.contains(Guid{}));
  require(read.guids.size() + read.malformed <= mad.size());
}

void check_paths(Bytes mad) {
  const LanPaths read = read_lan_paths(kAskedFor, kView, mad);
  for (const lan::PeerPath& path : read.paths) {
    require(kView.lids.contains(path.slid) && hca::is_unicast(path.dlid));
    require(path.mtu >= 256 && path.mtu <= 4096);
  }
}

void check_report(Bytes mad) {
  const mgmt::ReceivedMad report{.from = {.lid = kAdministrator, .qpn = kQp1}, .mad = mad};
  const auto notice = read_notice_report(report, kAdministrator);
  if (!notice) return;
  const auto port = kView.port_of(sm::gid_of(*notice));
  require(!port || *port != Guid{});
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const Bytes all = std::as_bytes(std::span(data, size));
  if (all.empty()) return 0;
  const Bytes mad = all.subspan(1);
  const lan::Question question = question_of(std::to_integer<unsigned>(all[0]) % 4);
  static_cast<void>(lan_answer_status(question, mad));
  if (question.kind == lan::Question::Kind::kPaths) {
    check_paths(mad);
  } else {
    check_guids(question, mad);
  }
  if (const auto lids = read_lan_lids(mad)) require(lids->valid());
  if (const auto group = read_lan_group(mad)) {
    require(!hca::is_unicast(group->mlid) && group->mtu >= 256 && group->mtu <= 4096);
  }
  check_report(mad);
  return 0;
}
