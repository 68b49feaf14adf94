// SPDX-License-Identifier: Apache-2.0
#include "verbs/registry.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "host/device_list.h"
#include "host/process.h"
#include "verbs/log.h"

namespace weft::verbs {
namespace {

template <std::size_t kSize>
void copy_text(char (&to)[kSize], const std::string& from) {
  const std::size_t length = std::min(from.size(), kSize - 1);
  std::memcpy(to, from.data(), length);
  to[length] = '\0';
}

}  // namespace

Device::Device(const host::DeviceInfo& device_info, unsigned index)
    : DeviceAbi{}, info(device_info) {
  device.node_type = IBV_NODE_CA;
  device.transport_type = IBV_TRANSPORT_IB;
  copy_text(device.name, info.name);
  copy_text(device.dev_name, fmt::format("uverbs{}", index));
  copy_text(device.dev_path, fmt::format("/sys/class/infiniband_verbs/uverbs{}", index));
  copy_text(device.ibdev_path, fmt::format("/sys/class/infiniband/{}", info.name));
}

DeviceRegistry& DeviceRegistry::instance() {
  static DeviceRegistry& registry = *new DeviceRegistry;
  return registry;
}

void DeviceRegistry::refresh() {
  std::vector<host::DeviceInfo> found;
  // The configuration's own error was printed when it was read.
  if (const auto& config = host::process_config(); config) {
    auto listed = host::list_devices(*config);
    if (listed) {
      found = std::move(*listed);
    } else {
      report(listed.error());
    }
  }
  std::vector<std::shared_ptr<Device>> now;
  for (unsigned index = 0; index < found.size(); ++index) {
    const auto same = [&](const std::shared_ptr<Device>& known) {
      return known->info.name == found[index].name && known->info.ifindex == found[index].ifindex &&
             known->info.node_guid == found[index].node_guid;
    };
    const auto known = std::find_if(present_.begin(), present_.end(), same);
    now.push_back(known != present_.end() ? *known : std::make_shared<Device>(found[index], index));
  }
  present_ = std::move(now);
}

ibv_device** DeviceRegistry::make_list(int* count) {
  const std::lock_guard guard(mutex_);
  refresh();
  auto list = std::make_unique<List>();
  list->devices = present_;
  for (const auto& device : present_)
    list->pointers.push_back(&device->device);
  list->pointers.push_back(nullptr);
  ibv_device** array = list->pointers.data();
  if (count != nullptr) *count = static_cast<int>(present_.size());
  lists_.emplace(array, std::move(list));
  return array;
}

void DeviceRegistry::free_list(ibv_device** list) {
  const std::lock_guard guard(mutex_);
  lists_.erase(list);
}

std::shared_ptr<Device> DeviceRegistry::find(const ibv_device* device) {
  const auto same = [&](const std::shared_ptr<Device>& known) { return &known->device == device; };
  const std::lock_guard guard(mutex_);
  const auto known = std::find_if(present_.begin(), present_.end(), same);
  if (known != present_.end()) return *known;
  for (const auto& [array, list] : lists_) {
    const auto listed = std::find_if(list->devices.begin(), list->devices.end(), same);
    if (listed != list->devices.end()) return *listed;
  }
  return nullptr;
}

void DeviceRegistry::add(const std::shared_ptr<Opening>& opening) {
  const std::lock_guard guard(mutex_);
  std::erase_if(openings_, [](const auto& entry) { return entry.second.expired(); });
  openings_[opening->file] = opening;
}

std::shared_ptr<Opening> DeviceRegistry::find(const Opening::FileId& file) {
  const std::lock_guard guard(mutex_);
  const auto known = openings_.find(file);
  return known != openings_.end() ? known->second.lock() : nullptr;
}

}  // namespace weft::verbs
