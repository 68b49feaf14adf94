// SPDX-License-Identifier: Apache-2.0
// Sends messages, remembers those that may have to be sent again, and sends them again. Internal to
// mgmt/.
#pragma once

#include "mgmt/cm_counters.h"
#include "mgmt/cm_table.h"
#include "mgmt/mad_sink.h"
#include "wire/cm_field.h"
#include "wire/cm_refuse.h"

namespace weft::mgmt {

template <class Message>
Mad make_mad(const Message& message, std::uint64_t transaction) {
  Mad mad;
  const wire::MadHeader header{.mgmt_class = wire::MgmtClass::kCommMgt,
                               .class_version = wire::kCmClassVersion,
                               .method = wire::MadMethod::kSend,
                               .transaction_id = transaction,
                               .attribute_id = static_cast<std::uint16_t>(Message::kId)};
  header.write(mad);
  message.write(MutableBytes(mad).subspan(wire::MadHeader::kSize));
  return mad;
}

class CmOutbox {
 public:
  CmOutbox(Duration first_retry, CmTable& table, MadSink& sink, CmCounters& counters)
      : first_retry_(first_retry), table_(table), sink_(sink), counters_(counters) {}

  // To somebody whom no entry stands for: back where a message came from, in its partition.
  template <class Message>
  void send(const hca::Path& to, PKey pkey, const Message& message, std::uint64_t transaction) {
    if constexpr (std::is_same_v<Message, wire::CmRej>) counters_.add(CmCounter::kTxRejects);
    send_mad(to, pkey, make_mad(message, transaction));
  }
  // To the peer, in the connection's partition: it may be the only one that both are in.
  template <class Message>
  void send(const CmEntry& entry, const Message& message, std::uint64_t transaction) {
    send(entry.route.path, entry.pkey, message, transaction);
  }
  // Sends a message that is to be sent again when the peer repeats what it answers.
  template <class Message>
  void send_and_keep(const CmEntry& entry, CmRepeat& repeat, const Message& message,
                     std::uint64_t transaction) {
    send(entry, message, transaction);
    repeat.mad = make_mad(message, transaction);
    repeat.valid = true;
  }
  // Sends a message that is repeated until stop(): the entry's deadline runs.
  template <class Message>
  void send_until_answered(CmEntry& entry, CmRepeat& repeat, const Message& message,
                           std::uint64_t transaction, Time now) {
    send_and_keep(entry, repeat, message, transaction);
    start(entry, repeat, now);
  }
  void stop(CmEntry& entry) { table_.set_deadline(entry, std::nullopt); }

  // The deadline has passed: sends the message again, or returns false when it was sent often
  // enough.
  [[nodiscard]] bool again(CmEntry& entry, CmRepeat& repeat, Time now);
  // The peer asks for patience (MRA).
  void wait_longer(CmEntry& entry, CmRepeat& repeat, Duration longer, Time now);
  // The peer repeats what this message answers; nothing is sent when there is no such message.
  void answer_again(const CmEntry& entry, const CmRepeat& repeat);

 private:
  void send_mad(const hca::Path& to, PKey pkey, const Mad& mad);
  void start(CmEntry& entry, CmRepeat& repeat, Time now);

  Duration first_retry_;
  CmTable& table_;
  MadSink& sink_;
  CmCounters& counters_;
};

}  // namespace weft::mgmt
