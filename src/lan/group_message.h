// SPDX-License-Identifier: Apache-2.0
// What hosts and routers of IP say of groups, as a switch that listens reads it (RFC 4541): IGMP of
// versions 1 to 3 (RFC 1112, 2236, 3376), MLD of versions 1 and 2 (RFC 2710, 3810). Groups are told
// by their Ethernet addresses, of which several IP groups may share one: a group that is reported
// may bring frames of another, and never keeps any away.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/bytes.h"
#include "base/mac_address.h"
#include "lan/ethernet_frame.h"
#include "wire/endian.h"

namespace weft::lan {

// Whether frames to this address are kept from those who have not asked for them. Groups that
// nobody reports are not (RFC 4541, 2.1.2 and 3): 224.0.0.0/24, ff02::1, and all that is not of IP.
[[nodiscard]] bool is_reported_group(const MacAddress& group);

class GroupMessage {
 public:
  enum class Kind : std::uint8_t {
    kNone,       // it is something else
    kMalformed,  // it is of these protocols, but cannot be
    kQuery,      // of a router; one without an address is of a switch that listens, and kNone
    kReport,     // of who wants groups, or does not any more
  };

  [[nodiscard]] static GroupMessage read(const EthernetFrame& frame);
  [[nodiscard]] Kind kind() const { return kind_; }

  // Calls each(group, wanted) for what a report says. Not wanted: of the host that says it, and of
  // none that has not said so.
  template <class Each>
  void for_each(Each&& each) const {
    std::size_t at = 0;
    for (unsigned i = 0; i < count_; ++i) {
      const Record record = record_at(at);
      if (record.says != Record::kNothing) each(record.group, record.says == Record::kWanted);
      at += record.size;
    }
  }

 private:
  struct Record {
    enum Says : std::uint8_t { kNothing, kWanted, kUnwanted };
    Says says = kNothing;
    MacAddress group{};
    std::size_t size = 0;  // 0: it cannot be
  };
  enum class Form : std::uint8_t { kWanted, kUnwanted, kRecords };

  void read_igmp(Bytes message, bool from_somebody);
  void read_mld(Bytes message);
  void take(Form form, Bytes records, unsigned count);
  [[nodiscard]] Record record_at(std::size_t at) const;
  [[nodiscard]] Record group_at(std::size_t at) const;

  Kind kind_ = Kind::kNone;
  Form form_ = Form::kRecords;
  bool ipv6_ = false;
  Bytes records_{};
  unsigned count_ = 0;
};

}  // namespace weft::lan
