import CSystem
import Glibc

/// Names of hosts as the DNS has them, and addresses.
package enum HostName {
    package struct Failure: Error {
        /// The reason, which continues a sentence that names the host: `is too long`.
        package let reason: String
    }

    /// Returns the one spelling of a URL's host, as curl and browsers have it: a name with A-labels in lower case, `127.1` as
    /// `127.0.0.1`, and an IPv6 address in its shortest form, in brackets and with its zone. A dot at the end of a name stays: the
    /// resolver, TLS and virtual hosts tell both forms apart.
    ///
    /// - Throws: what `ascii` throws.
    package static func normal(_ host: String) throws(Failure) -> String {
        if host.utf8.first == UInt8(ascii: "[") {
            let end = host.utf8.firstIndex { $0 == UInt8(ascii: "%") || $0 == UInt8(ascii: "]") } ?? host.endIndex
            let address = host[..<end]
            guard let normal = normalV6(address.dropFirst()) else { return try ascii(String(address)) + host[end...] }
            return "[\(normal)\(host[end...])"
        }
        if let address = normalV6(host[...]) { return "[\(address)]" }
        let name = try ascii(host)
        return normalV4(name) ?? name
    }

    /// Returns a fully qualified name without the dot at its end: both are one machine, whose limits hold for both.
    package static func withoutDot(_ host: Substring) -> Substring {
        host.utf8.last == UInt8(ascii: ".") ? host.dropLast() : host
    }

    /// Returns whether a host is surely in its normal form, if its bytes are those of a name in lower case.
    package static func isNormal(_ host: Slice<UnsafeBufferPointer<UInt8>>) -> Bool {
        guard let first = host.first, first == UInt8(ascii: "[") || first &- 0x30 < 10 else { return true }
        // Four numbers of at most three digits, none with a zero before others.
        var (parts, number, digits) = (1, 0, 0)
        for byte in host {
            if byte == UInt8(ascii: ".") {
                guard digits > 0 else { return false }
                (parts, number, digits) = (parts + 1, 0, 0)
            } else {
                guard byte &- 0x30 < 10, digits == 0 || number > 0 else { return false }
                (number, digits) = (number * 10 + Int(byte & 0xf), digits + 1)
                guard number < 256 else { return false }
            }
        }
        return parts == 4 && digits > 0
    }

    /// Returns the dotted quad of an IPv4 address in any form of inet_aton, which libcurl reads too; nil for a name.
    private static func normalV4(_ name: String) -> String? {
        guard let first = name.utf8.first, first &- 0x30 < 10 else { return nil }
        var address = in_addr()
        guard inet_aton(name, &address) != 0 else { return nil }
        return text(of: AF_INET, &address)
    }

    private static func normalV6(_ name: Substring) -> String? {
        var address = in6_addr()
        guard inet_pton(AF_INET6, String(name), &address) == 1 else { return nil }
        return text(of: AF_INET6, &address)
    }

    private static func text(of family: Int32, _ address: UnsafeRawPointer) -> String? {
        withUnsafeTemporaryAllocation(of: CChar.self, capacity: Int(INET6_ADDRSTRLEN)) { room in
            inet_ntop(family, address, room.baseAddress!, socklen_t(room.count)).map { String(cString: $0) }
        }
    }

    /// Returns a name in Unicode with A-labels (`bücher.example` becomes `xn--bcher-kva.example`): IDNA 2008 with the
    /// mapping of UTS 46, whatever the locale. A name in ASCII is only put into lower case.
    ///
    /// - Throws: a name that IDNA refuses, and one of which the mapping makes anything but letters, digits, hyphens,
    ///   underscores and dots: a full-width slash would end the host for the next parser.
    package static func ascii(_ name: String) throws(Failure) -> String {
        if name.utf8.allSatisfy({ $0 < 0x80 }) { return name.lowercased() }
        var problem: String?
        // A name of the DNS has at most 253 bytes.
        let result = withUnsafeTemporaryAllocation(of: CChar.self, capacity: 256) { room in
            guard let reason = kf_ascii_host_name(name, room.baseAddress, room.count) else {
                return String(cString: room.baseAddress!)
            }
            problem = String(cString: reason)
            return ""
        }
        if let problem { throw Failure(reason: problem) }
        guard result.utf8.allSatisfy(isHostByte) else { throw Failure(reason: "has an invalid character") }
        return result
    }

    private static func isHostByte(_ byte: UInt8) -> Bool {
        byte &- 0x61 < 26 || byte &- 0x30 < 10 || byte == 0x2d || byte == 0x2e || byte == 0x5f
    }
}
