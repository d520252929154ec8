/// The first line of a head, as libcurl hands it over: "HTTP/1.1 200 OK", "HTTP/2 200 ".
struct StatusLine: Equatable {
    var protocolName: String
    var status: Int
    var reason: String

    /// Refuses statuses outside 100...599; libcurl accepts any three digits.
    init(_ line: UnsafeRawBufferPointer) throws(HeadFault) {
        let words = line.split(separator: 0x20, maxSplits: 2, omittingEmptySubsequences: false)
        guard words.count >= 2, let name = Self.protocolName(words[0]) else {
            throw .malformed("no HTTP status line")
        }
        guard words[1].count == 3, words[1].allSatisfy({ $0 &- 0x30 < 10 }) else {
            throw .malformed("a status that is not three digits")
        }
        status = words[1].reduce(0) { $0 * 10 + Int($1 - 0x30) }
        guard 100...599 ~= status else { throw .malformed("status \(status)") }
        protocolName = name
        reason = words.count == 3 ? String(decoding: words[2], as: UTF8.self) : ""
    }

    private static func protocolName(_ word: Slice<UnsafeRawBufferPointer>) -> String? {
        if word.elementsEqual("HTTP/1.1".utf8) { return "HTTP/1.1" }
        if word.elementsEqual("HTTP/2".utf8) { return "HTTP/2" }
        if word.elementsEqual("HTTP/1.0".utf8) { return "HTTP/1.0" }
        if word.elementsEqual("HTTP/3".utf8) { return "HTTP/3" }
        return nil
    }
}
