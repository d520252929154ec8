/// The first line of a head, as libcurl hands it over: "HTTP/1.1 200 OK", "HTTP/2 200 ".
struct StatusLine: Equatable {
    var protocolName: String
    var status: Int
    var reason: String

    /// Whatever its fields say of a length.
    var hasNoBody: Bool { status == 204 || status == 304 }

    /// Refuses statuses outside 100...599; libcurl accepts any three digits.
    init(_ line: UnsafeRawBufferPointer) throws(HeadFault) {
        let word = line.prefix { $0 != 0x20 }.count
        guard word < line.count, let name = Self.protocolName(line[..<word]) else {
            throw .malformed("no HTTP status line")
        }
        let digits = line[(word + 1)...].prefix { $0 != 0x20 }
        guard digits.count == 3, digits.allSatisfy({ $0 &- 0x30 < 10 }) else {
            throw .malformed("a status that is not three digits")
        }
        status = digits.reduce(0) { $0 * 10 + Int($1 - 0x30) }
        guard 100...599 ~= status else { throw .malformed("status \(status)") }
        protocolName = name
        reason = String(decoding: line[digits.endIndex...].dropFirst(), as: UTF8.self)
    }

    private static func protocolName(_ word: Slice<UnsafeRawBufferPointer>) -> String? {
        if word.elementsEqual("HTTP/1.1".utf8) { return "HTTP/1.1" }
        if word.elementsEqual("HTTP/2".utf8) { return "HTTP/2" }
        if word.elementsEqual("HTTP/1.0".utf8) { return "HTTP/1.0" }
        if word.elementsEqual("HTTP/3".utf8) { return "HTTP/3" }
        return nil
    }
}
