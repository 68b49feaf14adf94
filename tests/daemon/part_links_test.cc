// SPDX-License-Identifier: Apache-2.0
// The parts of a lab find each other, lose each other, and tell each other records.
#include "daemon/lab/part_links.h"

#include "part_links_fixture.h"
#include "service/service.h"

namespace weft::daemon {
namespace {

TEST_F(Parts, FindEachOtherWhicheverComesFirst) {
  start_left();
  start_right();
  await_up();
  left.reset();
  await([this] { return right->all_down(); });
  start_left();
  await_up();
  right.reset();
  await([this] { return left->all_down(); });
  EXPECT_EQ(left->links().report()[0]["connected"], 0);
  start_right();
  await_up();
  EXPECT_EQ(left->links().report()[0]["connected"], 2);
  EXPECT_EQ(left->links().report(0)["carrier"], "rings");
}

TEST_F(Parts, CallEachOtherOnlyAsLongAsOneIsMissing) {
  start_right();
  EXPECT_TRUE(right->has_timer());
  start_left();
  await_up();
  await([this] { return !right->has_timer(); });
  left.reset();
  await([this] { return right->all_down(); });
  EXPECT_TRUE(right->has_timer());
  start_left();
  await_up();
  await([this] { return !right->has_timer(); });
}

TEST_F(Parts, OnTwoMachinesFindEachOtherOverUdp) {
  text = lab_text("address = '127.0.0.1:18519'", "address = '127.0.0.2:18519'");
  start_right();
  start_left();
  await_up();
  EXPECT_FALSE(std::filesystem::exists(socket_of("left"))) << "nobody on this machine is expected";
  right.reset();
  await([this] { return left->all_down(); });
  start_right();
  await_up();
  EXPECT_EQ(left->links().report(0)["carrier"], "udp");
}

TEST_F(Parts, HaveTheLinksOfEachOtherTrainAsBothCan) {
  text += "width = '1x'\n";
  start_left();
  start_right();
  await_up();
  EXPECT_EQ(left->fabric().end(0, 0).port_info().link_width_active, 2) << "4x";
  EXPECT_EQ(right->fabric().end(1, 0).port_info().link_width_active, 1) << "1x";
}

// What a subnet manager sets at one end holds at both, from when the link trains anew.
TEST_F(Parts, HaveTheLinksOfEachOtherTrainAsBothMay) {
  constexpr std::uint8_t k1x = 1;
  constexpr std::uint8_t kSdr = 1;
  for (const bool over_udp : {false, true}) {
    if (over_udp) text = lab_text("address = '127.0.0.1:18521'", "address = '127.0.0.2:18521'");
    start_left();
    start_right();
    await_up();
    fabric::NodePort& here = left->fabric().end(0, 0);
    fabric::NodePort& there = right->fabric().end(0, 1);
    EXPECT_EQ(here.port_info().link_width_active, 2) << "4x";
    wire::PortInfo info = there.port_info();
    info.link_width_enabled = k1x;
    info.link_speed_enabled = kSdr;
    info.link_speed_ext_enabled = 0;
    there.set_port_info(info, io::now());
    EXPECT_EQ(here.port_info().link_width_active, 2) << "not trained anew";
    there.link().set_physical_state(link::PortPhysicalState::kPolling, io::now());
    await([&here] { return here.port_info().link_width_active == k1x; });
    await_up();
    for (const fabric::NodePort* const end : {&here, &there}) {
      EXPECT_EQ(end->port_info().link_width_active, k1x);
      EXPECT_EQ(end->port_info().link_speed_active, kSdr);
      EXPECT_EQ(end->port_info().link_speed_ext_active, 0);
    }
    left.reset();
    right.reset();
  }
}

TEST_F(Parts, PullACableForEachOther) {
  start_left();
  start_right();
  await_up();
  for (RunningPart* const part : {left.get(), right.get()}) {
    part->fabric().link(0).set_plugged(false, io::now());
    await([this] {
      return left->state(0) != link::PortPhysicalState::kLinkUp &&
             right->state(0) != link::PortPhysicalState::kLinkUp;
    });
    EXPECT_EQ(left->state(1), link::PortPhysicalState::kLinkUp) << "the other one stays";
    part->fabric().link(0).set_plugged(true, io::now());
    await_up();
  }
}

TEST_F(Parts, AreWokenByEachOther) {
  start_left();
  start_right();
  await_up();
  await([this] { return left->sleep(0ns); });
  right->fabric().link(0).set_plugged(false, io::now());
  right->turn();
  const Time begin = io::now();
  left->sleep(kPartLinksPatience);
  left->turn();
  EXPECT_LT(io::now() - begin, kPartLinksPatience) << "nobody woke it";
}

TEST_F(Parts, TellEachOtherRecordsInTheirOrder) {
  start_left();
  left->tell({.service = 1});  // nobody is there to whom it matters
  start_right();
  await([this] { return left->memory.came == 1 && right->memory.came == 1; });
  const PartMemory::Heard longest{.service = 7,
                                  .which = PartRecord::kRuntime,
                                  .record = std::vector(service::Host::kMostRecord, std::byte{9})};
  const PartMemory::Heard empty{.service = ~std::uint64_t{0}, .which = 3};
  left->tell(longest);
  left->tell(empty);
  right->tell(empty);
  await([this] { return right->memory.heard.size() == 2 && left->memory.heard.size() == 1; });
  EXPECT_EQ(right->memory.heard, (std::vector{longest, empty}));
  EXPECT_EQ(left->memory.heard, (std::vector{empty}));
  EXPECT_EQ(left->counter("parts_records_lost"), 0u);
  await_up();
}

TEST_F(Parts, TellWhoeverComesWhatTheyKnow) {
  start_left();
  left->memory.known = {{.service = 7, .which = 1, .record = {std::byte{1}}}, {.service = 8}};
  for (int round = 1; round <= 2; ++round) {
    start_right();
    await([this] { return right->memory.heard.size() == 2; });
    EXPECT_EQ(right->memory.heard, left->memory.known);
    EXPECT_EQ(left->memory.came, round);
    right.reset();
    await([this] { return left->all_down(); });
  }
}

// They have an instance of a service each, and no link from one to the other.
TEST_F(Parts, TellEachOtherRecordsWithoutALinkBetweenThem) {
  text =
      "[part]\nleft = {}\nright = {}\n[switch]\ns1 = { ports = 4 }\n"
      "s2 = { ports = 4, part = 'right' }\n[node]\nfw1 = {}\nfw2 = { part = 'right' }\n"
      "[service.firewall]\nat = [['fw1', 'fw2']]\nlids = [0x40, 0x41]\n"
      "[[link]]\nends = ['fw1', 's1']\n[[link]]\nends = ['fw2', 's2']\n";
  start_left();
  start_right();
  await([this] { return left->memory.came == 1 && right->memory.came == 1; });
  left->tell({.service = 7});
  await([this] { return right->memory.heard.size() == 1; });
}

TEST_F(Parts, CountTheRecordsThatAnotherOneDoesNotTakeInTime) {
  start_left();
  start_right();
  await([this] { return left->memory.came == 1 && right->memory.came == 1; });
  // More than wait, and than the socket has room for.
  constexpr std::uint64_t kTold = 150'000;
  for (std::uint64_t i = 0; i < kTold; ++i)
    left->tell({.service = i});
  const std::uint64_t lost = left->counter("parts_records_lost");
  ASSERT_GT(lost, 0u);
  ASSERT_LT(lost, kTold);
  await([&] { return right->memory.heard.size() == kTold - lost; });
  for (std::uint64_t i = 0; i < kTold - lost; ++i)
    ASSERT_EQ(right->memory.heard[i].service, i);
  left->tell({.service = kTold});
  await([&] { return right->memory.heard.back().service == kTold; });
  EXPECT_EQ(left->counter("parts_records_lost"), lost);
  await_up();
}

}  // namespace
}  // namespace weft::daemon
