// SPDX-License-Identifier: Apache-2.0
// Questions for paths at one port, and what is made of each sort of answer.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <optional>
#include <utility>
#include <vector>

#include "daemon/sa_paths.h"
#include "daemon/sa_question.h"

namespace weft::daemon {
namespace {

using Outcome = SaPathAnswer::Outcome;
using wire::PathRecord;

// Keeps what is sent, and answers when the test says so.
struct AskedLayer final : mgmt::MadLayer {
  Expected<mgmt::AgentId> add_agent(const mgmt::AgentRequest&, mgmt::MadClient& its) override {
    client = &its;
    return mgmt::AgentId{7};
  }
  bool remove_agent(mgmt::AgentId) override { return std::exchange(client, nullptr) != nullptr; }
  Expected<void> send(mgmt::AgentId, const mgmt::MadRequest& request, Time) override {
    sent.emplace_back(request.mad.begin(), request.mad.end());
    to = request.to;
    cookie = request.cookie;
    return {};
  }
  void answer(wire::MadMethod method, std::uint16_t status, const PathRecord& record,
              std::size_t size = wire::kMadSize) {
    auto mad = sa_question(method, 0, record, 0);
    auto header = *wire::MadHeader::parse(mad);
    header.status = status;
    header.write(mad);
    client->received(mgmt::AgentId{7},
                     {.from = to, .mad = Bytes(mad).first(size), .cookie = cookie});
  }

  mgmt::MadClient* client = nullptr;
  std::vector<std::vector<std::byte>> sent;
  mgmt::MadAddress to{};
  std::uint64_t cookie = 0;
};

struct HeardPaths final : SaPathUser {
  void path_answered(std::uint64_t number, const SaPathAnswer& answer) override {
    numbers.push_back(number);
    answers.push_back(answer);
  }
  std::vector<std::uint64_t> numbers;
  std::vector<SaPathAnswer> answers;
};

struct AskerAtAPort : ::testing::Test {
  AskerAtAPort() { EXPECT_TRUE(asker.open()); }
  bool ask() {
    return asker.ask(Lid{3}, Sl{2}, 41, sa_path_question({.pkey = PKey{0x0001}, .via = Lid{0x40}}),
                     Time{});
  }
  AskedLayer layer;
  HeardPaths heard;
  SaPathAsker asker{layer, 2, heard};
};

TEST_F(AskerAtAPort, AsksForOneReversiblePathAsAFullMember) {
  ASSERT_TRUE(ask());
  EXPECT_EQ(layer.to.lid, Lid{3});
  EXPECT_EQ(layer.to.sl, Sl{2});
  const Bytes mad(layer.sent.at(0));
  const std::uint64_t mask = wire::SaHeader::parse(mad)->component_mask;
  EXPECT_EQ(mask, PathRecord::kHasDgid | PathRecord::kHasSgid | PathRecord::kHasSlid |
                      PathRecord::kHasPKey | PathRecord::kHasReversible | PathRecord::kHasNumbPath);
  const auto record = *PathRecord::parse(mad.subspan(wire::SaHeader::kDataOffset));
  EXPECT_TRUE(record.reversible);
  EXPECT_EQ(record.paths, 1);
  EXPECT_EQ(record.pkey, PKey{0x8001});
  EXPECT_EQ(record.slid, Lid{0x40});
}

TEST_F(AskerAtAPort, TellsEachAnswerForWhatItIs) {
  using wire::MadMethod;
  const PathRecord good{.dlid = Lid{5}, .slid = Lid{6}, .sl = Sl{1}};
  const auto outcome = [&](MadMethod method, std::uint16_t status, const PathRecord& record,
                           std::size_t size = wire::kMadSize) {
    EXPECT_TRUE(ask());
    layer.answer(method, status, record, size);
    return heard.answers.back().outcome;
  };
  EXPECT_EQ(outcome(MadMethod::kGetResponse, 0, good), Outcome::kFound);
  EXPECT_EQ(heard.numbers.back(), 41u);
  EXPECT_EQ(heard.answers.back().port, 2);
  EXPECT_EQ(heard.answers.back().path(),
            (service::Path{.dlid = Lid{5}, .slid = Lid{6}, .sl = Sl{1}}));
  EXPECT_EQ(outcome(MadMethod::kGetResponse, 0x0300, good), Outcome::kAbsent);
  EXPECT_FALSE(heard.answers.back().path());
  EXPECT_EQ(outcome(MadMethod::kGetResponse, 1, good), Outcome::kBusy);
  EXPECT_EQ(outcome(MadMethod::kReport, 0, good), Outcome::kAbsent);
  EXPECT_EQ(outcome(MadMethod::kGetResponse, 0, good, wire::kMadSize - 1), Outcome::kAbsent);
  EXPECT_EQ(outcome(MadMethod::kGetResponse, 0, {.dlid = Lid{0xC001}}), Outcome::kAbsent)
      << "a group is no end of a path";
  ASSERT_TRUE(ask());
  layer.client->finished(mgmt::AgentId{7}, 41, {}, mgmt::MadResult::kTimedOut);
  EXPECT_EQ(heard.answers.back().outcome, Outcome::kUnanswered);
}

TEST_F(AskerAtAPort, AsksNothingWhenItIsClosed) {
  asker.close();
  EXPECT_EQ(layer.client, nullptr);
  EXPECT_FALSE(ask());
  EXPECT_TRUE(layer.sent.empty());
}

}  // namespace
}  // namespace weft::daemon
