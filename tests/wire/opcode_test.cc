// SPDX-License-Identifier: Apache-2.0
#include "wire/opcode.h"

#include <gtest/gtest.h>

#include <set>
#include <string>

namespace weft::wire {
namespace {

TEST(Opcodes, AreKnownExactlyWhereTheStandardDefinesThem) {
  int defined = 0;
  for (int code = 0; code < 256; ++code) {
    const OpcodeInfo& opcode = kOpcodes[static_cast<std::size_t>(code)];
    if (code >= 0xC0) {
      EXPECT_EQ(opcode.transport, Transport::vendor) << code;
    } else if (opcode.known()) {
      ++defined;
    }
  }
  // RC 23 + 2 placement extensions, UC 12, RD 22 + 1, UD 2, CNP 1, XRC 23.
  EXPECT_EQ(defined, 23 + 2 + 12 + 22 + 1 + 2 + 1 + 23);
  EXPECT_FALSE(kOpcodes[0x15].known());  // RESYNC is RD's
  EXPECT_FALSE(kOpcodes[0x2C].known());  // UC has no READ
  EXPECT_FALSE(kOpcodes[0x60].known());  // UD has only messages of one packet
  EXPECT_FALSE(kOpcodes[0x80].known());  // a CNP is 0x81
}

TEST(Opcodes, HaveTheTransportOfTheirTopThreeBits) {
  constexpr std::array<Transport, 6> kByTopBits{Transport::rc, Transport::uc,  Transport::rd,
                                                Transport::ud, Transport::cnp, Transport::xrc};
  for (std::size_t code = 0; code < 0xC0; ++code) {
    if (!kOpcodes[code].known()) continue;
    EXPECT_EQ(kOpcodes[code].transport, kByTopBits[code >> 5]) << code;
  }
}

TEST(Opcodes, HaveNamesOfTheirOwn) {
  std::set<std::string> names;
  for (std::size_t code = 0; code < 0xC0; ++code) {
    if (!kOpcodes[code].known()) continue;
    EXPECT_TRUE(names.emplace(kOpcodes[code].name).second) << kOpcodes[code].name;
  }
}

TEST(Opcodes, CarryTheirExtendedHeaders) {
  EXPECT_EQ(info(Opcode::rc_send_only).headers, 0);
  EXPECT_EQ(info(Opcode::rc_write_only_imm).headers, kReth | kImmDt);
  EXPECT_EQ(info(Opcode::rc_atomic_acknowledge).headers, kAeth | kAtomicAckEth);
  EXPECT_EQ(info(Opcode::rc_send_only_invalidate).headers, kIeth);
  EXPECT_EQ(info(Opcode::rc_flush).headers, kFeth | kReth);
  EXPECT_EQ(info(Opcode::ud_send_only_imm).headers, kDeth | kImmDt);
  EXPECT_EQ(info(Opcode::rd_write_first).headers, kRdeth | kDeth | kReth);
  EXPECT_EQ(info(Opcode::rd_read_response_only).headers, kRdeth | kAeth);
  EXPECT_EQ(info(Opcode::rd_resync).headers, kRdeth | kDeth);
  EXPECT_EQ(info(Opcode::xrc_send_middle).headers, kXrceth);
  EXPECT_EQ(info(Opcode::xrc_compare_swap).headers, kXrceth | kAtomicEth);
  EXPECT_EQ(info(Opcode::xrc_acknowledge).headers, kAeth);
  EXPECT_EQ(info(Opcode::weft_ud_credit).headers, kDeth);
  EXPECT_EQ(info(Opcode::weft_ud_credit).headers_size, 8);
}

TEST(Opcodes, KnowTheirPlaceInAMessage) {
  EXPECT_TRUE(info(Opcode::rc_send_only).starts_message());
  EXPECT_TRUE(info(Opcode::rc_send_only).ends_message());
  EXPECT_TRUE(info(Opcode::uc_write_first).starts_message());
  EXPECT_FALSE(info(Opcode::uc_write_first).ends_message());
  EXPECT_EQ(info(Opcode::rc_read_response_middle).position, Position::middle);
  EXPECT_TRUE(info(Opcode::rc_send_last_invalidate).ends_message());
  EXPECT_TRUE(info(Opcode::rc_acknowledge).is_response);
  EXPECT_FALSE(info(Opcode::rc_read_request).is_response);
  EXPECT_FALSE(info(Opcode::rc_read_request).has_payload);
}

}  // namespace
}  // namespace weft::wire
