// SPDX-License-Identifier: Apache-2.0
// Which adapters and ports there are, as the daemon tells it at every call.
#include "umad/adapters.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "umad/abi.h"
#include "umad/guard.h"

using namespace weft;
using namespace weft::umad;

namespace {

constexpr std::uint32_t kSwitch = 2;    // NodeType, IBA 14.2.5.3
constexpr std::uint32_t kActive = 4;    // PortState, IBA 14.2.5.6
constexpr std::uint32_t kDisabled = 3;  // PortPhysicalState
constexpr std::uint32_t kLinkUp = 5;

template <std::size_t kTo, std::size_t kFrom>
void copy_text(char (&to)[kTo], const char (&from)[kFrom]) {
  const std::size_t length = std::min(strnlen(from, kFrom), kTo - 1);
  std::memset(to, 0, kTo);
  std::memcpy(to, from, length);
}

// False: no memory for it.
bool fill(umad_port_t& out, const Adapter& adapter, const Port& port) {
  std::memset(&out, 0, sizeof out);
  copy_text(out.ca_name, adapter.facts.adapter);
  copy_text(out.link_layer, "InfiniBand");
  const protocol::PortFacts& facts = port.facts;
  out.portnum = static_cast<int>(facts.number);
  out.base_lid = facts.lid;
  out.lmc = facts.lmc;
  out.sm_lid = facts.sm_lid;
  out.sm_sl = facts.sm_sl;
  out.state = facts.state;
  out.phys_state = facts.physical_state;
  out.rate = facts.width * facts.lane_mbps / 1000;
  out.capmask = htobe32(facts.capabilities);
  out.gid_prefix = htobe64(facts.gid_prefix);
  out.port_guid = htobe64(facts.guid);
  if (port.pkeys.empty()) return true;
  const std::size_t size = port.pkeys.size() * sizeof(std::uint16_t);
  out.pkeys = static_cast<std::uint16_t*>(std::malloc(size));
  if (out.pkeys == nullptr) return false;
  std::memcpy(out.pkeys, port.pkeys.data(), size);
  out.pkeys_size = static_cast<unsigned>(port.pkeys.size());
  return true;
}

bool fill(umad_ca_t& out, const Adapter& adapter) {
  std::memset(&out, 0, sizeof out);
  const protocol::Welcome& facts = adapter.facts;
  copy_text(out.ca_name, facts.adapter);
  copy_text(out.ca_type, facts.type);
  copy_text(out.fw_ver, facts.firmware);
  copy_text(out.hw_ver, facts.hardware);
  out.node_type = facts.node_type;
  out.node_guid = htobe64(facts.node_guid);
  out.system_guid = htobe64(facts.system_guid);
  for (const Port& port : adapter.ports) {
    const std::uint32_t number = port.facts.number;
    if (number >= UMAD_CA_MAX_PORTS) continue;
    out.ports[number] = static_cast<umad_port_t*>(std::calloc(1, sizeof(umad_port_t)));
    if (out.ports[number] == nullptr || !fill(*out.ports[number], adapter, port)) return false;
    out.numports = std::max(out.numports, static_cast<int>(number));
  }
  return true;
}

int error_of(const Error& error) {
  return -io::report(error);
}

std::uint32_t best_port(const Adapter& adapter) {
  const auto first = [&](auto&& good) -> const Port* {
    const auto found = std::find_if(adapter.ports.begin(), adapter.ports.end(),
                                    [&](const Port& port) { return good(port.facts); });
    return found == adapter.ports.end() ? nullptr : &*found;
  };
  using Facts = protocol::PortFacts;
  const Port* port = first([](const Facts& facts) { return facts.state == kActive; });
  if (port == nullptr) {
    port = first([](const Facts& facts) { return facts.physical_state == kLinkUp; });
  }
  if (port == nullptr) {
    port = first([](const Facts& facts) { return facts.physical_state != kDisabled; });
  }
  return port == nullptr ? adapter.ports.front().facts.number : port->facts.number;
}

}  // namespace

Expected<Adapter> umad::find_adapter(const char* name) {
  const auto place = place_from_environment();
  if (!place) return tl::unexpected(place.error());
  auto adapter = describe(*place);
  if (!adapter) return adapter;
  const std::string own(adapter->facts.adapter,
                        strnlen(adapter->facts.adapter, sizeof adapter->facts.adapter));
  if (name != nullptr && own != name) {
    return fail(std::errc::no_such_device,
                fmt::format("adapter '{}': this node's is called {}", name, own));
  }
  if (adapter->ports.empty()) {
    return fail(std::errc::no_such_device, fmt::format("{} has no port", own));
  }
  return adapter;
}

Expected<ChosenPort> umad::choose_port(const char* name, int number) {
  auto place = place_from_environment();
  if (!place) return tl::unexpected(place.error());
  auto adapter = find_adapter(name);
  if (!adapter) return tl::unexpected(adapter.error());
  ChosenPort out{.place = std::move(*place), .adapter = std::move(*adapter), .port = 0};
  if (out.adapter.facts.node_type == kSwitch) {
    out.port = 0;
  } else if (number == UMAD_ANY_PORT) {
    out.port = best_port(out.adapter);
  } else {
    out.port = static_cast<std::uint32_t>(number);
  }
  if (number < 0 || out.adapter.find(out.port) == nullptr) {
    return fail(std::errc::no_such_device,
                fmt::format("port {}: this node's adapter does not have it", number));
  }
  return out;
}

int umad_init(void) {
  return guarded(-1, [] {
    const auto adapter = find_adapter(nullptr);
    if (adapter) return 0;
    io::report(adapter.error());
    return -1;
  });
}

int umad_done(void) {
  return 0;
}

int umad_get_cas_names(char names[][UMAD_CA_NAME_LEN], int max) {
  return guarded(-1, [&] {
    const auto adapter = find_adapter(nullptr);
    if (!adapter) {
      io::report(adapter.error());
      return 0;
    }
    if (max < 1) return 0;
    copy_text(names[0], adapter->facts.adapter);
    return 1;
  });
}

int umad_get_ca_portguids(const char* name, __be64* guids, int max) {
  return guarded_errno([&] {
    const auto adapter = find_adapter(name);
    if (!adapter) return error_of(adapter.error());
    if (guids == nullptr) return 0;
    std::uint32_t last = 0;
    for (const Port& port : adapter->ports)
      last = std::max(last, port.facts.number);
    if (max < 0 || last >= static_cast<std::uint32_t>(max)) return -ENOMEM;
    for (std::uint32_t number = 0; number <= last; ++number) {
      const Port* port = adapter->find(number);
      guids[number] = port == nullptr ? 0 : htobe64(port->facts.guid);
    }
    return static_cast<int>(last + 1);
  });
}

int umad_get_ca(const char* name, umad_ca_t* out) {
  return guarded_errno([&] {
    const auto adapter = find_adapter(name);
    if (!adapter) return error_of(adapter.error());
    if (fill(*out, *adapter)) return 0;
    umad_release_ca(out);
    return -ENOMEM;
  });
}

int umad_release_ca(umad_ca_t* adapter) {
  if (adapter == nullptr) return -ENODEV;
  for (umad_port_t*& port : adapter->ports) {
    if (port == nullptr) continue;
    umad_release_port(port);
    std::free(port);
    port = nullptr;
  }
  return 0;
}

int umad_get_port(const char* name, int number, umad_port_t* out) {
  return guarded_errno([&] {
    const auto chosen = choose_port(name, number);
    if (!chosen) return error_of(chosen.error());
    return fill(*out, chosen->adapter, *chosen->adapter.find(chosen->port)) ? 0 : -ENOMEM;
  });
}

int umad_release_port(umad_port_t* port) {
  if (port == nullptr) return -ENODEV;
  std::free(port->pkeys);
  port->pkeys = nullptr;
  port->pkeys_size = 0;
  return 0;
}

int umad_get_issm_path(const char* name, int number, char path[], int max) {
  return guarded_errno([&] {
    const auto chosen = choose_port(name, number);
    if (!chosen) return error_of(chosen.error());
    const auto found = subnet_manager_path(chosen->place, chosen->port);
    if (!found) return error_of(found.error());
    if (max < 0 || found->size() >= static_cast<std::size_t>(max)) return -ENAMETOOLONG;
    std::memcpy(path, found->c_str(), found->size() + 1);
    return 0;
  });
}

umad_device_node* umad_get_ca_device_list(void) {
  return guarded(static_cast<umad_device_node*>(nullptr), [] {
    const auto adapter = find_adapter(nullptr);
    if (!adapter) {
      if (adapter.error().code != std::errc::no_such_device) io::report(adapter.error());
      errno = 0;
      return static_cast<umad_device_node*>(nullptr);
    }
    // The name in the same piece of memory, so that one free() is enough.
    constexpr std::size_t kRoom = sizeof adapter->facts.adapter;
    auto* const node =
        static_cast<umad_device_node*>(std::calloc(1, sizeof(umad_device_node) + kRoom + 1));
    if (node == nullptr) throw std::bad_alloc();
    char* const name_of = reinterpret_cast<char*>(node + 1);
    std::memcpy(name_of, adapter->facts.adapter, kRoom);
    node->ca_name = name_of;
    errno = 0;
    return node;
  });
}

void umad_free_ca_device_list(umad_device_node* head) {
  while (head != nullptr) {
    umad_device_node* const next = head->next;
    std::free(head);
    head = next;
  }
}

int umad_sort_ca_device_list(umad_device_node** head, size_t size) {
  return guarded(ENOMEM, [&] {
    std::vector<umad_device_node*> nodes;
    for (umad_device_node* node = *head; node != nullptr; node = node->next)
      nodes.push_back(node);
    if (size == 1 || nodes.empty()) return 0;
    if (size != 0 && size != nodes.size()) return EINVAL;
    std::stable_sort(nodes.begin(), nodes.end(), [](const auto* left, const auto* right) {
      return std::strcmp(left->ca_name, right->ca_name) < 0;
    });
    *head = nodes.front();
    for (std::size_t i = 0; i < nodes.size(); ++i)
      nodes[i]->next = i + 1 < nodes.size() ? nodes[i + 1] : nullptr;
    return 0;
  });
}
