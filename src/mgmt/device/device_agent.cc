// SPDX-License-Identifier: Apache-2.0
#include "mgmt/device/device_agent.h"

#include <algorithm>
#include <cassert>
#include <utility>

#include "wire/class_port_info.h"
#include "wire/device_management.h"
#include "wire/endian.h"

namespace weft::mgmt {
namespace {

using wire::DeviceAttribute;
using wire::MadStatus;

constexpr std::uint8_t kDeviceAgentResponseTime = 13;  // 4.096 us * 2^13 = 34 ms

}  // namespace

void DeviceAgent::set_controllers(std::vector<IoController> controllers) {
  assert(controllers.size() <= 255);
  controllers_ = std::move(controllers);
}

MadStatus DeviceAgent::handle(bool set, wire::MutableMadBytes mad) {
  const MutableBytes data = wire::device_management::data(mad);
  const auto attribute = static_cast<DeviceAttribute>(wire::load_be16(mad.data() + 16));
  const std::uint32_t modifier = wire::load_be32(mad.data() + 20);
  const std::size_t count = controllers_.size();
  if (attribute == DeviceAttribute::kClassPortInfo) return class_port_info(set, data);
  if (set) return MadStatus::kBadMethodAttribute;
  switch (attribute) {
    case DeviceAttribute::kIoUnitInfo:
      std::ranges::fill(data, std::byte{0});
      wire::IoUnitInfo{.change_id = 0, .controllers = static_cast<std::uint8_t>(count)}.write(data);
      return MadStatus::kOk;
    case DeviceAttribute::kIoControllerProfile:
      return profile(modifier, data);
    case DeviceAttribute::kServiceEntries: {
      const std::uint32_t slot = modifier >> 16;
      return slot >= 1 && slot <= count ? wire::kNoServiceEntries : MadStatus::kInvalidValue;
    }
    default:
      return MadStatus::kBadMethodAttribute;
  }
}

MadStatus DeviceAgent::class_port_info(bool set, MutableBytes data) {
  const MutableBytes trap = data.subspan(kTrapOffset, kTrapSize);
  if (set) std::ranges::copy(trap, trap_target_.begin());
  std::ranges::fill(data, std::byte{0});
  wire::ClassPortInfo{.class_version = wire::kDeviceManagementClassVersion,
                      .response_time = kDeviceAgentResponseTime}
      .write(data);
  std::ranges::copy(trap_target_, trap.begin());
  return MadStatus::kOk;
}

MadStatus DeviceAgent::profile(std::uint32_t slot, MutableBytes data) const {
  if (slot < 1 || slot > controllers_.size()) return MadStatus::kInvalidValue;
  const wire::NodeInfo node = node_.node_info(0);
  const IoController& controller = controllers_[slot - 1];
  std::ranges::fill(data, std::byte{0});
  wire::IoControllerProfile{.guid = controller.guid,
                            .vendor_id = node.vendor_id,
                            .device_id = node.device_id,
                            .device_version = static_cast<std::uint16_t>(node.revision),
                            .id = controller.id}
      .write(data);
  return MadStatus::kOk;
}

}  // namespace weft::mgmt
