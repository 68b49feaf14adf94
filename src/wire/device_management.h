// SPDX-License-Identifier: Apache-2.0
// Device management, IBA 16.3: what an I/O unit is made of. Attributes are the last 192 bytes of
// the datagram, at byte 64.
//
//   IOUnitInfo            bytes 0-1 Change_ID   2 Max Controllers   3 Diag Device ID, Option ROM
//                         4-131 Controller List: 4 bits a slot, slot 1 in the upper ones of byte 4
//   IOControllerProfile   bytes 0-7 GUID   8-11 VendorID(24)   12-15 DeviceID   16-17 Version
//                         20-23 Subsystem VendorID(24)   24-27 SubsystemID   28-29 IO Class
//                         30-31 IO Subclass   32-33 Protocol   34-35 Protocol Version
//                         40-41 Send Message Depth   43 RDMA Read Depth   44-47 Send Message Size
//                         48-51 RDMA Transfer Size   52 Operations Capability Mask
//                         54 Service Entries   64-127 ID String
#pragma once

#include <algorithm>
#include <cassert>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>

#include "base/bytes.h"
#include "base/ids.h"
#include "wire/mad.h"

namespace weft::wire {

inline constexpr std::uint8_t kDeviceManagementClassVersion = 1;

// IBA 16.3.3, table 300 and following. Those of diagnosis are not here.
enum class DeviceAttribute : std::uint16_t {
  kClassPortInfo = 0x0001,
  kIoUnitInfo = 0x0010,
  kIoControllerProfile = 0x0011,  // modifier: the slot, from 1
  kServiceEntries = 0x0012,       // modifier: slot << 16 | last << 8 | first
};

// IBA 16.3.1: of the class's own bits of the status.
inline constexpr MadStatus kNoServiceEntries{0x0200};

namespace device_management {

inline constexpr std::size_t kDataOffset = 64;
inline constexpr std::size_t kDataSize = 192;

[[nodiscard]] inline MutableBytes data(MutableMadBytes mad) {
  return mad.subspan(kDataOffset, kDataSize);
}

}  // namespace device_management

struct IoUnitInfo {
  static constexpr std::size_t kSize = 132;

  std::uint16_t change_id = 0;
  std::uint8_t controllers = 0;  // in slots 1 to this; there are no empty ones

  friend bool operator==(const IoUnitInfo&, const IoUnitInfo&) = default;

  void write(MutableBytes out) const {
    assert(out.size() >= kSize);
    std::byte* at = out.data();
    std::memset(at, 0, kSize);
    store_be16(at, change_id);
    store_u8(at + 2, controllers);
    for (unsigned slot = 0; slot < controllers; ++slot)
      at[4 + slot / 2] |= slot % 2 == 0 ? std::byte{0x10} : std::byte{0x01};
  }
};

struct IoControllerProfile {
  static constexpr std::size_t kSize = 128;
  static constexpr std::size_t kIdSize = 64;
  static constexpr std::uint16_t kVendorSpecific = 0xFFFF;  // class, subclass, protocol

  Guid guid;
  std::uint32_t vendor_id = 0;  // 24 bits; of the subsystem too
  std::uint32_t device_id = 0;
  std::uint16_t device_version = 0;
  std::uint16_t io_class = kVendorSpecific;
  std::uint16_t io_subclass = kVendorSpecific;
  std::uint16_t protocol = kVendorSpecific;
  std::string id;  // UTF-8; what is beyond 64 bytes is left out

  friend bool operator==(const IoControllerProfile&, const IoControllerProfile&) = default;

  // Without queues, transfers and services: nothing connects to it.
  void write(MutableBytes out) const {
    assert(out.size() >= kSize);
    std::byte* at = out.data();
    std::memset(at, 0, kSize);
    store_be64(at, guid.value());
    store_be32(at + 8, vendor_id << 8);
    store_be32(at + 12, device_id);
    store_be16(at + 16, device_version);
    store_be32(at + 20, vendor_id << 8);
    store_be16(at + 28, io_class);
    store_be16(at + 30, io_subclass);
    store_be16(at + 32, protocol);
    std::memcpy(at + 64, id.data(), std::min(id.size(), kIdSize));
  }
};

}  // namespace weft::wire
