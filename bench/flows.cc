// SPDX-License-Identifier: Apache-2.0
// Connections that write as fast as they may, from one program to another or from many to one: an
// ordinary verbs program. Start it under `weft run --interface NAME`.
//
//   flows receive PORT SENDERS            waits for so many senders, starts them together, ends
//                                         after the last of them
//   flows send ADDRESS PORT SERVICE QUEUE-PAIRS SIZE DEPTH WARM-UP SECONDS sleep|spin
//
// SERVICE is rc or uc. Each queue pair keeps DEPTH RDMA writes of SIZE bytes posted. After WARM-UP
// seconds the sender counts what completes for SECONDS and prints one line of JSON: bytes, seconds.
// `sleep` waits for completions as a program that has other work does; `spin` polls.
#include <arpa/inet.h>
#include <infiniband/verbs.h>
#include <netdb.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <charconv>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

namespace {

using Clock = std::chrono::steady_clock;

constexpr std::uint32_t kMostBytes = 8u << 20;  // of a message
constexpr int kFirstPsn = 100;

[[noreturn]] void die(const char* what) {
  std::perror(what);
  std::exit(1);
}

std::uint32_t number(const char* text) {
  std::uint32_t value = 0;
  const char* const end = text + std::strlen(text);
  const auto [stop, error] = std::from_chars(text, end, value);
  if (error != std::errc{} || stop != end) {
    std::fprintf(stderr, "flows: '%s' is no number\n", text);
    std::exit(2);
  }
  return value;
}

// What the ends tell each other of themselves, over TCP. Both are this program on this machine.
struct Hello {
  ibv_gid gid;
  std::uint32_t queue_pairs;
  std::uint32_t service;
  std::uint64_t address;
  std::uint32_t rkey;
  std::uint32_t mtu;
};

void put(int fd, const void* data, std::size_t size) {
  const char* at = static_cast<const char*>(data);
  while (size > 0) {
    const ssize_t done = send(fd, at, size, MSG_NOSIGNAL);
    if (done <= 0) die("send to the other end");
    at += done;
    size -= static_cast<std::size_t>(done);
  }
}

void get(int fd, void* data, std::size_t size) {
  if (recv(fd, data, size, MSG_WAITALL) != static_cast<ssize_t>(size)) {
    die("receive from the other end");
  }
}

struct Device {
  ibv_context* context = nullptr;
  ibv_pd* pd = nullptr;
  ibv_mr* region = nullptr;
  ibv_comp_channel* channel = nullptr;
  ibv_cq* cq = nullptr;
  ibv_gid gid{};
  ibv_mtu mtu = IBV_MTU_1024;
  std::vector<char> memory;
};

void open(Device& device, std::uint32_t completions) {
  ibv_device** const list = ibv_get_device_list(nullptr);
  if (list == nullptr || list[0] == nullptr) die("ibv_get_device_list");
  device.context = ibv_open_device(list[0]);
  if (device.context == nullptr) die("ibv_open_device");
  ibv_free_device_list(list);
  ibv_port_attr port{};
  if (ibv_query_port(device.context, 1, &port) != 0) die("ibv_query_port");
  device.mtu = port.active_mtu;
  if (ibv_query_gid(device.context, 1, 0, &device.gid) != 0) die("ibv_query_gid");
  device.memory.resize(kMostBytes);
  device.pd = ibv_alloc_pd(device.context);
  device.region = ibv_reg_mr(device.pd, device.memory.data(), device.memory.size(),
                             IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE);
  if (device.region == nullptr) die("ibv_reg_mr");
  device.channel = ibv_create_comp_channel(device.context);
  if (device.channel == nullptr) die("ibv_create_comp_channel");
  device.cq =
      ibv_create_cq(device.context, static_cast<int>(completions), nullptr, device.channel, 0);
  if (device.cq == nullptr) die("ibv_create_cq");
}

std::vector<ibv_qp*> create(Device& device, std::uint32_t count, std::uint32_t depth,
                            ibv_qp_type service) {
  ibv_qp_init_attr attributes{};
  attributes.send_cq = attributes.recv_cq = device.cq;
  attributes.qp_type = service;
  attributes.cap = {.max_send_wr = depth,
                    .max_recv_wr = 1,
                    .max_send_sge = 1,
                    .max_recv_sge = 1,
                    .max_inline_data = 0};
  std::vector<ibv_qp*> queue_pairs(count);
  for (ibv_qp*& queue_pair : queue_pairs) {
    queue_pair = ibv_create_qp(device.pd, &attributes);
    if (queue_pair == nullptr) die("ibv_create_qp");
  }
  return queue_pairs;
}

void connect(ibv_qp* queue_pair, const ibv_gid& gid, std::uint32_t peer, ibv_mtu mtu) {
  const bool reliable = queue_pair->qp_type == IBV_QPT_RC;
  ibv_qp_attr attributes{};
  attributes.qp_state = IBV_QPS_INIT;
  attributes.port_num = 1;
  attributes.qp_access_flags = IBV_ACCESS_REMOTE_WRITE;
  int mask = IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS;
  if (ibv_modify_qp(queue_pair, &attributes, mask) != 0) die("ibv_modify_qp to INIT");
  attributes.qp_state = IBV_QPS_RTR;
  attributes.path_mtu = mtu;
  attributes.dest_qp_num = peer;
  attributes.rq_psn = kFirstPsn;
  attributes.max_dest_rd_atomic = 1;
  attributes.min_rnr_timer = 12;
  attributes.ah_attr.is_global = 1;
  attributes.ah_attr.port_num = 1;
  attributes.ah_attr.grh.dgid = gid;
  attributes.ah_attr.grh.hop_limit = 64;
  mask = IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN;
  if (reliable) mask |= IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER;
  if (ibv_modify_qp(queue_pair, &attributes, mask) != 0) die("ibv_modify_qp to RTR");
  attributes.qp_state = IBV_QPS_RTS;
  attributes.sq_psn = kFirstPsn;
  attributes.timeout = 14;  // 67 ms
  attributes.retry_cnt = 7;
  attributes.rnr_retry = 7;
  attributes.max_rd_atomic = 1;
  mask = IBV_QP_STATE | IBV_QP_SQ_PSN;
  if (reliable) {
    mask |= IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY | IBV_QP_MAX_QP_RD_ATOMIC;
  }
  if (ibv_modify_qp(queue_pair, &attributes, mask) != 0) die("ibv_modify_qp to RTS");
}

// Both ends call it: they tell each other who they are and connect their queue pairs one to one.
Hello meet(int fd, Device& device, const std::vector<ibv_qp*>& queue_pairs, const Hello* known) {
  const Hello mine{.gid = device.gid,
                   .queue_pairs = static_cast<std::uint32_t>(queue_pairs.size()),
                   .service = static_cast<std::uint32_t>(queue_pairs.front()->qp_type),
                   .address = reinterpret_cast<std::uintptr_t>(device.memory.data()),
                   .rkey = device.region->rkey,
                   .mtu = static_cast<std::uint32_t>(device.mtu)};
  put(fd, &mine, sizeof mine);
  Hello theirs{};
  if (known != nullptr) {
    theirs = *known;
  } else {
    get(fd, &theirs, sizeof theirs);
  }
  std::vector<std::uint32_t> numbers(queue_pairs.size());
  for (std::size_t i = 0; i < numbers.size(); ++i)
    numbers[i] = queue_pairs[i]->qp_num;
  std::vector<std::uint32_t> peers(queue_pairs.size());
  // In turn, so that many numbers cannot fill the buffers of both directions.
  const auto say = [&] { put(fd, numbers.data(), numbers.size() * sizeof numbers[0]); };
  const auto hear = [&] { get(fd, peers.data(), peers.size() * sizeof peers[0]); };
  if (known == nullptr) {
    say();
    hear();
  } else {
    hear();
    say();
  }
  const auto mtu = static_cast<ibv_mtu>(std::min(mine.mtu, theirs.mtu));
  for (std::size_t i = 0; i < numbers.size(); ++i)
    connect(queue_pairs[i], theirs.gid, peers[i], mtu);
  return theirs;
}

int receive(std::uint16_t port, std::uint32_t senders) {
  const int listener = socket(AF_INET, SOCK_STREAM, 0);
  const int one = 1;
  setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  if (bind(listener, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) die("bind");
  if (listen(listener, 64) != 0) die("listen");
  Device device;
  open(device, 16);
  std::vector<int> peers;
  std::vector<ibv_qp*> all;
  while (peers.size() < senders) {
    const int fd = accept(listener, nullptr, nullptr);
    if (fd < 0) die("accept");
    Hello theirs{};
    get(fd, &theirs, sizeof theirs);
    const auto fresh =
        create(device, theirs.queue_pairs, 1, static_cast<ibv_qp_type>(theirs.service));
    meet(fd, device, fresh, &theirs);
    all.insert(all.end(), fresh.begin(), fresh.end());
    peers.push_back(fd);
  }
  const char go = 1;
  for (const int fd : peers) {
    char ready = 0;
    get(fd, &ready, 1);
  }
  for (const int fd : peers)
    put(fd, &go, 1);
  for (const int fd : peers) {
    char end = 0;
    [[maybe_unused]] const auto nothing = recv(fd, &end, 1, 0);
    close(fd);
  }
  for (ibv_qp* queue_pair : all)
    ibv_destroy_qp(queue_pair);
  return 0;
}

int dial(const char* host, const char* port) {
  addrinfo hints{};
  hints.ai_family = AF_INET;
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  if (getaddrinfo(host, port, &hints, &found) != 0) die("getaddrinfo");
  for (int tries = 0; tries < 500; ++tries) {  // the receiver may not be there yet
    const int fd = socket(AF_INET, SOCK_STREAM, 0);
    if (connect(fd, found->ai_addr, found->ai_addrlen) == 0) {
      freeaddrinfo(found);
      return fd;
    }
    close(fd);
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
  die("connect to the receiver");
}

struct Load {
  std::uint32_t size = 0;
  std::uint32_t depth = 0;
  std::chrono::seconds warm_up{};
  std::chrono::seconds measured{};
  bool sleeps = false;
};

void post(Device& device, ibv_qp* queue_pair, std::size_t which, const Hello& peer,
          std::uint32_t size) {
  ibv_sge piece{.addr = reinterpret_cast<std::uintptr_t>(device.memory.data()),
                .length = size,
                .lkey = device.region->lkey};
  ibv_send_wr request{};
  request.wr_id = which;
  request.sg_list = &piece;
  request.num_sge = 1;
  request.opcode = IBV_WR_RDMA_WRITE;
  request.send_flags = IBV_SEND_SIGNALED;
  request.wr.rdma.remote_addr = peer.address;
  request.wr.rdma.rkey = peer.rkey;
  ibv_send_wr* bad = nullptr;
  if (const int error = ibv_post_send(queue_pair, &request, &bad); error != 0) {
    errno = error;
    die("ibv_post_send");
  }
}

void wait_for_completions(Device& device) {
  pollfd readable{.fd = device.channel->fd, .events = POLLIN, .revents = 0};
  if (poll(&readable, 1, 1000) <= 0) return;
  ibv_cq* cq = nullptr;
  void* user = nullptr;
  if (ibv_get_cq_event(device.channel, &cq, &user) == 0) ibv_ack_cq_events(cq, 1);
}

// Writes until the time is up and nothing is outstanding any more.
void run(Device& device, const std::vector<ibv_qp*>& queue_pairs, const Hello& peer,
         const Load& load) {
  const auto from = Clock::now() + load.warm_up;
  const auto until = from + load.measured;
  std::uint64_t outstanding = 0;
  std::uint64_t counted = 0;
  for (std::uint32_t n = 0; n < load.depth; ++n) {
    for (std::size_t i = 0; i < queue_pairs.size(); ++i, ++outstanding)
      post(device, queue_pairs[i], i, peer, load.size);
  }
  std::array<ibv_wc, 64> done{};
  bool armed = false;
  while (outstanding > 0) {
    const int count = ibv_poll_cq(device.cq, done.size(), done.data());
    const auto now = Clock::now();
    for (int i = 0; i < count; ++i) {
      const ibv_wc& completion = done[static_cast<std::size_t>(i)];
      if (completion.status != IBV_WC_SUCCESS) {
        std::fprintf(stderr, "flows: %s\n", ibv_wc_status_str(completion.status));
        std::exit(1);
      }
      --outstanding;
      if (now >= from && now < until) counted += load.size;
      if (now >= until) continue;
      post(device, queue_pairs[completion.wr_id], completion.wr_id, peer, load.size);
      ++outstanding;
    }
    if (count > 0 || !load.sleeps) continue;
    if (!armed) {
      ibv_req_notify_cq(device.cq, 0);  // and look once more
    } else {
      wait_for_completions(device);
    }
    armed = !armed;
  }
  std::printf("{\"bytes\": %llu, \"seconds\": %lld}\n", static_cast<unsigned long long>(counted),
              static_cast<long long>(load.measured.count()));
}

int send_all(char** words) {
  const ibv_qp_type service = std::strcmp(words[2], "uc") == 0 ? IBV_QPT_UC : IBV_QPT_RC;
  const std::uint32_t count = number(words[3]);
  const Load load{.size = number(words[4]),
                  .depth = number(words[5]),
                  .warm_up = std::chrono::seconds(number(words[6])),
                  .measured = std::chrono::seconds(number(words[7])),
                  .sleeps = std::strcmp(words[8], "sleep") == 0};
  if (count == 0 || load.size > kMostBytes || load.depth == 0) {
    std::fprintf(stderr, "flows: at least one queue pair and one write of at most 8 MiB\n");
    return 2;
  }
  Device device;
  open(device, count * load.depth);
  const auto queue_pairs = create(device, count, load.depth, service);
  const int fd = dial(words[0], words[1]);
  const Hello peer = meet(fd, device, queue_pairs, nullptr);
  char go = 1;
  put(fd, &go, 1);
  get(fd, &go, 1);
  run(device, queue_pairs, peer, load);
  for (ibv_qp* queue_pair : queue_pairs)
    ibv_destroy_qp(queue_pair);
  close(fd);
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  const std::string role = argc > 1 ? argv[1] : "";
  if (role == "receive" && argc == 4) {
    return receive(static_cast<std::uint16_t>(number(argv[2])), number(argv[3]));
  }
  if (role == "send" && argc == 11) return send_all(argv + 2);
  std::fprintf(stderr,
               "usage: flows receive PORT SENDERS\n"
               "       flows send ADDRESS PORT rc|uc QUEUE-PAIRS SIZE DEPTH WARM-UP SECONDS "
               "sleep|spin\n");
  return 2;
}
