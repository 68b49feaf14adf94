// SPDX-License-Identifier: Apache-2.0
// Peers whose hosts have given their interfaces an address of their own, in place of the one that
// tells the LID, as a bond does with all of its interfaces. Ports of one such address are the ports
// of one bond, which is for a LAN what a link aggregation group is for a switch: it gets each frame
// once, by whichever of its ports.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <vector>

#include "base/bytes.h"
#include "base/mac_address.h"
#include "lan/peers.h"

namespace weft::lan {

class Bonds {
 public:
  explicit Bonds(std::size_t peers) : of_peer_(peers) {}
  Bonds(const Bonds&) = delete;
  Bonds& operator=(const Bonds&) = delete;

  // Of the peer's interface, one that holds no LID; nothing: it has the one that does.
  void set(PeerId peer, const std::optional<MacAddress>& address);

  // Nothing: it has the address that tells its LID.
  [[nodiscard]] std::optional<MacAddress> address(PeerId peer) const;
  // Whose interfaces have this address: nobody's, one's, or those of a bond.
  [[nodiscard]] std::span<const PeerId> find(const MacAddress& address) const;
  // The peer, or which port of its bond a frame is sent to that is for what is behind it: frames of
  // one flow to the same one, as long as the bond has the same ports.
  [[nodiscard]] PeerId choose(PeerId peer, Bytes frame) const;
  [[nodiscard]] bool same(PeerId one, PeerId other) const;

  // Leaves of `peers` one of each bond, and none of the bond that has the address `own`.
  void leave_one_of_each(std::vector<PeerId>& peers, const std::optional<MacAddress>& own);

 private:
  struct Bond {
    std::vector<PeerId> peers;  // in order
    std::uint64_t round = 0;    // of leave_one_of_each() that has met it
  };
  using Places = std::map<MacAddress, Bond>;

  // In order, not hashed: peers choose the addresses, and could choose those of one hash.
  Places bonds_;
  std::vector<std::optional<Places::iterator>> of_peer_;
  std::uint64_t round_ = 0;
};

}  // namespace weft::lan
