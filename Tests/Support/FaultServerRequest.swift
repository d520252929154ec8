/// How the server takes the body of a request that has a Content-Length.
package enum FaultBody: Sendable {
    case whole
    /// Waits after each piece, so that the client's upload takes its time.
    case slowly(bytesPerSecond: Int)
    /// Reads nothing. The answer must end the connection.
    case none
}

/// A request that the server has read.
package struct FaultRequest: Sendable, Equatable {
    package let method: String
    package let path: String
    /// In order, as sent.
    package let headers: [String]
    /// Counts the requests of one connection, from 0.
    package let index: Int
    /// The bytes of the body that have come, also when the client left early.
    package internal(set) var body: [UInt8] = []

    package func header(_ name: String) -> String? {
        let prefix = name.lowercased() + ":"
        guard let line = headers.first(where: { $0.lowercased().hasPrefix(prefix) }) else { return nil }
        return String(line.dropFirst(prefix.count).drop(while: { $0 == " " }))
    }

    var contentLength: Int { header("Content-Length").flatMap { Int($0) } ?? 0 }
}

/// Reads requests off a connection.
final class FaultReader {
    let connection: Int32
    private var buffer: [UInt8] = []
    private var count = 0

    init(connection: Int32) { self.connection = connection }

    /// nil when the client has left or sent no head of at most 1 MiB.
    func next() -> FaultRequest? {
        while true {
            if let end = buffer.firstRange(of: [13, 10, 13, 10])?.lowerBound {
                let lines = String(decoding: buffer[..<end], as: UTF8.self).split(separator: "\r\n").map { String($0) }
                buffer.removeFirst(end + 4)
                guard let words = lines.first?.split(separator: " "), words.count >= 2 else { return nil }
                defer { count += 1 }
                return FaultRequest(
                    method: String(words[0]), path: String(words[1]), headers: Array(lines.dropFirst()), index: count)
            }
            guard buffer.count < 1 << 20, let more = FaultSocket.receive(connection) else { return nil }
            buffer += more
        }
    }

    /// The next bytes of a body, at most so many. Nil when the client has left.
    func take(atMost limit: Int) -> [UInt8]? {
        if buffer.isEmpty {
            guard let more = FaultSocket.receive(connection) else { return nil }
            buffer = more
        }
        defer { buffer.removeFirst(min(limit, buffer.count)) }
        return Array(buffer.prefix(limit))
    }

    /// The body; fewer bytes than its length when the client has left.
    func body(of request: FaultRequest, taking: FaultBody) -> [UInt8] {
        let length = request.contentLength
        if case .none = taking { return [] }
        if length > 0, request.header("Expect")?.lowercased() == "100-continue" {
            _ = FaultSocket.send(Array("HTTP/1.1 100 Continue\r\n\r\n".utf8), on: connection)
        }
        var wanted = 0
        reading: while wanted < length {
            switch taking {
            case .slowly(let bytesPerSecond):
                guard !FaultSocket.isClosed(connection, within: .milliseconds(100)) else { break reading }
                wanted = min(wanted + max(bytesPerSecond / 10, 1), length)
            case .whole, .none: wanted = length
            }
            while buffer.count < wanted {
                guard let more = FaultSocket.receive(connection, atMost: min(16384, length - buffer.count)) else {
                    break reading
                }
                buffer += more
            }
        }
        let count = min(length, buffer.count)
        defer { buffer.removeFirst(count) }
        return Array(buffer[..<count])
    }
}
