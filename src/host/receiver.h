// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <unordered_map>
#include <vector>

#include "base/ids.h"
#include "base/time.h"
#include "hca/receive_shares.h"
#include "port/port.h"

namespace weft::host {

class CompletionQueue;
class Patience;
class QueuePair;
class SendTurns;

// Where the packets of one queue pair arrive, or of several that share a socket, and who reads
// there: a program that polls, or the context's thread. An owner token says who does so now.
class Receiver final : private port::DatagramSink, public std::enable_shared_from_this<Receiver> {
 public:
  // `tag` tells it from the others of its context.
  // `busy`: how many queue pairs that share a socket have been sent something lately, of all
  // receivers of the context. `turns`: of the context; an acknowledgement may end one.
  Receiver(std::shared_ptr<port::Inlet> inlet, std::uint64_t tag,
           std::shared_ptr<std::atomic<std::uint32_t>> busy, SendTurns& turns);

  // These two wait until nobody reads: not from inside a completion or an event.
  void add(QueuePair& queue_pair);
  void remove(QueuePair& queue_pair);
  [[nodiscard]] std::size_t queue_pairs() const;

  // Whether acknowledgements go at once, or wait a moment for something that they can go with: what
  // the program is about to post, or its next poll.
  enum class Acks : std::uint8_t { kAtOnce, kMayWait };
  // Who reads: a poll of the program, be it one that looks here again the next time or one that
  // looks where something is said to be, or something else, as the context's thread.
  enum class Reader : std::uint8_t { kPoll, kPollIfReady, kOther };
  // Reads what is there, at most about `budget` datagrams, hands it to the queue pairs and sends
  // what they answer. Returns how many there were; nothing when another thread is doing so.
  std::optional<std::size_t> receive(std::size_t budget, Acks acks, Reader reader = Reader::kOther);
  // Waits until a read that is under way has been answered, as add() does, but no longer than there
  // is patience. False: it was not over by then. Ends what was put off.
  bool finish_run(Patience& patience);
  // Ends a run of which that was put off, and which was read at `until` or before; unless another
  // thread reads, which does so, too.
  void end_run_put_off(Time until);
  // Has its queue pairs send what waits (QueuePair::send_owed).
  void send_owed();

  // Its descriptors say that the network has news of what was sent.
  void expect_errors() { inlet_->expect_errors(); }
  // Somebody waits on its descriptors from now on.
  void wait() { inlet_->wait(); }

  [[nodiscard]] std::uint64_t tag() const { return tag_; }
  [[nodiscard]] std::vector<int> descriptors() const { return inlet_->descriptors(); }
  [[nodiscard]] const port::Inlet* inlet() const { return inlet_.get(); }
  // Of the completion queues of its queue pairs: grows while their program is at work with them.
  [[nodiscard]] std::uint64_t activity() const;
  // A program is at work in a poll of one of them.
  [[nodiscard]] bool driven() const;
  // A program is about to wait for an event of one of them.
  [[nodiscard]] bool armed() const;
  // Dropped: sent to a number that no queue pair here has.
  [[nodiscard]] std::uint64_t strays() const { return strays_.load(std::memory_order_relaxed); }

 private:
  friend class Progress;
  class Token;
  static constexpr std::size_t kFewDatagrams = 4;  // as many as a reply and what goes with it
  static constexpr std::uint32_t kMostInVain = 8;  // reads in a row of what a program polls for
  static constexpr unsigned kPerSection = 8;  // datagrams for which a queue pair is locked at once

  void deliver(const hca::InDatagram& datagram) override;
  void undelivered(const hca::Undelivered& packet) override;
  void end_run() override {}
  [[nodiscard]] QueuePair* find(const hca::InDatagram& datagram);
  void hand_to(QueuePair* to, const hca::InDatagram& datagram);
  void switch_to(QueuePair* queue_pair);
  void finish(Acks acks, Reader reader);
  [[nodiscard]] bool put_off(Acks acks, Reader reader);

  std::shared_ptr<port::Inlet> inlet_;
  const std::uint64_t tag_;
  std::atomic<bool> receiving_{false};  // the token

  // Of the inlet's capacity, with the token. A queue pair that is the only one is given all of it
  // when it is made.
  [[nodiscard]] std::uint32_t share_of(QueuePair& queue_pair);
  void note_busy(std::size_t before);
  // What is granted to all of them together, at most. Beyond, packets wait in memory that the
  // caches no longer hold, and for longer than their senders' patience lasts.
  static constexpr std::uint32_t kMostInAll = 64 * 1024 * 1024;
  std::shared_ptr<std::atomic<std::uint32_t>> busy_;
  hca::ReceiveShares shares_;
  bool was_shared_ = false;
  SendTurns& turns_;

  // Changed with the token and mutex_; read with either.
  mutable std::mutex mutex_;
  std::unordered_map<std::uint32_t, QueuePair*> by_number_;
  std::unordered_map<CompletionQueue*, std::size_t> completion_queues_;  // and how many use it
  QueuePair* sole_ = nullptr;                                            // if there is just one

  // While reading, with the token.
  QueuePair* current_ = nullptr;  // locked if in_section_ > 0
  unsigned in_section_ = 0;
  // Between two reads, too, if the end of a run was put off.
  std::vector<QueuePair*> touched_;
  Time now_{};  // read with the first datagram of a run: most looks find nothing
  std::atomic<std::uint64_t> strays_{0};

  // By the context's thread, after it has read so many. Returns whether the program has polled, or
  // posted one request after the other, since the thread read before.
  bool note_read(std::size_t count);
  [[nodiscard]] bool kept_in_vain() const { return in_vain_ >= kMostInVain; }

  // Who reads: the context's thread waits on it, or leaves it to a program that polls. By the
  // context's thread only, but for the flag.
  std::uint64_t activity_seen_ = 0;  // when the thread last looked
  Duration review_after_{};          // while left: how long until the next look
  Time review_at_{};                 // while left
  std::uint32_t kept_for_ = 0;       // not to be left for so many times that something arrives
  std::uint32_t in_vain_ = 0;        // reads in a row, while kept, that the program was about to do
  std::atomic<bool> left_to_program_{false};
};

}  // namespace weft::host
