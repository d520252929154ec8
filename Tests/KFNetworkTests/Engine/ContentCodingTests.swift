import KFNetwork
import Support
import Testing

@Suite("Content codings", .bounded)
struct ContentCodingTests {
    private static let text = String(repeating: "not asked for, and sent all the same; ", count: 20_000)

    private func fetch(
        _ coding: String, _ body: [UInt8], pieces: Int = 1, _ adjust: (inout TransferRequest) -> Void = { _ in }
    ) async throws -> Fetched {
        let head = "HTTP/1.1 200 OK\r\nContent-Encoding: \(coding)\r\nContent-Length: \(body.count)\r\n\r\n"
        var steps = [FaultStep.text(head)]
        let size = max(1, body.count / pieces)
        for start in stride(from: 0, to: body.count, by: size) {
            steps.append(.send(Array(body[start..<min(body.count, start + size)])))
            if pieces > 1 { steps.append(.pause(.milliseconds(1))) }
        }
        let server = try FaultServer { [steps] _ in steps }
        defer { server.stop() }
        return await KFNetworkTests.fetch(server.url("/image.png"), adjust)
    }

    @Test("Only the identity coding is requested by default") func request() async throws {
        let server = try FaultServer { _ in [.reply()] }
        _ = await KFNetworkTests.fetch(server.url())
        _ = await KFNetworkTests.fetch(server.url()) { $0.headers = [("accept-encoding", "br")] }
        #expect(server.requests.map { $0.header("Accept-Encoding") } == ["identity", "br"])
        #expect(server.requests[1].headers.count { $0.lowercased().hasPrefix("accept-encoding") } == 1)
    }

    @Test(
        "A gzip or deflate body is decoded",
        arguments: [
            ("gzip", Packed.gzip), ("x-gzip", Packed.gzip), ("GZip", Packed.gzip), ("identity, gzip", Packed.gzip),
            ("deflate", Packed.zlib), ("deflate", Packed.deflate),
        ] as [(String, @Sendable ([UInt8]) -> [UInt8])], [1, 7])
    func decoded(_ coding: (name: String, pack: @Sendable ([UInt8]) -> [UInt8]), _ pieces: Int) async throws {
        let fetched = try await fetch(coding.name, coding.pack(Array(Self.text.utf8)), pieces: pieces)
        #expect(fetched.error == nil)
        #expect(fetched.body == Self.text)
    }

    @Test("The members of a gzip body are joined") func members() async throws {
        let body = Packed.gzip(Array("one ".utf8)) + Packed.gzip(Array("two".utf8)) + [0, 0, 0, 0]
        #expect(try await fetch("gzip", body).body == "one two")
    }

    @Test("A gzip bomb ends at the size limit") func bomb() async throws {
        let bomb = Packed.gzip([UInt8](repeating: 0, count: 64 << 20))
        #expect(bomb.count < 100_000)
        let fetched = try await fetch("gzip", bomb) { $0.options.maxBytes = 1 << 20 }
        #expect(fetched.error == .tooLarge(limit: 1 << 20))
        #expect(fetched.sink.byteCount <= 1 << 20)
    }

    @Test("A damaged gzip body is refused") func damage() async throws {
        let whole = Packed.gzip(Array(Self.text.utf8))
        var damaged = whole
        damaged[whole.count - 6] ^= 0xff
        for body in [Array(whole.dropLast(9)), Array(whole.prefix(12)), damaged] {
            #expect(try await fetch("gzip", body).failure == "encodingDamaged", "\(body.count) bytes")
        }
    }

    @Test("A body in an unknown coding arrives unchanged") func asItIs() async throws {
        for coding in ["gzip", "br", "rot13", "gzip, br"] {
            #expect(try await fetch(coding, Array("hello".utf8)).body == "hello")
        }
        #expect(try await fetch("gzip", [0x1f]).sink.byteCount == 1)
        #expect(try await fetch("gzip", []).sink.byteCount == 0)
    }
}
