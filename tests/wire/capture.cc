// SPDX-License-Identifier: Apache-2.0
#include "capture.h"

#include <algorithm>
#include <fstream>
#include <iterator>
#include <stdexcept>

#include "wire/endian.h"
#include "wire/roce_frame.h"

namespace weft::wire::test {
namespace {

constexpr std::uint32_t kPcapMagic = 0xA1B2'C3D4;
constexpr std::uint32_t kLinkEthernet = 1;
constexpr std::uint32_t kLinkErf = 197;
constexpr std::size_t kErfHeader = 16;
constexpr std::uint8_t kErfInfiniband = 21;

std::vector<std::byte> read_file(const std::filesystem::path& path) {
  std::ifstream in(path, std::ios::binary);
  std::vector<std::byte> bytes;
  for (auto it = std::istreambuf_iterator<char>(in); it != std::istreambuf_iterator<char>(); ++it) {
    bytes.push_back(static_cast<std::byte>(*it));
  }
  return bytes;
}

// Classic pcap; all of tests/data is little-endian.
void read_pcap(const std::filesystem::path& path, std::uint32_t link,
               std::vector<CapturedPacket>& into) {
  const std::vector<std::byte> file = read_file(path);
  if (file.size() < 24 || load_le32(file.data()) != kPcapMagic ||
      load_le32(file.data() + 20) != link) {
    throw std::runtime_error(path.string() + ": not the capture expected");
  }
  int number = 0;
  for (std::size_t at = 24; at + 16 <= file.size();) {
    const std::size_t size = load_le32(file.data() + at + 8);
    Bytes record = Bytes(file).subspan(at + 16, size);
    at += 16 + size;
    if (link == kLinkErf) {
      if (load_u8(record.data() + 8) != kErfInfiniband) continue;
      record = record.subspan(kErfHeader, load_be16(record.data() + 14));
    }
    into.push_back({path.filename().string() + " #" + std::to_string(++number),
                    {record.begin(), record.end()}});
  }
}

std::vector<CapturedPacket> read_folder(const char* folder, std::uint32_t link) {
  std::vector<std::filesystem::path> paths;
  for (const auto& entry :
       std::filesystem::directory_iterator(std::filesystem::path(WEFT_TEST_DATA) / folder)) {
    paths.push_back(entry.path());
  }
  std::sort(paths.begin(), paths.end());
  std::vector<CapturedPacket> packets;
  for (const auto& path : paths)
    read_pcap(path, link, packets);
  return packets;
}

}  // namespace

std::vector<CapturedPacket> link_packets() {
  return read_folder("ib", kLinkErf);
}

std::vector<CapturedPacket> roce_frames() {
  std::vector<CapturedPacket> frames = read_folder("roce", kLinkEthernet);
  std::erase_if(frames, [](const CapturedPacket& packet) {
    const auto frame = parse_ethernet(packet.bytes);
    return !frame || frame->datagram.dst_port != kRocePort;
  });
  return frames;
}

}  // namespace weft::wire::test
