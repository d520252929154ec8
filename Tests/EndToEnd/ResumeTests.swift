import Foundation
import Support
import Synchronization
import Testing

@Suite("Resumed downloads", .bounded, .ownThread) struct ResumeTests {
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
        var bytes = try FixturesDirectory.bytes("png/rgb.png")
        // A private chunk that decoders skip, ahead of IEND.
        let end = bytes.count - 12
        var chunk = [UInt8](repeating: 0, count: 2 << 20)
        for index in chunk.indices { chunk[index] = UInt8(truncatingIfNeeded: (index &* 31 ^ index >> 7) &+ seed) }
        bytes.insert(contentsOf: PNGChunk.bytes("teSt", chunk), at: end)
        return bytes
    }

    /// Answers ranges, and breaks off after `limit` bytes as long as `breaks` says so.
    private static func server(
        _ body: [UInt8], limit: Int, breaks: @escaping @Sendable (Int) -> Bool
    ) throws -> FaultServer {
        let count = Atomic(0)
        return try FaultServer { request in
            let number = count.add(1, ordering: .relaxed).oldValue
            let start = request.header("If-Range") == "\"1\"" ? request.start : 0
            var head = ["HTTP/1.1 \(start > 0 ? "206 Partial Content" : "200 OK")", "ETag: \"1\""]
            if start > 0 { head.append("Content-Range: bytes \(start)-\(body.count - 1)/\(body.count)") }
            head.append("Content-Length: \(body.count - start)")
            guard breaks(number) else { return [.raw(head, body[start...])] }
            return [.raw(head, body[start..<min(body.count, start + limit)]), .pause(.milliseconds(50)), .close]
        }
    }

    private let kf: KFCommand
    private let body: [UInt8]

    init() throws {
        kf = try KFCommand()
        body = try Self.large()
    }

    @Test("A retry resumes a broken download")
    func retries() async throws {
        let server = try Self.server(body, limit: 600_000) { $0 < 3 }
        let result = try await kf.run(
            "fetch", server.url("/a.png"), "--retry", "5", "--retry-delay", "1ms", "-o", "a.png")
        #expect(try result.status == 0 && kf.contents("a.png") == Data(body))
        let starts = server.requests.map(\.start)
        #expect(starts.count == 4 && starts[0] == 0 && starts == starts.sorted() && starts[1] > 256 << 10)
        #expect(kf.leftovers().isEmpty)
    }

    @Test("The next run resumes a broken download")
    func nextRun() async throws {
        let server = try Self.server(body, limit: 900_000) { $0 == 0 }
        #expect(try await kf.run("fetch", server.url("/a.png"), "--retry", "0").status == 1)
        #expect(kf.leftovers().count == 2)
        #expect(try await kf.run("fetch", server.url("/a.png"), "-o", "a.png").status == 0)
        #expect(try kf.contents("a.png") == Data(body))
        #expect(server.requests[1].header("Range") == "bytes=900000-")
        #expect(server.requests[1].header("If-Range") == "\"1\"")
        #expect(kf.leftovers().isEmpty)
    }

    @Test("A download resumes after kill -9")
    func killed() async throws {
        let first = FaultStep.cut(body, at: 1_000_000, "ETag: \"1\"", then: .hold)
        let server = try FaultServer.answering(first: first) { [body] in [.rest(body, of: $0, "ETag: \"1\"")] }
        let running = try kf.start(["fetch", server.url("/a.png")])
        #expect(await eventually { partialSize >= 500_000 })
        running.signal(SIGKILL)
        _ = try await running.wait()
        #expect(partialSize >= 500_000)
        #expect(try await kf.run("fetch", server.url("/a.png"), "-o", "a.png").status == 0)
        #expect(try kf.contents("a.png") == Data(body))
        #expect(server.requests[1].header("Range") != nil)
        #expect(kf.leftovers().isEmpty)
    }

    @Test("A changed image is downloaded from the start")
    func changed() async throws {
        let small = try FixturesDirectory.bytes("png/grey.png")
        let server = try FaultServer.answering(first: FaultStep.cut(body, "ETag: \"1\"")) { _ in
            [.reply(headers: ["ETag: \"2\""], body: small)]
        }
        let result = try await kf.run(
            "fetch", server.url("/a.png"), "--retry", "1", "--retry-delay", "1ms", "-o", "a.png")
        #expect(try result.status == 0 && kf.contents("a.png") == Data(small))
        #expect(kf.leftovers().isEmpty)
    }

    private var partialSize: Int {
        let path = kf.cacheDirectory.appendingPathComponent("v1/partial").path
        let names = (try? FileManager.default.contentsOfDirectory(atPath: path)) ?? []
        return names.compactMap { name in
            (try? FileManager.default.attributesOfItem(atPath: "\(path)/\(name)"))?[.size] as? Int
        }.max() ?? 0
    }
}
