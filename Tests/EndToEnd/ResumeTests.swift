import Foundation
import Support
import Synchronization
import Testing

@Suite("A large body that broke off goes on where it ended", .bounded, .ownThread) struct ResumeTests {
    private static let bodies = Mutex<[Int: [UInt8]]>([:])

    /// A valid PNG of two megabytes; those of different seeds are equally long.
    static func large(_ seed: Int = 0) throws -> [UInt8] {
        try bodies.withLock { bodies in
            if let made = bodies[seed] { return made }
            let made = try make(seed)
            bodies[seed] = made
            return made
        }
    }

    private static func make(_ seed: Int) throws -> [UInt8] {
        var bytes = [UInt8](try Data(contentsOf: FixturesDirectory.url.appendingPathComponent("png/rgb.png")))
        // A private chunk that decoders skip, ahead of IEND.
        let end = bytes.count - 12
        var chunk = [UInt8](repeating: 0, count: 2 << 20)
        for index in chunk.indices { chunk[index] = UInt8(truncatingIfNeeded: (index &* 31 ^ index >> 7) &+ seed) }
        bytes.insert(contentsOf: PNGChunk.bytes("teSt", chunk), at: end)
        return bytes
    }

    /// Answers ranges, and breaks off after `limit` bytes as long as `breaks` says so.
    private static func server(
        _ body: [UInt8], validator: String = "ETag: \"1\"", limit: Int, breaks: @escaping @Sendable (Int) -> Bool
    ) throws -> FaultServer {
        let count = Atomic(0)
        return try FaultServer { request in
            let number = count.add(1, ordering: .relaxed).oldValue
            var start = 0
            var head = ["HTTP/1.1 200 OK", validator]
            if let range = request.header("Range"), validator.hasSuffix(request.header("If-Range") ?? "?") {
                start = Int(range.dropFirst("bytes=".count).dropLast()) ?? 0
                head[0] = "HTTP/1.1 206 Partial Content"
                head.append("Content-Range: bytes \(start)-\(body.count - 1)/\(body.count)")
            }
            head += ["Content-Length: \(body.count - start)", "", ""]
            let bytes = Array(head.joined(separator: "\r\n").utf8)
            guard breaks(number) else { return [.send(bytes + body[start...])] }
            return [.send(bytes + body[start..<min(body.count, start + limit)]), .pause(.milliseconds(50)), .close]
        }
    }

    @Test("Through several interruptions, within one run")
    func retries() async throws {
        let kf = try KFCommand()
        let body = try Self.large()
        let server = try Self.server(body, limit: 600_000) { $0 < 3 }
        let result = try await kf.run(
            "fetch", server.url("/a.png"), "--retry", "5", "--retry-delay", "1ms", "-o", "a.png")
        #expect(result.status == 0)
        #expect(try Data(contentsOf: kf.home.path("a.png")) == Data(body))
        let ranges = server.requests.map { $0.header("Range") }
        #expect(ranges[0] == nil)
        #expect(ranges.count == 4)
        let starts = ranges.dropFirst().map { Int($0?.dropFirst(6).dropLast() ?? "") ?? 0 }
        #expect(starts == starts.sorted() && starts[0] > 256 << 10)
        #expect(kf.leftovers().isEmpty)
    }

    @Test("In the next run")
    func nextRun() async throws {
        let kf = try KFCommand()
        let body = try Self.large()
        let server = try Self.server(body, limit: 900_000) { $0 == 0 }
        #expect(try await kf.run("fetch", server.url("/a.png"), "--retry", "0").status == 1)
        #expect(kf.leftovers().count == 2)
        #expect(try await kf.run("fetch", server.url("/a.png"), "-o", "a.png").status == 0)
        #expect(try Data(contentsOf: kf.home.path("a.png")) == Data(body))
        #expect(server.requests[1].header("Range") == "bytes=900000-")
        #expect(server.requests[1].header("If-Range") == "\"1\"")
        #expect(kf.leftovers().isEmpty)
    }

    @Test("After kill -9")
    func killed() async throws {
        let kf = try KFCommand()
        let body = try Self.large()
        let isFirst = Atomic(true)
        let server = try FaultServer { request in
            if isFirst.exchange(false, ordering: .relaxed) {
                let head = "HTTP/1.1 200 OK\r\nETag: \"1\"\r\nContent-Length: \(body.count)\r\n\r\n"
                return [.send(Array(head.utf8) + body[..<1_000_000]), .hold]
            }
            let start = Int(request.header("Range")?.dropFirst(6).dropLast() ?? "") ?? 0
            return [
                .head(
                    "HTTP/1.1 206 Partial Content", "ETag: \"1\"", "Content-Length: \(body.count - start)",
                    "Content-Range: bytes \(start)-\(body.count - 1)/\(body.count)"),
                .send(Array(body[start...])),
            ]
        }
        let running = try kf.start(["fetch", server.url("/a.png")])
        for _ in 0..<500 where partialSize(kf) < 500_000 { usleep(10_000) }
        running.signal(SIGKILL)
        _ = try await running.wait()
        #expect(partialSize(kf) >= 500_000)
        #expect(try await kf.run("fetch", server.url("/a.png"), "-o", "a.png").status == 0)
        #expect(try Data(contentsOf: kf.home.path("a.png")) == Data(body))
        #expect(server.requests[1].header("Range") != nil)
        #expect(kf.leftovers().isEmpty)
    }

    @Test("Not with a weak tag: it comes from the start")
    func weak() async throws {
        let kf = try KFCommand()
        let body = try Self.large()
        let server = try Self.server(body, validator: "ETag: W/\"1\"", limit: 900_000) { $0 == 0 }
        #expect(try await kf.run("fetch", server.url("/a.png"), "--retry", "1", "--retry-delay", "1ms").status == 0)
        #expect(server.requests.map { $0.header("Range") } == [nil, nil])
    }

    @Test("A body that has changed meanwhile comes whole")
    func changed() async throws {
        let kf = try KFCommand()
        let body = try Self.large()
        let small = [UInt8](try Data(contentsOf: FixturesDirectory.url.appendingPathComponent("png/grey.png")))
        let first = Atomic(true)
        let server = try FaultServer { _ in
            if first.exchange(false, ordering: .relaxed) {
                let head = "HTTP/1.1 200 OK\r\nETag: \"1\"\r\nContent-Length: \(body.count)\r\n\r\n"
                return [.send(Array(head.utf8) + body[..<900_000]), .close]
            }
            return [.reply(headers: ["ETag: \"2\""], body: small)]
        }
        let result = try await kf.run(
            "fetch", server.url("/a.png"), "--retry", "1", "--retry-delay", "1ms", "-o", "a.png")
        #expect(result.status == 0)
        #expect(try Data(contentsOf: kf.home.path("a.png")) == Data(small))
        #expect(kf.leftovers().isEmpty)
    }

    @Test(
        "A range that is not what was asked for: from the start",
        arguments: [
            "HTTP/1.1 206 Partial Content\r\nETag: \"1\"\r\nContent-Range: bytes 0-9/10\r\nContent-Length: 10\r\n\r\n0123456789",
            "HTTP/1.1 416 Range Not Satisfiable\r\nContent-Length: 0\r\n\r\n",
        ])
    func wrongRange(_ answer: String) async throws {
        let kf = try KFCommand()
        let body = try Self.large()
        let count = Atomic(0)
        let server = try FaultServer { request in
            let number = count.add(1, ordering: .relaxed).oldValue
            if request.header("Range") != nil { return [.text(answer), .close] }
            let head = "HTTP/1.1 200 OK\r\nETag: \"1\"\r\nContent-Length: \(body.count)\r\n\r\n"
            return [.send(Array(head.utf8) + body[..<(number == 0 ? 900_000 : body.count)]), .close]
        }
        let result = try await kf.run(
            "fetch", server.url("/a.png"), "--retry", "1", "--retry-delay", "1ms", "-o", "a.png")
        #expect(result.status == 0)
        #expect(try Data(contentsOf: kf.home.path("a.png")) == Data(body))
        #expect(server.requests.map { $0.header("Range") != nil } == [false, true, false])
    }

    private func partialSize(_ kf: KFCommand) -> Int {
        let path = kf.cacheDirectory.appendingPathComponent("v1/partial").path
        let names = (try? FileManager.default.contentsOfDirectory(atPath: path)) ?? []
        return names.compactMap { name in
            (try? FileManager.default.attributesOfItem(atPath: "\(path)/\(name)"))?[.size] as? Int
        }.max() ?? 0
    }
}
