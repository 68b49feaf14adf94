// SPDX-License-Identifier: Apache-2.0
// Device list, opening and closing.
#include <endian.h>
#include <fcntl.h>

#include "host/process.h"
#include "verbs/context_operations.h"
#include "verbs/guard.h"
#include "verbs/registry.h"

using namespace weft;
using namespace weft::verbs;

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
    auto opened = DeviceRegistry::instance().find(device);
    if (!opened) return refuse(ENODEV);
    const auto& config = host::process_config();
    if (!config) return refuse(static_cast<int>(config.error().code));
    auto context = std::make_unique<OpenDevice>();
    context->command_fd = io::UniqueFd(::open("/dev/null", O_RDWR | O_CLOEXEC));
    if (!context->command_fd) return refuse(errno);
    auto host = host::Context::open(opened->info, *config);
    if (!host) return refuse(host.error());

    context->opened = std::move(opened);
    context->host = std::move(*host);
    install_operations(*context);
    ibv_context& abi = context->context;
    abi.device = device;
    abi.cmd_fd = context->command_fd.get();
    abi.async_fd = context->host->async_events().fd();
    abi.num_comp_vectors = 1;
    pthread_mutex_init(&abi.mutex, nullptr);
    abi.abi_compat = __VERBS_ABI_IS_EXTENDED;
    return &context.release()->context;
  });
}

int ibv_close_device(ibv_context* context) {
  const std::unique_ptr<OpenDevice> closing(&OpenDevice::of(context));
  return guard_errno([&] {
    closing->host->close();
    pthread_mutex_destroy(&closing->context.mutex);
    return 0;
  });
}
