import Glibc

/// An IPv4 or IPv6 address.
struct IPAddress: Equatable {
    enum Family { case v4, v6 }

    var family: Family
    /// 4 or 16, in network order.
    var bytes: [UInt8]

    init(v4 bytes: some Sequence<UInt8>) {
        family = .v4
        self.bytes = Array(bytes)
    }

    init(v6 bytes: some Sequence<UInt8>) {
        family = .v6
        self.bytes = Array(bytes)
    }

    /// nil for any family other than the two.
    init?(_ address: UnsafeRawPointer, length: Int) {
        guard length >= MemoryLayout<sockaddr>.size else { return nil }
        switch Int32(address.loadUnaligned(as: sockaddr.self).sa_family) {
        case AF_INET where length >= MemoryLayout<sockaddr_in>.size:
            let address = address.loadUnaligned(as: sockaddr_in.self)
            self.init(v4: withUnsafeBytes(of: address.sin_addr) { Array($0) })
        case AF_INET6 where length >= MemoryLayout<sockaddr_in6>.size:
            let address = address.loadUnaligned(as: sockaddr_in6.self)
            self.init(v6: withUnsafeBytes(of: address.sin6_addr) { Array($0) })
        default: return nil
        }
    }

    /// A numeric address, in brackets and with a zone or not; nil for a name.
    init?(_ text: String) {
        var literal = text[...]
        if literal.first == "[", literal.last == "]" { literal = literal.dropFirst().dropLast() }
        if let zone = literal.firstIndex(of: "%") { literal = literal[..<zone] }
        var v4 = in_addr()
        var v6 = in6_addr()
        if inet_pton(AF_INET, String(literal), &v4) == 1 {
            self.init(v4: withUnsafeBytes(of: v4) { Array($0) })
        } else if inet_pton(AF_INET6, String(literal), &v6) == 1 {
            self.init(v6: withUnsafeBytes(of: v6) { Array($0) })
        } else {
            return nil
        }
    }
}

extension IPAddress: CustomStringConvertible {
    var description: String {
        withUnsafeTemporaryAllocation(of: CChar.self, capacity: Int(INET6_ADDRSTRLEN)) { buffer in
            let family = family == .v4 ? AF_INET : AF_INET6
            guard let text = inet_ntop(family, bytes, buffer.baseAddress!, socklen_t(INET6_ADDRSTRLEN)) else {
                return ""
            }
            return String(cString: text)
        }
    }
}
