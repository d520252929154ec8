import Foundation
import Support
import Testing

/// An origin of small images that counts its requests, and machines with an empty cache each.
struct RemoteFleet {
    /// The figures of a run's remotes, as the summary of `--json` has them.
    struct Counts: Equatable {
        var hits = 0
        var misses = 0
        var errors = 0
        var uploaded = 0
        var dropped = 0
        var retried = 0
    }

    struct Outcome {
        let result: CommandResult
        let items: [ItemReport]
        let remote: Counts
        /// Requests that this run made to the origin.
        let asked: Int

        var ways: [String: Int] { items.reduce(into: [:]) { $0[$1.status, default: 0] += 1 } }

        /// The lines on standard error that speak of a remote.
        var warnings: [String] { result.errorLines.filter { $0.contains("remote") } }
    }

    let origin: FaultServer
    let count: Int
    private let start: [UInt8]
    private let end: [UInt8]

    init(images count: Int = 6) throws {
        self.count = count
        let bytes = try FixturesDirectory.bytes("png/grey.png")
        // The last twelve bytes are IEND.
        let (start, end) = (Array(bytes.dropLast(12)), Array(bytes.suffix(12)))
        (self.start, self.end) = (start, end)
        origin = try FaultServer { request in
            let number = request.path.dropFirst().prefix { $0 != "." }
            return [.reply(body: Self.picture(String(number), start, end))]
        }
    }

    private static func picture(_ number: String, _ start: [UInt8], _ end: [UInt8]) -> [UInt8] {
        start + PNGChunk.bytes("tEXt", Array("Title\0\(number)".utf8)) + end
    }

    /// The bytes of an image: each has its own.
    func picture(_ number: Int) -> [UInt8] { Self.picture(String(number), start, end) }

    func url(_ number: Int) -> String { origin.url("/\(number).png") }

    /// A command with an empty cache and without retries.
    func machine(_ environment: [String: String] = [:]) throws -> KFCommand {
        try .withoutRetries().with(environment)
    }

    /// Prefetches all images and checks each that came byte for byte: whatever a remote does, none is wrong.
    func prefetch(
        by kf: KFCommand, _ options: String..., timeout: Duration = .seconds(100),
        sourceLocation: SourceLocation = #_sourceLocation
    ) async throws -> Outcome {
        try await prefetch(by: kf, options, timeout: timeout, sourceLocation: sourceLocation)
    }

    /// Prefetches all images on a machine with an empty cache that reads and writes the remote; all must come.
    func write(_ remote: RemoteFaultServer, sourceLocation: SourceLocation = #_sourceLocation) async throws -> Outcome {
        try await read(remote, "--remote-write", sourceLocation: sourceLocation)
    }

    /// Prefetches all images on a machine with an empty cache that reads the remote; all must come.
    func read(
        _ remote: RemoteFaultServer, _ options: String..., sourceLocation: SourceLocation = #_sourceLocation
    ) async throws -> Outcome {
        let outcome = try await prefetch(
            by: machine(), ["--remote", remote.url("/base")] + options, sourceLocation: sourceLocation)
        expectAll(outcome, sourceLocation: sourceLocation)
        return outcome
    }

    func prefetch(
        by kf: KFCommand, _ options: [String], timeout: Duration = .seconds(100),
        sourceLocation: SourceLocation = #_sourceLocation
    ) async throws -> Outcome {
        let before = origin.requests.count
        let list = Data((0..<count).map { url($0) + "\n" }.joined().utf8)
        let result = try await kf.run(["prefetch", "--json"] + options + ["-"], input: list, timeout: timeout)
        let items = try result.items()
        for item in items where item.path != nil {
            let path = try #require(item.path)
            let number = try #require(Int(item.source.split(separator: "/").last?.prefix { $0 != "." } ?? ""))
            let bytes = [UInt8](try Data(contentsOf: URL(fileURLWithPath: path)))
            #expect(
                PatternedBytes.areEqual(bytes, picture(number)), "\(item.source) is wrong",
                sourceLocation: sourceLocation)
        }
        let summary = try #require(try result.objects().last { $0["summary"] as? Bool == true }, "\(result)")
        var counts = Counts()
        if let said = summary["remote"] as? [String: Int] {
            counts = Counts(
                hits: said["hits"] ?? -1, misses: said["misses"] ?? -1, errors: said["errors"] ?? -1,
                uploaded: said["uploaded"] ?? -1, dropped: said["dropped"] ?? -1, retried: said["retried"] ?? -1)
        }
        return Outcome(result: result, items: items, remote: counts, asked: origin.requests.count - before)
    }

    /// Every image came, and the exit status is that of a run without a remote.
    func expectAll(_ outcome: Outcome, sourceLocation: SourceLocation = #_sourceLocation) {
        #expect(outcome.result.status == 0, "\(outcome.result)", sourceLocation: sourceLocation)
        #expect(outcome.items.count { $0.path != nil } == count, "\(outcome.ways)", sourceLocation: sourceLocation)
    }

    /// One machine fetches from the origin and stores all in the remote.
    func warm(_ remote: RemoteFaultServer, sourceLocation: SourceLocation = #_sourceLocation) async throws {
        let outcome = try await write(remote, sourceLocation: sourceLocation)
        try #require(outcome.remote.uploaded > 0, "\(outcome.result)", sourceLocation: sourceLocation)
        let names = remote.tree.files.keys
        #expect(names.count { $0.hasPrefix("/base/kf1/ac/") } == count, "\(names)", sourceLocation: sourceLocation)
        #expect(names.count { $0.hasPrefix("/base/kf1/cas/") } == count, "\(names)", sourceLocation: sourceLocation)
    }
}
