// SPDX-License-Identifier: Apache-2.0
// A packet in the hands of services: the whole IBA packet in one piece, the way it came, and what
// was read of it. Changes go through it, so that its CRCs stay what they promise.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "base/bytes.h"
#include "base/ids.h"
#include "service/fields.h"
#include "wire/link_patch.h"

namespace weft::service {

// The way a packet came.
struct Arrival {
  std::uint8_t port = 1;    // of the adapter, from 1
  std::uint16_t queue = 0;  // raw receive queue that it came by
  // Its CRCs are in it and were found right. One from memory has none: whoever copies it out of
  // there makes them, and the runtime need not.
  bool sealed = true;
  // A copy of what others forward: it is looked at, and goes nowhere.
  bool tapped = false;
};

class Packet {
 public:
  // `bytes`: LRH through VCRC, which stay the caller's.
  Packet(MutableBytes bytes, const Arrival& arrival) : bytes_(bytes), arrival_(arrival) {}

  Packet(MutableBytes bytes, const Arrival& arrival, const Fields& fields)
      : bytes_(bytes), arrival_(arrival), fields_(fields) {}

  [[nodiscard]] Bytes bytes() const { return bytes_; }
  [[nodiscard]] const Arrival& arrival() const { return arrival_; }
  // As the packet came, whatever services before have changed. Read when first asked for.
  [[nodiscard]] const Fields& fields() {
    if (!fields_) fields_.emplace(Fields::parse(bytes_));
    return *fields_;
  }
  // The payload, as it is now.
  [[nodiscard]] Bytes payload() {
    const Fields& read = fields();
    return Bytes(bytes_).subspan(read.payload_at, read.payload_size);
  }

  // Where it is to go, if a service knows better than the path records: another server's GID, say.
  // The runtime looks the path up by it.
  void redirect(const Gid& to) { redirected_ = to; }
  [[nodiscard]] const std::optional<Gid>& redirected() const { return redirected_; }

  // Leaves by another port of the node, into the subnet that is there (IBA 19.2): by that subnet's
  // path to its DGID, with one hop less; a packet that has none left is dropped. Only of packets
  // with a GRH. It says nothing of the packet's bytes: a verdict for the whole flow has it too.
  void cross(std::uint8_t port) { crosses_to_ = port; }
  [[nodiscard]] std::uint8_t crosses_to() const { return crosses_to_; }  // 0: it does not

  // Its path is asked for as the node's own and not on its sender's behalf, and what answers to it
  // comes back to the service: of one whose GIDs are others than its sender gave it.
  void leave_as_own() { leaves_as_own_ = true; }
  [[nodiscard]] bool leaves_as_own() const { return leaves_as_own_; }

  // Changes of headers and payload in place; all of them only of packets whose form is kTransport
  // (write(): of raw ones too). ICRC and VCRC are corrected by what has changed.
  void set_pkey(PKey pkey) { patch().set_pkey(pkey); }
  void set_dest_qp(Qpn qpn) { patch().set_dest_qp(qpn); }
  void set_source_qp(Qpn qpn) { patch().set_source_qp(qpn); }  // has_source_qp
  void set_qkey(QKey qkey) { patch().set_qkey(qkey); }         // has_source_qp
  void set_dgid(const Gid& gid) { patch().set_dgid(gid); }     // global
  void set_sgid(const Gid& gid) { patch().set_sgid(gid); }     // global
  // Bytes from `at` on, of the payload.
  void write(std::size_t at, Bytes bytes) { patch().write(at, bytes); }

  // For the runtime.
  [[nodiscard]] wire::LinkPatch& patch() {
    if (!patch_) {
      static_cast<void>(fields());  // which are those before the change
      patch_.emplace(bytes_);
    }
    return *patch_;
  }
  [[nodiscard]] bool changed() const { return patch_.has_value(); }

 private:
  MutableBytes bytes_;
  Arrival arrival_;
  std::optional<Gid> redirected_;
  std::uint8_t crosses_to_ = 0;
  bool leaves_as_own_ = false;
  std::optional<wire::LinkPatch> patch_;
  std::optional<Fields> fields_;
};

}  // namespace weft::service
