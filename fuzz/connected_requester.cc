// SPDX-License-Identifier: Apache-2.0
// The requester of a connected queue pair under whatever a peer may answer: responses that fit what
// was sent, nearly fit it, come again, or are nonsense; and under every answer of the wire. It may
// retry and fail; it may not lose a completion or bring one twice, write outside of the memory that
// a request named, or wait for ever without a deadline.
#include <iterator>

#include "connected_stage.h"
#include "steps.h"
#include "wire/aeth.h"
#include "wire/atomic_ack_eth.h"
#include "wire/reth.h"
#include "wire/weft_ack.h"

namespace {

using namespace weft;
using namespace weft::fuzz;
using namespace weft::hca;

class Fuzzer {
 public:
  Fuzzer(Input& input, const ConnectedConfig& config, std::uint8_t max_reads, Psn first)
      : input_(input),
        stage_(config, false, input),
        max_reads_(max_reads),
        first_(first),
        all_signaled_(config.signal_all) {
    stage_.connect(first_, Psn{0}, max_reads_, 8);
  }

  void step() {
    switch (input_.one_of(16)) {
      case 0:
      case 1:
      case 2:
        post();
        break;
      case 3:
        stage_.advance(Duration(std::int64_t{input_.word()} << input_.one_of(20)));
        break;
      case 4:
        if (input_.rarely()) {
          squeeze();
        } else {
          stage_.deliver(input_.some());
        }
        break;
      case 5:
        change_state();
        break;
      case 6:
      case 7:
      case 8:
        transmit(false);
        break;
      case 9:
        if (const auto deadline = stage_.queue_pair().deadline()) {
          if (*deadline > stage_.now()) stage_.advance(*deadline - stage_.now());
        }
        break;
      case 10:
        if (input_.one_of(4) == 0) {
          stage_.change();
        } else {
          stage_.post_receive({.wr_id = ++receive_id_});
          stage_.ask();
        }
        break;
      case 11:
        round();
        break;
      default:
        respond();
        break;
    }
    (void)stage_.queue_pair().take_events();
    stage_.check_deadline();
  }

  void finish() { stage_.finish(); }

 private:
  struct Sent {
    Psn psn{};
    wire::Opcode opcode{};
    std::uint32_t read_length = 0;
  };

  void transmit(bool calm) {
    stage_.transmit(
        calm, [this](Bytes header) { remember(header); },
        [&] {
          for (std::uint8_t n = input_.one_of(4); n > 0; --n) {
            switch (input_.one_of(4)) {
              case 0:
                post();
                break;
              case 1:
                change_state();
                break;
              default:
                respond();
                break;
            }
          }
        });
  }

  // A round trip of a peer that answers, when as much is under way as may be: windows and timers
  // follow many of them, and chance alone rarely puts two in a row.
  void round() {
    const std::uint8_t how = input_.byte();
    for (unsigned n = how & 3; n > 0; --n)
      post_write();
    for (int most = 64; most > 0; --most) {
      if (!stage_.transmit(
              true, [this](Bytes header) { remember(header); }, [] {}))
        break;
    }
    stage_.advance(Duration{1us} * (1 << (how >> 3 & 15)));
    if (next_sent_ == 0) return;
    std::array<std::byte, wire::Aeth::kSize> aeth{};
    wire::Aeth{.syndrome = wire::Syndrome::ack()}.write(aeth);
    deliver(wire::Opcode::rc_acknowledge, sent_[(next_sent_ - 1) % std::size(sent_)].psn, aeth, {});
  }

  void post_write() {
    const Sge all{.address = Stage::address(Stage::kLocal),
                  .length = Stage::kPart,
                  .lkey = LKey{stage_.local().key}};
    post({.wr_id = ++send_id_,
          .opcode = SendOpcode::kRdmaWrite,
          .signaled = true,
          .pieces = std::span(&all, 1)});
  }

  // The network is congested for so long that the window is as small as it gets.
  void squeeze() {
    for (std::uint8_t n = input_.one_of(64); n > 0; --n) {
      stage_.advance(Duration{2ms});
      notify_congestion();
    }
  }

  void remember(Bytes header) {
    const auto bth = *wire::Bth::parse(header);
    const wire::OpcodeInfo& info = wire::info(bth.opcode);
    if (info.is_response || info.operation == wire::Operation::congestion) return;
    Sent sent{.psn = bth.psn, .opcode = bth.opcode};
    if (info.operation == wire::Operation::read_request) {
      const std::size_t before = wire::Bth::kSize + (info.has(wire::kXrceth) ? 4 : 0);
      sent.read_length = wire::Reth::parse(header.subspan(before))->dma_length;
    }
    sent_[next_sent_++ % std::size(sent_)] = sent;
  }

  void change_state() {
    const std::uint8_t choice = input_.byte();
    if (choice >= 0xFC) {
      stage_.to_error();
    } else if (choice >= 0xF8) {
      stage_.reset();
      stage_.connect(first_, Psn{0}, max_reads_, 8);
    } else if (choice >= 0xE0) {
      (void)stage_.modify({.state = QpState::kSqd, .sqd_notify = true},
                          kAttrState | kAttrSqdNotify);
    } else {
      (void)stage_.modify({.state = QpState::kRts}, kAttrState);
    }
  }

  void post() {
    const std::uint8_t flags = input_.byte();
    const std::uint8_t kind = input_.byte();
    const auto piece = [&](std::uint32_t most) {
      const std::uint32_t odd = kind >= 0xF8 ? 1 : 0;
      return Sge{.address = Stage::address(Stage::kLocal) + input_.word() % Stage::kPart,
                 .length = most,
                 .lkey = LKey{stage_.local().key + odd}};
    };
    constexpr std::uint32_t kLengths[] = {0, 1, 8, 255, 256, 257, 512, 1500};
    const SendOpcode opcode = static_cast<SendOpcode>(kind % 10);
    const bool atomic = opcode == SendOpcode::kCompareSwap || opcode == SendOpcode::kFetchAdd;
    std::array<Sge, 2> pieces{piece(atomic ? 8 : kLengths[input_.one_of(8)]),
                              piece(kLengths[input_.one_of(8)])};
    const bool as_inline = (flags & 0x0E) == 0x0E && !atomic && opcode != SendOpcode::kRdmaRead;
    std::array<std::byte, 64> own{};
    if (as_inline) {
      for (Sge& part : pieces)
        part = {.address = std::bit_cast<std::uintptr_t>(own.data()), .length = part.length % 33};
    }
    post({.wr_id = ++send_id_,
          .opcode = opcode,
          .signaled = (flags & 1) != 0,
          .solicited = (flags & 0x10) != 0,
          .inline_data = as_inline,
          .fence = (flags & 0x20) != 0,
          .pieces = std::span(pieces).first(atomic || (flags & 0x40) != 0 ? 1 : 2),
          .remote_address = input_.word(),
          .rkey = RKey{input_.byte()},
          .invalidate = RKey{window_key_},
          .compare_add = input_.byte(),
          .swap = input_.byte(),
          .bind = {.region_lkey = stage_.local().key,
                   .address = Stage::address(Stage::kLocal),
                   .length = 16,
                   .access = kRemoteRead,
                   .window = RKey{window_key_},
                   .new_key = RKey{window_key_}}});
  }

  void post(const SendRequest& request) {
    const bool fetches = request.opcode == SendOpcode::kRdmaRead ||
                         request.opcode == SendOpcode::kCompareSwap ||
                         request.opcode == SendOpcode::kFetchAdd;
    if (fetches) stage_.lend(request.pieces);
    stage_.sends().post(request.wr_id, request.signaled || all_signaled_);
    if (stage_.queue_pair().post_send(request) != std::errc{}) stage_.sends().refused();
  }

  // A syndrome that a peer may send; mostly the good one.
  wire::Syndrome syndrome() {
    const std::uint8_t choice = input_.byte();
    if (choice < 0xA0) return wire::Syndrome::ack();
    if (choice < 0xC0) return wire::Syndrome::ack(choice & 31);
    if (choice < 0xD0) return wire::Syndrome::rnr_nak(choice & 31);
    if (choice < 0xF0) return wire::Syndrome::nak(wire::NakCode::psn_sequence_error);
    if (choice < 0xF8) return wire::Syndrome::nak(static_cast<wire::NakCode>(choice & 7));
    return wire::Syndrome{input_.byte()};
  }

  void respond() {
    if (next_sent_ == 0) return;
    const std::uint8_t choice = input_.byte();
    const std::size_t back = choice >= 0x80 ? choice % std::size(sent_) : choice & 3u;
    const Sent& sent = sent_[(next_sent_ - 1 - back % next_sent_) % std::size(sent_)];
    const std::uint8_t kind = input_.byte();
    const wire::Operation operation = wire::info(sent.opcode).operation;
    if (kind >= 0xF8) return raw_response(sent.psn);
    if (kind >= 0xF4) return report(sent.psn);
    if (kind >= 0xE8) return notify_congestion();
    if (kind >= 0xA0 && kind < 0xC0) return weft_acknowledge(sent.psn);
    if (operation == wire::Operation::read_request && kind < 0xA0) return answer_read(sent);
    const bool atomic =
        operation == wire::Operation::compare_swap || operation == wire::Operation::fetch_add;
    if (atomic && kind < 0xA0) return answer_atomic(sent);
    acknowledge(sent.psn + (kind >= 0xE0 ? kind & 7u : 0));
  }

  void deliver(wire::Opcode opcode, Psn psn, Bytes headers, Bytes payload) {
    const std::uint8_t flags = input_.byte();
    const bool xrc = stage_.queue_pair().type() == QpType::kXrcInitiator &&
                     wire::info(opcode).transport == wire::Transport::rc;
    stage_.deliver(
        {.opcode = xrc ? static_cast<wire::Opcode>(0xA0 + (static_cast<int>(opcode) & 31)) : opcode,
         .migrated = (flags & 2) != 0,
         .pad_count = wire::pad_count_for(payload.size()),
         .pkey = kDefaultPKey,
         .becn = (flags & 0xF0) == 0xF0,
         .dest_qp = Stage::kOurs,
         .psn = psn},
        headers, payload);
    if ((flags & 1) != 0) stage_.queue_pair().end_run(stage_.now());
  }

  void acknowledge(Psn psn) {
    std::array<std::byte, wire::Aeth::kSize> aeth{};
    wire::Aeth{.syndrome = syndrome(), .msn = input_.byte()}.write(aeth);
    deliver(wire::Opcode::rc_acknowledge, psn, aeth, {});
  }

  void weft_acknowledge(Psn psn) {
    wire::WeftAck ack{.aeth = {.syndrome = syndrome(), .msn = input_.byte()},
                      .window = static_cast<std::uint32_t>(input_.byte()) << input_.one_of(24)};
    for (std::uint8_t n = input_.one_of(6); n > 0; --n)
      ack.set(input_.rarely() ? input_.word() % 2048u : input_.one_of(24));
    std::vector<std::byte> payload(ack.size());
    ack.write(payload);
    if (input_.rarely()) payload.resize(input_.byte());
    deliver(wire::Opcode::weft_rc_acknowledge, psn, {}, payload);
  }

  // The next packets of the answer, or others.
  void answer_read(const Sent& sent) {
    using wire::Opcode;
    const std::uint32_t packets =
        sent.read_length == 0 ? 1 : (sent.read_length + Stage::kMtu - 1) / Stage::kMtu;
    const std::uint8_t choice = input_.byte();
    std::uint32_t first = (choice & 0x40) != 0 ? choice % packets : 0;
    const std::uint32_t last = (choice & 0x20) != 0 ? first : packets - 1;
    std::vector<std::byte> payload(Stage::kMtu, std::byte{0xA5});
    for (std::uint32_t n = 0; first <= last && n < 32; ++first, ++n) {
      const bool at_end = first + 1 == packets;
      Opcode opcode =
          first == 0 ? (at_end ? Opcode::rc_read_response_only : Opcode::rc_read_response_first)
                     : (at_end ? Opcode::rc_read_response_last : Opcode::rc_read_response_middle);
      if ((choice & 0x1F) == 0x1F) opcode = static_cast<Opcode>(0x0D + input_.one_of(4));
      std::size_t length = at_end ? sent.read_length - first * Stage::kMtu : Stage::kMtu;
      if ((choice & 0x1F) == 0x1E) length = input_.word() % (Stage::kMtu + 1);
      std::array<std::byte, wire::Aeth::kSize> aeth{};
      wire::Aeth{.syndrome = (choice & 0x1F) == 0x1D ? syndrome() : wire::Syndrome::ack()}.write(
          aeth);
      const bool with_aeth = wire::info(opcode).has(wire::kAeth);
      deliver(opcode, sent.psn + first, with_aeth ? Bytes(aeth) : Bytes{},
              Bytes(payload).first(std::min<std::size_t>(length, Stage::kMtu)));
    }
  }

  void answer_atomic(const Sent& sent) {
    std::array<std::byte, wire::Aeth::kSize + wire::AtomicAckEth::kSize> headers{};
    wire::Aeth{.syndrome = syndrome()}.write(headers);
    wire::AtomicAckEth{.original = input_.byte()}.write(
        MutableBytes(headers).subspan(wire::Aeth::kSize));
    deliver(wire::Opcode::rc_atomic_acknowledge, sent.psn, headers, {});
  }

  void raw_response(Psn near) {
    const auto opcode = static_cast<wire::Opcode>(input_.byte());
    const std::vector<std::byte> headers(wire::info(opcode).headers_size);
    deliver(opcode, near + input_.byte() - 128, headers, input_.some());
  }

  // The network says that the packet was not delivered; or somebody who can do no more than guess.
  void report(Psn psn) {
    const std::uint8_t choice = input_.byte();
    std::vector<std::byte> quote(wire::Bth::kSize);
    wire::Bth{
        .opcode = (choice & 2) != 0 ? wire::Opcode::rc_acknowledge : wire::Opcode::rc_send_only,
        .dest_qp = Stage::kPeer,
        .psn = psn + ((choice & 0x70) == 0x70 ? choice & 7u : 0)}
        .write(quote);
    if (choice >= 0xF0) quote.resize(choice & 0x0F);
    stage_.report(
        (choice & 1) != 0 ? Undelivered::Reason::kRefused : Undelivered::Reason::kUnreachable,
        quote);
  }

  void notify_congestion() {
    const std::array<std::byte, 16> reserved{};
    deliver(wire::Opcode::cnp, Psn{0}, {}, reserved);
  }

  Input& input_;
  Stage stage_;
  std::uint8_t max_reads_;
  Psn first_;
  bool all_signaled_;
  std::uint64_t send_id_ = 0;
  std::uint64_t receive_id_ = 0;
  const std::uint32_t window_key_ = stage_.window().value();
  std::array<Sent, 64> sent_{};
  std::size_t next_sent_ = 0;
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  Input input(std::as_bytes(std::span(data, size)));
  const std::uint8_t flags = input.byte();
  const std::uint8_t more = input.byte();
  Fuzzer fuzzer(input,
                {.qpn = Stage::kOurs,
                 .type = service(more >> 4, QpType::kXrcInitiator),
                 .pd = Stage::kPd,
                 .max_sends = 16,
                 .max_receives = 1,
                 .max_send_pieces = 2,
                 .max_inline = 64,
                 .signal_all = (flags & 1) != 0,
                 .max_message = (more & 4) != 0 ? 1024u : 1u << 31,
                 .receive_budget = (flags & 2) != 0 ? 1024u : 132'000u,
                 .extensions = (flags & 4) != 0,
                 .keep_alive = (more & 2) != 0 ? Duration{10s} : Duration{0s},
                 .copy = (flags & 8) != 0 ? copy_with_holes : plain_copy},
                static_cast<std::uint8_t>(1 + (flags >> 4)),
                (more & 1) != 0 ? Psn{0xFFFFF8} : Psn{more});
  return run(fuzzer, input);
}
