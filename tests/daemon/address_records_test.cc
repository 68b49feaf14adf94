// SPDX-License-Identifier: Apache-2.0
// IP addresses as ServiceRecords: what is offered is what a question asks for, in a real
// administrator's table, and nothing else is taken for an answer.
#include "daemon/lab/address_records.h"

#include <gtest/gtest.h>

#include "wire/sa/sa_layout.h"
#include "wire/sa/service_record.h"

namespace weft::daemon {
namespace {

const Gid kAddress = Gid::from_ipv4(0x0AFE'8001);
const Gid kPort{{0xFD, 0, 0, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, 0, 0, 9}};

MutableBytes data_of(wire::MadBuffer& mad) {
  return MutableBytes(mad).subspan(wire::SaHeader::kDataOffset);
}

// As an administrator answers a question with what it was offered.
wire::MadBuffer answer(const Gid& offered, const Gid& gid) {
  wire::MadBuffer mad = address_offer(offered, gid, 1);
  auto header = *wire::MadHeader::parse(mad);
  header.method = wire::MadMethod::kGetResponse;
  header.write(mad);
  return mad;
}

bool finds(const Gid& asked, const Gid& offered) {
  wire::MadBuffer question = address_question(asked, 1);
  wire::MadBuffer offer = address_offer(offered, kPort, 2);
  const auto sa = wire::SaHeader::parse(question);
  return wire::matches(wire::kServiceRecord, sa->component_mask, data_of(question), data_of(offer));
}

TEST(AddressRecords, AreFoundByTheirAddressAlone) {
  EXPECT_TRUE(finds(kAddress, kAddress));
  EXPECT_FALSE(finds(Gid::from_ipv4(0x0AFE'8002), kAddress));
  EXPECT_FALSE(finds(Gid::from_ipv4(0x0BFE'8001), kAddress));
}

TEST(AddressRecords, AreThoseOfTheAddressTranslationService) {
  wire::MadBuffer offer = address_offer(kAddress, kPort, 2);
  const auto record = *wire::ServiceRecord::parse(data_of(offer));
  EXPECT_EQ(record.id, 0x1000'0CE1'0041'5453u);
  EXPECT_STREQ(reinterpret_cast<const char*>(record.name.data()),
               "DAPL Address Translation Service");
  EXPECT_EQ(record.gid, kPort);
  EXPECT_EQ(record.lease, kAddressLease);
  EXPECT_EQ(record.data[12], std::byte{10});
  EXPECT_EQ(record.data[15], std::byte{1});
}

TEST(AddressRecords, NameThePort) {
  EXPECT_EQ(read_address_answer(answer(kAddress, kPort)), kPort);
}

TEST(AddressRecords, AreNotReadFromAnythingElse) {
  wire::MadBuffer refused = answer(kAddress, kPort);
  auto header = *wire::MadHeader::parse(refused);
  header.status = 0x0300;
  header.write(refused);
  EXPECT_FALSE(read_address_answer(refused));
  header.status = 0;
  header.attribute_id = 0x0035;
  header.write(refused);
  EXPECT_FALSE(read_address_answer(refused));
  EXPECT_FALSE(read_address_answer(address_offer(kAddress, kPort, 1))) << "it is no answer";
  const wire::MadBuffer whole = answer(kAddress, kPort);
  EXPECT_FALSE(read_address_answer(Bytes(whole).first(whole.size() - 1)));
  EXPECT_FALSE(read_address_answer({}));
  for (const Gid& nobody : {Gid{}, Gid::from_ipv4(0x0AFE'8001), Gid{{0xFF, 0x12}}})
    EXPECT_FALSE(read_address_answer(answer(kAddress, nobody))) << nobody.to_string();
}

}  // namespace
}  // namespace weft::daemon
