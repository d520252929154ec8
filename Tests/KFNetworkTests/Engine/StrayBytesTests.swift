import KFNetwork
import Support
import Testing

/// Every response to `/N` has the body "right-N". What follows it on the connection reads like the response "wrong".
@Suite("Bytes after a body", .bounded, .engines)
struct StrayBytesTests {
    enum Fault: CaseIterable {
        case afterLength, withLength, behindHead, afterChunks, withChunks, withManyChunks, afterEmpty, withEmpty
        case afterNotModified, withNotModified, withRedirect
    }

    private static let stray = "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nwrong"

    private static func steps(_ fault: Fault, body: String) -> [FaultStep] {
        let length = "HTTP/1.1 200 OK\r\nContent-Length: \(body.count)\r\n\r\n"
        let chunked = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
        let chunks = "\(String(body.count, radix: 16))\r\n\(body)\r\n0\r\n\r\n"
        let unchanged = "HTTP/1.1 304 Not Modified\r\nContent-Length: 5000\r\n\r\n"
        let empty = "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"
        // More than libcurl reads at once.
        let many = String(repeating: stray, count: 4000)
        return switch fault {
        case .afterLength: [.text(length + body), .text(stray)]
        case .withLength: [.text(length + body + stray)]
        case .behindHead: [.text(length), .pause(.milliseconds(20)), .text(body + stray)]
        case .afterChunks: [.text(chunked + chunks), .text(stray)]
        case .withChunks: [.text(chunked + chunks + stray)]
        case .withManyChunks: [.text(chunked + chunks + many)]
        case .afterEmpty: [.text(empty), .text(stray)]
        case .withEmpty: [.text(empty + many)]
        case .afterNotModified: [.text(unchanged), .text(stray)]
        case .withNotModified: [.text(unchanged + many)]
        case .withRedirect: [.text("HTTP/1.1 302 Found\r\nLocation: /end\r\nContent-Length: 0\r\n\r\n" + many)]
        }
    }

    @Test("Stray bytes never become the next response", arguments: Fault.allCases)
    func nextResponse(_ fault: Fault) async throws {
        let (sent, continuation) = AsyncStream.makeStream(of: Void.self)
        let server = try FaultServer { request in
            let body = "right-" + request.path.dropFirst()
            if request.path == "/end" { return [.reply(body: Array(body.utf8))] }
            return Self.steps(fault, body: body) + [.call { continuation.yield() }]
        }
        let engine = Engines.make()
        var ends = sent.makeAsyncIterator()
        for number in 0..<6 {
            let fetched = await fetch(server.url("/\(number)"), engine: engine) { $0.condition = .init(headers: []) }
            switch fault {
            case .afterEmpty, .withEmpty: #expect(fetched.head?.contentLength == 0 && fetched.body.isEmpty)
            case .afterNotModified, .withNotModified: #expect(fetched.head?.status == 304 && fetched.body.isEmpty)
            case .withRedirect: #expect(fetched.body == "right-end")
            default: #expect(fetched.body == "right-\(number)")
            }
            #expect(fetched.error == nil)
            // The next request goes out when the stray bytes are on their way, not before.
            await ends.next()
        }
        #expect(server.accepted >= 6)
    }

    @Test("Stray bytes close an idle connection") func idle() async throws {
        let (sent, continuation) = AsyncStream.makeStream(of: Void.self)
        let server = try FaultServer { request in
            [.reply(body: Array(request.path.utf8)), .pause(.milliseconds(100)), .text(Self.stray)]
                + [.call { continuation.yield() }]
        }
        let engine = Engines.make()
        var ends = sent.makeAsyncIterator()
        for path in ["/a", "/b", "/c"] {
            let fetched = await fetch(server.url(path), engine: engine)
            #expect(fetched.body == path)
            #expect(fetched.metrics?.newConnections == 1)
            await ends.next()
        }
    }

    /// The stray bytes come 1 ms after the body, when the next request would be on its way without the rest.
    @Test("Stray bytes do not reach a waiting request") func waiting() async throws {
        let server = try FaultServer { request in
            [.reply(body: Array(request.path.utf8)), .pause(.milliseconds(1)), .text(Self.stray)]
        }
        let engine = Engines.make()
        let url = server.url("")
        await withTaskGroup(of: Void.self) { group in
            for number in 0..<40 {
                group.addTask {
                    let fetched = await fetch(url + "/\(number)", engine: engine)
                    #expect(fetched.body == "/\(number)")
                }
            }
        }
    }

    @Test("A clean connection is reused") func clean() async throws {
        let chunks: [FaultStep] = [
            .head("HTTP/1.1 200 OK", "Transfer-Encoding: chunked"), .text("3\r\nabc\r\n0\r\n\r\n"),
        ]
        let server = try FaultServer { request in
            switch request.path {
            case "/chunked": chunks
            case "/unchanged": [.head("HTTP/1.1 304 Not Modified", "Content-Length: 5000")]
            case "/empty": [.reply(body: [])]
            case "/moved": [.reply("302 Found", headers: ["Location: /plain"], body: [])]
            default: [.reply()]
            }
        }
        let engine = Engines.make()
        for path in ["/chunked", "/unchanged", "/empty", "/moved", "/plain", "/chunked", "/plain"] {
            #expect(await fetch(server.url(path), engine: engine) { $0.condition = .init(headers: []) }.error == nil)
        }
        #expect(server.accepted == 1)
    }
}
