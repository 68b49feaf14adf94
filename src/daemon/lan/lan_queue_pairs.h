// SPDX-License-Identifier: Apache-2.0
// The queue pairs of a LAN port, and the memory that its messages lie in. Frames of the host are
// read into places of it, and sent from there by reference, whoever many they go to; messages that
// come are in slots, which are posted again when the LAN port has seen them.
//
//   place   | LanHeader | frame                          one message of a channel
//   heads   | LanHeader | LanHeader | ...                each with a part of a frame: a datagram
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "base/counters.h"
#include "base/entropy.h"
#include "base/error.h"
#include "base/recent_map.h"
#include "daemon/lan/frame_holds.h"
#include "daemon/lan/frame_memory.h"
#include "daemon/lan/lan_records.h"
#include "daemon/lan/lan_subnet_owner.h"
#include "daemon/lan/receive_slots.h"
#include "daemon/lan/resident_consumer.h"
#include "hca/connected_queue_pair.h"
#include "hca/memory_table.h"
#include "hca/shared_receive_queue.h"
#include "hca/ud_queue_pair.h"
#include "lan/lan_header.h"
#include "lan/peers.h"

namespace weft::daemon {

class LanQueuePairs final : private ResidentConsumer::Owner {
 public:
  // Before a frame in its place: room for the header of its message.
  static constexpr std::size_t kHeadroom = lan::LanHeader::kSize;
  static constexpr std::size_t kPlaces = 128;          // of frames that are being sent
  static constexpr std::uint32_t kDatagrams = 2048;    // that wait to be sent
  static constexpr std::size_t kDatagramSlots = 512;   // for those that come
  static constexpr std::size_t kGroupSlots = 256;      // for those that come by the group
  static constexpr std::size_t kMessageSlots = 64;     // and for messages of channels
  static constexpr std::uint32_t kMessages = kPlaces;  // of one channel that wait to be sent

  // What came, from inside of receive() alone; and that something did.
  class User {
   public:
    virtual ~User() = default;
    virtual void datagram_came(const lan::Sender& sender, Qpn queue_pair, Bytes message) = 0;
    virtual void message_came(lan::PeerId peer, Bytes message) = 0;
    // Before one on the queue pair of a channel that is not in use yet.
    virtual void channel_heard(lan::PeerId peer, Qpn queue_pair) = 0;
    // It is pending(), or take_port_change() is true. From inside of the fabric's run() and of
    // whatever posts something.
    virtual void touched() = 0;
  };

  // On this port, in its default partition, with a Q_Key that nobody can guess. All that it is
  // given outlives it. Errors as of ResidentConsumer::open() and allocate().
  static Expected<std::unique_ptr<LanQueuePairs>> open(fabric::ChannelAdapter& adapter,
                                                       mgmt::PortNumber port,
                                                       link::PacketPool& pool, Entropy& entropy,
                                                       User& user);
  LanQueuePairs(const LanQueuePairs&) = delete;
  LanQueuePairs& operator=(const LanQueuePairs&) = delete;
  ~LanQueuePairs() override;

  [[nodiscard]] const port::PortFacts& facts() const { return consumer_->facts(); }
  // Whether facts() are others than when it was asked last.
  [[nodiscard]] bool take_port_change() { return std::exchange(port_changed_, false); }
  // Whether the subnet manager wants everything to be registered anew since it was asked last.
  [[nodiscard]] bool take_reregister() { return std::exchange(reregister_, false); }
  // Where peers are to send datagrams.
  [[nodiscard]] lan::DatagramEnd end() const { return {datagrams_.queue_pair->qpn(), qkey_}; }

  // Whether one more frame can be taken from the host without losing it.
  [[nodiscard]] bool has_room() const {
    return !consumer_->blocked() && memory_.free_places() > kReserved;
  }
  // For a frame: kHeadroom and lan::kLongestFrame bytes. Empty: there is no room.
  [[nodiscard]] BufferRef place() { return memory_.take(); }
  // As lan::LanUser has it. A frame that is in no place is copied to one.
  std::size_t send_datagrams(const lan::Peers& peers, std::span<const lan::PeerId> to,
                             const lan::LanHeader& header, Bytes frame);
  // The port is in this group: send_to_group() sends to it, and what others send to it comes as
  // datagrams do. Errors as of allocate().
  Expected<void> join(const LanGroup& group);
  // Sends nothing more to it. What still comes by it is taken: peers go on sending to it until they
  // have heard that the port has left.
  void leave() { group_.reset(); }
  // As lan::LanUser has it. False also where the port has left.
  bool send_to_group(const lan::LanHeader& header, Bytes frame);
  // As lan::LanUser has it; the frame is at kHeadroom of a place.
  bool send_message(lan::PeerId peer, Bytes head, Bytes frame);

  // Queue pairs for channels, in RESET, each of one peer. Errors as of allocate().
  Expected<Qpn> add_channel(lan::PeerId peer);
  Expected<void> modify_channel(Qpn queue_pair, const hca::QpAttributes& attributes,
                                std::uint32_t mask);
  // Messages to its peer go by this one from now on.
  void use_channel(Qpn queue_pair);
  void remove_channel(Qpn queue_pair);

  // Outside of the fabric's run(): hands on what has come. True: something had.
  bool receive();
  // Sends what was posted, outside of the fabric's run(). True: there was something to do.
  bool run(Time now);
  // It is to be run, or there is something to receive.
  [[nodiscard]] bool pending() const { return touched_ || !arrived_.all.empty(); }
  [[nodiscard]] std::optional<Time> deadline() const { return consumer_->deadline(); }

  // Of the port, as kResidentCounters has them.
  [[nodiscard]] std::vector<CounterValue> port_counters() const { return consumer_->counters(); }
  // Of the queue pairs of datagrams together, as hca::kUdCounters has them, and of those of
  // channels, with those that have been removed, as hca::kConnectedCounters has them.
  [[nodiscard]] std::vector<CounterValue> datagram_counters() const;
  [[nodiscard]] std::vector<CounterValue> channel_counters() const;

 private:
  // For what a LAN port says itself, while frames of the host have the rest.
  static constexpr std::size_t kReserved = 4;

  struct Completions final : hca::CompletionSink {
    void complete(const hca::Completion& completion) override { all.push_back(completion); }
    std::vector<hca::Completion> all;
  };
  struct Ignored final : hca::CompletionSink {
    void complete(const hca::Completion&) override {}
  };
  struct Channel {
    lan::PeerId peer = 0;
    std::unique_ptr<hca::ConnectedQueuePair> queue_pair;
    FrameHolds holds;
    bool holding = false;  // is among holding_
  };

  LanQueuePairs(Entropy& entropy, User& user);
  // ResidentConsumer::Owner
  void touched() override {
    touched_ = true;
    user_.touched();
  }
  void port_changed(bool reregister) override {
    port_changed_ = true;
    reregister_ = reregister_ || reregister;
    user_.touched();
  }

  // Receives datagrams of one Q_Key, in slots.
  struct DatagramPair {
    std::unique_ptr<hca::UdQueuePair> queue_pair;
    ReceiveSlots slots;
    std::uint64_t mark = 0;  // in the numbers of its receive requests
  };
  // Where datagrams of a frame go.
  struct Destination {
    hca::Path path;
    Qpn qpn{};
    QKey qkey{};
    std::size_t mtu = 0;
  };

  // In RTS, with all its slots posted.
  Expected<void> open_datagrams(DatagramPair& pair, QKey qkey, std::uint32_t sends);
  void post_datagram_slot(DatagramPair& pair, std::size_t slot);
  void post_message_slot(std::size_t slot);
  void take(const hca::Completion& completion);
  void take_datagram(DatagramPair& pair, const hca::Completion& completion);
  void release_places();
  // The place that a frame is in; one that is in none is copied to one. Empty: there is no room.
  BufferRef place_of(Bytes& frame);
  // False: there is no room.
  bool post_datagrams(const Destination& to, const lan::LanHeader& header, Bytes frame);
  [[nodiscard]] Destination destination_of(const lan::Peer& peer) const;
  [[nodiscard]] hca::Path path_to(const lan::Peer& peer) const;
  [[nodiscard]] LanView view() const;
  [[nodiscard]] lan::Sender sender_of(const hca::Completion& completion, Bytes grh_area) const;
  [[nodiscard]] hca::Sge piece_of(Bytes bytes) const;

  User& user_;
  FrameMemory memory_{kPlaces, kHeadroom + lan::kLongestFrame};
  hca::MemoryTable table_;
  const hca::MemoryRegion region_;  // memory_
  DatagramPair datagrams_;          // and all that is sent
  DatagramPair group_datagrams_;    // made when the port joins for the first time
  std::optional<LanGroup> group_;
  ReceiveSlots message_slots_;
  const QKey qkey_;
  const Psn first_psn_;
  Completions arrived_;
  Completions taken_;  // of arrived_, those that are being handed on
  Ignored sent_;
  std::unique_ptr<ResidentConsumer> consumer_;
  FrameHolds datagram_holds_;
  BufferRef heads_;  // a place with the headers of datagrams that wait, one after the other
  std::size_t next_head_ = 0;
  hca::SharedReceiveQueue messages_{kMessageSlots, 1};
  RecentMap<Qpn, Channel> channels_;
  // Of channels that have been removed.
  std::vector<CounterValue> removed_ = hca::ConnectedCounters{}.snapshot();
  std::vector<Channel*> channel_of_;  // by peer; null: there is none in use
  std::vector<Channel*> holding_;     // those that have places of frames
  bool touched_ = false;
  bool port_changed_ = true;
  bool reregister_ = false;
};

}  // namespace weft::daemon
