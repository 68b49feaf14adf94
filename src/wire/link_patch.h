// SPDX-License-Identifier: Apache-2.0
// Changes of a packet of an InfiniBand link in place, whose CRCs follow without the rest being
// read: both are linear, so that what a change does to them depends on the bytes before and after
// and on how much is covered behind them. The ICRC that the sender made goes on protecting what is
// not changed: a packet that was corrupt before stays so.
//
//   LinkPatch patch(packet);
//   patch.set_dlid(Lid{7});
//   patch.set_pkey(PKey{0x8001});
//   patch.finish();
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/bytes.h"
#include "base/ids.h"

namespace weft::wire {

class LinkPatch {
 public:
  // What has been changed, as a set.
  enum Changed : std::uint8_t {
    kLrh = 1 << 0,
    kGrh = 1 << 1,
    kPKey = 1 << 2,
    kTransport = 1 << 3,  // anything else from the BTH to the payload
    kPayload = 1 << 4,
  };

  // `packet`: LRH through VCRC; has passed walk_link_packet, or differs from one that has in its
  // opcode alone. It is changed at once, its CRCs by finish().
  explicit LinkPatch(MutableBytes packet);

  void set_vl(Vl vl);
  void set_sl(Sl sl);
  void set_dlid(Lid dlid);
  void set_slid(Lid slid);
  // SL, DLID and SLID at once, for less than one by one.
  void set_route(Sl sl, Lid dlid, Lid slid);
  // Only of packets with a GRH.
  void set_sgid(const Gid& gid);
  void set_dgid(const Gid& gid);
  void set_hop_limit(std::uint8_t hops);
  // Only of packets with a BTH.
  void set_pkey(PKey pkey);
  void set_dest_qp(Qpn qpn);
  // Only of packets with a DETH.
  void set_qkey(QKey qkey);
  void set_source_qp(Qpn qpn);
  // Any bytes before the ICRC (of a raw packet, before the VCRC). Of the LRH and BTH not those that
  // say how long what is.
  void write(std::size_t at, Bytes bytes);

  // Puts the CRCs right. Changes may follow, and another finish().
  void finish();
  // The same, and reads the whole packet. False: they are not what its bytes have, so that
  // something else has changed it since its sender made them. Its receiver will see that too.
  [[nodiscard]] bool finish_checked();

  [[nodiscard]] std::uint8_t changed() const { return changed_; }
  [[nodiscard]] Bytes packet() const { return packet_; }

 private:
  [[nodiscard]] std::size_t deth() const;
  void change(std::size_t at, Bytes bytes);
  [[nodiscard]] std::uint8_t invariant_bits(std::size_t at) const;

  MutableBytes packet_;
  std::size_t transport_ = 0;  // where the BTH is; 0: there is none
  std::size_t payload_ = 0;    // where extended headers end
  std::size_t covered_ = 0;    // by the ICRC; of a raw packet, by the VCRC
  bool global_ = false;
  std::uint8_t changed_ = 0;
  std::uint32_t icrc_ = 0;  // changes that are still to be made
  std::uint16_t vcrc_ = 0;
};

// The most used of these, in one step: the P_Key of a packet with a BTH, as a service node changes
// that of a limited member to a full one.
void rewrite_pkey(MutableBytes packet, PKey pkey);

// What a change does to the CRCs of a packet, wherever they lie: XOR both in. The VCRC's has that
// of the ICRC in it; who makes the VCRC anyway, as an adapter that sends does, needs the first
// alone.
struct CrcChange {
  std::uint32_t icrc = 0;
  std::uint16_t vcrc = 0;
  friend bool operator==(const CrcChange&, const CrcChange&) = default;
};
// Another P_Key in a BTH behind which the ICRC covers so many bytes.
[[nodiscard]] CrcChange pkey_change(PKey before, PKey after, std::size_t behind);
// Of the ICRC alone.
[[nodiscard]] std::uint32_t pkey_icrc_change(PKey before, PKey after, std::size_t behind);
// Another LRH, each as load_le64 has it, of a packet of which the ICRC covers so many bytes. Of one
// with a GRH (`global`) it does not cover the LRH, and never the VL.
[[nodiscard]] CrcChange lrh_change(std::uint64_t before, std::uint64_t after, std::size_t covered,
                                   bool global);

}  // namespace weft::wire
