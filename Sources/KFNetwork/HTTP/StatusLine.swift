import Glibc

/// The first line of a head, as libcurl hands it over: "HTTP/1.1 200 OK", "HTTP/2 200 ".
struct StatusLine: Equatable {
    var protocolName: String
    var status: Int
    var reason: String

    /// Whatever its fields say of a length.
    var hasNoBody: Bool { status == 204 || status == 304 }

    /// Refuses statuses outside 100...599; libcurl accepts any three digits.
    init(_ line: UnsafeRawBufferPointer) throws(HeadFault) {
        guard let start = line.baseAddress, let blank = memchr(start, 0x20, line.count) else {
            throw .malformed("no HTTP status line")
        }
        let word = UnsafeRawBufferPointer(start: start, count: UnsafeRawPointer(blank) - start)
        guard let name = Self.protocolName(word) else { throw .malformed("no HTTP status line") }
        var at = word.count + 1
        let first = at
        var status = 0
        while at < line.count, line[at] != 0x20 {
            guard at < first + 3, line[at] &- 0x30 < 10 else {
                throw .malformed("a status that is not three digits")
            }
            status = status * 10 + Int(line[at] - 0x30)
            at += 1
        }
        guard at == first + 3 else { throw .malformed("a status that is not three digits") }
        guard 100...599 ~= status else { throw .malformed("status \(status)") }
        self.status = status
        protocolName = name
        let rest = UnsafeRawBufferPointer(rebasing: line[min(at + 1, line.count)...])
        reason = rest.isText("OK") ? "OK" : String(decoding: rest, as: UTF8.self)
    }

    private static func protocolName(_ word: UnsafeRawBufferPointer) -> String? {
        if word.isText("HTTP/1.1") { return "HTTP/1.1" }
        if word.isText("HTTP/2") { return "HTTP/2" }
        if word.isText("HTTP/1.0") { return "HTTP/1.0" }
        if word.isText("HTTP/3") { return "HTTP/3" }
        return nil
    }
}

extension UnsafeRawBufferPointer {
    @inline(__always)
    fileprivate func isText(_ text: StaticString) -> Bool {
        count == text.utf8CodeUnitCount
            && (count == 0 || memcmp(baseAddress!, text.utf8Start, count) == 0)
    }
}
