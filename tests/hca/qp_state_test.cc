// SPDX-License-Identifier: Apache-2.0
#include "hca/qp_state.h"

#include <fmt/format.h>
#include <gmock/gmock.h>

#include <array>
#include <map>
#include <optional>
#include <string>
#include <utility>

#include "ud_fixture.h"

namespace weft::hca::test {
namespace {

using enum QpState;

constexpr std::array kStates{kReset, kInit, kRtr, kRts, kSqd, kSqe, kErr};

struct Rule {
  std::uint32_t required = 0;
  std::uint32_t optional = 0;
};

// IBA tables 91 and 92 for unreliable datagrams, written down a second time.
std::map<std::pair<QpState, QpState>, Rule> rules() {
  std::map<std::pair<QpState, QpState>, Rule> rules{
      {{kReset, kInit}, {kAttrPKeyIndex | kAttrPort | kAttrQKey, 0}},
      {{kInit, kInit}, {0, kAttrPKeyIndex | kAttrPort | kAttrQKey}},
      {{kInit, kRtr}, {0, kAttrPKeyIndex | kAttrQKey}},
      {{kRtr, kRts}, {kAttrSqPsn, kAttrCurrentState | kAttrQKey}},
      {{kRts, kRts}, {0, kAttrCurrentState | kAttrQKey}},
      {{kRts, kSqd}, {0, kAttrSqdNotify}},
      {{kSqd, kRts}, {0, kAttrCurrentState | kAttrQKey}},
      {{kSqd, kSqd}, {0, kAttrPKeyIndex | kAttrQKey}},
      {{kSqe, kRts}, {0, kAttrCurrentState | kAttrQKey}},
  };
  for (const QpState from : kStates)
    rules[{from, kReset}] = rules[{from, kErr}] = {};
  return rules;
}

TEST(QpState, HasTheTransitionsOfTheStandardAndNoOthers) {
  const auto table = rules();
  constexpr std::array bits{kAttrCurrentState, kAttrSqdNotify, kAttrAccess, kAttrPKeyIndex,
                            kAttrPort,         kAttrQKey,      kAttrSqPsn,  kAttrOther};
  for (const QpState from : kStates) {
    for (const QpState to : kStates) {
      const auto rule = table.find({from, to});
      for (unsigned chosen = 0; chosen < 1u << bits.size(); ++chosen) {
        std::uint32_t mask = 0;
        for (unsigned i = 0; i < bits.size(); ++i)
          if ((chosen >> i & 1) != 0) mask |= bits[i];
        const bool right = rule != table.end() &&
                           (mask & rule->second.required) == rule->second.required &&
                           (mask & ~(rule->second.required | rule->second.optional)) == 0;
        EXPECT_EQ(check_transition(QpType::kUd, from, to, mask | kAttrState).has_value(), right)
            << to_string(from) << " to " << to_string(to) << " with " << mask;
        EXPECT_EQ(check_transition(QpType::kUd, from, to, mask).has_value(), right && from == to)
            << "a change of state must be named";
      }
    }
  }
}

TEST(QpState, NamesWhatIsMissingOrOutOfPlace) {
  const auto missing = check_transition(QpType::kUd, kReset, kInit, kAttrState | kAttrPort);
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().code, std::errc::invalid_argument);
  EXPECT_EQ(missing.error().message, "modify RESET to INIT: missing P_Key index, Q_Key");
  const auto extra = check_transition(QpType::kUd, kInit, kRtr, kAttrState | kAttrSqPsn | 1u << 20);
  ASSERT_FALSE(extra);
  EXPECT_EQ(extra.error().message, "modify INIT to RTR: not allowed: SQ PSN, mask bits 0x100000");
}

// IBA tables 91 and 92 for the connected services, written down a second time.
struct Row {
  QpState from;
  QpState to;
  Rule rc;
  Rule uc;
  Rule initiator;
  Rule target;
};

constexpr std::uint32_t kInitMask = kAttrPKeyIndex | kAttrPort | kAttrAccess;
constexpr std::uint32_t kRoute = kAttrPath | kAttrPathMtu | kAttrPeer | kAttrRqPsn;
constexpr std::uint32_t kOnRtr = kAttrAlternatePath | kAttrAccess | kAttrPKeyIndex;
constexpr std::uint32_t kLater =
    kAttrCurrentState | kAttrAlternatePath | kAttrAccess | kAttrPathMigration;
constexpr std::uint32_t kLaterRnr = kLater | kAttrRnrTimer;
constexpr std::uint32_t kSqdAll = kAttrPort | kAttrPath | kAttrAckTimeout | kAttrRetryCount |
                                  kAttrRnrRetry | kAttrMaxReadsOut | kAttrMaxReadsIn |
                                  kAttrAlternatePath | kAttrAccess | kAttrPKeyIndex |
                                  kAttrRnrTimer | kAttrPathMigration;
constexpr std::uint32_t kSqdUc =
    kAttrPath | kAttrAlternatePath | kAttrAccess | kAttrPKeyIndex | kAttrPathMigration;

const std::array kConnectedRows{
    Row{kReset, kInit, {kInitMask, 0}, {kInitMask, 0}, {kInitMask, 0}, {kInitMask, 0}},
    Row{kInit, kInit, {0, kInitMask}, {0, kInitMask}, {0, kInitMask}, {0, kInitMask}},
    Row{kInit,
        kRtr,
        {kRoute | kAttrMaxReadsIn | kAttrRnrTimer, kOnRtr},
        {kRoute, kOnRtr},
        {kRoute, kOnRtr | kAttrMaxReadsIn | kAttrRnrTimer},
        {kRoute | kAttrMaxReadsIn | kAttrRnrTimer, kOnRtr}},
    Row{kRtr,
        kRts,
        {kAttrAckTimeout | kAttrRetryCount | kAttrRnrRetry | kAttrSqPsn | kAttrMaxReadsOut,
         kLaterRnr},
        {kAttrSqPsn, kLater},
        {kAttrAckTimeout | kAttrRetryCount | kAttrRnrRetry | kAttrSqPsn | kAttrMaxReadsOut, kLater},
        {kAttrAckTimeout | kAttrSqPsn,
         kLaterRnr | kAttrRetryCount | kAttrRnrRetry | kAttrMaxReadsOut}},
    Row{kRts, kRts, {0, kLaterRnr}, {0, kLater}, {0, kLater}, {0, kLaterRnr}},
    Row{kRts,
        kSqd,
        {0, kAttrSqdNotify},
        {0, kAttrSqdNotify},
        {0, kAttrSqdNotify},
        {0, kAttrSqdNotify}},
    Row{kSqd, kRts, {0, kLaterRnr}, {0, kLater}, {0, kLater}, {0, kLaterRnr}},
    Row{kSqd,
        kSqd,
        {0, kSqdAll},
        {0, kSqdUc},
        {0, kSqdAll & ~(kAttrMaxReadsIn | kAttrRnrTimer)},
        {0, kSqdAll & ~(kAttrMaxReadsOut | kAttrRetryCount | kAttrRnrRetry)}},
};

std::optional<Rule> rule_of(QpType type, QpState from, QpState to) {
  if (to == kReset || to == kErr) return Rule{};
  if (from == kSqe && to == kRts && type == QpType::kUc) {
    return Rule{0, kAttrCurrentState | kAttrAccess};
  }
  for (const Row& row : kConnectedRows) {
    if (row.from != from || row.to != to) continue;
    if (type == QpType::kRc) return row.rc;
    if (type == QpType::kUc) return row.uc;
    return type == QpType::kXrcInitiator ? row.initiator : row.target;
  }
  return std::nullopt;
}

TEST(QpState, HasTheTransitionsOfConnectedServicesToo) {
  using enum QpType;
  for (const QpType type : {kRc, kUc, kXrcInitiator, kXrcTarget}) {
    for (const QpState from : kStates) {
      for (const QpState to : kStates) {
        const auto rule = rule_of(type, from, to);
        const auto allows = [&](std::uint32_t mask) {
          return check_transition(type, from, to, mask | kAttrState).has_value();
        };
        const std::string what = fmt::format("type {}: {} to {}", static_cast<int>(type),
                                             to_string(from), to_string(to));
        const Rule masks = rule.value_or(Rule{});
        EXPECT_EQ(allows(masks.required), rule.has_value()) << what;
        EXPECT_EQ(allows(masks.required | masks.optional), rule.has_value()) << what;
        if (!rule) {
          EXPECT_FALSE(allows(~0u)) << what;
          continue;
        }
        for (unsigned bit = 1; bit < 32; ++bit) {
          const std::uint32_t one = 1u << bit;
          const bool known = ((masks.required | masks.optional) & one) != 0;
          EXPECT_EQ(allows(masks.required | one), known) << what << " with bit " << bit;
          const bool needed = (masks.required & one) != 0;
          EXPECT_EQ(allows(masks.required & ~one), !needed) << what << " without bit " << bit;
        }
      }
    }
  }
}

TEST(QpState, NamesTheAttributesOfConnections) {
  const auto missing = check_transition(QpType::kRc, kInit, kRtr, kAttrState | kAttrPath);
  EXPECT_EQ(missing.error().message,
            "modify INIT to RTR: missing path MTU, RQ PSN, max reads in, min RNR timer, "
            "destination QPN");
  const auto extra = check_transition(
      QpType::kUc, kRts, kRts,
      kAttrAckTimeout | kAttrRetryCount | kAttrRnrRetry | kAttrMaxReadsOut | kAttrOther);
  EXPECT_EQ(extra.error().message,
            "modify RTS to RTS: not allowed: ACK timeout, retry count, RNR retry, max reads out, "
            "attributes that no queue pair here has");
}

class UdState : public UdTest {};

TEST_F(UdState, AnswersWithWhatWasSet) {
  to_rts(Psn{5});
  const QpAttributes is = qp->query();
  EXPECT_EQ(is.state, kRts);
  EXPECT_EQ(is.qkey, kQKey);
  EXPECT_EQ(is.port, 1);
  EXPECT_EQ(is.sq_psn, Psn{5});
  ASSERT_TRUE(qp->modify({.qkey = QKey{9}}, kAttrQKey));
  EXPECT_EQ(qp->query().qkey, QKey{9});
  ASSERT_TRUE(move(kReset));
  EXPECT_EQ(qp->query().qkey, QKey{});
}

TEST_F(UdState, RefusesValuesThatTheDeviceDoesNotHave) {
  QpAttributes attributes{.state = kInit, .pkey_index = 1, .port = 1};
  const std::uint32_t mask = kAttrState | kAttrPKeyIndex | kAttrPort | kAttrQKey;
  EXPECT_FALSE(qp->modify(attributes, mask));
  attributes.pkey_index = 0;
  attributes.port = 0;
  EXPECT_FALSE(qp->modify(attributes, mask));
  EXPECT_EQ(qp->state(), kReset);
  to_rts();
  EXPECT_FALSE(qp->modify({.state = kRts, .current_state = kSqe}, kAttrState | kAttrCurrentState));
  EXPECT_TRUE(qp->modify({.state = kRts, .current_state = kRts}, kAttrState | kAttrCurrentState));
}

TEST_F(UdState, CostsLittleWhileIdle) {
  EXPECT_LT(sizeof(UdQueuePair), 2048u);
}

}  // namespace
}  // namespace weft::hca::test
