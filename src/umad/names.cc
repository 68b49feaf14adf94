// SPDX-License-Identifier: Apache-2.0
// Words for the numbers in a datagram: classes, methods, attributes, status (IBA 13.4 to 16).
#include <array>
#include <span>

#include "umad/abi.h"

namespace {

constexpr const char* kUnknown = "<unknown>";

struct Name {
  unsigned value;
  const char* text;
};

const char* find(std::span<const Name> names, unsigned value) {
  for (const Name& name : names) {
    if (name.value == value) return name.text;
  }
  return nullptr;
}

constexpr unsigned kSubnet = 0x01;
constexpr unsigned kSubnetDirected = 0x81;
constexpr unsigned kSubnetAdministration = 0x03;
constexpr unsigned kCommunication = 0x07;

constexpr std::array kClasses{
    Name{kSubnet, "Subn"},
    Name{kSubnetDirected, "Subn"},
    Name{kSubnetAdministration, "SubnAdm"},
    Name{0x04, "Perf"},
    Name{0x05, "BM"},
    Name{0x06, "DevMgt"},
    Name{kCommunication, "ComMgt"},
    Name{0x08, "SNMP"},
    Name{0x10, "DevAdm"},
    Name{0x11, "BootMgt"},
    Name{0x12, "BIS"},
    // Spelled as programs know it.
    Name{0x21, "CongestionManagment"},
};

constexpr std::array kMethods{
    Name{0x01, "Get"},     Name{0x02, "Set"},        Name{0x03, "Send"},
    Name{0x05, "Trap"},    Name{0x06, "Report"},     Name{0x07, "TrapRepress"},
    Name{0x81, "GetResp"}, Name{0x86, "ReportResp"},
};
constexpr std::array kAdministrationMethods{
    Name{0x12, "GetTable"},   Name{0x13, "GetTraceTable"}, Name{0x14, "GetMulti"},
    Name{0x15, "Delete"},     Name{0x92, "GetTableResp"},  Name{0x94, "GetMultiResp"},
    Name{0x95, "DeleteResp"},
};

constexpr std::array kAttributes{
    Name{0x0001, "Class Port Info"},
    Name{0x0002, "Notice"},
    Name{0x0003, "Inform Info"},
};
constexpr std::array kSubnetAttributes{
    Name{0x0010, "NodeDescription"},
    Name{0x0011, "NodeInfo"},
    Name{0x0012, "SwitchInfo"},
    Name{0x0014, "GUIDInfo"},
    Name{0x0015, "PortInfo"},
    Name{0x0016, "P_KeyTable"},
    Name{0x0017, "SLtoVLMappingTable"},
    Name{0x0018, "VLArbitrationTable"},
    Name{0x0019, "LinearForwardingTable"},
    Name{0x001A, "RandomForwardingTable"},
    Name{0x001B, "MulticastForwardingTable"},
    Name{0x001C, "LinkSpeedWidthPairsTable"},
    Name{0x001D, "VendorSpecificMadsTable"},
    Name{0x001E, "HierarchyInfo"},
    Name{0x0020, "SMInfo"},
    Name{0x0030, "VendorDiag"},
    Name{0x0031, "LedInfo"},
    Name{0x0032, "CableInfo"},
    Name{0x0033, "PortInfoExtended"},
};
constexpr std::array kAdministrationAttributes{
    Name{0x0011, "NodeRecord"},
    Name{0x0012, "PortInfoRecord"},
    Name{0x0013, "SLtoVLMappingTableRecord"},
    Name{0x0014, "SwitchInfoRecord"},
    Name{0x0015, "LinearForwardingTableRecord"},
    Name{0x0016, "RandomForwardingTableRecord"},
    Name{0x0017, "MulticastForwardingTableRecord"},
    Name{0x0018, "SMInfoRecord"},
    Name{0x0019, "LinkSpeedWidthPairsTableRecord"},
    Name{0x0020, "LinkRecord"},
    Name{0x0030, "GuidInfoRecord"},
    Name{0x0031, "ServiceRecord"},
    Name{0x0033, "P_KeyTableRecord"},
    Name{0x0035, "PathRecord"},
    Name{0x0036, "VLArbitrationTableRecord"},
    Name{0x0038, "MCMemberRecord"},
    Name{0x0039, "TraceRecord"},
    Name{0x003A, "MultiPathRecord"},
    Name{0x003B, "ServiceAssociationRecord"},
    Name{0x003C, "HierarchyInfoRecord"},
    Name{0x003D, "CableInfoRecord"},
    Name{0x003E, "PortInfoExtendedRecord"},
    Name{0x00F3, "InformInfoRecord"},
};
constexpr std::array kCommunicationAttributes{
    Name{0x0010, "ConnectRequest"},
    Name{0x0011, "MsgRcptAck"},
    Name{0x0012, "ConnectReject"},
    Name{0x0013, "ConnectReply"},
    Name{0x0014, "ReadyToUse"},
    Name{0x0015, "DisconnectRequest"},
    Name{0x0016, "DisconnectReply"},
    Name{0x0017, "ServiceIDResReq"},
    Name{0x0018, "ServiceIDResReqResp"},
    Name{0x0019, "LoadAlternatePath"},
    Name{0x001A, "AlternatePathResponse"},
    Name{0x001B, "SuggestAlternatePath"},
    Name{0x001C, "SuggestPathResponse"},
};

std::span<const Name> attributes_of(unsigned mgmt_class) {
  switch (mgmt_class) {
    case kSubnet:
    case kSubnetDirected:
      return kSubnetAttributes;
    case kSubnetAdministration:
      return kAdministrationAttributes;
    case kCommunication:
      return kCommunicationAttributes;
    default:
      return {};
  }
}

// What bits 4-2 of the status say of the request's fields, IBA 13.4.7.
constexpr std::array kFieldStatus{
    Name{1, "Bad Version"},
    Name{2, "Method not supported"},
    Name{3, "Method/Attribute combo not supported"},
    Name{7, "Invalid attribute/modifier field"},
};
// The upper byte of the status in subnet administration, IBA 15.2.6.
constexpr std::array<const char*, 9> kAdministrationStatus{
    "Success",
    "No Resources",
    "Request Invalid",
    "No Records",
    "Too Many Records",
    "Invalid GID",
    "Insufficient Components",
    "Request Denied",
    "Priority Suggested",
};

}  // namespace

const char* umad_class_str(uint8_t mgmt_class) {
  if (const char* name = find(kClasses, mgmt_class)) return name;
  if ((mgmt_class >= 0x09 && mgmt_class <= 0x0F) || (mgmt_class >= 0x30 && mgmt_class <= 0x4F)) {
    return "Vendor";
  }
  return mgmt_class >= 0x13 && mgmt_class <= 0x2F ? "Application" : kUnknown;
}

const char* umad_method_str(uint8_t mgmt_class, uint8_t method) {
  if (const char* name = find(kMethods, method)) return name;
  const char* name =
      mgmt_class == kSubnetAdministration ? find(kAdministrationMethods, method) : nullptr;
  // Without its bracket, as programs know it.
  return name != nullptr ? name : "<unknown";
}

const char* umad_attribute_str(uint8_t mgmt_class, __be16 attr_id) {
  const unsigned attribute = ntohs(attr_id);
  if (const char* name = find(kAttributes, attribute)) return name;
  const char* name = find(attributes_of(mgmt_class), attribute);
  return name != nullptr ? name : kUnknown;
}

const char* umad_common_mad_status_str(__be16 be_status) {
  const unsigned status = ntohs(be_status);
  if ((status & 1) != 0) return "Busy";
  if ((status & 2) != 0) return "Redirection required";
  const char* name = find(kFieldStatus, status >> 2 & 7);
  return name != nullptr ? name : "Success";
}

const char* umad_sa_mad_status_str(__be16 be_status) {
  const unsigned status = ntohs(be_status) >> 8;
  return status < kAdministrationStatus.size() ? kAdministrationStatus[status] : "Undefined Error";
}
