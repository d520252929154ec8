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
        let reader = FaultReader(connection: connection)
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
    private let reader: FaultReader

    fileprivate init(_ request: FaultRequest, _ reader: FaultReader) {
        self.request = request
        self.reader = reader
    }

    /// Reads the body up to that length, or the whole body. Returns false when the client leaves before.
    @discardableResult package func receive(upTo length: Int? = nil) -> Bool {
        let length = min(length ?? .max, request.contentLength)
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
