import Glibc

struct IPAddress: Equatable {
    /// The 4 bytes of an IPv4 address or the 16 of an IPv6 address, in network order.
    private let bytes: [UInt8]
    private var isV4: Bool { bytes.count == 4 }

    /// Reads a socket address; nil for a family other than IPv4 and IPv6.
    init?(_ address: UnsafeRawPointer, length: Int) {
        guard length >= MemoryLayout<sockaddr>.size else { return nil }
        switch Int32(clamping: address.loadUnaligned(as: sockaddr.self).sa_family) {
        case AF_INET where length >= MemoryLayout<sockaddr_in>.size:
            let address = address.loadUnaligned(as: sockaddr_in.self)
            bytes = withUnsafeBytes(of: address.sin_addr) { Array($0) }
        case AF_INET6 where length >= MemoryLayout<sockaddr_in6>.size:
            let address = address.loadUnaligned(as: sockaddr_in6.self)
            bytes = withUnsafeBytes(of: address.sin6_addr) { Array($0) }
        default: return nil
        }
    }

    /// Parses a numeric address, with or without brackets and zone; nil for a name.
    init?(_ text: String) {
        var literal = text[...]
        if literal.first == "[", literal.last == "]" { literal = literal.dropFirst().dropLast() }
        if let zone = literal.firstIndex(of: "%") { literal = literal[..<zone] }
        var v4 = in_addr()
        var v6 = in6_addr()
        if inet_pton(AF_INET, String(literal), &v4) == 1 {
            bytes = withUnsafeBytes(of: v4) { Array($0) }
        } else if inet_pton(AF_INET6, String(literal), &v6) == 1 {
            bytes = withUnsafeBytes(of: v6) { Array($0) }
        } else {
            return nil
        }
    }
}

extension IPAddress: CustomStringConvertible {
    var description: String {
        withUnsafeTemporaryAllocation(of: CChar.self, capacity: Int(INET6_ADDRSTRLEN)) { buffer in
            let family = isV4 ? AF_INET : AF_INET6
            let text = inet_ntop(family, bytes, buffer.baseAddress!, socklen_t(INET6_ADDRSTRLEN))
            return text.map { String(cString: $0) } ?? ""
        }
    }
}

extension IPAddress {
    /// Whether the address is on the public internet. An IPv6 address that embeds an IPv4 address (mapped, compatible,
    /// SIIT, NAT64, 6to4, Teredo) is public only if that one is.
    var isPublic: Bool {
        if isV4 { return Self.isPublic(v4: bytes[...]) }
        for (prefix, length) in Self.refusedV6 where matches(prefix, bits: length) { return false }
        if matches([0x20, 0x02], bits: 16) { return Self.isPublic(v4: bytes[2..<6]) }  // 6to4
        if matches([0x20, 0x01, 0, 0], bits: 32) {  // Teredo: server, then the client's address inverted
            return Self.isPublic(v4: bytes[4..<8]) && Self.isPublic(v4: bytes[12..<16].map { ~$0 }[...])
        }
        let embeds =
            matches(Self.zeros, bits: 96)  // compatible; :: and ::1 are 0.0.0.0 and 0.0.0.1 here
            || matches(Self.zeros.prefix(10) + [0xff, 0xff], bits: 96)  // mapped
            || matches(Self.zeros.prefix(8) + [0xff, 0xff, 0, 0], bits: 96)  // translated (SIIT)
            || matches([0, 0x64, 0xff, 0x9b] + Self.zeros.prefix(8), bits: 96)  // NAT64
        return embeds ? Self.isPublic(v4: bytes[12..<16]) : true
    }

    /// Whether the address is that of this machine.
    var isLoopback: Bool {
        if isV4 { return bytes[0] == 127 }
        let isMapped = matches(Self.zeros.prefix(10) + [0xff, 0xff], bits: 96)
        return isMapped ? bytes[12] == 127 : matches(Self.zeros.prefix(15) + [1], bits: 128)
    }

    private static let zeros = [UInt8](repeating: 0, count: 16)

    private static let refusedV4: [(prefix: [UInt8], bits: Int)] = [
        ([0], 8),  // this network
        ([10], 8), ([172, 16], 12), ([192, 168], 16),  // private
        ([100, 64], 10),  // shared, behind a carrier's NAT
        ([127], 8),  // loopback
        ([169, 254], 16),  // link-local; cloud metadata lives here
        ([192, 0, 0], 24),  // IETF protocol assignments
        ([192, 0, 2], 24), ([198, 51, 100], 24), ([203, 0, 113], 24),  // documentation
        ([192, 88, 99], 24),  // relays to 6to4, deprecated
        ([198, 18], 15),  // benchmarks
        ([224], 4),  // multicast
        ([240], 4),  // reserved, broadcast
    ]

    private static let refusedV6: [(prefix: [UInt8], bits: Int)] = [
        ([0xfc], 7),  // unique local
        ([0xfe, 0x80], 10),  // link-local
        ([0xfe, 0xc0], 10),  // site-local, deprecated
        ([0xff], 8),  // multicast
        ([0x01, 0], 64),  // discard-only
        ([0x20, 0x01, 0x0d, 0xb8], 32),  // documentation
        ([0x5f, 0], 16),  // segment identifiers
        ([0, 0x64, 0xff, 0x9b, 0, 0x01], 48),  // NAT64 for local use: the position of its IPv4 address is unknown
    ]

    private static func isPublic(v4 bytes: ArraySlice<UInt8>) -> Bool {
        !refusedV4.contains { isPrefix($0.prefix, bits: $0.bits, of: bytes) }
    }

    private func matches(_ prefix: some Collection<UInt8>, bits: Int) -> Bool {
        Self.isPrefix(Array(prefix), bits: bits, of: bytes[...])
    }

    /// Returns whether the first `bits` bits match the prefix, which is padded with zero bytes.
    private static func isPrefix(_ prefix: [UInt8], bits: Int, of bytes: ArraySlice<UInt8>) -> Bool {
        func number(_ bytes: some Sequence<UInt8>) -> UInt128 {
            zip(0..<16, bytes).reduce(0) { $0 | UInt128($1.1) << (120 - 8 * $1.0) }
        }
        return (number(bytes) ^ number(prefix)) >> (128 - bits) == 0
    }
}
