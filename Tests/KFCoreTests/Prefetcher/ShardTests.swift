import Foundation
import Support
import Testing

@testable import KFCore
@testable import KFLists
@testable import KFPipeline

@Suite("Shards of a run", .bounded)
struct ShardTests {
    private let transport: ScriptedTransport
    private let fixture: ManagerFixture
    private let directory: String

    init() throws {
        let body = try ManagerFixture.fixture("png/rgba.png")
        transport = ScriptedTransport { request, _ in
            request.url.contains("missing") ? .init(status: 404) : .init(body: body)
        }
        fixture = try ManagerFixture(transport: transport)
        directory = fixture.directory.url.appendingPathComponent("data").path
    }

    private func run(_ names: [String], size: Int = 3, part: ListShard? = nil) async throws -> PrefetchReport {
        var configuration = ImagePrefetcher.Configuration()
        configuration.exporter = ShardExporter(
            directory: directory, configuration: .init(names: ShardNames(size: size, part: part))
        ) { outcome, sample in
            let row = "{\"key\":\"\(sample.key)\",\"failed\":\(outcome.error != nil)}"
            return [ShardExporter.Row(line: row, member: row)]
        }
        let prefetcher = ImagePrefetcher(
            manager: fixture.manager, forms: [ManagerFixture.options()], configuration: configuration)
        return await prefetcher.prefetch(try names.map { .network(try RequestURL("http://h/\($0).png")) })
    }

    private func text(_ name: String) throws -> String {
        try String(contentsOfFile: "\(directory)/\(name)", encoding: .utf8)
    }

    private var names: [String] {
        get throws { try FileManager.default.contentsOfDirectory(atPath: directory).sorted() }
    }

    @Test("Shard names have five digits")
    func naming() {
        let names = ShardNames(size: 10_000)
        #expect(names.sample(at: 1) == .init(shard: "00000", key: "000000000"))
        #expect(names.sample(at: 10_013) == .init(shard: "00001", key: "000010012"))
        #expect(ShardNames(size: 1).sample(at: 123_457).key == "1234560")
        let part = ShardNames(size: 100, part: ListShard(index: 3, count: 16))
        #expect(part.sample(at: 201).key == "03-of-16-0000200")
        for name in ["00002", "100000", "000002", "0000x", "", "-0001"] {
            #expect(names.shard(named: name[...]) == ["00002": 2, "100000": 100_000][name], "\(name)")
        }
        #expect(part.shard(named: "03-of-16-00007") == 7 && part.shard(named: "04-of-16-00007") == nil)
        #expect(part.isForeign(manifest: ".kf-shards") && part.isForeign(manifest: ".kf-shards-3-of-8"))
        #expect(!part.isForeign(manifest: ".kf-shards-04-of-16") && !part.isForeign(manifest: ".00000.tar"))
        #expect(names.isForeign(manifest: ".kf-shards-04-of-16") && !names.isForeign(manifest: ".kf-shards"))
    }

    @Test("A repeated run skips finished shards")
    func sources() async throws {
        let sources = ["a", "missing", "c", "d"]
        let report = try await run(sources)
        #expect(report.ending == .finished && report.progress.failed == 1)
        #expect(
            try names == [
                ".kf-shards", "00000.jsonl", "00000.tar", "00000_stats.json", "00001.jsonl", "00001.tar",
                "00001_stats.json",
            ])
        let row = { (key: String, failed: Bool) in "{\"key\":\"\(key)\",\"failed\":\(failed)}\n" }
        #expect(try text("00000.jsonl") == row("000000", false) + row("000001", true) + row("000002", false))
        let asked = transport.requests.count
        let again = try await run(sources)
        #expect(again.progress.exported == 4 && again.progress.skipped == 4, "\(again)")
        #expect(transport.requests.count == asked)
        let changed = try await run(["a", "x", "c", "d"])
        guard case .failed(let error) = changed.ending else {
            Issue.record("\(changed)")
            return
        }
        #expect(error.message.contains("the list has changed"), "\(error)")
    }

    @Test("A run completes the shards of a killed one")
    func killed() async throws {
        let sources = ["a", "b", "c", "d", "e", "f"]
        _ = try await run(sources)
        // The shards end in any order.
        let others = try text(".kf-shards").split(separator: "\n").filter { !$0.hasPrefix("1 ") }.map { $0 + "\n" }
            .joined()
        let tar = try Data(contentsOf: URL(fileURLWithPath: "\(directory)/00001.tar"))
        let file = FileManager.default
        // Before the rename of the archive, of the rows and of the counts; before the manifest's line, and in it.
        let states: [() throws -> Void] = [
            { try file.moveItem(atPath: "\(directory)/00001.tar", toPath: "\(directory)/.00001.tar") },
            { try file.moveItem(atPath: "\(directory)/00001.jsonl", toPath: "\(directory)/.00001.jsonl") },
            {
                try file.moveItem(
                    atPath: "\(directory)/00001_stats.json", toPath: "\(directory)/.00001_stats.json")
            },
            { try others.write(toFile: "\(directory)/.kf-shards", atomically: false, encoding: .utf8) },
            { try (others + "1 6 12ab").write(toFile: "\(directory)/.kf-shards", atomically: false, encoding: .utf8) },
        ]
        for count in 1...states.count {
            for state in states[..<count] { try state() }
            let report = try await run(sources)
            #expect(report.ending == .finished && report.progress.exported == 3, "\(count): \(report)")
            #expect(
                try names == [
                    ".kf-shards", "00000.jsonl", "00000.tar", "00000_stats.json", "00001.jsonl", "00001.tar",
                    "00001_stats.json",
                ])
            #expect(try Data(contentsOf: URL(fileURLWithPath: "\(directory)/00001.tar")).count == tar.count)
            let again = try await run(sources)
            #expect(again.progress.exported == 6, "\(again)")
        }
    }
}
