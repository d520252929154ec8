import CSystem

/// Names of hosts as the DNS has them.
package enum HostName {
    package struct Failure: Error {
        /// The reason, which continues a sentence that names the host: `is too long`.
        package let reason: String
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
