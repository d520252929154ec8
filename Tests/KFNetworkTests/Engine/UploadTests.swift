import Foundation
import KFNetwork
import Support
import Synchronization
import Testing

/// Sends a PUT to a server, with the statuses that a caller of PUT accepts.
private func put(
    _ url: String, _ body: TransferBody?, engine: TransferEngine? = nil,
    _ adjust: (inout TransferRequest) -> Void = { _ in }
) async -> Fetched {
    await fetch(url, engine: engine) {
        $0.method = .put
        $0.body = body
        $0.options.maxRedirects = 0
        $0.options.acceptedStatus = [200, 201, 204]
        adjust(&$0)
    }
}

/// A server that takes every body.
private func storing() throws -> UploadServer {
    try UploadServer { exchange in
        exchange.receive()
        exchange.reply()
    }
}

/// Signs a request with any account.
private func sign(_ request: inout TransferRequest) {
    request.signing = AWSSigning(accessKey: "AKID", secretKey: "secret", sessionToken: nil, region: "us-east-1")
}

/// Bytes of which each piece differs from all others.
private func bytes(_ count: Int) -> [UInt8] { PatternedBytes.make(count) }

@Suite("Uploads", .bounded, .engines)
struct UploadTests {
    @Test("Uploaded bytes arrive whole", arguments: [0, 1, 1000, 1 << 16, 3 << 20])
    func whole(_ size: Int) async throws {
        let server = try storing()
        let body = bytes(size)
        let fetched = await put(server.url("/a/b"), .bytes(body)) { $0.headers = [("If-None-Match", "*")] }
        #expect(fetched.head?.status == 201, "\(fetched.result)")
        let upload = try #require(server.uploads.first)
        #expect(upload.request.method == "PUT")
        #expect(upload.request.path == "/a/b")
        #expect(upload.request.header("Content-Length") == "\(size)")
        #expect(upload.request.header("Transfer-Encoding") == nil)
        #expect(upload.request.header("If-None-Match") == "*")
        #expect(upload.body == body)
    }

    /// nginx ends each connection as soon as it is idle, with the streams that have just begun.
    @Test("Uploads continue on other connections", .enabled(if: FileServer.isInstalled))
    func endedConnections() async throws {
        let certificates = try await TestCertificates.shared
        let files = try TemporaryDirectory()
        let server = try FileServer(
            files: files, configuration: [FileServer.storing, "keepalive_timeout 0;"],
            identity: certificates.identity(.good))
        let (engine, authority) = (Engines.make(), certificates.authority)
        await withTaskGroup(of: Void.self) { group in
            for number in 0..<300 {
                group.addTask {
                    let fetched = await put(
                        server.secureURL("\(number)"), .bytes(bytes(100 * number)), engine: engine
                    ) { $0.options.caFile = authority }
                    #expect(fetched.error == nil)
                }
            }
        }
        for number in 0..<300 {
            #expect(try [UInt8](Data(contentsOf: files.path("\(number)"))) == bytes(100 * number))
        }
    }

    @Test("A PUT without a body is empty") func empty() async throws {
        let server = try UploadServer { $0.reply("204 No Content") }
        let fetched = await put(server.url(), nil)
        #expect(fetched.head?.status == 204, "\(fetched.result)")
        #expect(server.uploads.first?.request.header("Content-Length") == "0")
    }

    /// The descriptor's own offset is at the file's end, where writing has left it.
    @Test("An uploaded file arrives whole", arguments: [0, 5, 3 << 20])
    func wholeFile(_ size: Int) async throws {
        let directory = try TemporaryDirectory()
        let descriptor = try Self.file(in: directory, bytes(size))
        let server = try UploadServer { exchange in
            exchange.receive()
            exchange.reply("200 OK", body: "stored")
        }
        let fetched = await put(server.url(), .file(TransferFile(descriptor: descriptor, size: Int64(size))))
        #expect(fetched.body == "stored", "\(fetched.result)")
        #expect(server.uploads.first?.body == bytes(size))
    }

    @Test("Only the announced part of a file is sent") func longerFile() async throws {
        let directory = try TemporaryDirectory()
        let descriptor = try Self.file(in: directory, bytes(200_000))
        let server = try storing()
        let engine = Engines.make()
        let file = TransferFile(descriptor: descriptor, size: 100_000)
        for _ in 0..<2 { #expect(await put(server.url(), .file(file), engine: engine).error == nil) }
        #expect(server.uploads.map(\.body) == Array(repeating: bytes(100_000), count: 2))
        #expect(server.accepted == 1)
    }

    @Test("A file that is too short ends the upload") func shorterFile() async throws {
        let directory = try TemporaryDirectory()
        let descriptor = try Self.file(in: directory, bytes(150_000))
        let server = try storing()
        let engine = Engines.make()
        #expect(await put(server.url(), .bytes([1]), engine: engine).error == nil)
        let file = TransferFile(descriptor: descriptor, size: 200_000)
        let fetched = await put(server.url(), .file(file), engine: engine)
        #expect(fetched.error == .engine(detail: "the file is shorter than expected"))
        #expect(await put(server.url(), .bytes([2]), engine: engine).error == nil)
        #expect(await eventually { server.uploads.count == 3 })
        let broken = try #require(server.uploads.map(\.body).first { $0.count > 1 })
        #expect(broken.elementsEqual(bytes(150_000).prefix(broken.count)))
        #expect(server.accepted == 2)
    }

    @Test("A file is closed after its upload") func closed() async throws {
        let directory = try TemporaryDirectory()
        let descriptor = try Self.file(in: directory, bytes(10))
        let server = try storing()
        var file: TransferFile? = TransferFile(descriptor: descriptor, size: 10)
        weak let released = file
        #expect(await put(server.url(), .file(try #require(file))).error == nil)
        file = nil
        #expect(await eventually { released == nil })
    }

    @Test("A closed old connection gets the body again") func oldConnection() async throws {
        let lost = Mutex(0)
        let server = try UploadServer { exchange in
            guard exchange.request.index == 0 else {
                // Some of the body has arrived.
                exchange.receive(upTo: 1000)
                lost.withLock { $0 += 1 }
                return exchange.close(resets: exchange.request.path.hasPrefix("/reset"))
            }
            exchange.receive()
            exchange.reply()
        }
        let engine = Engines.make()
        let body = bytes(300_000)
        for path in ["/reset1", "/close1", "/reset2", "/close2", "/reset3", "/close3", "/reset4", "/close4"] {
            let fetched = await put(server.url(path), .bytes(body), engine: engine)
            #expect(fetched.head?.status == 201, "\(fetched.result)")
        }
        let whole = server.uploads.filter { $0.request.index == 0 }
        #expect(whole.count == 8)
        #expect(whole.allSatisfy { $0.body == body })
        #expect(lost.withLock { $0 } > 0)
    }

    @Test("A new connection that ends is an error") func newConnection() async throws {
        let server = try UploadServer { exchange in
            exchange.receive()
            exchange.close()
        }
        #expect(await put(server.url(), .bytes(bytes(100))).error == .emptyReply)
        #expect(server.uploads.count == 1)
    }

    @Test("A stuck upload stalls") func stuck() async throws {
        let server = try UploadServer(window: 4096) { $0.hold() }
        let fetched = await put(server.url(), .bytes(bytes(16 << 20))) { $0.options.timeout = .milliseconds(300) }
        #expect(fetched.failure == "stalled", "\(fetched.result)")
    }

    @Test("An unanswered upload stalls") func unanswered() async throws {
        let server = try UploadServer { exchange in
            exchange.receive()
            exchange.hold()
        }
        let fetched = await put(server.url(), .bytes(bytes(100_000))) { $0.options.timeout = .milliseconds(300) }
        #expect(fetched.failure == "stalled", "\(fetched.result)")
    }

    /// The server reads 4 KiB at a time, so that libcurl's buffer alone lasts for longer than the timeout.
    @Test("A slow but steady upload outlives the timeout", arguments: [false, true])
    func steady(_ isPermitted: Bool) async throws {
        let server = try UploadServer(window: 4096) { exchange in
            if isPermitted { exchange.send("HTTP/1.1 100 Continue\r\n\r\n") }
            for part in 1...16 {
                exchange.pause(.milliseconds(250))
                exchange.receive(upTo: part * 4096)
            }
            exchange.receive()
            exchange.reply()
        }
        let sent = Mutex(0)
        let fetched = await put(server.url(), .bytes(bytes(200_000))) {
            $0.options.timeout = .seconds(2)
            $0.hooks.sent = { sent.withLock { $0 += 1 } }
        }
        #expect(fetched.head?.status == 201, "\(fetched.result)")
        #expect(server.uploads.first?.body == bytes(200_000))
        #expect(sent.withLock { $0 } >= 3)
    }

    /// Only a signed request has the header, because libcurl would sign its removal.
    @Test("Only a signed upload sends Expect", arguments: [true, false])
    func expect(_ isSigned: Bool) async throws {
        let server = try storing()
        let fetched = await put(server.url(), .bytes(bytes(100_000))) { if isSigned { sign(&$0) } }
        #expect(fetched.head?.status == 201, "\(fetched.result)")
        #expect((server.uploads.first?.request.header("Expect") != nil) == isSigned)
    }

    /// libcurl sends `Expect` with signed uploads, and would wait for the answer for a second each time.
    @Test("No upload waits for a 100 Continue") func permission() async throws {
        let server = try storing()
        let engine = Engines.make()
        var times: [Duration] = []
        for size in [1000, 2 << 20, 1000, 2 << 20] {
            let fetched = await put(server.url(), .bytes(bytes(size)), engine: engine) { sign(&$0) }
            times.append(try #require(fetched.metrics?.total))
        }
        // One of each size is enough: the machine may be slow, but a wait would be in all of them.
        #expect(min(times[0], times[2]) < .milliseconds(900))
        #expect(min(times[1], times[3]) < .milliseconds(900))
        #expect(server.accepted == 1)
    }

    @Test("A 100 Continue is not the response") func interim() async throws {
        let server = try UploadServer { exchange in
            if exchange.request.header("Expect") != nil { exchange.send("HTTP/1.1 100 Continue\r\n\r\n") }
            exchange.receive()
            exchange.reply()
        }
        let engine = Engines.make()
        for _ in 0..<5 {
            let fetched = await put(server.url(), .bytes(bytes(100_000)), engine: engine) { sign(&$0) }
            #expect(fetched.head?.status == 201, "\(fetched.result)")
        }
        #expect(server.accepted == 1)
    }

    /// libcurl itself repeats a request without `Expect` in this case, if it has sent no part of the body.
    @Test("A refused Expect is a status") func refusedExpectation() async throws {
        let server = try UploadServer { exchange in
            guard exchange.request.header("Expect") == nil else { return exchange.reply("417 Expectation Failed") }
            exchange.receive()
            exchange.reply()
        }
        let fetched = await put(server.url(), .bytes(bytes(100_000))) { sign(&$0) }
        #expect(fetched.refusal == 417, "\(fetched.result)")
    }

    @Test(
        "A refused upload keeps its connection",
        arguments: ["412 Precondition Failed", "507 Insufficient Storage", "403 Forbidden", "404 Not Found"])
    func refused(_ status: String) async throws {
        let server = try UploadServer { exchange in
            exchange.receive()
            if exchange.request.index == 0 {
                exchange.reply(status, headers: ["X-Why: this"], body: "<Error/>")
            } else {
                exchange.send(
                    "HTTP/1.1 \(status)\r\nX-Why: this\r\nTransfer-Encoding: chunked\r\n\r\n8\r\n<Error/>\r\n0\r\n\r\n")
            }
        }
        let engine = Engines.make()
        for _ in 0..<3 {
            let fetched = await put(server.url(), .bytes(bytes(100)), engine: engine)
            guard case .httpStatus(let number, let head)? = fetched.error else {
                Issue.record("\(fetched.result)")
                return
            }
            #expect(status.hasPrefix("\(number)"))
            #expect(head.headers["X-Why"] == "this")
        }
        #expect(server.accepted == 1)
    }

    /// The answer comes after the head, while most of the body is still to be sent.
    @Test("An early refusal is reported") func early() async throws {
        let server = try UploadServer { exchange in
            exchange.reply("507 Insufficient Storage")
            exchange.receive()
            exchange.close()
        }
        let fetched = await put(server.url(), .bytes(bytes(16 << 20)))
        #expect(fetched.refusal == 507, "\(fetched.result)")
    }

    @Test("An upload does not follow redirects", arguments: [301, 302, 303, 307, 308])
    func redirect(_ status: Int) async throws {
        let server = try UploadServer { exchange in
            exchange.receive()
            exchange.reply("\(status) Moved", headers: ["Location: /b", "x-amz-bucket-region: eu-west-1"])
        }
        for limit in [0, 10] {
            let fetched = await put(server.url(), .bytes(bytes(100))) { $0.options.maxRedirects = limit }
            let head = try #require(fetched.refusedHead, "\(fetched.result)")
            #expect(head.status == status)
            #expect(head.headers["x-amz-bucket-region"] == "eu-west-1")
            #expect(head.headers["Location"] == "/b")
        }
        #expect(server.uploads.allSatisfy { $0.request.method == "PUT" })
    }

    @Test("A Digest challenge repeats the upload") func digest() async throws {
        let server = try UploadServer { exchange in
            exchange.receive()
            guard exchange.request.header("Authorization")?.hasPrefix("Digest") == true else {
                return exchange.reply(
                    "401 Unauthorized", headers: ["WWW-Authenticate: Digest realm=\"r\", nonce=\"n\""])
            }
            exchange.reply()
        }
        let body = bytes(100_000)
        let fetched = await put(server.url(), .bytes(body)) {
            $0.options.credentials = Credentials(user: "u", password: "p")
        }
        #expect(fetched.head?.status == 201, "\(fetched.result)")
        #expect(server.uploads.first?.request.header("Authorization") == "Basic dTpw")
        #expect(server.uploads.last?.body == body)
    }

    @Test("A body is uploaded over HTTP/2", .enabled(if: FileServer.isInstalled), arguments: [0, 10, 70_000, 3 << 20])
    func http2(_ size: Int) async throws {
        let certificates = try await TestCertificates.shared
        let files = try TemporaryDirectory()
        let server = try FileServer(
            files: files,
            configuration: ["dav_methods PUT MKCOL;", "create_full_put_path on;", "client_max_body_size 0;"],
            identity: certificates.identity(.good))
        let engine = Engines.make()
        let body = bytes(size)
        for name in 0..<8 {
            let fetched = await put(server.secureURL("x/\(name)"), .bytes(body), engine: engine) {
                $0.options.caFile = certificates.authority
            }
            #expect(fetched.head?.protocolName == "HTTP/2")
            #expect(fetched.head?.status == 201, "\(fetched.result)")
            let back = await fetch(server.secureURL("x/\(name)"), engine: engine) {
                $0.options.caFile = certificates.authority
            }
            #expect(back.sink.state.withLock { $0.bytes } == body, "\(back.result)")
        }
    }

    private static func file(in directory: TemporaryDirectory, _ bytes: [UInt8]) throws -> Int32 {
        let descriptor = open(directory.path("body").path, O_RDWR | O_CREAT | O_CLOEXEC, 0o600)
        try #require(descriptor >= 0)
        try #require(write(descriptor, bytes, bytes.count) == bytes.count)
        return descriptor
    }
}
