import Glibc
import Synchronization

/// A server on a loopback port for requests with bodies. A thread per connection; the script of a test reads the body and
/// answers.
package final class UploadServer: Sendable {
    package typealias Script = @Sendable (UploadExchange) -> Void

    /// A request with the part of its body that the script had read then.
    package struct Upload: Sendable {
        package let request: FaultRequest
        package let body: [UInt8]
    }

    private let listener: FaultListener
    private let script: Script
    private let taken = Mutex<[Upload]>([])

    /// Listens on 127.0.0.1. `window` limits the bytes that the kernel takes before the script reads them.
    package init(window: Int32? = nil, _ script: @escaping Script) throws {
        self.script = script
        listener = try FaultListener(window: window)
        listener.start { [weak self] in self?.converse(on: $0) }
    }

    deinit { stop() }

    package var port: Int { listener.port }

    package func url(_ path: String = "/") -> String { "http://127.0.0.1:\(port)\(path)" }

    /// The requests so far, in order. A request counts when its script begins to answer, or ends without an answer.
    package var uploads: [Upload] { taken.withLock { $0 } }

    /// The number of connections accepted so far.
    package var accepted: Int { listener.accepted }

    /// Ends every connection and waits for its thread. Called by deinit.
    package func stop() { listener.stop() }

    private func converse(on connection: Int32) {
        let reader = UploadReader(connection)
        while let request = reader.next() {
            let exchange = UploadExchange(request, reader)
            exchange.record = { [self] upload in taken.withLock { $0.append(upload) } }
            script(exchange)
            exchange.recordOnce()
            if exchange.isOver { return }
        }
    }
}

/// One request while the script of a test answers it. Confined to the thread of its connection.
package final class UploadExchange {
    package let request: FaultRequest
    /// The part of the body that was read so far.
    package private(set) var received: [UInt8] = []
    fileprivate private(set) var isOver = false
    fileprivate var record: ((UploadServer.Upload) -> Void)?
    private let reader: UploadReader

    fileprivate init(_ request: FaultRequest, _ reader: UploadReader) {
        self.request = request
        self.reader = reader
    }

    /// The Content-Length of the request; 0 without one.
    package var length: Int { request.header("Content-Length").flatMap { Int($0) } ?? 0 }

    /// Reads the body up to that length, or the whole body. Returns false when the client leaves before.
    @discardableResult package func receive(upTo length: Int? = nil) -> Bool {
        let length = min(length ?? self.length, self.length)
        while received.count < length {
            guard let more = reader.take(atMost: length - received.count) else {
                isOver = true
                return false
            }
            received += more
        }
        return true
    }

    package func reply(_ status: String = "201 Created", headers: [String] = [], body: String = "") {
        let lines = ["HTTP/1.1 \(status)"] + headers
        let length = status.hasPrefix("204") ? [] : ["Content-Length: \(body.utf8.count)"]
        send((lines + length + ["", body]).joined(separator: "\r\n"))
    }

    package func send(_ text: String) {
        if !text.hasPrefix("HTTP/1.1 1") { recordOnce() }
        if !FaultSocket.send(Array(text.utf8), on: reader.connection) { isOver = true }
    }

    fileprivate func recordOnce() {
        record?(UploadServer.Upload(request: request, body: received))
        record = nil
    }

    /// Closes the connection when the script returns, with RST if `resets`.
    package func close(resets: Bool = false) {
        if resets { FaultSocket.resetOnClose(reader.connection) }
        isOver = true
    }

    /// Waits until the client leaves, for a minute at most, and reads nothing.
    package func hold() {
        _ = FaultSocket.isClosed(reader.connection, within: .seconds(60))
        isOver = true
    }

    /// Waits that long, or until the client leaves.
    package func pause(_ span: Duration) {
        if FaultSocket.isClosed(reader.connection, within: span) { isOver = true }
    }
}

/// The bytes of one connection.
private final class UploadReader {
    let connection: Int32
    private var buffer: [UInt8] = []
    private var count = 0

    init(_ connection: Int32) { self.connection = connection }

    /// Reads a head. Nil when the client has left.
    func next() -> FaultRequest? {
        let end = Array("\r\n\r\n".utf8)
        while true {
            if let start = buffer.firstRange(of: end)?.lowerBound {
                let lines = String(decoding: buffer[..<start], as: UTF8.self).split(separator: "\r\n").map(String.init)
                buffer.removeFirst(start + end.count)
                guard let words = lines.first?.split(separator: " "), words.count >= 2 else { return nil }
                defer { count += 1 }
                return FaultRequest(
                    method: String(words[0]), path: String(words[1]), headers: Array(lines.dropFirst()), index: count)
            }
            guard buffer.count < 1 << 20, let more = FaultSocket.receive(connection) else { return nil }
            buffer += more
        }
    }

    func take(atMost limit: Int) -> [UInt8]? {
        if buffer.isEmpty {
            guard let more = FaultSocket.receive(connection) else { return nil }
            buffer = more
        }
        defer { buffer.removeFirst(min(limit, buffer.count)) }
        return Array(buffer.prefix(limit))
    }
}
