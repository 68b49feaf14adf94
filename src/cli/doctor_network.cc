// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <fstream>
#include <optional>
#include <set>
#include <sstream>
#include <string>

#include "cli/finding.h"
#include "cli/proc_files.h"
#include "io/udp_socket.h"

namespace weft::cli {
namespace {

constexpr std::uint16_t kRocePort = 4791;  // RoCEv2's, by IANA
// Each takes a port; with fewer a program of moderate size may not start.
constexpr std::size_t kFewPorts = 256;

Finding check_ports(const host::Config& config) {
  const PortRange range{config.first_port, config.last_port};
  std::set<std::uint16_t> used;
  for (const char* file : {"/proc/net/udp", "/proc/net/udp6"}) {
    for (const std::uint16_t port : parse_used_ports(read_text(file).value_or(""))) {
      if (range.contains(port)) used.insert(port);
    }
  }
  const std::size_t size = range.size();
  const std::size_t free = size - used.size();
  const std::string text = fmt::format("{} of {} UDP ports {}-{} are free for queue pairs", free,
                                       size, range.first, range.last);
  if (free == 0) return {"ports", Level::kProblem, text, "choose another range with --ports"};
  if (free < kFewPorts) return {"ports", Level::kNote, text, "choose a larger range with --ports"};
  return {"ports", Level::kOk, text, ""};
}

Finding check_ephemeral(const host::Config& config) {
  const PortRange range{config.first_port, config.last_port};
  const auto local =
      parse_port_pair(read_text("/proc/sys/net/ipv4/ip_local_port_range").value_or(""));
  if (!local) return {"ephemeral", Level::kNote, "ip_local_port_range cannot be read", ""};
  const auto reserved =
      parse_port_list(read_text("/proc/sys/net/ipv4/ip_local_reserved_ports").value_or(""));
  const std::size_t shared = count_shared(range, *local, reserved);
  if (shared == 0) {
    return {"ephemeral", Level::kOk, "no other program is given a port of this range by the kernel",
            ""};
  }
  return {"ephemeral", Level::kNote,
          fmt::format("the kernel gives {} of these ports to other programs too ({}-{}): queue "
                      "pairs pass over those in use",
                      shared, local->first, local->last),
          fmt::format("sysctl -w net.ipv4.ip_local_reserved_ports={}-65535", range.first)};
}

Finding check_buffer(const char* name, std::uint32_t wanted) {
  const std::string file = fmt::format("/proc/sys/net/core/{}", name);
  const auto most = parse_number(read_text(file).value_or(""));
  if (!most) {
    // A network namespace of its own does not show it; the machine's value applies.
    return {name, Level::kNote, fmt::format("net.core.{} cannot be read here", name), ""};
  }
  // The kernel grants twice what it lets one ask for, and counts its overhead against that.
  const std::uint64_t granted = 2 * *most;
  if (granted >= wanted) {
    return {name, Level::kOk,
            fmt::format("net.core.{}={}: the {} bytes wanted are granted", name, *most, wanted),
            ""};
  }
  return {name, Level::kNote,
          fmt::format("net.core.{}={}: of {} bytes wanted {} are granted; it works, with fewer "
                      "packets in flight",
                      name, *most, wanted, granted),
          fmt::format("sysctl -w net.core.{}={}", name, wanted)};
}

// Sends three datagrams in one call over the loopback interface and sees how they arrive.
Findings check_offloads() {
  io::UdpOptions options;
  options.local = *io::SocketAddress::parse("127.0.0.1");
  options.ipv4_only = true;
  auto receiver = io::UdpSocket::open(options);
  auto sender = io::UdpSocket::open(options);
  if (!receiver || !sender) {
    const auto& error = receiver ? sender.error() : receiver.error();
    return {{"udp", Level::kProblem, error.message, "a UDP socket on 127.0.0.1 is needed"}};
  }
  constexpr std::uint16_t kSegment = 100;
  std::array<std::byte, 3 * kSegment> data{};
  const iovec piece{data.data(), data.size()};
  io::SendDatagram datagram;
  datagram.destination = receiver->local();
  datagram.data = {&piece, 1};
  datagram.segment_size = kSegment;
  if (sender->send(datagram).status != io::IoStatus::kDone) {
    return {{"gso", Level::kNote, "the kernel cannot send several datagrams in one call: slower",
             "a kernel from 4.18 on can (UDP_SEGMENT)"}};
  }
  Findings out{{"gso", Level::kOk, "several datagrams are sent in one call (UDP_SEGMENT)", ""}};
  std::vector<std::byte> buffer(io::kUdpReceiveBuffer);
  io::ReceivedDatagram received;
  const auto result = receiver->receive(buffer, received);
  if (result.status == io::IoStatus::kDone && result.bytes > kSegment) {
    out.push_back({"gro", Level::kOk, "several datagrams are received in one call (UDP_GRO)", ""});
  } else {
    out.push_back({"gro", Level::kNote,
                   "the kernel does not deliver several datagrams in one call: slower",
                   "a kernel from 5.0 on can (UDP_GRO)"});
  }
  return out;
}

Finding check_ipv6() {
  io::UdpOptions options;
  options.local = *io::SocketAddress::parse("::1");
  if (const auto socket = io::UdpSocket::open(options); socket && socket->carries_ipv6()) {
    return {"ipv6", Level::kOk, "IPv6 works", ""};
  }
  return {"ipv6", Level::kNote, "no IPv6 here: devices have IPv4 GIDs only",
          "sysctl -w net.ipv6.conf.all.disable_ipv6=0, if it is wanted"};
}

Findings check_other_rdma() {
  Findings out;
  std::vector<std::string> devices;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator("/sys/class/infiniband", error)) {
    devices.push_back(entry.path().filename().string());
  }
  if (devices.empty()) {
    out.push_back(
        {"kernel rdma", Level::kOk, "the kernel has no RDMA device: nothing to mix up", ""});
  } else {
    std::sort(devices.begin(), devices.end());
    out.push_back({"kernel rdma", Level::kNote,
                   fmt::format("the kernel has {}; under weft run a program sees Weft's devices "
                               "only, and without it the kernel's only",
                               fmt::join(devices, ", ")),
                   ""});
  }
  io::UdpOptions options;
  options.local.port = kRocePort;
  if (io::UdpSocket::open(options)) {
    out.push_back({"port 4791", Level::kOk, "UDP port 4791 (RoCEv2) is free", ""});
    return out;
  }
  const bool rxe = read_text("/proc/modules").value_or("").find("rdma_rxe ") != std::string::npos;
  out.push_back({"port 4791", Level::kNote,
                 fmt::format("UDP port 4791 (RoCEv2) is taken, {}; the wires udp and bare do not "
                             "need it",
                             rxe ? "probably by the kernel's rxe" : "by another program"),
                 ""});
  return out;
}

}  // namespace

Findings check_network(const host::Config& config) {
  Findings out{check_ports(config), check_ephemeral(config),
               check_buffer("rmem_max", config.socket_buffer),
               check_buffer("wmem_max", config.socket_buffer)};
  for (Findings more : {check_offloads(), Findings{check_ipv6()}, check_other_rdma()}) {
    std::move(more.begin(), more.end(), std::back_inserter(out));
  }
  return out;
}

}  // namespace weft::cli
