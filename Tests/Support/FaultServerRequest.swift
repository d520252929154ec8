/// A request that the server has read: its head, for it takes no bodies.
package struct FaultRequest: Sendable, Equatable {
    package let method: String
    package let path: String
    /// In order, as sent.
    package let headers: [String]
    /// Counts the requests of one connection, from 0.
    package let index: Int

    package func header(_ name: String) -> String? {
        let prefix = name.lowercased() + ":"
        guard let line = headers.first(where: { $0.lowercased().hasPrefix(prefix) }) else { return nil }
        return String(line.dropFirst(prefix.count).drop(while: { $0 == " " }))
    }
}

/// Reads requests off a connection.
struct FaultReader {
    let connection: Int32
    private var buffer: [UInt8] = []
    private var count = 0

    init(connection: Int32) { self.connection = connection }

    /// nil when the client has left or sent no head of at most 1 MiB.
    mutating func next() -> FaultRequest? {
        while true {
            if let end = endOfHead {
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

    private var endOfHead: Int? {
        guard buffer.count >= 4 else { return nil }
        return (0...(buffer.count - 4)).first { buffer[$0..<($0 + 4)].elementsEqual([13, 10, 13, 10]) }
    }
}
