// SPDX-License-Identifier: Apache-2.0
// Sends RoCEv2 of 1,000 flows as fast as it can, for others to forward: RC packets in UDP in IPv4,
// ready-made frames through a packet socket.
//
//   roce_load INTERFACE MAC SIZE SECONDS
//
// Frames go to this Ethernet address; SIZE bytes is the payload of each packet. It prints how many
// frames have left, and how many nanoseconds each has taken, as JSON.
#include <fmt/format.h>
#include <linux/if_packet.h>
#include <net/ethernet.h>
#include <net/if.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string_view>
#include <vector>

#include "wire/bth.h"
#include "wire/endian.h"

namespace {

using namespace weft;

constexpr std::size_t kFlows = 1000;
constexpr std::size_t kBurst = 64;
constexpr std::size_t kEthernet = 14;
constexpr std::size_t kIp = 20;
constexpr std::size_t kUdp = 8;
constexpr std::uint16_t kRocePort = 4791;

[[noreturn]] void die(std::string_view what) {
  fmt::print(stderr, "roce_load: {}\n", what);
  std::exit(1);
}

std::array<std::uint8_t, 6> mac_of(std::string_view text) {
  std::array<std::uint8_t, 6> out{};
  if (text.size() != 17) die("MAC: want six octets, as in 02:00:00:00:00:01");
  for (std::size_t i = 0; i < out.size(); ++i)
    std::from_chars(text.data() + 3 * i, text.data() + 3 * i + 2, out[i], 16);
  return out;
}

// RFC 1071.
std::uint16_t checksum(Bytes header) {
  std::uint32_t sum = 0;
  for (std::size_t at = 0; at < header.size(); at += 2)
    sum += wire::load_be16(header.data() + at);
  while (sum > 0xFFFF)
    sum = (sum & 0xFFFF) + (sum >> 16);
  return static_cast<std::uint16_t>(~sum);
}

std::vector<std::byte> frame_of(std::size_t flow, const std::array<std::uint8_t, 6>& to,
                                std::size_t payload) {
  constexpr std::size_t kIcrc = 4;
  const std::size_t udp = kUdp + wire::Bth::kSize + payload + kIcrc;
  std::vector<std::byte> out(kEthernet + kIp + udp);
  std::memcpy(out.data(), to.data(), to.size());
  wire::store_u8(out.data() + 6, 2);
  wire::store_be16(out.data() + 12, ETHERTYPE_IP);
  std::byte* const ip = out.data() + kEthernet;
  const auto number = static_cast<std::uint32_t>(flow);
  wire::store_u8(ip, 0x45);
  wire::store_be16(ip + 2, static_cast<std::uint16_t>(kIp + udp));
  wire::store_u8(ip + 8, 64);
  wire::store_u8(ip + 9, 17);
  wire::store_be32(ip + 12, 0x0A09'0000 + (number / 250 << 8) + number % 250 + 1);
  wire::store_be32(ip + 16, 0x0A08'0001 + number % 10);
  wire::store_be16(ip + 10, checksum(Bytes(ip, kIp)));
  wire::store_be16(ip + kIp, static_cast<std::uint16_t>(49'152 + flow));
  wire::store_be16(ip + kIp + 2, kRocePort);
  wire::store_be16(ip + kIp + 4, static_cast<std::uint16_t>(udp));
  wire::Bth{
      .opcode = wire::Opcode::rc_send_middle, .pkey = PKey{0x8001}, .dest_qp = Qpn{0x1000 + number}}
      .write(MutableBytes(out).subspan(kEthernet + kIp + kUdp));
  return out;
}

int open_socket(const char* interface) {
  const int out = socket(AF_PACKET, SOCK_RAW, 0);
  if (out < 0) die("no packet socket: run it as root");
  sockaddr_ll address{};
  address.sll_family = AF_PACKET;
  address.sll_protocol = 0;  // nothing is received
  address.sll_ifindex = static_cast<int>(if_nametoindex(interface));
  if (address.sll_ifindex == 0) die("there is no such interface");
  if (bind(out, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0)
    die("cannot bind to the interface");
  const int on = 1;
  setsockopt(out, SOL_PACKET, PACKET_QDISC_BYPASS, &on, sizeof on);
  return out;
}

}  // namespace

int main(int count, char** arguments) {
  if (count != 5) die("usage: roce_load INTERFACE MAC SIZE SECONDS");
  const auto to = mac_of(arguments[2]);
  const std::size_t payload = std::strtoul(arguments[3], nullptr, 10);
  const std::chrono::duration<double> time(std::strtod(arguments[4], nullptr));
  std::vector<std::vector<std::byte>> frames;
  for (std::size_t flow = 0; flow < kFlows; ++flow)
    frames.push_back(frame_of(flow, to, payload));
  std::vector<iovec> pieces(kFlows);
  std::vector<mmsghdr> messages(kFlows);
  for (std::size_t i = 0; i < kFlows; ++i) {
    pieces[i] = {frames[i].data(), frames[i].size()};
    messages[i].msg_hdr.msg_iov = &pieces[i];
    messages[i].msg_hdr.msg_iovlen = 1;
  }
  const int socket = open_socket(arguments[1]);
  const auto start = std::chrono::steady_clock::now();
  std::uint64_t sent = 0;
  while (std::chrono::steady_clock::now() - start < time) {
    const std::size_t at = sent % kFlows;
    const auto burst = static_cast<unsigned>(std::min(kBurst, kFlows - at));
    const int done = sendmmsg(socket, &messages[at], burst, 0);
    if (done < 0 && errno != ENOBUFS) die(std::strerror(errno));
    sent += static_cast<std::uint64_t>(std::max(done, 0));
  }
  const std::chrono::duration<double, std::nano> took = std::chrono::steady_clock::now() - start;
  fmt::print("{{\"packets\": {}, \"ns\": {:.2f}}}\n", sent,
             took.count() / static_cast<double>(std::max<std::uint64_t>(sent, 1)));
  return 0;
}
