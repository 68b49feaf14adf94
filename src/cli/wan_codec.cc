// SPDX-License-Identifier: Apache-2.0
#include "cli/wan_codec.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <memory>
#include <utility>

#include "cli/wan_fibre.h"
#include "wan/dccp/dccp_header.h"
#include "wan/encapsulation/stack.h"
#include "wan/line/stack/line_stack.h"
#include "wan/single_frame.h"

namespace weft::cli {
namespace {

constexpr std::size_t kPiece = std::size_t{64} << 10;  // octets of a line that are made at once

// The layers of packets, with the ends that they are between. What has "dccp" innermost carries
// packets of a connection, here with nobody who has set one up: data alone.
struct Layers {
  wan::Stack stack;
  wan::Ends ends;
  bool dccp = false;
};

Expected<Layers> layers_of(std::string_view packets, const wan::Ends& ends, bool on_line = false) {
  auto stack = wan::Stack::parse(packets, ends, on_line);
  if (!stack) return tl::unexpected(stack.error());
  return Layers{.stack = std::move(*stack), .ends = ends, .dccp = packets.starts_with("dccp/")};
}

// A frame in the packet of DCCP that has this number.
std::vector<std::byte> put_in_dccp(Bytes frame, const wan::Ends& ends, std::uint64_t number) {
  const wan::dccp::Header header{.source_port = ends.local_port,
                                 .destination_port = ends.remote_port,
                                 .type = wan::dccp::PacketType::kData,
                                 .sequence = wan::dccp::Sequence(number),
                                 .acknowledged = {}};
  std::vector<std::byte> out(header.size());
  wan::dccp::write(header, {}, {&frame, 1}, ends.local, ends.remote, out);
  out.insert(out.end(), frame.begin(), frame.end());
  return out;
}

// Whether what came is a packet of DCCP with data, which are left in it then.
bool take_out_of_dccp(Bytes& bytes, const wan::Ends& ends) {
  const auto packet = wan::dccp::parse(bytes, ends.remote, ends.local);
  if (!packet) return false;
  bytes = packet->data;
  return packet->header.type == wan::dccp::PacketType::kData ||
         packet->header.type == wan::dccp::PacketType::kDataAck;
}

// The packets of a capture, as those of a line, which goes idle for a while before and after.
class CapturedPackets final : public wan::PacketSource {
 public:
  CapturedPackets(const Layers& layers, const std::vector<Bytes>& packets)
      : layers_(layers), packets_(packets) {}

  // From now on there are packets, of at most so many bytes.
  void begin(std::size_t longest) {
    begun_ = true;
    longest_ = longest;
  }
  [[nodiscard]] bool all_gone() const { return at_ == packets_.size(); }
  // Which one next() has given.
  [[nodiscard]] std::size_t last() const { return at_ - 1; }
  [[nodiscard]] const WanPackets& report() const { return report_; }

  Bytes next() override {
    while (begun_ && !all_gone()) {
      frame_ = frames_.next(packets_[at_++]);
      const bool is_frame = !frame_.empty();
      if (layers_.dccp && is_frame) frame_ = put_in_dccp(frame_, layers_.ends, at_);
      const Bytes whole(frame_);
      wan::OutPacket packet({&whole, 1});
      if (!is_frame || !layers_.stack.wrap(packet) || packet.size() > longest_) {
        ++report_.missed;
        continue;
      }
      ++report_.taken;
      out_.clear();
      for (const Bytes piece : packet.pieces())
        out_.insert(out_.end(), piece.begin(), piece.end());
      return out_;
    }
    return {};
  }

 private:
  const Layers& layers_;
  const std::vector<Bytes>& packets_;
  wan::SingleFrames frames_;
  bool begun_ = false;
  std::size_t longest_ = 0;
  std::size_t at_ = 0;
  std::vector<std::byte> frame_;
  std::vector<std::byte> out_;
  WanPackets report_;
};

// What comes out of a stack, as the packets that were put in. The first error ends it.
class FrameOpener final : public wan::PacketSink {
 public:
  FrameOpener(Layers& layers, const std::function<Expected<void>(Bytes)>& out)
      : layers_(layers), out_(out) {}

  void packet(Bytes bytes) override {
    const auto unwrapped = layers_.stack.unwrap(bytes);
    Bytes frame = unwrapped ? unwrapped->bytes : Bytes();
    if (!unwrapped || (layers_.dccp && !take_out_of_dccp(frame, layers_.ends))) {
      ++report_.missed;
      return;
    }
    const auto pieces = wan::packets_of_frame(frame, [this](Bytes packet) {
      ++report_.taken;
      if (auto done = out_(packet); !done && result_) result_ = std::move(done);
    });
    report_.missed += pieces ? *pieces : 1;
  }
  [[nodiscard]] const Expected<void>& result() const { return result_; }
  [[nodiscard]] const WanPackets& report() const { return report_; }

 private:
  Layers& layers_;
  const std::function<Expected<void>(Bytes)>& out_;
  Expected<void> result_{};
  WanPackets report_;
};

class NoPackets final : public wan::PacketSource {
 public:
  Bytes next() override { return {}; }
};
class NoSink final : public wan::PacketSink {
 public:
  void packet(Bytes) override {}
};

wan::Ends seen_from_there(const wan::Ends& ends) {
  wan::Ends out = ends;
  std::swap(out.local, out.remote);
  std::swap(out.local_port, out.remote_port);
  std::swap(out.local_mac, out.remote_mac);
  std::swap(out.labels, out.own_labels);
  return out;
}

// A line, and the layers of what is on it.
struct LineParts {
  wan::LineStack names;
  Layers packets;
};

Expected<LineParts> line_parts(std::string_view stack, const wan::Ends& ends) {
  auto names = wan::LineStack::parse(stack);
  if (!names) return tl::unexpected(names.error());
  auto packets = layers_of(names->packets(), ends, true);
  if (!packets) return tl::unexpected(packets.error());
  return LineParts{std::move(*names), std::move(*packets)};
}

// Octets after which whoever listens is in step, and as many after which all that was sent has
// come: some frames of the slowest to be understood, and what is held back to look at it together.
std::size_t idle_octets(const wan::LineStack& names) {
  constexpr std::uint64_t kMany = 16;
  constexpr std::uint64_t kFramesPerSecond = 8'000;
  return static_cast<std::size_t>(
      std::max<std::uint64_t>(kMany * names.octets_per_s() / kFramesPerSecond, kPiece));
}

}  // namespace

Expected<WanForm> wan_form(std::string_view stack, const wan::Ends& ends) {
  if (fibre_code_of(stack)) return WanForm::kOctets;
  if (wan::LineStack::is_one(stack)) {
    const auto parts = line_parts(stack, ends);
    if (!parts) return tl::unexpected(parts.error());
    return WanForm::kOctets;
  }
  const auto parsed = wan::Stack::parse(stack, ends);
  if (!parsed) return tl::unexpected(parsed.error());
  const wan::Carried outermost = parsed->outermost();
  const bool ip = stack.ends_with("ipv6") || stack.ends_with("ipv4");
  if (ip) return WanForm::kIp;
  if (stack.ends_with("ethernet")) return WanForm::kEthernet;
  return fail(std::errc::invalid_argument,
              fmt::format("{}: no capture has such packets: say what is around them, as in "
                          "{}ethernet, or a line",
                          stack, outermost.ether_type ? std::string(stack) + "/" : ""));
}

Expected<WanPackets> encode_packets(
    std::string_view stack, const wan::Ends& ends, const std::vector<Bytes>& packets,
    const std::function<Expected<void>(std::size_t packet, Bytes)>& out) {
  const auto layers = layers_of(stack, ends);
  if (!layers) return tl::unexpected(layers.error());
  CapturedPackets source(*layers, packets);
  source.begin(SIZE_MAX);
  for (Bytes packet = source.next(); !packet.empty(); packet = source.next()) {
    if (auto done = out(source.last(), packet); !done) return tl::unexpected(done.error());
  }
  return source.report();
}

Expected<WanPackets> decode_packets(std::string_view stack, const wan::Ends& ends,
                                    const std::vector<Bytes>& packets,
                                    const std::function<Expected<void>(Bytes)>& out) {
  auto layers = layers_of(stack, seen_from_there(ends));
  if (!layers) return tl::unexpected(layers.error());
  FrameOpener opener(*layers, out);
  for (const Bytes packet : packets) {
    opener.packet(packet);
    if (!opener.result()) return tl::unexpected(opener.result().error());
  }
  WanPackets report = opener.report();
  report.counters = layers->stack.refused().snapshot();
  return report;
}

Expected<WanPackets> encode_line(std::string_view stack, const wan::Ends& ends,
                                 const std::vector<Bytes>& packets,
                                 const std::function<Expected<void>(Bytes)>& out) {
  if (const auto code = fibre_code_of(stack)) return encode_fibre(*code, packets, out);
  auto parts = line_parts(stack, ends);
  if (!parts) return tl::unexpected(parts.error());
  NoSink nobody;
  CapturedPackets source(parts->packets, packets);
  const auto line = parts->names.make(parts->packets.stack.outermost(), nullptr, source, nobody);
  std::vector<std::byte> octets(kPiece);
  const auto idle = [&]() -> Expected<void> {
    for (std::size_t left = idle_octets(parts->names); left != 0;) {
      const MutableBytes piece = MutableBytes(octets).first(std::min(left, octets.size()));
      line->out().fill(piece);
      if (auto done = out(piece); !done) return done;
      left -= piece.size();
    }
    return {};
  };
  if (auto done = idle(); !done) return tl::unexpected(done.error());
  source.begin(line->longest_packet());
  while (!source.all_gone()) {
    line->out().fill(octets);
    if (auto done = out(octets); !done) return tl::unexpected(done.error());
  }
  if (auto done = idle(); !done) return tl::unexpected(done.error());
  WanPackets report = source.report();
  report.counters = line->counters();
  return report;
}

Expected<WanPackets> decode_line(std::string_view stack, const wan::Ends& ends,
                                 const std::function<Expected<Bytes>()>& read,
                                 const std::function<Expected<void>(Bytes)>& out) {
  if (const auto code = fibre_code_of(stack)) return decode_fibre(*code, read, out);
  auto parts = line_parts(stack, seen_from_there(ends));
  if (!parts) return tl::unexpected(parts.error());
  NoPackets none;
  FrameOpener opener(parts->packets, out);
  const auto line = parts->names.make(parts->packets.stack.outermost(), nullptr, none, opener);
  for (;;) {
    const auto octets = read();
    if (!octets) return tl::unexpected(octets.error());
    if (octets->empty()) break;
    line->in().take(*octets);
    if (!opener.result()) return tl::unexpected(opener.result().error());
  }
  WanPackets report = opener.report();
  report.counters = line->counters();
  accumulate(report.counters, parts->packets.stack.refused().snapshot());
  return report;
}

}  // namespace weft::cli
