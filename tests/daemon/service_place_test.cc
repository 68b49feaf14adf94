// SPDX-License-Identifier: Apache-2.0
// What the instances of a service in a lab's daemon know of each other, and of ports that go.
#include "daemon/service/service_place.h"

#include "../fabric/running_lab.h"
#include "../service/firewall_world.h"
#include "daemon/service/service_maker.h"
#include "io/clock.h"
#include "io/system_entropy.h"
#include "service/map_record.h"
#include "sm/sa/subnet_view.h"

namespace weft::daemon {
namespace {

class ServicePlaces : public testing::Test, private ServicePlace::Peers {
 protected:
  std::unique_ptr<ServicePlace> open(const char* node) {
    fabric::LabService kind;
    kind.name = "firewall";
    kind.type = "firewall";
    const fabric::LabPort at{.node = node};
    std::vector<std::unique_ptr<service::Service>> services;
    services.push_back(
        std::move(make_service(lab.fabric.lab(), kind, at, entropy, log).value().service));
    ServicePlace::Peers& peers = *this;
    return ServicePlace::open(*lab.fabric.find_adapter(node), 1, std::move(services), {},
                              {.packets = lab.fabric.pool(), .blocks = blocks}, peers, entropy)
        .value();
  }
  static std::uint64_t connections(const ServicePlace& place) {
    for (const CounterValue& each : place.services().front()->counters()) {
      if (each.name == "connections") return each.value;
    }
    ADD_FAILURE();
    return 0;
  }
  static std::size_t numbers(const ServicePlace& place) {
    return place.runtime().mapper().queue_pairs().size();
  }
  void publish(ServicePlace&, std::size_t, Bytes) override {}
  bool mirror(ServicePlace&, Bytes, const service::Arrival&) override { return false; }

  FirewallLog log;
  BufferPool blocks{ServicePlace::kBlock, 16};
  fabric::RunningLab lab{fabric::lab_of(fabric::kFourNodes)};
  io::SystemEntropy entropy;
};

TEST_F(ServicePlaces, LearnWhatAnotherOneKnowsAndForgetPortsThatGo) {
  const auto first = open("c");
  const service::firewall::Exchange exchange;
  for (const service::test::Made& made : {exchange.req(), exchange.rep(), exchange.rtu()})
    first->apply(0, service::test::make(made), io::now());
  const Guid port = lab.fabric.find_adapter("a")->port(1).guid();
  const service::MappedQp entry{.number = Qpn{0x1234},
                                .owner = sm::make_gid(fabric::kDefaultSubnetPrefix, port),
                                .real = Qpn{0x12},
                                .peer = service::test::gid(2),
                                .established = true};
  first->apply(service::Runtime::kMapping, service::MapRecord{.of = entry}.bytes(), io::now());
  ASSERT_EQ(connections(*first), 1u);
  ASSERT_EQ(numbers(*first), 1u);

  const auto second = open("d");
  EXPECT_EQ(connections(*second), 0u);
  second->catch_up(*first, io::now());
  EXPECT_EQ(connections(*second), 1u);
  EXPECT_EQ(numbers(*second), 1u);

  second->forget(lab.fabric.find_adapter("b")->port(1).guid());
  EXPECT_EQ(numbers(*second), 1u);
  second->forget(port);
  EXPECT_EQ(numbers(*second), 0u);
}

}  // namespace
}  // namespace weft::daemon
