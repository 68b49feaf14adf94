// SPDX-License-Identifier: Apache-2.0
// What tshark, which nobody here wrote, reads in what this writes: PDUs of AAL type 5 and cells of
// maintenance as records of ERF, signalling as SunATM has it. And what explains the same.
#include "../tshark.h"
#include "cell_stage.h"
#include "wan/line/atm/aal5_segmenter.h"
#include "wan/line/atm/explain.h"
#include "wan/line/atm/llc_snap.h"
#include "wan/line/atm/oam.h"
#include "wan/line/atm/signalling_message.h"
#include "wan/line/atm/sscop_pdu.h"
#include "wire/endian.h"

namespace weft::wan::atm {
namespace {

constexpr std::uint32_t kErf = 197;
constexpr std::uint32_t kSunAtm = 123;

// ERF: a header of 16 bytes, the type in byte 8; cells are without their HEC.
Octets erf(std::uint8_t type, Bytes header, Bytes payload) {
  Octets record(20);
  record[8] = std::byte{type};
  record[9] = std::byte{4};
  wire::store_be16(record.data() + 10, static_cast<std::uint16_t>(20 + payload.size()));
  wire::store_be16(record.data() + 14, static_cast<std::uint16_t>(4 + payload.size()));
  std::ranges::copy(header.first(4), record.begin() + 16);
  record.insert(record.end(), payload.begin(), payload.end());
  return record;
}

// SunATM: signalling, on VPI 0 and VCI 5.
Octets sun_atm(const SscopPdu& pdu) {
  Octets record{std::byte{6}, std::byte{0}, std::byte{0}, std::byte{5}};
  const auto bytes = write_sscop(pdu);
  record.insert(record.end(), bytes.begin(), bytes.end());
  return record;
}

class AtmTshark : public LineTsharkTest {
 protected:
  struct Record {
    Octets bytes;
    std::vector<std::string> parts;  // what tshark is to say of it, among the rest
  };
  // One run for all records: tshark is slow to start.
  void expect_said(std::uint32_t link_type, const std::vector<Record>& records) {
    std::vector<Octets> packets;
    for (const Record& record : records)
      packets.push_back(record.bytes);
    std::string said = "\n" + read(link_type, packets, "-V");
    for (std::size_t i = 0; i < records.size(); ++i) {
      ASSERT_TRUE(said.starts_with("\nFrame " + std::to_string(i + 1) + ": ")) << said;
      const std::size_t end = said.find("\nFrame ", 1);
      expect_parts(said.substr(0, end), records[i].parts);
      said.erase(0, end);
    }
  }

 private:
  static void expect_parts(const std::string& said, const std::vector<std::string>& parts) {
    for (const std::string& part : parts)
      EXPECT_NE(said.find(part), std::string::npos) << part << " is not in:" << said;
    for (const char* const wrong : {"Malformed", "incorrect"})
      EXPECT_EQ(said.find(wrong), std::string::npos) << said;
  }
};

TEST_F(AtmTshark, ReadsAPduAndFindsItsCrcRight) {
  const Octets packet =
      from_hex("4500002000010000401166ca0a0000010a00000212345678000c0000deadbeef");
  Aal5Segmenter segmenter({.channel = kChannel});
  segmenter.begin(llc_snap(0x0800), packet);
  Octets cells(segmenter.left() * kCellSize);
  segmenter.put(cells);
  Octets pdu;
  for (std::size_t at = kHeaderSize; at < cells.size(); at += kCellSize)
    pdu.insert(pdu.end(), cells.begin() + static_cast<std::ptrdiff_t>(at),
               cells.begin() + static_cast<std::ptrdiff_t>(at + kPayloadSize));
  expect_said(kErf, {{erf(4, Bytes(cells).last(kCellSize), pdu),
                      {"VCI: 100", "AAL5 len: 40", "AAL5 CRC: 0x73b833c7 (correct)", "SNAP",
                       "Internet Protocol Version 4, Src: 10.0.0.1"}}});
}

TEST_F(AtmTshark, ReadsCellsOfMaintenanceAndFindsTheirCrcRight) {
  Octets header(kHeaderSize);
  write_header({.channel = kChannel, .payload_type = kOamEndToEnd}, header);
  expect_said(kErf,
              {{erf(3, header, write_oam(OamLoopback{.tag = 0x11223344})),
                {"Payload Type: 5", "OAM Type: Fault Management", "Cell Loopback", "(correct)"}},
               {erf(3, header, write_oam(OamFunction::kAlarm)),
                {"OAM Type: Fault Management", ".... 0000 = Function Type", "(correct)"}},
               {erf(3, header, write_oam(OamFunction::kRemote)),
                {"OAM Type: Fault Management", ".... 0001 = Function Type", "(correct)"}}});
}

TEST_F(AtmTshark, ReadsPdusOfSscop) {
  expect_said(
      kSunAtm,
      {{sun_atm({.type = SscopType::kBegin, .most = 32, .connection = 9}),
        {"PDU Type: Begin (0x1)", "N(SQ): 9", "N(MR): 32"}},
       {sun_atm({.type = SscopType::kPoll, .number = 5, .poll = 3}),
        {"PDU Type: Status Request (0xa)", "N(PS): 3", "N(S): 5"}},
       {sun_atm({.type = SscopType::kStatus, .number = 4, .most = 40, .poll = 3, .list = {4, 5}}),
        {"Solicited Status", "N(PS): 3", "N(MR): 40", "N(R): 4", "N(S): 5"}}});
}

TEST_F(AtmTshark, ReadsMessagesWithTheirElements) {
  const auto said_in = [](const SignallingMessage& message) {
    return sun_atm({.type = SscopType::kData, .number = 7, .message = write_message(message)});
  };
  Aesa called{};
  called[0] = std::byte{0x47};
  expect_said(
      kSunAtm,
      {{said_in({.type = MessageType::kSetup,
                 .call = {.value = 5},
                 .longest_pdu = std::uint16_t{9180},
                 .peak_rate = 353'207U,
                 .has_bearer = true,
                 .has_qos = true,
                 .called = called,
                 .calling = called,
                 .channel = Channel{.vpi = 3, .vci = 777}}),
        {"Message type: SETUP", "AAL type: AAL type 5", "9180", "353207", "Bearer class", "VPCI: 3",
         "VCI: 777", "QOS", "Called party number", "Calling party number"}},
       {said_in(
            {.type = MessageType::kRelease, .call = {.value = 5}, .cause = Cause::kNormalClearing}),
        {"Message type: RELEASE", "Normal call clearing"}},
       // Its name for 10 is that of 9: Q.2931, 4.5.12, has 10 for U10, active.
       {said_in({.type = MessageType::kStatus,
                 .call = {.value = 5},
                 .cause = Cause::kResponseToEnquiry,
                 .call_state = std::uint8_t{10}}),
        {"Message type: STATUS", "Response to STATUS ENQUIRY", "..00 1010 = Call state"}},
       {said_in({.type = MessageType::kRestart, .call = {}, .all_channels = true}),
        {"Message type: RESTART", "Restart indicator"}}});
}

// Fields as lines: "name = value @at+size".
std::string lines_of(const std::vector<FrameField>& fields) {
  std::string text;
  for (const FrameField& field : fields)
    text += field.name + " = " + field.value + " @" + std::to_string(field.at) + "+" +
            std::to_string(field.size) + "\n";
  return text;
}

TEST(AtmExplained, NamesTheFieldsOfCells) {
  Octets cell(kCellSize);
  write_header({.channel = kChannel, .payload_type = kOamEndToEnd}, cell);
  std::ranges::copy(write_oam(OamLoopback{.tag = 5}), cell.begin() + kHeaderSize);
  const std::string said = lines_of(explain_cell(cell));
  for (const char* part :
       {"VCI = 100 @1+3", "payload type = 5, OAM F5 end to end @3+1", "HEC = 0xda, right @4+1",
        "OAM function = 0x18, loopback @5+1", "correlation tag = 0x00000005 @7+4", "right @51+2"})
    EXPECT_NE(said.find(part), std::string::npos) << part << said;
  cell[1] ^= std::byte{1};
  EXPECT_NE(lines_of(explain_cell(cell)).find("as if bit 15 were"), std::string::npos);
  EXPECT_NE(lines_of(explain_cell(idle_cell())).find("of an idle cell"), std::string::npos);
  EXPECT_EQ(lines_of(explain_cell({})), "error = a cell has 53 bytes @0+0\n");
}

TEST(AtmExplained, NamesTheFieldsOfPdus) {
  Octets pdu = from_hex(
      "aaaa0300000008004500002000010000401166ca0a0000010a00000212345678000c0000deadbeef00000028"
      "73b833c7");
  const std::string said = lines_of(explain_pdu(pdu));
  for (const char* part : {"LLC/SNAP = EtherType 0x0800 @0+8", "length = 40 @42+2",
                           "CRC-32 = 0x73b833c7, right @44+4", "pad = 0 @40+0"})
    EXPECT_NE(said.find(part), std::string::npos) << part << said;
  pdu[43] = std::byte{0};
  EXPECT_NE(lines_of(explain_pdu(pdu)).find("error = aborted"), std::string::npos);
  pdu[43] = std::byte{90};
  EXPECT_NE(lines_of(explain_pdu(pdu)).find("does not fit"), std::string::npos);
  EXPECT_EQ(explain_pdu(Bytes(pdu).first(47)).back().name, "error");
}

TEST(AtmExplained, NamesTheFieldsOfSignalling) {
  const Octets release = write_message(
      {.type = MessageType::kRelease, .call = {.value = 5}, .cause = Cause::kNormalClearing});
  const std::string said = lines_of(
      explain_signalling(write_sscop({.type = SscopType::kData, .number = 7, .message = release})));
  for (const char* part : {"message type = RELEASE @5+2", "cause = 16 @9+6",
                           "call reference = 5 @1+4", "SSCOP = SD @16+1", "N(S) = 7 @17+3"})
    EXPECT_NE(said.find(part), std::string::npos) << part << said;
  EXPECT_EQ(explain_signalling(from_hex("00")).back().name, "error");
  EXPECT_NE(lines_of(explain_signalling(write_sscop({.type = SscopType::kData}))).find("error"),
            std::string::npos);
  const std::string status = lines_of(explain_signalling(write_sscop(
      {.type = SscopType::kStatus, .number = 4, .most = 40, .poll = 3, .list = {4, 5}})));
  for (const char* part : {"missing from = 4 @0+4", "there from = 5 @4+4", "N(PS) = 3 @8+4",
                           "N(MR) = 40 @12+4", "SSCOP = STAT @16+1", "N(R) = 4 @17+3"})
    EXPECT_NE(status.find(part), std::string::npos) << part << status;
}

}  // namespace
}  // namespace weft::wan::atm
