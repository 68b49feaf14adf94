// SPDX-License-Identifier: Apache-2.0
#include "port/udp/capture.h"

#include <array>
#include <vector>

#include "io/clock.h"
#include "wire/endian.h"
#include "wire/ip.h"

namespace weft::port {
namespace {

constexpr std::size_t kEthernetHeader = 14;
constexpr std::uint16_t kEtherTypeIpv4 = 0x0800;
constexpr std::uint16_t kEtherTypeIpv6 = 0x86DD;

}  // namespace

Capture::Capture(io::PcapngFile file, std::uint32_t interface)
    : file_(std::move(file)), interface_(interface) {
}

Expected<std::unique_ptr<Capture>> Capture::open(const std::string& path,
                                                 const std::string& interface) {
  auto file = io::PcapngFile::open_append(path);
  if (!file) return tl::unexpected(file.error());
  const auto id = file->interface_id(interface);
  if (!id) {
    return fail(std::errc::no_such_device,
                path + ": no interface \"" + interface +
                    "\" in this capture: it is newer than the file; start `weft run` again");
  }
  return std::unique_ptr<Capture>(new Capture(std::move(*file), *id));
}

Capture::~Capture() {
  flush();
}

void Capture::flush() {
  const std::lock_guard guard(mutex_);
  // A capture that cannot be written must not stop the program that is captured.
  [[maybe_unused]] const auto flushed = file_.flush();
}

void Capture::record(const CaptureFlow& flow, std::span<const Bytes> payload) {
  wire::Datagram datagram{.src = flow.source,
                          .dst = flow.destination,
                          .src_port = flow.source_port,
                          .dst_port = flow.destination_port,
                          .traffic_class = flow.traffic_class,
                          .hop_limit = flow.hop_limit,
                          .identification = flow.identification};
  for (const Bytes piece : payload)
    datagram.payload_size += piece.size();
  std::array<std::byte, kEthernetHeader + wire::kIpv6HeaderSize + wire::kUdpHeaderSize> headers{};
  wire::store_be16(headers.data() + 12, datagram.is_ipv4() ? kEtherTypeIpv4 : kEtherTypeIpv6);
  const std::size_t size =
      wire::write_ip_udp_headers(MutableBytes(headers).subspan(kEthernetHeader), datagram);

  std::vector<Bytes> pieces;
  pieces.reserve(payload.size() + 1);
  pieces.push_back(Bytes(headers).first(kEthernetHeader + size));
  pieces.insert(pieces.end(), payload.begin(), payload.end());
  io::CapturedPacket packet;
  packet.interface_id = interface_;
  packet.timestamp = io::wall_clock();
  packet.data = pieces;
  const std::lock_guard guard(mutex_);
  [[maybe_unused]] const auto written = file_.write(packet);
}

}  // namespace weft::port
