// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <vector>

#include "verbs/objects.h"

namespace weft::verbs {

// The devices that this process knows, and the lists of them that it handed out. A device stays at
// one address while it is present, so that programs may compare pointers and may keep using one
// after they freed the list, which many do.
class DeviceRegistry {
 public:
  // The process's registry. Never destroyed: programs call verbs from their own exit handlers.
  static DeviceRegistry& instance();

  // A null-terminated array to be freed with free_list().
  ibv_device** make_list(int* count);
  void free_list(ibv_device** list);
  // The owner of a device that a program names; nullptr when it is none of ours.
  std::shared_ptr<Device> find(const ibv_device* device);

  void add(const std::shared_ptr<Opening>& opening);
  // The opening that `file` is a cmd_fd of; nullptr when there is none, or none any more.
  std::shared_ptr<Opening> find(const Opening::FileId& file);

 private:
  struct List {
    std::vector<std::shared_ptr<Device>> devices;
    std::vector<ibv_device*> pointers;  // what the program sees, with a null at the end
  };
  void refresh();

  std::mutex mutex_;
  std::vector<std::shared_ptr<Device>> present_;
  std::map<ibv_device**, std::unique_ptr<List>> lists_;
  std::map<Opening::FileId, std::weak_ptr<Opening>> openings_;
};

}  // namespace weft::verbs
