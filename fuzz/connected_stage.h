// SPDX-License-Identifier: Apache-2.0
// What both targets of a connected queue pair need: memory with parts that must stay as they are, a
// queue pair in it, a wire that reads every byte, and a check of completions.
#pragma once

#include <array>
#include <bit>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <vector>

#include "base/entropy.h"
#include "hca/connected_queue_pair.h"
#include "input.h"
#include "wire/bth.h"

namespace weft::fuzz {

inline void require(bool condition) {
  if (!condition) std::abort();
}

class FixedEntropy final : public Entropy {
 public:
  std::uint64_t draw() override {
    return state_ = state_ * 6364136223846793005 + 1442695040888963407;
  }

 private:
  std::uint64_t state_ = 1;
};

// Completions come in the order of posting, each at most once, and none is left out that was asked
// for. Receives and sends are told apart by wr_id, which errors bring too.
class Ledger final : public hca::CompletionSink {
 public:
  // A request that is about to be posted; `must`: it completes even when it succeeds.
  void post(std::uint64_t wr_id, bool must) { open_.push_back({wr_id, must}); }
  // The one that was posted last was not accepted.
  void refused() { open_.pop_back(); }
  void complete(const hca::Completion& completion) override {
    const bool success = completion.status == hca::CompletionStatus::kSuccess;
    require(!failed_ || !success);
    while (!open_.empty() && open_.front().wr_id != completion.wr_id) {
      require(!open_.front().must && !failed_);  // those before it succeeded silently
      open_.pop_front();
    }
    failed_ = failed_ || !success;
    require(!open_.empty());
    open_.pop_front();
  }
  void forget() {
    open_.clear();
    failed_ = false;
  }
  // A queue that stops at an error and goes on later (SQE).
  void recovered() { failed_ = false; }
  [[nodiscard]] bool settled() const {
    for (const Open& open : open_) {
      if (open.must) return false;
    }
    return true;
  }

 private:
  struct Open {
    std::uint64_t wr_id;
    bool must;
  };
  std::deque<Open> open_;
  bool failed_ = false;
};

// Copies, but for a few addresses, at which the application has no memory any more.
inline bool copy_with_holes(void* to, const void* from, std::size_t length) {
  if ((std::bit_cast<std::uintptr_t>(to) & 0x3F8) == 0x3F8) return false;
  std::memcpy(to, from, length);
  return true;
}

class Stage {
 public:
  static constexpr hca::PdHandle kPd = 1;
  static constexpr std::uint32_t kMtu = 256;
  static constexpr Qpn kOurs{5};
  static constexpr Qpn kPeer{7};
  static constexpr std::uint64_t kIova = 0x10000;
  static constexpr std::size_t kPart = 4096;
  // The parts of the memory, in order; between them, parts that belong to nobody.
  enum Part : std::size_t { kRed0, kLocal, kRed1, kRemote, kRed2, kReadOnly, kRed3, kParts };

  Stage(const hca::ConnectedConfig& config, Input& input) : input_(input) {
    local_ = region(kLocal, hca::kLocalWrite);
    remote_ = region(kRemote,
                     hca::kLocalWrite | hca::kRemoteWrite | hca::kRemoteRead | hca::kRemoteAtomic);
    read_only_ = region(kReadOnly, hca::kRemoteRead);
    queue_pair_.emplace(config, table_, sends_, receives_);
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
    require(queue_pair_->modify(attributes, kAttrState | kAttrPKeyIndex | kAttrPort | kAttrAccess)
                .has_value());
    attributes.state = QpState::kRtr;
    std::uint32_t mask = kAttrState | kAttrPath | kAttrPathMtu | kAttrPeer | kAttrRqPsn;
    if (type == QpType::kRc) mask |= kAttrMaxReadsIn | kAttrRnrTimer;
    require(queue_pair_->modify(attributes, mask).has_value());
    attributes.state = QpState::kRts;
    mask = kAttrState | kAttrSqPsn;
    if (requests) mask |= kAttrRetryCount | kAttrRnrRetry | kAttrMaxReadsOut | kAttrAckTimeout;
    require(queue_pair_->modify(attributes, mask).has_value());
  }

  void to_error() {
    (void)queue_pair_->modify({.state = hca::QpState::kErr}, hca::kAttrState);
    require(queue_pair_->state() == hca::QpState::kErr);
  }
  void reset() {
    require(queue_pair_->modify({.state = hca::QpState::kReset}, hca::kAttrState).has_value());
    sends_.forget();
    receives_.forget();
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
    queue_pair_->receive(
        {.transport = exact, .source = Gid::from_ipv4(2), .destination = Gid::from_ipv4(1)}, now_);
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
    for (const std::uint32_t key : {local_.key, remote_.key, read_only_.key})
      require(table_.remove(key).has_value());  // waits for ever if a pin is left
    check_untouched(kRed0);
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
  Ledger& sends() { return sends_; }
  Ledger& receives() { return receives_; }

  void check_untouched(Part part) const {
    // All of it is what its first byte is, and that is what it was (quick: this is done each run).
    const std::byte* const first = memory_.data() + part * kPart;
    require(*first == kUntouched && std::memcmp(first, first + 1, kPart - 1) == 0);
  }

 private:
  static constexpr std::byte kUntouched{0xC3};

  hca::MemoryRegion region(Part part, std::uint32_t access) {
    return *table_.add({.base = memory_.data() + part * kPart,
                        .iova = address(part),
                        .length = kPart,
                        .access = access,
                        .pd = kPd});
  }

  // Every byte must be readable, and of our memory only what is registered may leave.
  void look_at(const hca::OutPacket& packet) {
    std::size_t length = 0;
    for (const Bytes piece : burst_.pieces(packet)) {
      length += piece.size();
      for (const std::byte b : piece)
        sum_ += std::to_integer<unsigned>(b);
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
  FixedEntropy entropy_;
  hca::MemoryTable table_{entropy_};
  std::vector<std::byte> memory_ = std::vector<std::byte>(kPart * kParts, kUntouched);
  hca::MemoryRegion local_;
  hca::MemoryRegion remote_;
  hca::MemoryRegion read_only_;
  Ledger sends_;
  Ledger receives_;
  std::optional<hca::ConnectedQueuePair> queue_pair_;
  hca::Burst burst_;
  hca::Burst other_;
  unsigned sum_ = 0;
  Time now_{1s};
};

}  // namespace weft::fuzz
