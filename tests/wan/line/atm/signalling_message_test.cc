// SPDX-License-Identifier: Apache-2.0
#include "wan/line/atm/signalling_message.h"

#include <gtest/gtest.h>

#include <fstream>
#include <sstream>
#include <string>

#include "cell_stage.h"
#include "wan/line/atm/call_table.h"

namespace weft::wan::atm {
namespace {

Aesa address(std::uint8_t last) {
  Aesa aesa{};
  aesa[0] = std::byte{0x47};
  aesa[19] = std::byte{last};
  return aesa;
}

SignallingMessage setup() {
  return {.type = MessageType::kSetup,
          .call = {.value = 0x123456, .to_originator = true},
          .longest_pdu = std::uint16_t{9180},
          .peak_rate = 353'207U,
          .has_bearer = true,
          .has_qos = true,
          .called = address(1),
          .calling = address(2),
          .channel = Channel{.vpi = 3, .vci = 777}};
}

TEST(SignallingMessages, AreReadAsTheyAreWritten) {
  const auto read = read_message(write_message(setup()));
  ASSERT_TRUE(read);
  EXPECT_EQ(read->type, MessageType::kSetup);
  EXPECT_EQ(read->call, setup().call);
  EXPECT_EQ(read->longest_pdu, 9180);
  EXPECT_EQ(read->peak_rate, 353'207U);
  EXPECT_TRUE(read->has_bearer);
  EXPECT_TRUE(read->has_qos);
  EXPECT_EQ(read->called, address(1));
  EXPECT_EQ(read->calling, address(2));
  EXPECT_EQ(read->channel, (Channel{.vpi = 3, .vci = 777}));
  EXPECT_FALSE(missing_element(*read));

  const auto status = read_message(write_message({.type = MessageType::kStatus,
                                                  .call = {.value = 5},
                                                  .cause = Cause::kNotInThisState,
                                                  .call_state = std::uint8_t{10}}));
  ASSERT_TRUE(status);
  EXPECT_EQ(status->cause, Cause::kNotInThisState);
  EXPECT_EQ(status->call_state, 10);
  const auto restart = read_message(
      write_message({.type = MessageType::kRestart, .call = {}, .all_channels = true}));
  ASSERT_TRUE(restart);
  EXPECT_TRUE(restart->all_channels);
  EXPECT_EQ(restart->call.value, CallReference::kGlobal);
}

TEST(SignallingMessages, HaveTheLayoutOfTheStandard) {
  EXPECT_EQ(
      to_hex(write_message(
          {.type = MessageType::kRelease, .call = {.value = 5}, .cause = Cause::kNormalClearing})),
      "0903000005"
      "4d80"
      "0006"
      "08800002"
      "8090");
}

TEST(SignallingMessages, SayWhichElementIsMissing) {
  SignallingMessage message = setup();
  message.called.reset();
  EXPECT_EQ(missing_element(message), Element::kCalledNumber);
  message = setup();
  message.has_bearer = false;
  EXPECT_EQ(missing_element(message), Element::kBearerCapability);
  EXPECT_EQ(missing_element({.type = MessageType::kRelease, .call = {}}), Element::kCause);
  EXPECT_EQ(missing_element({.type = MessageType::kRestart, .call = {}}),
            Element::kRestartIndicator);
  EXPECT_FALSE(missing_element({.type = MessageType::kConnectAck, .call = {}}));
}

TEST(SignallingMessages, AreRefusedWithACauseWhereTheyCannotBe) {
  const auto cause_of = [](Octets bytes) {
    const auto read = read_message(bytes);
    return read ? Cause{} : read.error().cause;
  };
  const Octets good = write_message(setup());
  for (std::size_t size = 0; size < good.size(); ++size)
    EXPECT_FALSE(read_message(Bytes(good).first(size))) << size;
  Octets wrong = good;
  wrong[5] = std::byte{0x99};
  EXPECT_EQ(cause_of(wrong), Cause::kMessageTypeUnknown);
  EXPECT_FALSE(read_message(wrong).error().call->value == 0);
  wrong = good;
  wrong[0] = std::byte{8};
  EXPECT_FALSE(read_message(wrong).error().call);
  // An element that is longer than the message; one with another content than it may have.
  EXPECT_EQ(cause_of(from_hex("0903000005"
                              "4d80"
                              "0006"
                              "08800003"
                              "8090")),
            Cause::kInvalidElement);
  EXPECT_EQ(cause_of(from_hex("0903000005"
                              "4d80"
                              "0005"
                              "08800001"
                              "80")),
            Cause::kInvalidElement);
  EXPECT_EQ(cause_of(from_hex("0903000005"
                              "0780"
                              "0009"
                              "5a800005"
                              "8801000020")),
            Cause::kInvalidElement);
  EXPECT_EQ(cause_of(from_hex("0903000005"
                              "0580"
                              "0007"
                              "70800003"
                              "820102")),
            Cause::kInvalidElement);
  // One that nobody here knows is passed over.
  EXPECT_TRUE(
      read_message(from_hex("0903000005"
                            "0f80"
                            "0005"
                            "77800001"
                            "00")));
}

TEST(SignallingMessages, HaveNames) {
  EXPECT_EQ(name_of(MessageType::kConnectAck), "CONNECT ACKNOWLEDGE");
  EXPECT_EQ(name_of(static_cast<MessageType>(0x99)), "");
  EXPECT_EQ(name_of(Element::kQos), "QoS parameter");
  EXPECT_EQ(name_of(static_cast<Element>(1)), "");
}

TEST(CallTable, IsTheOneOfTheDocumentation) {
  std::ifstream file(std::string(WEFT_TEST_DATA) + "/../../docs/wan-atm.md");
  std::stringstream page;
  page << file.rdbuf();
  EXPECT_NE(page.str().find(call_text()), std::string::npos) << call_text();
}

TEST(CallTable, LeadsFromEveryStateToNull) {
  for (std::size_t state = 1; state < kCallStates; ++state) {
    const CallRow* const row =
        call_row(static_cast<CallState>(state), MessageType::kReleaseComplete);
    ASSERT_NE(row, nullptr);
    EXPECT_EQ(row->next, CallState::kNull);
  }
  EXPECT_EQ(call_row(CallState::kNull, MessageType::kRelease), nullptr);
  EXPECT_EQ(state_value(CallState::kSetupSent, Side::kNetwork), 6);
  EXPECT_EQ(state_value(CallState::kSetupSent, Side::kUser), 1);
}

}  // namespace
}  // namespace weft::wan::atm
