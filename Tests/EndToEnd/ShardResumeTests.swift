import Foundation
import Support
import Synchronization
import Testing

extension EndToEnd {
    @Suite("Resumed shards")
    struct ShardResumeTests {
        let fixture: DataSet
        private var kf: KFCommand { fixture.kf }

        init() throws { fixture = try DataSet() }

        /// The options of one process in which few items are in flight.
        private func run(_ size: Int, jobs: Int = 4) -> [String] {
            ["prefetch", "list", "--shards", "data", "--shard-size", "\(size)", "-q", "-j", "\(jobs)"]
        }

        @Test("After kills shards are whole and little is fetched again")
        func killed() async throws {
            let server = try fixture.server(pause: .milliseconds(2))
            let (count, size, jobs) = (120, 10, 4)
            try fixture.write((0..<count).map { server.url("/\($0)") })
            var (kills, before, stored) = (0, 0, Set<String>())
            var isOver = false
            while !isOver {
                let run = try kf.start(run(size, jobs: jobs))
                // Fewer than the kills that let a run end by itself when each of them comes early.
                if kills < 12 {
                    try await Task.sleep(for: .milliseconds(Int.random(in: 5...120)))
                    run.signal(SIGKILL, group: true)
                }
                let result = try await run.wait()
                isOver = result.status == 0
                try #require(isOver || result.status == 128 + SIGKILL, "\(result)")
                if !isOver { kills += 1 }
                let shards =
                    try FileManager.default.fileExists(atPath: kf.home.path("data").path)
                    ? await fixture.shards() : [:]
                // What the cache had before this run was in no run's flight.
                let asked = server.requests.map(\.path)
                try #require(stored.isDisjoint(with: asked[before...]))
                before = asked.count
                let lines = try await kf.run("prefetch", "list", "--dry-run").outputLines
                stored = Set(
                    lines.filter { $0.hasPrefix("hit\t") }.map { String($0.dropFirst(4 + server.url("").count)) })
                for (name, shard) in shards {
                    let number = try #require(Int(name))
                    let expected = (0..<size).map { server.url("/\(number * size + $0)") }
                    try #require(shard.values("source") == expected, "\(name)")
                    try #require(shard.samples.count == size, "\(name)")
                }
            }
            let shards = try await fixture.shards()
            #expect(shards.count == count / size)
            for shard in shards.values {
                for sample in shard.samples {
                    let row = try #require(sample["json"] as? [String: Any])
                    #expect(sample["png"] as? String == row["sha256"] as? String)
                }
            }
            #expect(fixture.names().allSatisfy { !$0.hasPrefix(".0") }, "\(fixture.names())")
            #expect(stored.count == count && kills > 0)
        }

        @Test(
            "After a kill at any call the next run completes",
            .enabled("strace cannot trace here") { await SystemCalls.areTraceable() })
        func killedAtCalls() async throws {
            for name in 0..<3 { try kf.home.write("p\(name).png", Data(fixture.picture("\(name)"))) }
            try fixture.write((0..<3).map { kf.home.path("p\($0).png").path })
            let command = run(2) + ["--allow-local", "--fsync"]
            let data = kf.home.path("data")
            var kills = 0
            for call in ["renameat", "ftruncate", "fsync", "write", "unlinkat", "mkdir"] {
                for number in 1...50 {
                    try fixture.remove("data")
                    let killed = try await fixture.run(command, killedAt: call, number, shards: 2)
                    if killed.status == 0 { break }
                    try #require(killed.status == 128 + SIGKILL, "\(killed)")
                    kills += 1
                    if FileManager.default.fileExists(atPath: data.path) { _ = try await fixture.shards() }
                    let again = try await kf.run(command)
                    try #require(again.status == 0, "\(call) \(number): \(again)")
                    try #require(
                        try await fixture.shards().mapValues(\.samples.count) == ["00000": 2, "00001": 1])
                    try #require(fixture.names().count == 7, "\(call) \(number): \(fixture.names())")
                }
            }
            #expect(kills > 10, "\(kills)")
        }

        @Test("An interrupted run publishes only whole shards")
        func interrupted() async throws {
            let server = try fixture.server(pause: .milliseconds(5))
            try fixture.write((0..<60).map { server.url("/\($0)") })
            let first = try kf.start(run(25, jobs: 2))
            #expect(await eventually { server.requests.count > 30 })
            first.signal(SIGINT)
            let result = try await first.wait()
            #expect(result.status == 130, "\(result)")
            #expect(try await fixture.shards().values.allSatisfy { $0.rows.count == 25 })
            #expect(fixture.names().allSatisfy { !$0.hasPrefix(".0") && !$0.contains("00002") }, "\(fixture.names())")
            #expect(try await kf.run(run(25)).status == 0)
            let shards = try await fixture.shards()
            #expect(shards.mapValues(\.rows.count) == ["00000": 25, "00001": 25, "00002": 10])
            #expect(server.requests.count == 60)
        }

        @Test("A hanging item delays only its own shard")
        func hanging() async throws {
            let gate = Gate()
            defer { gate.open() }
            let server = try FaultServer { [fixture] request in
                if request.path == "/0" { gate.wait() }
                return [.reply(body: fixture.picture(request.path))]
            }
            try fixture.write((0..<200).map { server.url("/\($0)") })
            let run = try kf.start(run(10))
            let others = (1..<20).map { String(format: "%05d.tar", $0) }
            #expect(await eventually { Set(others).isSubset(of: fixture.names()) }, "\(fixture.names())")
            #expect(!fixture.names().contains("00000.tar"))
            gate.open()
            #expect(try await run.wait().status == 0)
            #expect(try await fixture.shards().values.allSatisfy { $0.rows.count == 10 && $0.samples.count == 10 })
        }

        @Test("More open shards than descriptors are possible")
        func descriptors() async throws {
            let server = try fixture.server()
            try fixture.write((0..<300).map { server.url("/\($0)") })
            let result = try await kf.run(run(3, jobs: 64), under: "prlimit", "--nofile=100")
            #expect(result.status == 0, "\(result)")
            #expect(try await fixture.shards().count == 100)
        }

        @Test("A truncated list leaves out the shards behind it")
        func brokenList() async throws {
            let server = try fixture.server()
            let urls = (0..<25).map { server.url("/\($0)") }
            var packed = Packed.gzip(Array(fixture.list(urls)))
            let whole = packed
            packed.removeLast(12)
            try kf.home.write("a.gz", Data(packed))
            try kf.home.write(
                "b", String(decoding: fixture.list((0..<20).map { server.url("/b\($0)") }), as: UTF8.self))
            let options = ["prefetch", "a.gz", "b", "--shards", "data", "--shard-size", "10", "-q"]
            let broken = try await kf.run(options)
            #expect(broken.status == 2, "\(broken)")
            #expect(!fixture.names().contains("00002.tar"), "\(fixture.names())")
            try kf.home.write("a.gz", Data(whole))
            #expect(try await kf.run(options).status == 0)
            #expect(try await fixture.shards().mapValues(\.rows.count)["00004"] == 5)
        }

        @Test("An image of 60 MB is written in pieces")
        func large() async throws {
            let size = 60 << 20
            let server = try FaultServer { [fixture] request in
                if request.path == "/small" { return [.reply(body: fixture.picture("small"))] }
                // The first bytes of JPEG 2000, which is not decoded.
                let start: [UInt8] = [0xFF, 0x4F, 0xFF, 0x51]
                return [.head("HTTP/1.1 200 OK", "Content-Length: \(size)"), .send(start), .zeros(size - 4)]
            }
            func peak(_ name: String) async throws -> Int {
                let list = fixture.list((0..<3).map { server.url("/\(name)?\($0)") })
                let result = try await kf.run("prefetch", "-", "-j", "1", "--shards", name, input: list)
                #expect(result.status == 0, "\(result)")
                return result.peakMemory
            }
            let (small, large) = (try await peak("small"), try await peak("large"))
            // The check of an arriving file maps it, and counts its pages until they are released. The next file arrives
            // meanwhile.
            #expect(large - small < 140 << 20, "\(small >> 20) MiB and \(large >> 20) MiB")
            #expect(try await fixture.shards("large")["00000"]?.samples.count == 3)
        }

        @Test(
            "A full disk leaves no truncated shard",
            .enabled("no mounts here") { await MountedCache.isPossible() })
        func fullDisk() async throws {
            for name in 0..<60 { try kf.home.write("p\(name).png", Data(fixture.picture("\(name)"))) }
            try fixture.write((0..<60).map { kf.home.path("p\($0).png").path })
            let result = try await MountedCache(kf: kf).run(
                """
                cd $H; mkdir data; mount -t tmpfs -o size=640k none data
                run="prefetch list --allow-local -q --shards data --shard-size 10"
                fails 3 kf $run 2>words
                cat words; [ $(wc -l <words) = 1 ]; grep -q 'data/0000[0-9].*No space left' words
                python3 '\(PackageRoot.url.path)/Tests/EndToEnd/shards.py' data >/dev/null
                ls -A data; [ $(ls data | grep -c tar) -lt 6 ]; [ -z "$(ls -A data | grep '^[.]0')" ]
                mount -o remount,size=8m data
                kf $run
                python3 '\(PackageRoot.url.path)/Tests/EndToEnd/shards.py' data >read
                [ $(ls data | grep -c tar) = 6 ]
                """)
            #expect(result.status == 0, "\(result)")
        }

        @Test("Images evicted at once are still written")
        func evicted() async throws {
            let server = try fixture.server()
            try fixture.write((0..<100).map { server.url("/\($0)") })
            let result = try await kf.run(run(50) + ["--max-size", "100k"])
            #expect(result.status == 0, "\(result)")
            #expect(try await fixture.shards().values.allSatisfy { $0.samples.count == 50 })
        }

        @Test("Without libarchive a message names the package")
        func missingLibrary() async throws {
            let server = try fixture.server()
            try fixture.write([server.url("/a")])
            let result = try await kf.lacking("libarchive.so.13").run(run(10))
            #expect(result.status == 3 && result.errors.contains("libarchive13"), "\(result)")
            #expect(server.requests.isEmpty && !FileManager.default.fileExists(atPath: kf.home.path("data").path))
        }
    }
}
