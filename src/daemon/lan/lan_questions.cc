// SPDX-License-Identifier: Apache-2.0
#include "daemon/lan/lan_questions.h"

#include <algorithm>
#include <utility>

#include "daemon/lab/administrator_way.h"
#include "daemon/lan/lan_records.h"

namespace weft::daemon {
namespace {

// For one answer, and how often it is asked again.
constexpr Duration kLanQuestionsPatience = 500ms;
constexpr unsigned kLanQuestionsRetries = 3;

constexpr std::size_t kLanQuestionsMostNames = 16'384;  // but for one answer more

}  // namespace

LanQuestions::~LanQuestions() {
  if (agent_ == mgmt::AgentId{}) return;
  place_.node().management().mad_port(place_.at.port).remove_agent(agent_);
}

Expected<void> LanQuestions::open() {
  const auto agent = place_.node()
                         .management()
                         .mad_port(place_.at.port)
                         .add_agent({.mgmt_class = wire::MgmtClass::kSubnAdm,
                                     .class_version = wire::kSaClassVersion,
                                     .rmpp = true},
                                    *this);
  if (!agent) return tl::unexpected(agent.error());
  agent_ = *agent;
  return {};
}

std::string LanQuestions::name_of(Guid port) const {
  const auto known = names_.find(port);
  return known == names_.end() ? "" : known->second;
}

bool LanQuestions::ask(std::uint64_t number, const lan::Question& question) {
  const auto mad = lan_question(question, place_.gid(), place_.view(), ++sent_);
  if (!send(number, mad)) return false;
  waiting_.insert_or_assign(number, Waiting{.question = question, .paths = {}});
  counters_.add(LanSubnetCounter::kAsked);
  return true;
}

bool LanQuestions::send(std::uint64_t number, Bytes mad) {
  return send_to_administrator(place_.node(), place_.at.port, agent_,
                               {.mad = mad,
                                .timeout = kLanQuestionsPatience,
                                .retries = kLanQuestionsRetries,
                                .cookie = number})
      .has_value();
}

void LanQuestions::answer(std::uint64_t number, const lan::Answer& what) {
  if (std::holds_alternative<lan::Unanswered>(what)) {
    counters_.add(LanSubnetCounter::kUnanswered);
  }
  waiting_.erase(number);
  owner_.answered(number, what);
}

void LanQuestions::received(mgmt::AgentId, const mgmt::ReceivedMad& mad) {
  if (!mad.cookie) return;
  const auto found = waiting_.find(*mad.cookie);
  if (found == waiting_.end()) return;
  if (found->second.asks_lid) return take_lid(*mad.cookie, found->second, mad.mad);
  if (!found->second.paths.empty()) return take_lids(*mad.cookie, found->second, mad.mad);
  take(*mad.cookie, found->second, mad.mad);
}

void LanQuestions::finished(mgmt::AgentId, std::uint64_t cookie, Bytes, mgmt::MadResult) {
  if (waiting_.contains(cookie)) answer(cookie, lan::Unanswered{});
}

void LanQuestions::take(std::uint64_t number, Waiting& waiting, Bytes mad) {
  const lan::Question& question = waiting.question;
  const auto status = lan_answer_status(question, mad);
  if (status == wire::SaStatus::kNoRecords) return answer(number, lan::Absent{});
  if (status != wire::SaStatus::kOk) return answer(number, lan::Unanswered{});
  if (question.kind == lan::Question::Kind::kPaths) return take_paths(number, waiting, mad);
  if (question.kind == lan::Question::Kind::kPorts) {
    // Who comes and goes under other GUIDs all the time is forgotten, with all else.
    if (names_.size() > kLanQuestionsMostNames) names_.clear();
    for (auto& [port, name] : read_lan_names(mad))
      names_.insert_or_assign(port, std::move(name));
  }
  const LanGuids read = read_lan_guids(question, place_.view(), mad);
  counters_.add(LanSubnetCounter::kMalformed, read.malformed);
  answer(number, std::span<const Guid>(read.guids));
}

void LanQuestions::take_paths(std::uint64_t number, Waiting& waiting, Bytes mad) {
  LanPaths read = read_lan_paths(waiting.question.of, place_.view(), mad);
  counters_.add(LanSubnetCounter::kMalformed, read.malformed);
  if (read.paths.empty() && read.malformed == 0) return answer(number, lan::Absent{});
  if (read.paths.empty()) return answer(number, lan::Unanswered{});
  waiting.paths = std::move(read.paths);
  std::optional<Lid> first;
  for (const lan::PeerPath& path : waiting.paths) {
    // Not every administrator finds a port by another of its LIDs than the first.
    if (!path.global) first = std::min(first.value_or(path.dlid), path.dlid);
  }
  if (first) return ask_lids(number, *first);
  waiting.asks_lid = true;
  if (!send(number, lan_lid_question(waiting.question.of, ++sent_))) {
    answer(number, lan::Unanswered{});
  }
}

void LanQuestions::ask_lids(std::uint64_t number, Lid lid) {
  if (!send(number, lan_lids_question(lid, ++sent_))) answer(number, lan::Unanswered{});
}

void LanQuestions::take_lid(std::uint64_t number, Waiting& waiting, Bytes mad) {
  const auto lid = read_lan_lid(waiting.question.of, mad);
  if (!lid) return answer(number, lan::Unanswered{});
  waiting.asks_lid = false;
  ask_lids(number, *lid);
}

void LanQuestions::take_lids(std::uint64_t number, Waiting& waiting, Bytes mad) {
  const auto lids = read_lan_lids(mad);
  if (!lids) return answer(number, lan::Unanswered{});
  std::vector<lan::PeerPath> paths = std::move(waiting.paths);
  const auto elsewhere = std::erase_if(
      paths, [&](const lan::PeerPath& path) { return !path.global && !lids->contains(path.dlid); });
  counters_.add(LanSubnetCounter::kMalformed, elsewhere);
  if (paths.empty()) return answer(number, lan::Unanswered{});
  answer(number, lan::PortPaths{.lids = *lids, .paths = paths});
}

}  // namespace weft::daemon
