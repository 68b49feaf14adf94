// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "host/process.h"
#include "host/report_server.h"
#include "io/unix_socket.h"

namespace weft::host {
namespace {

using ::testing::HasSubstr;
using Json = nlohmann::json;

std::string read_from(const std::string& path) {
  const auto socket = io::connect_unix(path, io::UnixKind::kStream, 5s);
  if (!socket) return "not connected: " + socket.error().message;
  std::string text;
  char block[4096];
  for (ssize_t got = 0; (got = recv(socket->get(), block, sizeof block, 0)) > 0;) {
    text.append(block, static_cast<std::size_t>(got));
  }
  return text;
}

class ReportServerTest : public ::testing::Test {
 protected:
  ReportServerTest() {
    std::string name = "/tmp/weft-report-XXXXXX";
    directory_ = mkdtemp(name.data());
    path_ = directory_ + "/1.sock";
  }
  ~ReportServerTest() override { std::filesystem::remove_all(directory_); }

  // Runs `child` in another process and gives its exit status.
  template <class F>
  static int in_child(F child) {
    const pid_t pid = fork();
    if (pid == 0) _exit(child());
    int status = 0;
    waitpid(pid, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  }

  std::string directory_;
  std::string path_;
};

TEST_F(ReportServerTest, AnswersEveryReaderWithAFreshReport) {
  std::atomic<int> calls{0};
  const auto server =
      ReportServer::start(path_, [&] { return "report " + std::to_string(++calls); });
  ASSERT_TRUE(server);
  EXPECT_EQ(read_from(path_), "report 1");
  EXPECT_EQ(read_from(path_), "report 2");
}

TEST_F(ReportServerTest, AnswersAnotherProcess) {
  const auto server = ReportServer::start(path_, [] { return std::string("hello"); });
  ASSERT_TRUE(server);
  EXPECT_EQ(in_child([&] { return read_from(path_) == "hello" ? 0 : 1; }), 0);
}

TEST_F(ReportServerTest, SendsAReportThatIsLargerThanASocketBuffer) {
  const std::string large(8u << 20, 'x');
  const auto server = ReportServer::start(path_, [&] { return large; });
  ASSERT_TRUE(server);
  EXPECT_EQ(read_from(path_).size(), large.size());
}

TEST_F(ReportServerTest, LetsNobodyButItsUserIn) {
  const auto server = ReportServer::start(path_, [] { return std::string("secret"); });
  ASSERT_TRUE(server);
  struct stat file {};
  ASSERT_EQ(stat(path_.c_str(), &file), 0);
  EXPECT_EQ(file.st_mode & 0777, 0600u);
  if (geteuid() != 0) GTEST_SKIP() << "becoming another user needs root";
  // Even with a door that somebody opened.
  chmod(path_.c_str(), 0666);
  chmod(directory_.c_str(), 0755);
  EXPECT_EQ(in_child([&] {
              if (setgid(65534) != 0 || setuid(65534) != 0) return 2;
              return read_from(path_).find("secret") == std::string::npos ? 0 : 1;
            }),
            0);
  EXPECT_EQ(read_from(path_), "secret");
}

TEST_F(ReportServerTest, EndsAndRemovesItsSocketWithoutWaitingForAReaderThatDoesNotRead) {
  auto server = ReportServer::start(path_, [] { return std::string(64u << 20, 'x'); });
  ASSERT_TRUE(server);
  const auto reader = io::connect_unix(path_, io::UnixKind::kStream, 5s);
  ASSERT_TRUE(reader);
  pollfd watched{reader->get(), POLLIN, 0};
  ASSERT_EQ(poll(&watched, 1, 10'000), 1);  // it is in the middle of sending
  server->reset();
  EXPECT_FALSE(std::filesystem::exists(path_));
}

TEST_F(ReportServerTest, ReplacesTheSocketOfADeadProcess) {
  { ASSERT_TRUE(io::listen_unix(path_, io::UnixKind::kStream)); }  // closed, but not removed
  ASSERT_TRUE(std::filesystem::exists(path_));
  const auto server = ReportServer::start(path_, [] { return std::string("alive"); });
  ASSERT_TRUE(server);
  EXPECT_EQ(read_from(path_), "alive");
}

TEST_F(ReportServerTest, IsLeftToTheParentByAForkedChild) {
  auto server = ReportServer::start(path_, [] { return std::string("parent"); });
  ASSERT_TRUE(server);
  EXPECT_EQ(in_child([&] {
              (*server)->abandon_after_fork();
              server->reset();  // neither waits for a thread that is not here nor removes the file
              return 0;
            }),
            0);
  EXPECT_EQ(read_from(path_), "parent");
}

TEST_F(ReportServerTest, RunsNoSignalHandlerOfTheProgram) {
  const auto server = ReportServer::start(path_, [] {
    sigset_t blocked;
    pthread_sigmask(SIG_SETMASK, nullptr, &blocked);
    return std::string(sigismember(&blocked, SIGUSR1) == 1 ? "blocked" : "open");
  });
  ASSERT_TRUE(server);
  EXPECT_EQ(read_from(path_), "blocked");
}

TEST_F(ReportServerTest, SaysWhyItCannotListen) {
  const auto server = ReportServer::start(directory_ + "/none/1.sock", [] { return ""; });
  ASSERT_FALSE(server);
  EXPECT_THAT(server.error().message, HasSubstr("none/1.sock"));
}

Context::Report sample() {
  Context::Report report;
  report.device = {"weft_eth0", "eth0", 2, Guid{0x020011FFFE223344}};
  QueuePair::Report qp{};
  qp.qpn = Qpn{49152};
  qp.pd = 1;
  qp.send_cq = 2;
  qp.receive_cq = 3;
  qp.state = hca::QpState::kRts;
  qp.counters = {{"tx_packets", "packets sent", 7}};
  report.queue_pairs.push_back(qp);
  report.queue_pair_totals = {{"tx_packets", "packets sent", 12}};
  report.completion_queues.push_back({2, 128, 5, 1000});
  hca::MemoryRegion region;
  region.iova = 0x1000;
  region.length = 4096;
  region.key = 77;
  region.access = hca::kLocalWrite | hca::kRemoteRead;
  report.regions.push_back(region);
  report.port_counters = {{"rx_bad_icrc", "packets with a wrong ICRC", 1}};
  return report;
}

TEST(ProcessReport, ListsEveryObjectWithItsCounters) {
  const Context::Report report = sample();
  const Json json = Json::parse(report_to_json({&report, 1}, Wire::kBare));
  EXPECT_EQ(json["pid"], getpid());
  EXPECT_EQ(json["wire"], "bare");
  const Json& device = json["devices"][0];
  EXPECT_EQ(device["name"], "weft_eth0");
  EXPECT_EQ(device["node_guid"], "0200:11ff:fe22:3344");
  EXPECT_EQ(device["qps"][0]["lqpn"], 49152);
  EXPECT_EQ(device["qps"][0]["type"], "UD");
  EXPECT_EQ(device["qps"][0]["state"], hca::to_string(hca::QpState::kRts));
  EXPECT_EQ(device["qps"][0]["send_cqn"], 2);
  EXPECT_EQ(device["qps"][0]["counters"]["tx_packets"], 7);
  EXPECT_EQ(device["cqs"][0]["used"], 5);
  EXPECT_EQ(device["cqs"][0]["polls"], 1000);
  EXPECT_EQ(device["mrs"][0]["mrlen"], 4096);
  EXPECT_EQ(device["mrs"][0]["access"], Json({"local_write", "remote_read"}));
  EXPECT_EQ(device["qp_counters"]["tx_packets"], 12);
  EXPECT_EQ(device["port_counters"]["rx_bad_icrc"], 1);
}

TEST(ProcessReport, IsValidJsonWhateverBytesAnInterfaceHasInItsName) {
  Context::Report report = sample();
  report.device.name = "weft_\xFF\"\n";
  const Json json = Json::parse(report_to_json({&report, 1}, Wire::kUdp), nullptr, false);
  EXPECT_FALSE(json.is_discarded());
}

TEST(ProcessReport, ListsNoMoreThanItsLimitButCountsAll) {
  Context::Report report = sample();
  report.regions.resize(kMostListed + 1);
  const Json json = Json::parse(report_to_json({&report, 1}, Wire::kUdp));
  EXPECT_EQ(json["devices"][0]["mrs"].size(), kMostListed);
  EXPECT_EQ(json["devices"][0]["mr_count"], kMostListed + 1);
}

TEST(ProcessReport, HasNoDevicesWhenNoneIsOpen) {
  EXPECT_TRUE(Json::parse(process_report_json())["devices"].empty());
}

TEST(Stats, SumThePortAndAllQueuePairsThatEverWere) {
  const auto total = total_counters(sample());
  ASSERT_EQ(total.size(), 2u);
  const std::string text = format_stats({{"weft_eth0", total}});
  EXPECT_THAT(text, HasSubstr("weft_eth0"));
  EXPECT_THAT(text, HasSubstr("rx_bad_icrc"));
  EXPECT_THAT(text, HasSubstr("12"));
}

TEST(Stats, SayWhenNothingHappened) {
  EXPECT_THAT(format_stats({{"weft_lo", {}}}), HasSubstr("nothing"));
  EXPECT_EQ(format_stats({}), "");
}

// A context of the loopback device in a runtime directory of the test's own.
class RegisteredContext : public ::testing::Test {
 protected:
  RegisteredContext() {
    std::string name = "/tmp/weft-runtime-XXXXXX";
    directory_ = mkdtemp(name.data());
    setenv("XDG_RUNTIME_DIR", directory_.c_str(), 1);
    socket_ = directory_ + "/weft/" + std::to_string(getpid()) + ".sock";
  }
  ~RegisteredContext() override { std::filesystem::remove_all(directory_); }

  static std::shared_ptr<Context> open() {
    Config config;
    config.interface = "lo";
    const auto devices = list_devices(config);
    if (!devices) return nullptr;
    auto context = Context::open(devices->front(), config);
    return context ? *context : nullptr;
  }

  std::string directory_;
  std::string socket_;
};

TEST_F(RegisteredContext, CanBeSeenFromAnotherProcessWhileItIsOpen) {
  EXPECT_EQ(*report_socket_path(getpid()), socket_);
  const auto context = open();
  ASSERT_TRUE(context);
  const Json json = Json::parse(read_from(socket_), nullptr, false);
  ASSERT_FALSE(json.is_discarded());
  EXPECT_EQ(json["devices"][0]["name"], "weft_lo");
  const auto second = open();
  ASSERT_TRUE(second);
  context->close();
  EXPECT_TRUE(std::filesystem::exists(socket_)) << "one context is still open";
  second->close();
  EXPECT_FALSE(std::filesystem::exists(socket_));
}

TEST_F(RegisteredContext, OfAForkedChildHasASocketOfTheChild) {
#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
  GTEST_SKIP()
      << "ThreadSanitizer lets no forked child of threads start a thread; AddressSanitizer's "
         "allocator may be locked by another thread at the fork";
#endif
  const auto context = open();
  ASSERT_TRUE(context);
  const pid_t child = fork();
  if (child == 0) {
    if (!Json::parse(process_report_json())["devices"].empty()) _exit(1);
    const auto own = open();
    const auto path = report_socket_path(getpid());
    if (!own || !path || !std::filesystem::exists(*path)) _exit(2);
    own->close();
    _exit(std::filesystem::exists(*path) ? 3 : 0);
  }
  int status = 0;
  waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
  EXPECT_TRUE(std::filesystem::exists(socket_)) << "the child took the parent's socket away";
  EXPECT_THAT(read_from(socket_), HasSubstr("weft_lo"));
  context->close();
}

}  // namespace
}  // namespace weft::host
