// SPDX-License-Identifier: Apache-2.0
// Asks a lab's subnet administrator as a node does that knows no library.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <vector>

#include "running_lab.h"
#include "wire/sa/sa_header.h"

namespace weft::sm {

struct AdministratorQuestion {
  wire::MadMethod method{};
  wire::SaAttribute attribute{};
  std::uint64_t mask = 0;  // components of `record` that are meant
  Bytes record{};
  std::uint64_t number = 0;  // transaction and cookie
};

// From port 1 of `node`, whose agent gets the answer while the lab runs on.
inline void ask_administrator(fabric::RunningLab& running, const std::string& node,
                              mgmt::AgentId agent, const AdministratorQuestion& question) {
  std::vector<std::byte> mad(wire::SaHeader::kDataOffset);
  wire::MadHeader{.mgmt_class = wire::MgmtClass::kSubnAdm,
                  .class_version = wire::kSaClassVersion,
                  .method = question.method,
                  .transaction_id = question.number,
                  .attribute_id = static_cast<std::uint16_t>(question.attribute)}
      .write(mad);
  wire::SaHeader{.component_mask = question.mask}.write(mad);
  mad.insert(mad.end(), question.record.begin(), question.record.end());
  fabric::Node& asker = *running.fabric.find_node(node);
  EXPECT_TRUE(asker.management().mad_port(1).send(
      agent,
      {.to = {.lid = asker.port(1).port_info().master_sm_lid, .qpn = kQp1, .qkey = kGsiQKey},
       .mad = mad,
       .timeout = 200ms,
       .cookie = question.number},
      running.now));
  asker.management_used();
}

}  // namespace weft::sm
