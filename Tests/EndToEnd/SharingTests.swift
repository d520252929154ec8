import Foundation
import Support
import Testing

extension EndToEnd {
    @Suite("Many processes, and their deaths")
    struct SharingTests {
        let kf: KFCommand

        init() throws { kf = try KFCommand() }

        private func together(_ commands: [[String]]) async throws -> [CommandResult] {
            try await withThrowingTaskGroup(of: (Int, CommandResult).self) { group in
                for (index, arguments) in commands.enumerated() {
                    group.addTask { (index, try await kf.run(arguments)) }
                }
                var results: [(Int, CommandResult)] = []
                for try await result in group { results.append(result) }
                return results.sorted { $0.0 < $1.0 }.map(\.1)
            }
        }

        @Test("ten fetches of one address at once make one request")
        func sameAddress() async throws {
            let server = try FileServer(configuration: [FileServer.slowing("/jpeg/", bytesPerSecond: 600_000)])
            let fixture = try FixturesDirectory.named("jpeg/landscape-420.jpg")
            let results = try await together(
                Array(repeating: ["fetch", server.url(fixture.name), "-o", "-"], count: 10))
            for result in results {
                #expect(try result.status == 0 && result.standardOutput == fixture.data, "\(result)")
            }
            #expect(try await server.requests().count == 1)
            #expect(kf.cachedObjects().count == 1)
            #expect(try await Judge.integrity(of: kf.cacheDirectory) == "ok")
        }

        @Test("ten processes that find no cache yet make one together")
        func firstTogether() async throws {
            let fixtures = FixturesDirectory.all.prefix(10)
            for _ in 0..<8 {
                if access(kf.cacheDirectory.path, F_OK) == 0 {
                    try FileManager.default.removeItem(at: kf.cacheDirectory)
                }
                let results = try await together(fixtures.map { ["fetch", $0.url.path, "-o", "-"] })
                for (result, fixture) in zip(results, fixtures) {
                    let expected = try fixture.data
                    try #require(result.status == 0 && result.standardOutput == expected, "\(result)")
                }
                #expect(kf.cachedObjects().count == 10)
                #expect(kf.leftovers() == [])
            }
            #expect(try await Judge.integrity(of: kf.cacheDirectory) == "ok")
        }

        @Test("ten processes with different work all succeed, and the index is sound")
        func differentWork() async throws {
            let server = try FileServer()
            let fixtures = FixturesDirectory.all.filter { $0.frames == 1 }.prefix(30)
            let commands = (0..<10).map { index in
                index % 2 == 0
                    ? ["fetch"] + fixtures.dropFirst(index * 3).prefix(10).map { server.url($0.name) }
                    : ["fetch", "-p", "resize:3\(index)x30"] + fixtures.prefix(10).map { server.url($0.name) }
            }
            for result in try await together(commands) {
                #expect(result.status == 0 && result.errors == "", "\(result)")
            }
            #expect(try await Judge.integrity(of: kf.cacheDirectory) == "ok")
            #expect(kf.leftovers() == [])
            for fixture in fixtures.prefix(10) {
                let hit = try await kf.run("fetch", "--only-from-cache", server.url(fixture.name), "-o", "-")
                #expect(try hit.status == 0 && hit.standardOutput == fixture.data, "\(hit)")
            }
        }

        @Test("readers are served while another process writes")
        func readWhileWriting() async throws {
            let server = try FileServer()
            let list = (0..<400).map { server.url("png/one-pixel.png?\($0)") + "\n" }.joined()
            _ = try await kf.run("fetch", server.url("png/rgb.png"))
            let writer = try kf.start(["prefetch", "-"], input: Data(list.utf8))
            for _ in 0..<5 {
                let hit = try await kf.run("fetch", "--only-from-cache", server.url("png/rgb.png"))
                #expect(hit.status == 0, "\(hit)")
            }
            let written = try await writer.wait()
            #expect(written.status == 0, "\(written)")
        }

        /// Waits for what another process does, 20 s at most.
        private func until(_ condition: () -> Bool) async throws {
            let deadline = ContinuousClock.now + .seconds(20)
            while !condition() {
                try #require(ContinuousClock.now < deadline, "it does not happen")
                try await Task.sleep(for: .milliseconds(2))
            }
        }

        @Test("kill -9 in the middle of a prefetch leaves a cache that works")
        func killed() async throws {
            let server = try FileServer(configuration: [FileServer.slowing("/jpeg/", bytesPerSecond: 40_000)])
            let list = FixturesDirectory.all.map { server.url($0.name) + "\n" }.joined()
            let run = try kf.start(["prefetch", "-"], input: Data(list.utf8))
            // The slow ones are under way as soon as the others are stored.
            try await until { kf.cachedObjects().count >= 5 }
            run.signal(SIGKILL)
            let killed = try await run.wait()
            #expect(killed.status == 128 + SIGKILL, "\(killed)")
            if FileManager.default.fileExists(atPath: kf.cacheDirectory.appendingPathComponent("v1/index.sqlite").path)
            {
                #expect(try await Judge.integrity(of: kf.cacheDirectory) == "ok")
            }

            let healthy = try FileServer()
            let again = FixturesDirectory.all.map { healthy.url($0.name) + "\n" }.joined()
            let second = try await kf.run("prefetch", "-", input: Data(again.utf8))
            #expect(second.status == 0, "\(second)")
            for fixture in FixturesDirectory.all {
                let hit = try await kf.run("fetch", "--only-from-cache", healthy.url(fixture.name), "-o", "-")
                #expect(try hit.status == 0 && hit.standardOutput == fixture.data, "\(hit)")
            }
            #expect(try await Judge.integrity(of: kf.cacheDirectory) == "ok")
        }

        @Test("an interrupt finishes what is in flight and exits 130")
        func interrupted() async throws {
            let server = try FileServer(configuration: [FileServer.slowing("/jpeg/", bytesPerSecond: 200_000)])
            let list = (0..<40).map { server.url("jpeg/landscape-420.jpg?\($0)") + "\n" }.joined()
            let run = try kf.start(["prefetch", "-", "-j", "2"], input: Data(list.utf8))
            try await until { !kf.leftovers().isEmpty }
            run.signal(SIGINT)
            let result = try await run.wait(timeout: .seconds(20))
            #expect(result.status == 130, "\(result)")
            #expect(kf.leftovers() == [])
            #expect(try await server.requests().count < 40)
            #expect(try await Judge.integrity(of: kf.cacheDirectory) == "ok")
        }
    }
}
