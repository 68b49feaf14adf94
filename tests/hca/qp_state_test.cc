// SPDX-License-Identifier: Apache-2.0
#include "hca/qp_state.h"

#include <gmock/gmock.h>

#include <array>
#include <map>
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
