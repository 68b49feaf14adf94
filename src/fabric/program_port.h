// SPDX-License-Identifier: Apache-2.0
// A port of a channel adapter as programs have it: who is attached, who is in which multicast
// group, and what the port sends to itself.
#pragma once

#include <cstdint>
#include <unordered_map>
#include <vector>

#include "fabric/attached_program.h"
#include "fabric/node_port.h"
#include "fabric/queue_pair_table.h"
#include "fabric/raw_port.h"
#include "fabric/sent_packet.h"
#include "fabric/worker.h"
#include "link/packet_pool.h"

namespace weft::fabric {

class ProgramPort final : private Task {
 public:
  // The adapter that it is part of.
  class Adapter {
   public:
    virtual ~Adapter() = default;
    // Of what leaves by the port; 15: none.
    [[nodiscard]] virtual Vl lane(const NodePort& out, Sl sl) const = 0;
    // Whether a data service at the port takes what is sent there.
    [[nodiscard]] virtual bool is_diverted(const NodePort& port, Lid dlid) const = 0;
    // The port as data services have it. operation_not_permitted: its node carries none.
    struct Raw {
      RawPort* port;
      Entropy* entropy;
    };
    [[nodiscard]] virtual Expected<Raw> raw_port_for_programs(const NodePort& port) = 0;
    // What the port has sent to itself, as if it had come from the link.
    virtual void take_back(NodePort& port, link::PacketPtr packet, Time now) = 0;
  };

  // All outlive it.
  ProgramPort(Adapter& adapter, NodePort& port, Worker& worker, link::PacketPool& pool,
              QueuePairTable& numbers);

  [[nodiscard]] std::uint32_t epoch() const { return epoch_; }
  // Something of PortInfo, GIDs or P_Keys is another; programs are told when the port's turn comes.
  void changed(bool reregister);

  // Gives a packet that came in to whom it is for; counted when that is nobody.
  void arrive(link::PacketPtr packet, const wire::Lrh& lrh, Qpn destination, Time now);

  // --- attachments -------------------------------------------------------------------------------
  void add(AttachedProgram& program) { programs_.push_back(&program); }
  void remove(AttachedProgram& program);
  [[nodiscard]] std::size_t programs() const { return programs_.size(); }
  void join(AttachedProgram& program, const Gid& group) { groups_[group].push_back(&program); }
  void leave(AttachedProgram& program, const Gid& group);
  // Its turn comes soon.
  void wake(AttachedProgram&) { worker_.wake(*this); }
  // A program's deadline is another.
  void reschedule() { worker_.reschedule(*this); }

  [[nodiscard]] NodePort& port() { return port_; }
  [[nodiscard]] const NodePort& port() const { return port_; }
  [[nodiscard]] NodeCounters& counters() { return port_.counters(); }
  [[nodiscard]] QueuePairTable& numbers() { return numbers_; }
  [[nodiscard]] Expected<Adapter::Raw> raw_port() { return adapter_.raw_port_for_programs(port_); }
  [[nodiscard]] Vl lane(Sl sl) const { return adapter_.lane(port_, sl); }
  // A packet of a program that has passed every check: to the link, to the port itself, or both.
  void transmit(link::PacketPtr packet, const SentPacket& sent, Vl vl, Time now);

 private:
  void run(Time now) override;
  [[nodiscard]] std::optional<Time> deadline() const override;
  void loop_back(link::PacketPtr packet, Vl vl, Time now);
  void arrive_multicast(link::PacketPtr packet, const wire::Lrh& lrh, Time now);

  Adapter& adapter_;
  NodePort& port_;
  Worker& worker_;
  link::PacketPool& pool_;
  QueuePairTable& numbers_;
  std::vector<AttachedProgram*> programs_;
  std::unordered_map<Gid, std::vector<AttachedProgram*>> groups_;
  link::PacketQueue looped_;
  std::uint32_t epoch_ = 1;
  bool changed_ = false;
  bool reregister_ = false;
};

}  // namespace weft::fabric
