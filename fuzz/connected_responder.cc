// SPDX-License-Identifier: Apache-2.0
// The responder of a connected queue pair under whatever a peer may send: requests that are nearly
// right, out of order, repeated, or nonsense. It may refuse and fail; it may not write or read
// outside of what it was lent, lose a receive or complete one twice, or hold on to memory.
#include <iterator>
#include <utility>

#include "connected_stage.h"
#include "steps.h"
#include "wire/atomic_eth.h"
#include "wire/ieth.h"
#include "wire/imm_dt.h"
#include "wire/opcode.h"
#include "wire/reth.h"
#include "wire/xrceth.h"

namespace {

using namespace weft;
using namespace weft::fuzz;
using namespace weft::hca;

class Fuzzer {
 public:
  Fuzzer(Input& input, const ConnectedConfig& config, bool shared, std::uint8_t max_reads)
      : input_(input), stage_(config, shared, input), max_reads_(max_reads) {
    stage_.connect(Psn{0}, psn_, max_reads_, 10);
  }

  void step() {
    switch (input_.one_of(16)) {
      case 0:
      case 1:
        post_receive();
        break;
      case 2:
        stage_.advance(Duration(input_.word() * 500));
        break;
      case 3:
        stage_.deliver(input_.some());
        break;
      case 4:
        if (input_.rarely()) restart();
        if (input_.rarely()) post_send();
        break;
      case 5:
        if (input_.rarely()) stage_.to_error();
        break;
      case 6:
        stage_.queue_pair().end_run(stage_.now());
        if (input_.rarely()) stage_.change();
        if (input_.rarely()) stage_.ask();
        break;
      case 7:
      case 8:
      case 9:
        transmit(false);
        break;
      default:
        request();
        break;
    }
    (void)stage_.queue_pair().take_events();
    stage_.check_deadline();
  }

  void finish() {
    stage_.queue_pair().end_run(stage_.now());
    for (int i = 0; i < 1000 && stage_.queue_pair().has_work(); ++i)
      transmit(true);
    require(!stage_.queue_pair().has_work());
    stage_.finish();
  }

 private:
  void transmit(bool calm) {
    stage_.transmit(
        calm, [](Bytes) {},
        [&] {
          if (calm) return;
          for (std::uint8_t n = input_.one_of(4); n > 0; --n) {
            if (input_.rarely()) {
              stage_.to_error();
            } else {
              request();
            }
          }
        });
  }

  void restart() {
    stage_.reset();
    psn_ = Psn{input_.rarely() ? 0xFFFFFEu : input_.byte()};
    stage_.connect(Psn{0}, psn_, max_reads_, 10);
  }

  // A request of our own, which acknowledgements may go with. Nobody answers it.
  void post_send() {
    const Sge piece{.address = Stage::address(Stage::kLocal),
                    .length = input_.byte(),
                    .lkey = LKey{stage_.local().key}};
    const std::uint64_t wr_id = ++send_id_;
    stage_.sends().post(wr_id, true);
    const std::errc posted = stage_.queue_pair().post_send({.wr_id = wr_id,
                                                            .opcode = SendOpcode::kSend,
                                                            .signaled = true,
                                                            .pieces = std::span(&piece, 1)});
    if (posted != std::errc{}) stage_.sends().refused();
  }

  void post_receive() {
    const auto piece = [&] {
      return Sge{.address = Stage::address(Stage::kLocal) + input_.word() % (Stage::kPart + 8),
                 .length = input_.word() % 1000u,
                 .lkey = LKey{input_.rarely() ? 1 : stage_.local().key}};
    };
    const std::array<Sge, 2> pieces{piece(), piece()};
    const std::uint64_t wr_id = ++receive_id_;
    const std::uint8_t count = input_.one_of(3);
    stage_.post_receive({.wr_id = wr_id, .pieces = std::span(pieces).first(count)});
  }

  // Mostly the next packet of what a peer could be sending just now.
  wire::Opcode some_opcode() {
    using wire::Opcode;
    const std::uint8_t choice = input_.byte();
    const QpType type = stage_.queue_pair().type();
    const std::uint8_t base = type == QpType::kUc ? 0x20 : type == QpType::kXrcTarget ? 0xA0 : 0x00;
    if (choice == 0xFF) return Opcode::cnp;
    if (choice >= 0xF0) return static_cast<Opcode>(input_.byte());
    if (in_message_ && choice < 0xC0) {
      const bool last = choice % 3 == 0;
      // A Weft peer may write so.
      if (write_ && type == QpType::kRc && (choice & 0x40) != 0) {
        return last ? Opcode::weft_rc_write_last : Opcode::weft_rc_write_middle;
      }
      const std::uint8_t bits = static_cast<std::uint8_t>(
          write_ ? (last ? 0x08 + choice % 2 : 0x07) : (last ? 0x02 + choice % 2 : 0x01));
      return static_cast<Opcode>(base + bits);
    }
    constexpr std::uint8_t kStarts[] = {0x00, 0x04, 0x05, 0x06, 0x0A, 0x0B, 0x0C,
                                        0x13, 0x14, 0x16, 0x17, 0x0C, 0x06, 0x00};
    return static_cast<Opcode>(base + kStarts[choice % std::size(kStarts)]);
  }

  Psn some_psn() {
    const std::uint8_t choice = input_.byte();
    if (choice < 0xC0) return std::exchange(psn_, psn_ + 1);
    if (choice < 0xD8) return psn_ - (choice & 0x1Fu);
    if (choice < 0xF8) return psn_ + (choice & 0x1Fu);
    return Psn{input_.number()};
  }

  void remote_range(std::uint64_t& address, RKey& key, std::uint32_t& length) {
    const std::uint8_t choice = input_.byte();
    const bool read_only = (choice & 3) == 0;
    key = RKey{choice >= 0xFC ? 12345 : (read_only ? stage_.read_only() : stage_.remote()).key};
    address = Stage::address(read_only ? Stage::kReadOnly : Stage::kRemote) +
              (input_.word() & 0xFF8) + (choice >= 0xF0 ? choice & 7u : 0);
    constexpr std::uint32_t kLengths[] = {0, 8, 256, 512, 600, 700};
    length = choice >= 0xF8 ? input_.number() : kLengths[choice % 6];
  }

  std::vector<std::byte> some_headers(const wire::OpcodeInfo& info) {
    std::vector<std::byte> headers(info.headers_size);
    MutableBytes at(headers);
    if (info.has(wire::kXrceth)) {
      wire::Xrceth{.srq = input_.rarely() ? input_.one_of(3) : 0u}.write(at);
      at = at.subspan(wire::Xrceth::kSize);
    }
    if (info.has(wire::kReth)) {
      if (info.starts_message() || input_.rarely()) {
        remote_range(reth_.virtual_address, reth_.rkey, reth_.dma_length);
      }
      reth_.write(at);
      at = at.subspan(wire::Reth::kSize);
    }
    if (info.has(wire::kAtomicEth)) {
      wire::AtomicEth eth{.swap_or_add = input_.byte(), .compare = input_.byte()};
      std::uint32_t length = 0;
      remote_range(eth.virtual_address, eth.rkey, length);
      eth.write(at);
      at = at.subspan(wire::AtomicEth::kSize);
    }
    if (info.has(wire::kIeth)) wire::Ieth{.rkey = RKey{stage_.remote().key}}.write(at);
    return headers;
  }

  std::size_t some_payload(const wire::OpcodeInfo& info) {
    const std::uint8_t choice = input_.byte();
    if (choice >= 0xFC) return choice & 3u ? input_.word() % 600u : 0;
    if (!info.has_payload) return 0;
    if (!info.ends_message()) return Stage::kMtu;
    if (info.operation == wire::Operation::write) {
      return std::min<std::size_t>(reth_.dma_length, Stage::kMtu);
    }
    return choice;
  }

  void request() {
    const wire::Opcode opcode = some_opcode();
    const wire::OpcodeInfo& info = wire::info(opcode);
    const std::vector<std::byte> headers = some_headers(info);
    const std::vector<std::byte> payload(some_payload(info), std::byte{0x5A});
    const std::uint8_t flags = input_.byte();
    const std::uint8_t pad = wire::pad_count_for(payload.size());
    const wire::Bth bth{.opcode = opcode,
                        .solicited = (flags & 1) != 0,
                        .migrated = (flags & 16) != 0,
                        .pad_count = flags >= 0xFE ? std::uint8_t{3} : pad,
                        .pkey = kDefaultPKey,
                        .fecn = (flags & 2) != 0,
                        .becn = flags == 0x80,
                        .dest_qp = flags == 0x90 ? Qpn{6} : Stage::kOurs,
                        .ack_request = (flags & 4) != 0,
                        .psn = some_psn()};
    stage_.deliver(bth, headers, payload);
    if (info.position == wire::Position::first) {
      in_message_ = true;
      write_ = info.operation == wire::Operation::write;
    }
    if (info.ends_message()) in_message_ = false;
    const std::size_t sent = std::min<std::size_t>(reth_.dma_length, payload.size());
    reth_.virtual_address += sent;
    reth_.dma_length -= static_cast<std::uint32_t>(sent);
    // A read takes as many numbers as its answer has packets (IBA 9.7.3.1).
    const std::uint32_t left = reth_.dma_length;
    if (info.operation == wire::Operation::read_request && left > Stage::kMtu && left < 4096) {
      psn_ = psn_ + (left - 1) / Stage::kMtu;
    }
    if ((flags & 8) != 0) stage_.queue_pair().end_run(stage_.now());
  }

  Input& input_;
  Stage stage_;
  std::uint8_t max_reads_;
  Psn psn_{};
  std::uint64_t receive_id_ = 0;
  std::uint64_t send_id_ = 0;
  bool in_message_ = false;
  bool write_ = false;
  wire::Reth reth_;  // of what is left of the message
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  Input input(std::as_bytes(std::span(data, size)));
  const std::uint8_t flags = input.byte();
  Fuzzer fuzzer(input,
                {.qpn = Stage::kOurs,
                 .type = service(flags, QpType::kXrcTarget),
                 .pd = Stage::kPd,
                 .max_sends = 4,
                 .max_receives = 8,
                 .max_receive_pieces = 2,
                 .extensions = (flags & 4) != 0,
                 .copy = (flags & 8) != 0 ? copy_with_holes : plain_copy},
                (flags & 0x80) != 0, static_cast<std::uint8_t>(1 + (flags >> 4 & 7)));
  return run(fuzzer, input);
}
