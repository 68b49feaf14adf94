// SPDX-License-Identifier: Apache-2.0
#include "rc_world.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cstring>

#include "hca/credit.h"

namespace weft::sim::test {
namespace {

using hca::CompletionOpcode;
using hca::CompletionStatus;
using hca::SendOpcode;

CompletionOpcode completes_as(SendOpcode opcode) {
  switch (opcode) {
    case SendOpcode::kRdmaWrite:
    case SendOpcode::kRdmaWriteWithImmediate:
      return CompletionOpcode::kRdmaWrite;
    case SendOpcode::kRdmaRead:
      return CompletionOpcode::kRdmaRead;
    case SendOpcode::kCompareSwap:
      return CompletionOpcode::kCompareSwap;
    case SendOpcode::kFetchAdd:
      return CompletionOpcode::kFetchAdd;
    case SendOpcode::kBindWindow:
      return CompletionOpcode::kBindWindow;
    case SendOpcode::kLocalInvalidate:
      return CompletionOpcode::kLocalInvalidate;
    default:
      return CompletionOpcode::kSend;
  }
}

bool is_receive(const hca::Completion& completion) {
  return completion.opcode == CompletionOpcode::kReceive ||
         completion.opcode == CompletionOpcode::kReceiveRdmaWithImmediate;
}

// Receives are told from sends by this when they complete in error, where the opcode is not valid.
constexpr std::uint64_t kReceiveId = std::uint64_t{1} << 32;

}  // namespace

Qpn RcWorld::qpn(int host, std::size_t connection, bool one_socket) {
  const auto i = static_cast<std::uint32_t>(connection);
  const std::uint32_t port = 0xC000 + static_cast<std::uint32_t>(host) * 0x100;
  return Qpn{one_socket ? i << 16 | port : port + i};
}

RcWorld::RcWorld(std::uint64_t seed, const WorldOptions& options)
    : options_(options),
      random_(seed),
      plan_(random_.fork(), options.plan),
      network_(scheduler_, random_.fork(), options.faults) {
  for (int host = 0; host < 2; ++host)
    open(options, host);
  for (std::size_t i = 0; i < options.plan.connections; ++i) {
    const auto first = [&] {
      const auto any = static_cast<std::uint32_t>(random_.next());
      return Psn{options.near_wrap ? 0xFFFFFF - any % 50 : any};
    };
    const Psn psn[2] = {first(), first()};
    for (int host = 0; host < 2; ++host) {
      End& end = ends_[host][i];
      ConnectionSetup setup = options.setup;
      setup.path_mtu = options.plan.mtu;
      setup.sq_psn = psn[host];
      setup.rq_psn = psn[1 - host];
      const auto done =
          hosts_[host]->connect(end.qpn, hosts_[1 - host]->gid(), ends_[1 - host][i].qpn, setup);
      EXPECT_TRUE(done.has_value()) << (done ? "" : done.error().message);
    }
  }
}

void RcWorld::open(const WorldOptions& options, int host) {
  HostPlan& plan = plan_.hosts[host];
  hosts_[host] = std::make_unique<ConnectedHost>(
      scheduler_, network_, random_.fork(),
      ConnectedHostConfig{.gid = Gid::from_ipv4(0x0A000001 + static_cast<std::uint32_t>(host)),
                          .socket_buffer = options.socket_buffer,
                          .memory = plan.initial.size()});
  ConnectedHost& machine = *hosts_[host];
  std::memcpy(machine.memory().data(), plan.initial.data(), plan.initial.size());
  local_[host] = machine.add_region(0, plan.initial.size(), hca::kLocalWrite);
  shared_words_[host] = machine.add_region(plan.shared_words.offset, plan.shared_words.length,
                                           hca::kLocalWrite | hca::kRemoteAtomic);
  if (options.plan.shared_receives) {
    shared_[host] =
        std::make_unique<hca::SharedReceiveQueue>(options.depth, options.plan.max_pieces);
    shared_used_[host].resize(plan.shared_receives.size());
    xrc_queues_[host].found = {.source = shared_[host].get(),
                               .completions = &machine.completions(),
                               .pd = ConnectedHost::kPd};
  }
  const std::size_t per_socket = options.one_socket ? options.plan.connections : 1;
  ends_[host].resize(options.plan.connections);
  for (std::size_t i = 0; i < options.plan.connections; ++i) {
    EndPlan& mine = plan_.ends[host][i];
    target_[host].push_back(machine.add_region(
        mine.target.offset, mine.target.length,
        hca::kLocalWrite | hca::kRemoteWrite | hca::kRemoteRead | hca::kWindowBind));
    words_[host].push_back(machine.add_region(mine.words.offset, mine.words.length,
                                              hca::kLocalWrite | hca::kRemoteAtomic));
    ends_[host][i] = {.host = host,
                      .connection = i,
                      .qpn = qpn(host, i, options.one_socket),
                      .plan = &mine,
                      .windows = {}};
    hca::ConnectedConfig config{};
    config.qpn = ends_[host][i].qpn;
    config.type = options.plan.service;
    if (config.type == hca::QpType::kXrcInitiator && host == 1) {
      config.type = hca::QpType::kXrcTarget;
    }
    config.max_sends = options.depth;
    config.max_receives = options.depth;
    config.max_send_pieces = options.plan.max_pieces;
    config.max_receive_pieces = options.plan.max_pieces;
    config.max_inline = options.plan.max_inline;
    config.receive_budget = static_cast<std::uint32_t>(
        hca::grant_budget(static_cast<std::uint32_t>(options.socket_buffer)) / per_socket);
    config.extensions = options.extensions;
    const bool target = config.type == hca::QpType::kXrcTarget;
    machine.add(config, target ? nullptr : shared_[host].get(),
                target ? &xrc_queues_[host] : nullptr);
    open_windows(ends_[host][i]);
  }
  machine.on_completion = [this, host](const hca::Completion& c) { take_completion(host, c); };
}

Duration RcWorld::some_time(Duration most) {
  return Duration(
      static_cast<std::int64_t>(random_.below(static_cast<std::uint64_t>(most.count()) + 1)));
}

hca::Sge RcWorld::piece(int host, const Range& range) const {
  return {.address = local_[host].iova + range.offset,
          .length = static_cast<std::uint32_t>(range.length),
          .lkey = LKey{local_[host].key}};
}

RcWorld::End& RcWorld::end_of(int host, Qpn qpn) {
  for (End& end : ends_[host]) {
    if (end.qpn == qpn) return end;
  }
  ADD_FAILURE() << "a completion of an unknown queue pair " << qpn.value();
  return ends_[host].front();
}

void RcWorld::run() {
  for (int host = 0; host < 2; ++host) {
    scheduler_.after(some_time(options_.receives_late),
                     [this, host] { post_shared_receives(host); });
    for (End& end : ends_[host]) {
      scheduler_.after(some_time(options_.pause), [this, &end] { post_sends(end); });
      scheduler_.after(some_time(options_.receives_late), [this, &end] { post_receives(end); });
    }
  }
  EXPECT_TRUE(scheduler_.run_until(kEnd)) << "still busy at the end of time";
  for (auto& machine : hosts_) {
    for (const std::string& complaint : machine->complaints())
      ADD_FAILURE() << complaint;
    EXPECT_EQ(machine->misdirected(), 0u);
  }
}

void RcWorld::post_sends(End& end) {
  if (end.failed) return;
  for (std::uint64_t n = random_.below(options_.batch) + 1; n > 0; --n) {
    if (end.posted == end.plan->operations.size() || waits_for_window(end) ||
        !post_one(end, end.posted)) {
      break;
    }
    ++end.posted;
  }
  const bool in_vain = waits_for_window(end) && abandoned();  // the peer's connection has failed
  if (end.posted < end.plan->operations.size() && !in_vain) {
    scheduler_.after(some_time(options_.pause) + 1us, [this, &end] { post_sends(end); });
  }
}

bool RcWorld::post_one(End& end, std::size_t n) {
  const Operation& op = end.plan->operations[n];
  ConnectedHost& machine = *hosts_[end.host];
  std::vector<hca::Sge> pieces;
  inline_scratch_.clear();
  inline_scratch_.reserve(options_.plan.max_inline);
  for (const Range& range : op.pieces) {
    if (!op.inline_data) {
      pieces.push_back(piece(end.host, range));
      continue;
    }
    const Bytes source = Bytes(machine.memory()).subspan(range.offset, range.length);
    pieces.push_back(
        {.address = std::bit_cast<std::uintptr_t>(inline_scratch_.data()) + inline_scratch_.size(),
         .length = static_cast<std::uint32_t>(range.length)});
    inline_scratch_.insert(inline_scratch_.end(), source.begin(), source.end());
  }
  const int peer = 1 - end.host;
  const bool atomic = op.opcode == SendOpcode::kCompareSwap || op.opcode == SendOpcode::kFetchAdd;
  const hca::MemoryRegion& region = op.shared ? shared_words_[peer]
                                    : atomic  ? words_[peer][end.connection]
                                              : target_[peer][end.connection];
  hca::SendRequest request{.wr_id = n,
                           .opcode = op.opcode,
                           .signaled = op.signaled,
                           .solicited = op.solicited,
                           .inline_data = op.inline_data,
                           .fence = op.fence,
                           .immediate = op.immediate,
                           .pieces = pieces,
                           .remote_address = hosts_[peer]->address(op.remote),
                           .rkey = RKey{region.key},
                           .compare_add = op.compare_add,
                           .swap = op.swap,
                           .remote_srq = OnlyQueue::kNumber};
  name_window(end, op, request);
  const std::errc error = machine.post_send(end.qpn, request);
  // What was inline is the program's again.
  std::fill(inline_scratch_.begin(), inline_scratch_.end(), std::byte{0xEE});
  if (error == std::errc::not_enough_memory) return false;
  EXPECT_EQ(error, std::errc{}) << "operation " << n;
  if (op.opcode == SendOpcode::kBindWindow) end.windows[*op.window] = request.bind.new_key;
  return true;
}

hca::ReceiveRequest RcWorld::receive_request(int host, std::uint64_t n, const Receive& receive,
                                             std::vector<hca::Sge>& pieces) const {
  pieces.clear();
  for (const Range& range : receive.pieces)
    pieces.push_back(piece(host, range));
  return {.wr_id = kReceiveId | n, .pieces = pieces};
}

// Receives for messages that were lost, or for those of a connection that has failed.
bool RcWorld::abandoned() const {
  return scheduler_.now() > last_completion_ + 20s;
}

void RcWorld::post_receives(End& end) {
  if (end.failed) return;
  const std::size_t all = end.plan->receives.size();
  std::vector<hca::Sge> pieces;
  for (std::uint64_t n = 0; n < options_.receive_batch && end.receives_posted < all; ++n) {
    const std::size_t next = end.receives_posted;
    const std::errc error = hosts_[end.host]->post_receive(
        end.qpn, receive_request(end.host, next, end.plan->receives[next], pieces));
    if (error == std::errc::not_enough_memory) break;
    EXPECT_EQ(error, std::errc{}) << "receive " << next;
    ++end.receives_posted;
  }
  if (end.receives_posted < all && !abandoned()) {
    scheduler_.after(some_time(options_.pause) + 1us, [this, &end] { post_receives(end); });
  }
}

void RcWorld::post_shared_receives(int host) {
  const std::vector<Receive>& receives = plan_.hosts[host].shared_receives;
  std::vector<hca::Sge> pieces;
  std::size_t& posted = shared_posted_[host];
  for (std::uint64_t n = 0; n < options_.receive_batch && posted < receives.size(); ++n) {
    const std::errc error =
        shared_[host]->post(receive_request(host, posted, receives[posted], pieces));
    if (error == std::errc::not_enough_memory) break;
    EXPECT_EQ(error, std::errc{}) << "shared receive " << posted;
    ++posted;
  }
  for (const End& end : ends_[host])
    hosts_[host]->look_at(end.qpn);
  if (posted < receives.size() && !abandoned()) {
    scheduler_.after(some_time(options_.pause) + 1us, [this, host] { post_shared_receives(host); });
  }
}

void RcWorld::take_completion(int host, const hca::Completion& completion) {
  End& end = end_of(host, completion.qpn);
  last_completion_ = scheduler_.now();
  if (completion.status != CompletionStatus::kSuccess) return take_error(end, completion);
  EXPECT_FALSE(end.failed) << "success after an error";
  if (!is_receive(completion)) return take_sent(end, completion);
  ++received_;
  if (options_.plan.service == hca::QpType::kUc) return take_unreliable(end, completion);
  take_received(end, completion);
}

void RcWorld::take_sent(End& end, const hca::Completion& completion) {
  const auto& operations = end.plan->operations;
  while (end.completed < operations.size() && !operations[end.completed].signaled)
    ++end.completed;
  ASSERT_LT(end.completed, operations.size()) << "one completion too many";
  const Operation& op = operations[end.completed];
  EXPECT_EQ(completion.wr_id, end.completed) << "not in order";
  EXPECT_EQ(completion.opcode, completes_as(op.opcode));
  if (completes_as(op.opcode) != CompletionOpcode::kSend &&
      completes_as(op.opcode) != CompletionOpcode::kRdmaWrite) {
    EXPECT_EQ(completion.byte_length, op.length);
    // It is there when the completion is, not only at the end (shared words: checked by chain).
    if (!op.shared) {
      const HostPlan& plan = plan_.hosts[end.host];
      for (const Range& range : op.pieces) {
        EXPECT_EQ(std::memcmp(hosts_[end.host]->memory().data() + range.offset,
                              plan.expected.data() + range.offset, range.length),
                  0)
            << "operation " << end.completed << ": " << where(plan, range.offset);
      }
    }
  }
  ++end.completed;
}

// It is there when the completion is, not only at the end.
void RcWorld::expect_content(int host, const Receive& receive) {
  const HostPlan& plan = plan_.hosts[host];
  for (const Range& range : receive.pieces) {
    EXPECT_EQ(std::memcmp(hosts_[host]->memory().data() + range.offset,
                          plan.expected.data() + range.offset, range.length),
              0)
        << where(plan, range.offset);
  }
}

// Which message ends up in which receive is known only now.
void RcWorld::take_shared(End& end, const hca::Completion& completion) {
  const Arrival& arrival = end.plan->arrivals[end.arrived];
  const std::uint64_t n = completion.wr_id & ~kReceiveId;
  HostPlan& plan = plan_.hosts[end.host];
  ASSERT_LT(n, shared_posted_[end.host]);
  EXPECT_FALSE(shared_used_[end.host][n]) << "receive " << n << " completed twice";
  shared_used_[end.host][n] = true;
  if (arrival.opcode == CompletionOpcode::kReceive) {
    const std::vector<std::byte> content = sent_bytes(1 - end.host, arrival.source);
    std::size_t at = 0;
    for (const Range& range : plan.shared_receives[n].pieces) {
      const std::size_t part = std::min(range.length, content.size() - at);
      std::copy_n(content.begin() + static_cast<std::ptrdiff_t>(at), part,
                  plan.expected.begin() + static_cast<std::ptrdiff_t>(range.offset));
      at += part;
    }
  }
  expect_content(end.host, plan.shared_receives[n]);
}

std::vector<std::byte> RcWorld::sent_bytes(int host, const std::vector<Range>& source) {
  std::vector<std::byte> content;
  for (const Range& range : source) {
    const Bytes from = Bytes(hosts_[host]->memory()).subspan(range.offset, range.length);
    content.insert(content.end(), from.begin(), from.end());
  }
  return content;
}

void RcWorld::take_received(End& end, const hca::Completion& completion) {
  ASSERT_LT(end.arrived, end.plan->arrivals.size()) << "a message too many";
  const Arrival& arrival = end.plan->arrivals[end.arrived];
  if (options_.plan.shared_receives) {
    take_shared(end, completion);
  } else {
    EXPECT_EQ(completion.wr_id, kReceiveId | end.arrived) << "not in order";
    expect_content(end.host, end.plan->receives[end.arrived]);
  }
  EXPECT_EQ(completion.opcode, arrival.opcode);
  EXPECT_EQ(completion.byte_length, arrival.length);
  EXPECT_EQ(completion.with_immediate, arrival.with_immediate);
  EXPECT_EQ(completion.solicited, arrival.solicited) << "message " << end.arrived;
  EXPECT_EQ(completion.source_qpn, ends_[1 - end.host][end.connection].qpn);
  if (arrival.with_immediate) {
    EXPECT_EQ(completion.immediate, arrival.immediate);
  }
  EXPECT_EQ(completion.with_invalidate, arrival.invalidated.has_value());
  if (arrival.invalidated) {
    EXPECT_EQ(RKey{completion.immediate}, end.windows[*arrival.invalidated]);
    EXPECT_FALSE(is_bound(end, *arrival.invalidated)) << "message " << end.arrived;
  }
  ++end.arrived;
}

// Messages may be lost or come twice; those that come are whole.
void RcWorld::take_unreliable(End& end, const hca::Completion& completion) {
  EXPECT_EQ(completion.wr_id, kReceiveId | end.arrived) << "not in order";
  ASSERT_LT(end.arrived, end.plan->receives.size());
  EXPECT_TRUE(completion.with_immediate);
  const auto& sent = plan_.ends[1 - end.host][end.connection].operations;
  ASSERT_LT(completion.immediate, sent.size());
  const Operation& op = sent[completion.immediate];
  EXPECT_EQ(completion.byte_length, op.length);
  if (completion.opcode == CompletionOpcode::kReceive) {
    const std::vector<std::byte> content = sent_bytes(1 - end.host, op.pieces);
    std::size_t at = 0;
    for (const Range& range : end.plan->receives[end.arrived].pieces) {
      const std::size_t part = std::min(range.length, content.size() - at);
      EXPECT_EQ(
          std::memcmp(hosts_[end.host]->memory().data() + range.offset, content.data() + at, part),
          0);
      at += part;
    }
  }
  ++end.arrived;
}

void RcWorld::take_error(End& end, const hca::Completion& completion) {
  const bool receive = (completion.wr_id & kReceiveId) != 0;
  if (!receive && !end.failed && completion.status == CompletionStatus::kTransportRetryExceeded) {
    gave_up_ = true;
  } else if (!end.failed) {
    EXPECT_TRUE(receive && completion.status == CompletionStatus::kFlushed)
        << "status " << static_cast<int>(completion.status) << " of "
        << (receive ? "receive " : "operation ") << (completion.wr_id & ~kReceiveId);
  } else {
    EXPECT_EQ(completion.status, CompletionStatus::kFlushed);
  }
  if (!receive) {
    EXPECT_GE(completion.wr_id, end.completed) << "not in order";
    end.completed = completion.wr_id + 1;
  }
  end.failed = true;
}

void RcWorld::check() {
  if (gave_up_) return;
  EXPECT_EQ(check_shared_words(plan_, hosts_[0]->memory(), hosts_[1]->memory()), "");
  for (auto& ends : ends_) {
    for (const End& end : ends) {
      const std::string who = fmt::format("host {}, connection {}", end.host, end.connection);
      EXPECT_EQ(end.completed, end.plan->operations.size()) << who;
      EXPECT_EQ(end.arrived, end.plan->arrivals.size()) << who;
      EXPECT_EQ(end.receives_posted, end.plan->receives.size()) << who;
      hca::ConnectedQueuePair& queue_pair = hosts_[end.host]->queue_pair(end.qpn);
      EXPECT_EQ(queue_pair.state(), hca::QpState::kRts) << who;
      EXPECT_EQ(queue_pair.queued_packets(), 0u) << who;
      EXPECT_FALSE(queue_pair.has_work()) << who;
      EXPECT_EQ(queue_pair.deadline(), std::nullopt) << who << ": idle, but waits for a time";
      for (std::size_t n = 0; n < end.windows.size(); ++n)
        EXPECT_EQ(is_bound(end, n), end.plan->windows[n].bound_at_end) << who << ", window " << n;
    }
  }
  for (int host = 0; host < 2; ++host)
    compare_memory(host);
}

void RcWorld::check_unreliable() {
  for (int host = 0; host < 2; ++host) {
    for (std::size_t i = 0; i < ends_[host].size(); ++i) {
      const EndPlan& plan = plan_.ends[host][i];
      EXPECT_EQ(ends_[host][i].completed, plan.operations.size());
      except(host, plan.target);
      for (const Receive& receive : plan.receives) {
        for (const Range& range : receive.pieces)
          except(host, range);
      }
    }
    compare_memory(host);
  }
}

void RcWorld::except(int host, const Range& range) {
  std::memcpy(plan_.hosts[host].expected.data() + range.offset,
              hosts_[host]->memory().data() + range.offset, range.length);
}

void RcWorld::compare_memory(int host) {
  const Bytes actual = hosts_[host]->memory();
  const std::vector<std::byte>& expected = plan_.hosts[host].expected;
  const auto [a, e] = std::mismatch(actual.begin(), actual.end(), expected.begin());
  if (a == actual.end()) return;
  const auto offset = static_cast<std::size_t>(a - actual.begin());
  ADD_FAILURE() << "memory of host " << host << " differs from the model, first at "
                << where(plan_.hosts[host], offset);
}

std::uint64_t RcWorld::counter(hca::ConnectedCounter which) const {
  std::uint64_t sum = 0;
  for (int host = 0; host < 2; ++host) {
    for (const End& end : ends_[host])
      sum += hosts_[host]->queue_pair(end.qpn).connection().counters.get(which);
  }
  return sum;
}

}  // namespace weft::sim::test
