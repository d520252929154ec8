/// What the server does next on a connection.
package enum FaultStep: Sendable {
    case send([UInt8])
    /// That many zeros, without their memory.
    case zeros(Int)
    /// Byte by byte, with a pause after each.
    case drip([UInt8], every: Duration)
    case pause(Duration)
    /// Says no more and waits until the client leaves.
    case hold
    /// Tells the test that everything before has been sent, or cannot be sent any more.
    case call(@Sendable () -> Void)
    case close
    /// Closes with RST.
    case reset

    package static func text(_ text: String) -> FaultStep { .send(Array(text.utf8)) }

    /// A well-formed answer with a Content-Length.
    package static func reply(
        _ status: String = "200 OK", headers: [String] = [], body: [UInt8] = Array("hello".utf8)
    ) -> FaultStep {
        let lines = ["HTTP/1.1 \(status)"] + headers + ["Content-Length: \(body.count)", "", ""]
        return .send(Array(lines.joined(separator: "\r\n").utf8) + body)
    }

    /// A head with these lines and no other, and the blank line after it.
    package static func head(_ lines: String...) -> FaultStep {
        .text((lines + ["", ""]).joined(separator: "\r\n"))
    }
}
