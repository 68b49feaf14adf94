// SPDX-License-Identifier: Apache-2.0
// Device list, opening and closing.
#include <dlfcn.h>
#include <endian.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include <atomic>
#include <optional>

#include "host/process.h"
#include "verbs/context_operations.h"
#include "verbs/guard.h"
#include "verbs/registry.h"

using namespace weft;
using namespace weft::verbs;

namespace {

std::optional<Opening::FileId> file_of(int fd) {
  struct stat file {};
  if (::fstat(fd, &file) != 0) return std::nullopt;
  return Opening::FileId{file.st_dev, file.st_ino};
}

// The preloaded shim calls what it finds in this variable of its own.
void hook_exit() {
  using Hook = void (*)();
  if (void* const symbol = ::dlsym(RTLD_DEFAULT, "weft_before_exit")) {
    std::atomic_ref(*static_cast<Hook*>(symbol)).store([] { host::send_owed_by_process(); });
  }
}

ibv_context* make_context(std::shared_ptr<Opening> opening, io::UniqueFd command_fd) {
  auto context = std::make_unique<OpenDevice>();
  context->host = opening->host;
  context->opening = std::move(opening);
  context->command_fd = std::move(command_fd);
  install_operations(*context);
  ibv_context& abi = context->context;
  abi.device = &context->opening->device->device;
  abi.cmd_fd = context->command_fd.get();
  abi.async_fd = context->host->async_events().fd();
  abi.num_comp_vectors = 1;
  pthread_mutex_init(&abi.mutex, nullptr);
  abi.abi_compat = __VERBS_ABI_IS_EXTENDED;
  return &context.release()->context;
}

}  // namespace

ibv_device** ibv_get_device_list(int* num_devices) {
  if (num_devices != nullptr) *num_devices = 0;
  return guard_pointer([&] { return DeviceRegistry::instance().make_list(num_devices); });
}

void ibv_free_device_list(ibv_device** list) {
  DeviceRegistry::instance().free_list(list);
}

const char* ibv_get_device_name(ibv_device* device) {
  return device->name;
}

__be64 ibv_get_device_guid(ibv_device* device) {
  return htobe64(Device::of(device).info.node_guid.value());
}

// The index is the kernel's; -1 says that there is none.
int ibv_get_device_index(ibv_device*) {
  return -1;
}

ibv_context* ibv_open_device(ibv_device* device) {
  return guard_pointer([&]() -> ibv_context* {
    auto known = DeviceRegistry::instance().find(device);
    if (!known) return refuse(ENODEV);
    const auto& config = host::process_config();
    if (!config) return refuse(static_cast<int>(config.error().code));
    // An empty file of its own, so that whoever has a duplicate can be told what it is of.
    io::UniqueFd command_fd(::memfd_create("weft", MFD_CLOEXEC));
    if (!command_fd) return refuse(errno);
    const auto file = file_of(command_fd.get());
    if (!file) return refuse(errno);
    hook_exit();
    auto host = host::Context::open(known->info, *config);
    if (!host) return refuse(host.error());
    auto opening = std::make_shared<Opening>(std::move(known), std::move(*host));
    opening->file = *file;
    DeviceRegistry::instance().add(opening);
    return make_context(std::move(opening), std::move(command_fd));
  });
}

// Within a process: objects live where they were made. The descriptor is the new context's.
ibv_context* ibv_import_device(int cmd_fd) {
  return guard_pointer([&]() -> ibv_context* {
    const auto file = file_of(cmd_fd);
    if (!file) return refuse(errno);
    auto opening = DeviceRegistry::instance().find(*file);
    if (!opening) return refuse(EOPNOTSUPP);
    return make_context(std::move(opening), io::UniqueFd(cmd_fd));
  });
}

int ibv_close_device(ibv_context* context) {
  const std::unique_ptr<OpenDevice> closing(&OpenDevice::of(context));
  return guard_errno([&] {
    pthread_mutex_destroy(&closing->context.mutex);
    closing->opening.reset();
    return 0;
  });
}
