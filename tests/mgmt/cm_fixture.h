// SPDX-License-Identifier: Apache-2.0
// Host a asks, host b is asked; each step by itself.
#pragma once

#include <gtest/gtest.h>

#include "cm_world.h"

namespace weft::mgmt::test {

class CmTest : public testing::Test {
 protected:
  CmId listen(std::uint32_t backlog = 16) {
    return b
        .call([&](ConnectionManager& cm) {
          return cm.listen({.service_id = kService, .backlog = backlog, .user = 77});
        })
        .value();
  }
  CmId connect() { return connect(connect_parameters(a, b)); }
  CmId connect(const ConnectParameters& parameters) {
    return a.call([&](ConnectionManager& cm) { return cm.connect(parameters, world.now()); })
        .value();
  }
  Expected<void> accept(CmId id,
                        const AcceptParameters& parameters = {
                            .qpn = Qpn{0x22}, .responder_resources = 3, .initiator_depth = 2}) {
    return b.call([&](ConnectionManager& cm) { return cm.accept(id, parameters, world.now()); });
  }
  Expected<void> ready(CmId id, Bytes data = {}) {
    return a.call([&](ConnectionManager& cm) { return cm.ready(id, data, world.now()); });
  }
  Expected<void> disconnect(CmHost& host, CmId id, Bytes data = {}) {
    return host.call([&](ConnectionManager& cm) { return cm.disconnect(id, data, world.now()); });
  }
  void destroy(CmHost& host, CmId id) {
    host.call([&](ConnectionManager& cm) { cm.destroy(id, world.now()); });
  }
  void run(Duration time = 100ms) { world.run(time); }
  // To the end of all timers.
  void run_out() { ASSERT_TRUE(world.run_out()); }

  struct Ids {
    CmId a, b;
  };
  Ids establish() {
    if (listener_ == CmId{}) listener_ = listen();
    const CmId at_a = connect();
    run();
    const CmId at_b = b.only_id<ConnectRequest>();
    EXPECT_TRUE(accept(at_b));
    run();
    EXPECT_TRUE(ready(at_a));
    run();
    EXPECT_EQ(a.manager.state(at_a), CmState::kEstablished);
    EXPECT_EQ(b.manager.state(at_b), CmState::kEstablished);
    return {at_a, at_b};
  }

  CmWorld world;
  CmHost& a = world.a();
  CmHost& b = world.b();
  CmId listener_{};
};

}  // namespace weft::mgmt::test
