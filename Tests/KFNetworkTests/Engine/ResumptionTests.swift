import KFNetwork
import Support
import Testing

@Suite("Conditional requests and resumption", .bounded)
struct ResumptionTests {
    private static let date = "Sun, 06 Nov 1994 08:49:37 GMT"

    private func resume(
        _ steps: FaultStep..., total: Int64? = 10, validator: String = "\"tag\"", contentType: String? = "image/png",
        location: String? = nil
    ) async throws -> Fetched {
        let server = try FaultServer { _ in steps }
        defer { server.stop() }
        let fetched = await fetch(server.url()) {
            $0.resumption = .init(
                offset: 5, validator: validator, location: location ?? server.url(), contentType: contentType,
                total: total)
        }
        #expect(server.requests.first?.header("Range") == "bytes=5-")
        #expect(server.requests.first?.header("If-Range") == validator)
        return fetched
    }

    private func part(_ headers: String..., body: String = "hello") -> FaultStep {
        .reply("206 Partial Content", headers: headers, body: Array(body.utf8))
    }

    private func expectRefusal(_ fetched: Fetched, _ comment: String) {
        #expect(fetched.failure == "badHeaders", "\(fetched.result)")
        #expect(fetched.sink.heads.isEmpty, "\(comment)")
    }

    @Test("The rest of an unchanged body is accepted") func restArrives() async throws {
        let range = "Content-Range: bytes 5-9/10"
        for step in [
            part("ETag: \"tag\"", "Content-Type: image/png", range), part("ETag: \"tag\"", range),
            part("ETag: \"tag\"", "Content-Range: bytes 5-9/*"),
            .text(
                "HTTP/1.1 206 Partial Content\r\nETag: \"tag\"\r\n\(range)\r\nTransfer-Encoding: chunked\r\n\r\n"
                    + "5\r\nhello\r\n0\r\n\r\n"),
        ] {
            let fetched = try await resume(step)
            #expect(fetched.body == "hello")
            #expect(fetched.head?.status == 206)
            #expect(fetched.head?.contentLength == 5)
        }
        #expect(try await resume(part("ETag: \"tag\"", range), total: nil).body == "hello")
        let dated = part("Last-Modified: \(Self.date)", range)
        #expect(try await resume(dated, validator: Self.date).body == "hello")
    }

    @Test("A changed body arrives whole") func changed() async throws {
        let fetched = try await resume(.reply(body: Array("0123456789".utf8)))
        #expect(fetched.body == "0123456789")
        #expect(fetched.head?.status == 200)
    }

    @Test(
        "A range that does not continue the body is refused",
        arguments: [
            "bytes 4-8/10", "bytes 5-9/11", "bytes 5-8/10", "bytes 5-9/5", "bytes */10", "bytes 9-5/10",
            "chars 5-9/10", "5-9", "bytes 5-8/*", "bytes 5-9/10, bytes 5-9/10", "bytes 05-9/10x", "",
        ])
    func wrongRange(_ range: String) async throws {
        expectRefusal(try await resume(part("ETag: \"tag\"", "Content-Range: \(range)")), range)
    }

    @Test("A missing, repeated or open range is refused") func noRange() async throws {
        let range = "Content-Range: bytes 5-9/10"
        expectRefusal(try await resume(part("ETag: \"tag\"")), "none")
        expectRefusal(try await resume(part("ETag: \"tag\"", range, range)), "two")
        let unknown = part("ETag: \"tag\"", "Content-Range: bytes 5-9/*")
        expectRefusal(try await resume(unknown, total: nil), "no total")
    }

    @Test(
        "A part with another ETag is refused",
        arguments: [
            [], ["ETag: \"other\""], ["ETag: W/\"tag\""], ["ETag: tag"], ["ETag: \"TAG\""],
            ["ETag: \"tag\"", "ETag: \"tag\""], ["Last-Modified: Sun, 06 Nov 1994 08:49:37 GMT"],
        ])
    func wrongTag(_ headers: [String]) async throws {
        let step = FaultStep.reply("206 Partial Content", headers: headers + ["Content-Range: bytes 5-9/10"])
        expectRefusal(try await resume(step), "\(headers)")
    }

    @Test(
        "A part with another date is refused",
        arguments: [
            [], ["Last-Modified: Sun, 06 Nov 1994 08:49:38 GMT"],
            ["Last-Modified: Sun, 06 Nov 1994 08:49:37 GMT", "ETag: \"tag\""],
        ])
    func wrongDate(_ headers: [String]) async throws {
        let step = FaultStep.reply("206 Partial Content", headers: headers + ["Content-Range: bytes 5-9/10"])
        expectRefusal(try await resume(step, validator: Self.date), "\(headers)")
    }

    @Test(
        "A part of another media type is refused",
        arguments: ["image/jpeg", "multipart/byteranges; boundary=x", "image/png; charset=x"])
    func wrongType(_ type: String) async throws {
        let step = part("ETag: \"tag\"", "Content-Range: bytes 5-9/10", "Content-Type: \(type)")
        expectRefusal(try await resume(step), type)
        expectRefusal(try await resume(step, contentType: nil), type)
        if type.hasPrefix("multipart") { expectRefusal(try await resume(step, contentType: type), type) }
    }

    @Test("A part in another encoding is refused") func encoded() async throws {
        let step = part("ETag: \"tag\"", "Content-Range: bytes 5-9/10", "Content-Encoding: gzip")
        #expect(try await resume(step).error == .contentEncoding("gzip"))
    }

    @Test("A range is requested only from the first part's URL", arguments: ["/a", "/b", "/latest"])
    func elsewhere(_ place: String) async throws {
        let server = try FaultServer { request in
            request.path == "/latest" ? [.reply("302 Found", headers: ["Location: /b"])] : [.reply()]
        }
        let fetched = await fetch(server.url("/latest")) {
            $0.resumption = .init(
                offset: 5, validator: "\"tag\"", location: server.url(place), contentType: nil, total: nil)
        }
        #expect(fetched.body == "hello")
        #expect(server.requests.map { $0.header("Range") != nil } == [place == "/latest", place == "/b"])
        #expect(server.requests.map { $0.header("If-Range") != nil } == [place == "/latest", place == "/b"])
    }

    @Test("A condition is sent only to its own URL", arguments: ["/a", "/b", "/latest"])
    func conditionElsewhere(_ place: String) async throws {
        let server = try FaultServer { request in
            if request.path == "/latest" { return [.reply("302 Found", headers: ["Location: /b"])] }
            return request.header("If-None-Match") == nil ? [.reply()] : [.head("HTTP/1.1 304 Not Modified")]
        }
        let url = server.url(place)
        let fetched = await fetch(server.url("/latest")) {
            $0.condition = .init(headers: [("If-None-Match", "\"x\"")]) { target, _ in target == url }
        }
        #expect(fetched.head?.status == (place == "/b" ? 304 : 200))
        #expect(server.requests.map { $0.header("If-None-Match") != nil } == [place == "/latest", place == "/b"])
    }

    @Test("A 304 without a condition is an error") func unasked() async throws {
        let fetched = try await fetch(from: .head("HTTP/1.1 304 Not Modified")) {
            $0.condition = .init(headers: [("If-None-Match", "\"x\"")]) { _, _ in false }
        }
        #expect(fetched.error == .unexpectedStatus(304))
    }

    @Test("A part of another length is an error", arguments: ["hell", "hello!"])
    func chunks(_ body: String) async throws {
        let fetched = try await resume(
            .text(
                "HTTP/1.1 206 Partial Content\r\nETag: \"tag\"\r\nContent-Range: bytes 5-9/10\r\n"
                    + "Transfer-Encoding: chunked\r\n\r\n\(body.utf8.count)\r\n\(body)\r\n0\r\n\r\n"))
        switch fetched.error {
        case .badHeaders, .truncated: break
        default: Issue.record("\(fetched.result)")
        }
        #expect(fetched.body.count <= 5)
    }

    @Test("A 304 answers a condition") func notModified() async throws {
        let fetched = try await fetch(from: .head("HTTP/1.1 304 Not Modified", "ETag: \"x\"")) {
            $0.condition = .init(headers: [("If-None-Match", "\"x\"")])
        }
        #expect(fetched.head?.status == 304)
        #expect(fetched.body.isEmpty)
    }
}
