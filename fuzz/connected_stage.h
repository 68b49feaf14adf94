// SPDX-License-Identifier: Apache-2.0
// What both targets of a connected queue pair need: memory with parts that must stay as they are, a
// queue pair in it, a wire that reads every byte, and changes of its attributes.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <cstring>
#include <optional>
#include <span>
#include <vector>

#include "base/random.h"
#include "hca/connected_queue_pair.h"
#include "hca/shared_receive_queue.h"
#include "input.h"
#include "ledger.h"
#include "wire/bth.h"
#include "wire/weft_piece.h"

namespace weft::fuzz {

// Copies, but for a few addresses, at which the application has no memory any more.
inline bool copy_with_holes(void* to, const void* from, std::size_t length) {
  if ((std::bit_cast<std::uintptr_t>(to) & 0x3F8) == 0x3F8) return false;
  std::memcpy(to, from, length);
  return true;
}

// The service that two bits of the input ask for; reliable connections are asked for twice.
inline hca::QpType service(unsigned bits, hca::QpType xrc) {
  if ((bits & 3) == 2) return hca::QpType::kUc;
  return (bits & 3) == 3 ? xrc : hca::QpType::kRc;
}

class Stage : private hca::XrcQueues {
 public:
  static constexpr hca::PdHandle kPd = 1;
  static constexpr std::uint32_t kMtu = 256;
  static constexpr Qpn kOurs{5};
  static constexpr Qpn kPeer{7};
  static constexpr std::uint64_t kIova = 0x10000;
  static constexpr std::size_t kPart = 4096;
  // The parts of the memory, in order; between them, parts that belong to nobody.
  enum Part : std::size_t { kRed0, kLocal, kRed1, kRemote, kRed2, kReadOnly, kRed3, kParts };

  static constexpr std::uint32_t kSharedDepth = 8;

  // `shared`: receive requests come from a queue that is not the queue pair's own. The target of
  // XRC always has one.
  Stage(const hca::ConnectedConfig& config, bool shared, Input& input)
      : input_(input), shared_(shared || config.type == hca::QpType::kXrcTarget) {
    local_ = region(kLocal, hca::kLocalWrite);
    remote_ = region(kRemote,
                     hca::kLocalWrite | hca::kRemoteWrite | hca::kRemoteRead | hca::kRemoteAtomic);
    read_only_ = region(kReadOnly, hca::kRemoteRead);
    window_ = *table_.add_window(hca::WindowType::kType2, kPd);
    hca::XrcQueues* const queues = config.type == hca::QpType::kXrcTarget ? this : nullptr;
    hca::ReceiveSource* const source = shared_ && queues == nullptr ? &shared_queue_ : nullptr;
    queue_pair_.emplace(config, table_, sends_, receives_, source, queues);
  }

  hca::ConnectedQueuePair& queue_pair() { return *queue_pair_; }

  // To the state that `up_to` names, as far as it goes.
  void connect(Psn sq_psn, Psn rq_psn, std::uint8_t max_reads, std::uint8_t timeout) {
    using namespace hca;
    QpAttributes attributes{.state = QpState::kInit,
                            .port = 1,
                            .sq_psn = sq_psn,
                            .rq_psn = rq_psn,
                            .peer = kPeer,
                            .path = {.sgid = Gid::from_ipv4(1), .dgid = Gid::from_ipv4(2)},
                            .path_mtu = kMtu,
                            .access = kRemoteRead | kRemoteWrite | kRemoteAtomic,
                            .max_reads_out = max_reads,
                            .max_reads_in = max_reads,
                            .rnr_timer = 5,
                            .ack_timeout = timeout,
                            .retry_count = 2,
                            .rnr_retry = 2};
    const QpType type = queue_pair_->type();
    const bool requests = type == QpType::kRc || type == QpType::kXrcInitiator;
    const bool responds = type == QpType::kRc || type == QpType::kXrcTarget;
    require(queue_pair_->modify(attributes, kAttrState | kAttrPKeyIndex | kAttrPort | kAttrAccess)
                .has_value());
    attributes.state = QpState::kRtr;
    std::uint32_t mask = kAttrState | kAttrPath | kAttrPathMtu | kAttrPeer | kAttrRqPsn;
    if (responds) mask |= kAttrMaxReadsIn | kAttrRnrTimer;
    require(queue_pair_->modify(attributes, mask).has_value());
    attributes.state = QpState::kRts;
    mask = kAttrState | kAttrSqPsn;
    if (requests) mask |= kAttrRetryCount | kAttrRnrRetry | kAttrMaxReadsOut;
    if (type != QpType::kUc) mask |= kAttrAckTimeout;
    require(queue_pair_->modify(attributes, mask).has_value());
  }

  void to_error() {
    (void)queue_pair_->modify({.state = hca::QpState::kErr}, hca::kAttrState);
    require(queue_pair_->state() == hca::QpState::kErr);
  }
  void reset() { require(modify({.state = hca::QpState::kReset}, hca::kAttrState)); }
  bool modify(const hca::QpAttributes& attributes, std::uint32_t mask) {
    using hca::QpState;
    const QpState before = queue_pair_->state();
    if (!queue_pair_->modify(attributes, mask)) return false;
    const QpState after = queue_pair_->state();
    if ((mask & hca::kAttrState) != 0 && attributes.state == QpState::kReset) {
      sends_.forget();
      // What waits in a shared queue is nobody's yet.
      if (shared_) {
        receives_.recovered();
      } else {
        receives_.forget();
      }
    }
    if (before == QpState::kSqe && after == QpState::kRts) sends_.recovered();
    return true;
  }
  // Some change of what may be changed in some state, with values that are right or nearly so.
  void change() {
    using namespace hca;
    constexpr std::uint32_t kMasks[] = {
        kAttrAlternatePath | kAttrPathMigration,
        kAttrPathMigration,
        kAttrAlternatePath,
        kAttrCurrentState,
        kAttrAccess | kAttrRnrTimer,
        kAttrState | kAttrSqdNotify,
        kAttrState,
        kAttrPKeyIndex | kAttrPort,
        kAttrPath,
        kAttrRetryCount | kAttrRnrRetry | kAttrMaxReadsOut | kAttrAckTimeout,
        kAttrState | kAttrPath | kAttrPathMtu | kAttrPeer | kAttrRqPsn | kAttrMaxReadsIn |
            kAttrRnrTimer,
        kAttrState | kAttrAccess | kAttrPort | kAttrPKeyIndex,
    };
    constexpr std::uint32_t kMtus[] = {256, 512, 4096, 300};
    const std::uint8_t odd = input_.byte();
    const auto odd_if = [odd](unsigned bit, unsigned then, unsigned otherwise) {
      return static_cast<std::uint8_t>((odd & 0xC0) == 0xC0 && (odd >> bit & 1) != 0 ? then
                                                                                     : otherwise);
    };
    const std::uint8_t which = input_.byte();
    const std::uint32_t mask = which >= 0xF8 ? input_.number() : kMasks[which % std::size(kMasks)];
    // Mostly not the states from which there is no way back.
    const auto state = static_cast<QpState>(input_.rarely() ? input_.one_of(8) : 1 + which % 5);
    (void)modify({.state = state,
                  .current_state = static_cast<QpState>(input_.one_of(7)),
                  .sqd_notify = (odd & 1) != 0,
                  .pkey_index = odd_if(0, 1, 0),
                  .port = odd_if(1, 2, 1),
                  .rq_psn = Psn{input_.byte()},
                  .peer = kPeer,
                  .path = {.sgid = Gid::from_ipv4(1), .dgid = some_gid(odd)},
                  .path_mtu = kMtus[odd_if(2, 3, which & 1)],
                  .access = (odd & 2) != 0 ? kRemoteRead | kRemoteWrite | kRemoteAtomic : odd,
                  .max_reads_out = odd_if(3, 200, 4),
                  .max_reads_in = 4,
                  .rnr_timer = 5,
                  .ack_timeout = odd_if(4, 32, 8),
                  .retry_count = 2,
                  .rnr_retry = 2,
                  .alternate_path = {.sgid = Gid::from_ipv4(1), .dgid = some_gid(odd + 1u)},
                  .alternate_pkey_index = odd_if(0, 1, 0),
                  .alternate_port = odd_if(1, 2, 1),
                  .alternate_ack_timeout = odd_if(2, 32, 9),
                  .migration = static_cast<PathMigration>(which % 3)},
                 mask);
  }
  // What may be asked at any time.
  void ask() {
    const hca::QpAttributes now = queue_pair_->query();
    require(now.state == queue_pair_->state());
    require(!queue_pair_->only_acks_due() || queue_pair_->has_work());
    require(queue_pair_->counter_values().size() > 10);
    require(!queue_pair_->attach(now.path.dgid) && !queue_pair_->detach(now.path.dgid));
    require(queue_pair_->send_room() <= queue_pair_->connection().config.max_sends);
    queue_pair_->set_receive_budget(input_.word());
    // What the connection manager says once both ends are known to be Weft.
    if (input_.rarely()) {
      queue_pair_->agree({.local = kOurs, .remote = now.peer, .remote_address = now.path.dgid});
    }
  }

  // Memory that a request has named to be written; the rest of kLocal must stay as it is.
  void lend(std::span<const hca::Sge> pieces) {
    lent_.insert(lent_.end(), pieces.begin(), pieces.end());
  }

  void post_receive(const hca::ReceiveRequest& request) {
    receives_.post(request.wr_id, !shared_);
    lend(request.pieces);
    const bool own = !shared_ || input_.rarely();
    const std::errc posted = own ? queue_pair_->post_receive(request) : shared_queue_.post(request);
    require(!own || !shared_ || posted != std::errc{});
    if (posted != std::errc{}) receives_.refused();
  }

  void deliver(const wire::Bth& bth, Bytes headers, Bytes payload) {
    std::vector<std::byte> packet(wire::Bth::kSize);
    bth.write(packet);
    packet.insert(packet.end(), headers.begin(), headers.end());
    packet.insert(packet.end(), payload.begin(), payload.end());
    packet.resize(packet.size() + bth.pad_count);
    deliver(packet);
  }
  void deliver(Bytes transport) {
    // At the end of memory of its own, so that a read past it is seen.
    const std::vector<std::byte> exact(transport.begin(), transport.end());
    const std::uint8_t odd = input_.byte();
    if ((odd & 0xF8) == 0xC0) return deliver_piece(exact);
    receive(exact, odd);
  }

  void report(hca::Undelivered::Reason reason, Bytes quote) {
    const std::vector<std::byte> exact(quote.begin(), quote.end());
    queue_pair_->undelivered(
        {.reason = reason, .destination = Gid::from_ipv4(2), .transport = exact}, now_);
  }

  // One burst, if there is one; what `seen` gets is each packet's header. While it is on its way
  // `meanwhile` may use the queue pair.
  template <class Seen, class Meanwhile>
  bool transmit(bool calm, Seen&& seen, Meanwhile&& meanwhile) {
    using namespace hca;
    if (!queue_pair_->next_burst(burst_, now_)) return false;
    require(!burst_.empty());
    require(!queue_pair_->next_burst(other_, now_));  // one at a time
    for (const OutPacket& packet : burst_.packets())
      look_at(packet);
    meanwhile();
    SendResult result;
    if (!calm) {
      const std::uint8_t choice = input_.byte();
      if (choice >= 0xC0) {
        result.outcome = choice >= 0xE0 ? SendOutcome::kRefused : SendOutcome::kWouldBlock;
        result.reason = choice >= 0xF0 ? CompletionStatus::kLocalProtectionError
                                       : CompletionStatus::kSuccess;  // no route
      }
    }
    queue_pair_->sent(burst_, result, now_);
    if (result.outcome == SendOutcome::kSent) {
      for (const OutPacket& packet : burst_.packets())
        seen(Bytes(packet.header).first(packet.header_length));
    }
    return true;
  }

  void check_deadline() {
    // It must not lie in the past once it has been seen to.
    const auto deadline = queue_pair_->deadline();
    if (deadline && *deadline <= now_) {
      for (int i = 0; i < 1000 && queue_pair_->deadline() && *queue_pair_->deadline() <= now_; ++i)
        transmit(
            true, [](Bytes) {}, [] {});
      require(!queue_pair_->deadline() || *queue_pair_->deadline() > now_);
    }
  }

  // An error brings every request back, and nothing refers to the memory any more.
  void finish() {
    to_error();
    require(queue_pair_->queued_packets() == 0 && queue_pair_->queued_bytes() == 0);
    require(sends_.settled() && receives_.settled());
    require(table_.remove_window(window_).has_value());
    for (const std::uint32_t key : {local_.key, remote_.key, read_only_.key})
      require(table_.remove(key).has_value());  // waits for ever if a pin is left
    take_back_what_was_lent();
    check_untouched(kRed0);
    check_untouched(kLocal);
    check_untouched(kRed1);
    check_untouched(kRed2);
    check_untouched(kReadOnly);
    check_untouched(kRed3);
  }

  [[nodiscard]] static std::uint64_t address(Part part) { return kIova + part * kPart; }

  void advance(Duration by) { now_ += by; }
  [[nodiscard]] Time now() const { return now_; }
  [[nodiscard]] const hca::MemoryRegion& local() const { return local_; }
  [[nodiscard]] const hca::MemoryRegion& remote() const { return remote_; }
  [[nodiscard]] const hca::MemoryRegion& read_only() const { return read_only_; }
  [[nodiscard]] RKey window() const { return window_; }
  Ledger& sends() { return sends_; }
  Ledger& receives() { return receives_; }

  void check_untouched(Part part) const {
    // All of it is what its first byte is, and that is what it was (quick: this is done each run).
    const std::byte* const first = memory_.data() + part * kPart;
    require(*first == kUntouched && std::memcmp(first, first + 1, kPart - 1) == 0);
  }

 private:
  static constexpr std::byte kUntouched{0xC3};

  // A piece of which `packet` is, or begins, what it carries.
  void deliver_piece(Bytes packet) {
    const std::uint8_t how = input_.byte();
    const wire::WeftPiece which{
        .number = static_cast<std::uint16_t>(how & 3u),
        .offset = static_cast<std::uint16_t>(how >= 0xF0 ? input_.word() : (how >> 2 & 3) * 302),
        .length = static_cast<std::uint16_t>((how & 0x10) != 0   ? packet.size() / 4
                                             : (how & 0x20) != 0 ? input_.word()
                                                                 : 302 + 151)};
    const std::size_t length = which.length * std::size_t{4};
    const std::size_t at = std::min(which.offset * std::size_t{4}, length);
    const std::size_t carried =
        how >= 0xE0 ? packet.size() : std::min(length - at, std::size_t{1208});
    std::vector<std::byte> piece(wire::Bth::kSize + wire::WeftPiece::kSize + carried);
    const auto inner = wire::Bth::parse(packet);
    wire::Bth{.opcode = wire::Opcode::weft_piece,
              .pkey = kDefaultPKey,
              .dest_qp = kOurs,
              .psn = inner ? inner->psn : Psn{}}
        .write(piece);
    which.write(MutableBytes(piece).subspan(wire::Bth::kSize));
    std::copy_n(packet.begin(), std::min(packet.size(), carried),
                piece.end() - static_cast<std::ptrdiff_t>(carried));
    receive(piece, input_.byte());
  }
  void receive(Bytes transport, std::uint8_t odd) {
    queue_pair_->receive({.transport = transport,
                          .source = odd < 0xD0 ? Gid::from_ipv4(2) : some_gid(odd),
                          .destination = Gid::from_ipv4(1),
                          .traffic_class = static_cast<std::uint8_t>(odd & 3),
                          .multicast = odd == 0xCF},
                         now_);
  }

  // Of XRC packets: one queue of ours, one of a stranger's domain, and none.
  Found find(Qpn srq_number) override {
    if (srq_number.value() > 1) return {};
    return {.source = &shared_queue_,
            .completions = &receives_,
            .pd = srq_number.value() == 0 ? kPd : kPd + 1};
  }

  void take_back_what_was_lent() {
    for (const hca::Sge& piece : lent_) {
      const std::uint64_t offset = piece.address - address(kLocal);
      if (offset >= kPart) continue;
      const auto length = std::min<std::uint64_t>(piece.length, kPart - offset);
      std::memset(memory_.data() + kLocal * kPart + offset, std::to_integer<int>(kUntouched),
                  length);
    }
  }

  static Gid some_gid(unsigned choice) {
    constexpr std::uint32_t kAddresses[] = {2, 3, 2, 3, 4, 0xE000'0001};
    return (choice & 7) == 7 ? Gid{} : Gid::from_ipv4(kAddresses[(choice & 7) % 6]);
  }

  hca::MemoryRegion region(Part part, std::uint32_t access) {
    return *table_.add({.base = memory_.data() + part * kPart,
                        .iova = address(part),
                        .length = kPart,
                        .access = access | hca::kWindowBind,
                        .pd = kPd});
  }

  // Every byte must be readable, and of our memory only what is registered may leave.
  void look_at(const hca::OutPacket& packet) {
    std::size_t length = 0;
    for (const Bytes piece : burst_.pieces(packet)) {
      length += piece.size();
      require(piece.size() <= seen_.size());
      if (!piece.empty()) std::memcpy(seen_.data(), piece.data(), piece.size());
      if (piece.empty() || piece.data() < memory_.data() ||
          piece.data() >= memory_.data() + memory_.size()) {
        continue;  // inline data, or the payload of an acknowledgement
      }
      const auto offset = static_cast<std::size_t>(piece.data() - memory_.data());
      const std::size_t part = offset / kPart;
      require(part % 2 == 1 && (offset + piece.size() - 1) / kPart == part);
    }
    require(length == packet.payload_length && packet.length() % 4 == 0);
  }

  Input& input_;
  SeededEntropy entropy_{Random(1)};
  hca::MemoryTable table_{entropy_};
  std::vector<std::byte> memory_ = std::vector<std::byte>(kPart * kParts, kUntouched);
  hca::MemoryRegion local_;
  hca::MemoryRegion remote_;
  hca::MemoryRegion read_only_;
  RKey window_{};
  const bool shared_;
  hca::SharedReceiveQueue shared_queue_{kSharedDepth, 2};
  std::vector<hca::Sge> lent_;
  Ledger sends_;
  Ledger receives_;
  std::optional<hca::ConnectedQueuePair> queue_pair_;
  hca::Burst burst_;
  hca::Burst other_;
  std::array<std::byte, 4096> seen_{};
  Time now_{1s};
};

}  // namespace weft::fuzz
