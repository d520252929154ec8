import Foundation
import Support
import Testing

/// Something that a server does wrong, and what `kf` has to say about it.
struct NetworkFault: Sendable, CustomTestStringConvertible {
    let name: String
    var options: [String] = []
    /// The code of the error, and a piece of its message.
    let code: Int
    let says: String
    /// Requests to the address at fault, with two retries allowed; nil where nobody is asked.
    let requests: Int
    let steps: @Sendable (_ picture: [UInt8]) -> [FaultStep]

    init(
        _ name: String, _ options: [String] = [], code: Int, says: String, requests: Int = 1,
        _ steps: @escaping @Sendable (_ picture: [UInt8]) -> [FaultStep]
    ) {
        self.name = name
        self.options = options
        self.code = code
        self.says = says
        self.requests = requests
        self.steps = steps
    }

    var testDescription: String { name }

    static func head(_ lines: String..., body: [UInt8]) -> [FaultStep] {
        [.raw(["HTTP/1.1 200 OK"] + lines, body), .close]
    }

    static func chunk(_ bytes: [UInt8]) -> [UInt8] {
        Array("\(String(bytes.count, radix: 16))\r\n".utf8) + bytes + Array("\r\n".utf8)
    }

    static let bodies: [NetworkFault] = [
        NetworkFault("a body shorter than its Content-Length", code: 2003, says: "broke off after 100 of", requests: 3)
        {
            head("Content-Length: \($0.count)", body: Array($0[..<100]))
        },
        NetworkFault("no length, and an early close", code: 2008, says: "") {
            head("Connection: close", body: Array($0.dropLast(20)))
        },
        NetworkFault("chunks that are cut", code: 2003, says: "broke off after", requests: 3) {
            head("Transfer-Encoding: chunked", body: chunk(Array($0[..<200])) + Array("100\r\nabc".utf8))
        },
        NetworkFault("a bad chunk", code: 2001, says: "malformed response", requests: 3) {
            head("Transfer-Encoding: chunked", body: chunk(Array($0[..<200])) + Array("zz\r\nabc".utf8))
        },
        NetworkFault("a reset", code: 2003, says: "connection lost", requests: 3) {
            [.head("HTTP/1.1 200 OK", "Content-Length: \($0.count)"), .send(Array($0[..<100])), .reset]
        },
        NetworkFault("no answer at all", code: 2005, says: "closed the connection without an answer", requests: 3) {
            _ in [.close]
        },
        NetworkFault("a byte now and then", ["--timeout", "300ms"], code: 2003, says: "less than 1 KiB", requests: 3) {
            [.head("HTTP/1.1 200 OK", "Content-Length: \($0.count)"), .drip($0, every: .milliseconds(20))]
        },
        NetworkFault("silence", ["--timeout", "300ms"], code: 2003, says: "less than 1 KiB", requests: 3) { _ in [.hold]
        },
        NetworkFault("a burst, then silence", ["--timeout", "300ms"], code: 2003, says: "less than 1 KiB", requests: 3)
        {
            _ in
            [.head("HTTP/1.1 200 OK", "Content-Length: 2000000"), .send(.init(repeating: 1, count: 1_000_000)), .hold]
        },
        NetworkFault(
            "a burst, then silence, with --max-time", ["--max-time", "300ms"], code: 2003, says: "longer than",
            requests: 3
        ) {
            _ in [.head("HTTP/1.1 200 OK", "Content-Length: 20000"), .send(.init(repeating: 1, count: 9000)), .hold]
        },
        NetworkFault(
            "a steady body, with --max-time", ["--max-time", "300ms"], code: 2003, says: "longer than 0.3 s",
            requests: 3
        ) {
            [.head("HTTP/1.1 200 OK", "Content-Length: \($0.count)"), .drip($0, every: .milliseconds(1))]
        },
        NetworkFault("a gzip bomb", ["--max-bytes", "300000"], code: 2009, says: "larger than 293 KiB") {
            let bomb = Packed.gzip($0 + [UInt8](repeating: 0, count: 8 << 20))
            return head("Content-Encoding: gzip", "Content-Length: \(bomb.count)", body: bomb)
        },
        NetworkFault("gzip that is cut", code: 2003, says: "gzip encoding of the response is damaged: it ends early") {
            let packed = Array(Packed.gzip($0).dropLast(20))
            return head("Content-Encoding: gzip", "Content-Length: \(packed.count)", body: packed)
        },
        NetworkFault("an unknown encoding", code: 2007, says: "it came with Content-Encoding rot13") {
            let turned = $0.map { $0 &+ 13 }
            return head("Content-Encoding: rot13", "Content-Length: \(turned.count)", body: turned)
        },
        NetworkFault("too large, and it says so", ["--max-bytes", "300000"], code: 2009, says: "larger than 293 KiB") {
            _ in [.head("HTTP/1.1 200 OK", "Content-Length: 300001"), .hold]
        },
        NetworkFault("too large, in chunks", ["--max-bytes", "300000"], code: 2009, says: "larger than 293 KiB") {
            _ in
            head("Transfer-Encoding: chunked", body: (0..<5).flatMap { _ in chunk(.init(repeating: 1, count: 75_000)) })
        },
        NetworkFault("a page in place of an image", code: 2007, says: "HTML") { _ in
            let page = Array("<!DOCTYPE html><title>Sign in</title>".utf8)
            return head("Content-Type: image/png", "Content-Length: \(page.count)", body: page)
        },
    ]

    static let heads: [NetworkFault] = [
        NetworkFault("a redirect in a circle", code: 2003, says: "more than 10 redirects", requests: 11) { _ in
            [.reply("302 Found", headers: ["Location: /bad"], body: [])]
        },
        redirect(to: "file:///etc/passwd"), redirect(to: "gopher://127.0.0.1/x"), redirect(to: "ftp://127.0.0.1/x"),
        NetworkFault("300 KiB of headers", code: 2001, says: "more than 300 KiB of headers") { picture in
            let many = (0..<200).map { "X-\($0): \(String(repeating: "y", count: 2000))" }.joined(separator: "\r\n")
            return head(many, body: picture)
        },
        NetworkFault("a header of 200 KiB", code: 2001, says: "a header line of more than 100 KiB") {
            head("X: \(String(repeating: "y", count: 200_000))", body: $0)
        },
        NetworkFault("20,000 headers", code: 2001, says: "more than 256 header lines") {
            head((0..<20_000).map { "X-\($0): y" }.joined(separator: "\r\n"), body: $0)
        },
        NetworkFault("304, unasked", code: 2001, says: "response 304, which was not asked for") { _ in
            [.head("HTTP/1.1 304 Not Modified", "Content-Length: 0")]
        },
        NetworkFault("206, unasked", code: 2001, says: "response 206, which was not asked for") {
            [
                .head(
                    "HTTP/1.1 206 Partial Content", "Content-Range: bytes 0-\($0.count - 1)/\($0.count)",
                    "Content-Length: \($0.count)"), .send($0),
            ]
        },
        NetworkFault("a negative length", code: 2001, says: "Content-Length") { head("Content-Length: -5", body: $0) },
        NetworkFault("two lengths", code: 2001, says: "two different Content-Length") {
            head("Content-Length: \($0.count)", "Content-Length: \($0.count - 1)", body: $0)
        },
        NetworkFault("a length past 63 bits", code: 2001, says: "Content-Length") {
            head("Content-Length: 99999999999999999999999", body: $0)
        },
        NetworkFault("a NUL in a header", code: 2001, says: "malformed response") {
            head("X-A: a\0b", "Content-Length: \($0.count)", body: $0)
        },
        NetworkFault("HTTP/0.9", code: 2001, says: "not HTTP/1 or HTTP/2", requests: 3) { [.send($0), .close] },
        NetworkFault("status 9999", code: 2001, says: "malformed response", requests: 3) {
            [.text("HTTP/1.1 9999 X\r\nContent-Length: \($0.count)\r\n\r\n"), .send($0), .close]
        },
        NetworkFault("status 404", code: 2002, says: "404") { _ in [.reply("404 Not Found")] },
        NetworkFault("status 410", code: 2002, says: "410") { _ in [.reply("410 Gone")] },
        NetworkFault("status 500", code: 2002, says: "500", requests: 3) { _ in [.reply("500 Internal Server Error")] },
        NetworkFault("status 502", code: 2002, says: "502", requests: 3) { _ in [.reply("502 Bad Gateway")] },
    ]

    private static func redirect(to target: String) -> NetworkFault {
        let scheme = target.split(separator: ":")[0]
        return NetworkFault("a redirect to \(scheme)", code: 2003, says: "redirect to scheme \(scheme) refused") { _ in
            [.reply("302 Found", headers: ["Location: \(target)"], body: [])]
        }
    }
}
