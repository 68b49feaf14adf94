// SPDX-License-Identifier: Apache-2.0
// What an adapter lets a program send, and what it does with what it does not.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>

#include "fabric/attachment.h"
#include "running_lab.h"
#include "test_program.h"

namespace weft::fabric {
namespace {

using ::testing::SizeIs;

class AttachmentSend : public ::testing::Test {
 protected:
  AttachmentSend() { lab.bring_up(); }

  NodePort& port(const std::string& name) { return lab.fabric.find_node(name)->port(1); }
  mgmt::ManagedNode& managed(const std::string& name) { return *lab.fabric.find_node(name); }
  Sent send(const Datagram& datagram) { return a.send(datagram, lab.now); }
  // The packet with these bytes changed, and sealed anew.
  Sent send_changed(const Datagram& datagram,
                    const std::function<void(std::vector<std::byte>&)>& change) {
    auto bytes = datagram.bytes();
    change(bytes);
    if (wire::walk_link_packet(bytes)) wire::seal_link_packet(bytes);
    reseal_vcrc(bytes);
    return a.send(bytes, lab.now);
  }
  // Of packets that the walker refuses too.
  static void reseal_vcrc(std::vector<std::byte>& bytes) {
    const auto covered = Bytes(bytes).first(bytes.size() - wire::kVcrcSize);
    const auto crc = wire::crc16_finish(wire::crc16_update(wire::kVcrcPreset, covered));
    wire::store_le16(bytes.data() + covered.size(), crc);
  }
  Datagram global() {
    Datagram datagram = a.to(d);
    datagram.grh = wire::Grh{.sgid = gid_of(port("a")), .dgid = gid_of(port("d"))};
    return datagram;
  }
  std::size_t arrived() {
    lab.settle();
    return d.taken.size();
  }

  RunningLab lab{lab_of(kFourNodes)};
  TestProgram a{lab.fabric, "a"};
  TestProgram other{lab.fabric, "a"};
  TestProgram d{lab.fabric, "d"};
};

TEST_F(AttachmentSend, TakesPacketsWithAndWithoutAGlobalRouteHeader) {
  EXPECT_EQ(send(a.to(d)), Sent::kTaken);
  EXPECT_EQ(send(global()), Sent::kTaken);
  EXPECT_EQ(arrived(), 2u);
  EXPECT_EQ(a.count(NodeCounter::kForged), 0u);
}

TEST_F(AttachmentSend, TakesEachGidAndLidOfThePort) {
  wire::PortInfo info = managed("a").port_info(1);
  info.gid_prefix = 0x2001'0DB8'0000'0000;
  info.lid = Lid{40};
  info.lmc = 2;
  managed("a").set_port_info(1, info, lab.now);
  wire::GuidBlock guids = managed("a").guids(1, 0);
  guids.guids[3] = Guid{0x0200'0000'0000'1234};
  managed("a").set_guids(1, 0, guids);
  lab.settle();
  Datagram datagram = global();
  datagram.slid = Lid{43};
  EXPECT_EQ(send(datagram), Sent::kTaken);
  datagram.grh->sgid = gid_of(port("a"), 3);
  EXPECT_EQ(send(datagram), Sent::kTaken);
  auto bytes = datagram.grh->sgid.bytes();
  bytes = {0xFE,     0x80,     0,         0,         0,         0,         0,         0,
           bytes[8], bytes[9], bytes[10], bytes[11], bytes[12], bytes[13], bytes[14], bytes[15]};
  datagram.grh->sgid = Gid{bytes};
  EXPECT_EQ(send(datagram), Sent::kTaken) << "the link-local prefix holds always";
  EXPECT_EQ(arrived(), 3u);
  datagram.slid = Lid{44};
  EXPECT_EQ(send(datagram), Sent::kForged);
}

TEST_F(AttachmentSend, RefusesAnIdentityThatIsNotThePrograms) {
  int refused = 0;
  const auto is_forged = [&](const Datagram& datagram, const char* what) {
    EXPECT_EQ(send(datagram), Sent::kForged) << what;
    EXPECT_EQ(a.count(NodeCounter::kForged), static_cast<std::uint64_t>(++refused)) << what;
  };
  Datagram datagram = a.to(d);
  datagram.slid = port("b").lid();
  is_forged(datagram, "the LID of another port");
  datagram.slid = Lid{};
  is_forged(datagram, "no LID");
  datagram = a.to(d);
  datagram.source = other.qpn;
  is_forged(datagram, "a DETH that names another");
  datagram = a.to(d);
  datagram.pkey = PKey{0x8123};
  is_forged(datagram, "a partition that the port is not in");
  datagram.pkey = PKey{0x7FFF};
  is_forged(datagram, "a membership that the table does not have");
  datagram.pkey = PKey{};
  is_forged(datagram, "an invalid P_Key, of which the table is full");
  datagram = global();
  datagram.grh->sgid = gid_of(port("b"));
  is_forged(datagram, "the GID of another port");
  datagram.grh->sgid = Gid{};
  is_forged(datagram, "no GID");
  datagram.grh->sgid = Gid{{0xFE, 0x80}};
  is_forged(datagram, "a GUID of zero, of which the table is full");
  EXPECT_EQ(arrived(), 0u);
}

TEST_F(AttachmentSend, RefusesAQueuePairThatIsNotTheProgramsOwn) {
  Datagram datagram = a.to(d);
  datagram.source = other.qpn;
  EXPECT_EQ(a.send(datagram.bytes(), other.qpn, a.attachment().epoch(), lab.now), Sent::kForged);
  // Nobody's: not that of a program that has not sent yet either.
  datagram.source = Qpn{};
  EXPECT_EQ(a.send(datagram.bytes(), Qpn{}, a.attachment().epoch(), lab.now), Sent::kForged);
  datagram.source = Qpn{4711};
  EXPECT_EQ(a.send(datagram.bytes(), Qpn{4711}, a.attachment().epoch(), lab.now), Sent::kForged);
  datagram.opcode = wire::Opcode::uc_send_only;  // names no source of its own
  EXPECT_EQ(a.send(datagram.bytes(), other.qpn, a.attachment().epoch(), lab.now), Sent::kForged);
  EXPECT_EQ(a.send(datagram.bytes(), a.qpn, a.attachment().epoch(), lab.now), Sent::kTaken);
  EXPECT_EQ(arrived(), 1u);
}

TEST_F(AttachmentSend, DropsWhatAQueuePairSentBeforeItsNumberWasGivenBack) {
  const Qpn gone = *a.attachment().allocate();
  Datagram datagram = a.to(d);
  datagram.source = gone;
  ASSERT_TRUE(a.attachment().release(gone));
  EXPECT_EQ(a.send(datagram.bytes(), gone, a.attachment().epoch(), lab.now), Sent::kTaken);
  EXPECT_EQ(a.count(NodeCounter::kOutdated), 1u);
  for (std::size_t i = 0; i < AttachedProgram::kLately; ++i)
    ASSERT_TRUE(a.attachment().release(*a.attachment().allocate()));
  EXPECT_EQ(a.send(datagram.bytes(), gone, a.attachment().epoch(), lab.now), Sent::kForged);
  EXPECT_EQ(arrived(), 0u);
}

TEST_F(AttachmentSend, RefusesWhatNoProgramMaySend) {
  Datagram datagram = a.to(d);
  datagram.vl = Vl{15};
  EXPECT_EQ(send(datagram), Sent::kForged) << "the lane of subnet management";
  for (const Qpn management : {kQp0, kQp1}) {
    datagram = a.to(d);
    datagram.dest = management;
    EXPECT_EQ(send(datagram), Sent::kForged) << management.value();
  }
  datagram = a.to(d);
  datagram.qkey = kGsiQKey;
  EXPECT_EQ(send(datagram), Sent::kForged) << "a privileged Q_Key";
  for (const auto opcode : {wire::Opcode::rd_send_only, wire::Opcode::cnp,
                            wire::Opcode::weft_ud_credit, static_cast<wire::Opcode>(0x3F)}) {
    datagram = a.to(d);
    datagram.opcode = opcode;
    EXPECT_EQ(send_changed(datagram, [](auto&) {}), Sent::kForged) << static_cast<int>(opcode);
  }
  EXPECT_EQ(arrived(), 0u);
}

TEST_F(AttachmentSend, RefusesMalformedPackets) {
  const Datagram local = a.to(d);
  const Datagram with_grh = global();
  const auto forged = [&](const Datagram& datagram, std::size_t at, unsigned bits) {
    const auto flip = [&](std::vector<std::byte>& bytes) {
      bytes[at] ^= std::byte(static_cast<std::uint8_t>(bits));
    };
    EXPECT_EQ(send_changed(datagram, flip), Sent::kForged) << "byte " << at;
  };
  forged(local, 0, 0x01);      // LVer
  forged(local, 1, 0x02);      // LNH: raw
  forged(local, 1, 0x03);      // LNH: raw IPv6
  forged(local, 1, 0x01);      // LNH: a GRH that is not there
  forged(with_grh, 1, 0x01);   // LNH: none, but there is one
  forged(local, 5, 0x01);      // PktLen
  forged(local, 4, 0x04);      // PktLen
  forged(with_grh, 8, 0x10);   // IPVer
  forged(with_grh, 13, 0x04);  // PayLen
  forged(with_grh, 14, 0x01);  // NxtHdr
  forged(local, 8 + 1, 0x01);  // TVer
  EXPECT_EQ(arrived(), 0u);
}

TEST_F(AttachmentSend, RefusesPacketsTooShortForTheirHeaders) {
  Datagram datagram = a.to(d);
  datagram.payload = 0;
  datagram.opcode = wire::Opcode::rc_compare_swap;  // 28 bytes of header, and 8 are there
  EXPECT_EQ(send_changed(datagram, [](auto&) {}), Sent::kForged);
  datagram.opcode = wire::Opcode::ud_send_only;
  EXPECT_EQ(send(datagram), Sent::kTaken);
  const auto pad = [](std::vector<std::byte>& bytes) { bytes[8 + 1] |= std::byte{0x10}; };
  EXPECT_EQ(send_changed(datagram, pad), Sent::kForged) << "a pad byte, and no payload";
  for (const std::size_t size : {10U, 14U, 22U, 26U, 30U}) {
    const auto cut = [&](std::vector<std::byte>& bytes) {
      bytes.resize(size);
      wire::store_be16(bytes.data() + 4, static_cast<std::uint16_t>((size - 2) / 4));
    };
    EXPECT_EQ(send_changed(a.to(d), cut), Sent::kForged) << size;
  }
  EXPECT_EQ(arrived(), 1u);
}

TEST_F(AttachmentSend, RefusesAWrongVcrc) {
  auto bytes = a.to(d).bytes();
  bytes.back() ^= std::byte{1};
  EXPECT_EQ(a.send(bytes, lab.now), Sent::kForged);
  bytes = a.to(d).bytes();
  bytes[40] ^= std::byte{1};
  EXPECT_EQ(a.send(bytes, lab.now), Sent::kForged);
}

TEST_F(AttachmentSend, RefusesWhatIsLongerThanTheNeighbourTakes) {
  Datagram datagram = a.to(d);
  datagram.payload = 4096;
  EXPECT_EQ(send(datagram), Sent::kTaken);
  EXPECT_EQ(arrived(), 1u);
  wire::PortInfo info = managed("a").port_info(1);
  info.neighbor_mtu = 3;
  managed("a").set_port_info(1, info, lab.now);
  EXPECT_EQ(send(datagram), Sent::kForged);
  datagram.payload = 1024;
  EXPECT_EQ(send(datagram), Sent::kTaken);
  EXPECT_EQ(arrived(), 2u);
}

TEST_F(AttachmentSend, DropsWhatWasRightByOlderFactsOfThePort) {
  const std::uint32_t before = a.attachment().epoch();
  const Datagram datagram = a.to(d);
  wire::PortInfo info = managed("a").port_info(1);
  info.lid = Lid{40};
  managed("a").set_port_info(1, info, lab.now);
  EXPECT_EQ(a.send(datagram.bytes(), a.qpn, before, lab.now), Sent::kTaken);
  EXPECT_EQ(a.count(NodeCounter::kOutdated), 1u);
  EXPECT_EQ(send(datagram), Sent::kForged) << "it has been told";
  EXPECT_EQ(a.send(a.to(d).bytes(), a.qpn, before, lab.now), Sent::kTaken) << "right by luck";
  EXPECT_EQ(arrived(), 1u);
}

TEST_F(AttachmentSend, RefusesFactsFromTheFuture) {
  EXPECT_EQ(a.send(a.to(d).bytes(), a.qpn, a.attachment().epoch() + 1, lab.now), Sent::kForged);
}

TEST_F(AttachmentSend, DropsWhatHasNoLane) {
  wire::SlToVl lanes;
  lanes.vls[2] = Vl{15};
  managed("a").set_sl_to_vl(0, 1, lanes);
  Datagram datagram = a.to(d);
  datagram.sl = Sl{2};
  EXPECT_EQ(send(datagram), Sent::kTaken);
  EXPECT_EQ(arrived(), 0u);
  EXPECT_EQ(a.count(NodeCounter::kNoVl), 1u);
  EXPECT_EQ(lab.fabric.packets_in_use(), 0u);
}

}  // namespace
}  // namespace weft::fabric
