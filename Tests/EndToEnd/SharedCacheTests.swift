import Foundation
import Support
import Testing

extension EndToEnd {
    @Suite("Shared caches")
    final class SharedCacheTests: CommandSuite {
        private func together(_ commands: [[String]]) async throws -> [CommandResult] {
            try await withThrowingTaskGroup(of: (Int, CommandResult).self) { group in
                for (index, arguments) in commands.enumerated() {
                    group.addTask { [kf] in (index, try await kf.run(arguments)) }
                }
                var results: [(Int, CommandResult)] = []
                for try await result in group { results.append(result) }
                return results.sorted { $0.0 < $1.0 }.map(\.1)
            }
        }

        @Test("Ten processes create one cache together")
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

        @Test("Ten processes with different work leave a sound index")
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

        @Test("Hits are served while another process writes")
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
    }
}
