// SPDX-License-Identifier: Apache-2.0
#include "wan/dccp/features.h"

#include <gtest/gtest.h>

#include <string>

namespace weft::wan::dccp {
namespace {

using Values = std::vector<unsigned>;

std::vector<std::byte> bytes_of(const Values& values) {
  std::vector<std::byte> out;
  for (const unsigned value : values)
    out.push_back(static_cast<std::byte>(value));
  return out;
}

// What it writes into a packet, as "type:bytes".
std::string said(Features& features, std::uint64_t sequence) {
  OptionWriter writer(500);
  features.write(writer, Sequence(sequence));
  std::string out;
  OptionReader reader(writer.bytes());
  while (const auto option = reader.next()) {
    out += (option->mandatory ? "!" : "") + std::to_string(static_cast<unsigned>(option->type));
    for (const std::byte b : option->value)
      out += ':' + std::to_string(std::to_integer<unsigned>(b));
    out += ' ';
  }
  return out;
}

struct Peer {
  std::uint64_t sequence = 10;
  std::optional<ResetCode> says(Features& features, OptionType type, const Values& values,
                                bool mandatory = false, std::uint64_t acknowledged = 1000) {
    const auto value = bytes_of(values);
    return features.receive({.type = type, .value = value, .mandatory = mandatory},
                            Sequence(sequence++), Sequence(acknowledged));
  }
};

constexpr auto kChangeL = OptionType::kChangeL;
constexpr auto kChangeR = OptionType::kChangeR;

TEST(Features, AreSaidUntilTheyAreConfirmed) {
  Features features(false, false);
  features.want_window(0x1234);
  features.want_of_peer();
  const std::string all = "32:3:0:0:0:0:18:52 !34:6:1 34:7:1:0 ";
  EXPECT_EQ(said(features, 50), all);
  EXPECT_EQ(said(features, 51), all);
  Peer peer;
  peer.says(features, OptionType::kConfirmR, {3, 0, 0, 0, 0, 0x12, 0x34}, false, 49);  // too early
  EXPECT_EQ(features.own().sequence_window, 100u);
  peer.says(features, OptionType::kConfirmR, {3, 0, 0, 0, 0, 0x12, 0x34}, false, 50);
  EXPECT_EQ(features.own().sequence_window, 0x1234u);
  peer.says(features, OptionType::kConfirmL, {6, 1, 1, 0});
  peer.says(features, OptionType::kConfirmL, {7, 0, 0});
  EXPECT_FALSE(features.pending());
  EXPECT_TRUE(features.peer().send_ack_vector);
  EXPECT_FALSE(features.peer().send_ndp_count);
  EXPECT_EQ(said(features, 52), "");
}

TEST(Features, AnswerWhatTheOtherEndWants) {
  Features features(true, false);
  Peer peer;
  EXPECT_FALSE(peer.says(features, kChangeR, {6, 1}, true));
  EXPECT_TRUE(features.own().send_ack_vector);
  EXPECT_EQ(said(features, 1), "33:6:1:1:0 ");
  EXPECT_FALSE(features.owes_answer());
  EXPECT_FALSE(peer.says(features, kChangeL, {3, 0, 0, 0, 1, 0, 0}));
  EXPECT_EQ(features.peer().sequence_window, 0x10000u);
  EXPECT_FALSE(peer.says(features, kChangeL, {5, 0, 9}));
  EXPECT_EQ(features.peer().ack_ratio, 9);
  EXPECT_EQ(said(features, 2), "35:3:0:0:0:1:0:0 35:5:0:9 ");
  // Twice asked, once answered.
  EXPECT_FALSE(peer.says(features, kChangeL, {5, 0, 4}));
  EXPECT_FALSE(peer.says(features, kChangeL, {5, 0, 3}));
  EXPECT_EQ(said(features, 3), "35:5:0:3 ");
}

TEST(Features, AreTheServersFirstThatTheClientHasToo) {
  Features server(true, true);
  Features client(false, true);
  Peer peer;
  // The server prefers 1, the client 0.
  EXPECT_FALSE(peer.says(server, kChangeR, {8, 0, 1}));
  EXPECT_TRUE(server.own().partial_coverage);
  EXPECT_FALSE(peer.says(client, kChangeR, {8, 0, 1}));
  EXPECT_FALSE(client.own().partial_coverage);
  EXPECT_EQ(said(server, 1), "33:8:1:1:0 ");
  EXPECT_EQ(said(client, 1), "33:8:0:1:0 ");
}

TEST(Features, StayAsTheyAreWhereNothingFits) {
  Features features(true, false);
  Peer peer;
  EXPECT_FALSE(peer.says(features, kChangeL, {1, 3}));  // CCID 3
  EXPECT_EQ(said(features, 1), "35:1:2:2 ");
  EXPECT_FALSE(peer.says(features, kChangeR, {2, 1}));  // short numbers
  EXPECT_EQ(said(features, 2), "33:2:0:0 ");
  EXPECT_FALSE(peer.says(features, kChangeR, {99, 1}));  // not known
  EXPECT_EQ(said(features, 3), "33:99 ");
  EXPECT_EQ(peer.says(features, kChangeL, {1, 3}, true), ResetCode::kMandatoryError);
  EXPECT_EQ(peer.says(features, kChangeR, {99, 1}, true), ResetCode::kMandatoryError);
  EXPECT_EQ(peer.says(features, kChangeR, {}, true), ResetCode::kMandatoryError);
}

TEST(Features, TakeNoNumbersThatCannotBe) {
  Features features(true, false);
  Peer peer;
  for (const Values& values : {Values{3, 0, 0, 0, 0, 0, 31}, Values{3, 0x40, 0, 0, 0, 0, 0},
                               Values{3, 1}, Values{5, 0, 0}, Values{5, 1}, Values{3}, Values{5}}) {
    EXPECT_FALSE(peer.says(features, kChangeL, values));
  }
  EXPECT_FALSE(peer.says(features, kChangeR, {3, 0, 0, 0, 1, 0, 0}));
  EXPECT_EQ(features.peer().sequence_window, 100u);
  EXPECT_EQ(features.peer().ack_ratio, 2);
  EXPECT_EQ(features.own().sequence_window, 100u);
  EXPECT_EQ(said(features, 1), "");
}

TEST(Features, PassOverWhatWasOvertaken) {
  Features features(true, false);
  const auto newer = bytes_of({5, 0, 9});
  const auto older = bytes_of({5, 0, 7});
  features.receive({.type = kChangeL, .value = newer}, Sequence(20), Sequence(1));
  features.receive({.type = kChangeL, .value = older}, Sequence(19), Sequence(1));
  EXPECT_EQ(features.peer().ack_ratio, 9);
}

}  // namespace
}  // namespace weft::wan::dccp
