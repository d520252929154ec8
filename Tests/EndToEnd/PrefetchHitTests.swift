import Foundation
import Support
import Testing

extension EndToEnd {
    @Suite("Prefetch hits")
    final class PrefetchHitTests: ServedSuite {
        let names = ["png/grey.png", "png/rgb.png", "jpeg/grey.jpg"]

        private func prefetch(_ options: String...) async throws -> [String: String] {
            let list = names.map { server.url($0) + "\n" }.joined()
            let result = try await kf.run(["prefetch", "--json", "-"] + options, input: Data(list.utf8))
            try #require(result.status == 0, "\(result)")
            return Dictionary(uniqueKeysWithValues: try result.items().map { ($0.source, $0.status) })
        }

        private func path(_ name: String) async throws -> URL {
            URL(fileURLWithPath: try await kf.run("fetch", "--only-from-cache", server.url(name)).printedPath)
        }

        @Test(
            "A prefetch fetches missing, empty and truncated files again",
            arguments: ["gone", "empty", "torn"])
        func crash(_ loss: String) async throws {
            _ = try await prefetch()
            let file = try await path(names[1])
            let bytes = try Data(contentsOf: file)
            try FileManager.default.removeItem(at: file)
            if loss != "gone" { try bytes.prefix(loss == "empty" ? 0 : bytes.count / 2).write(to: file) }
            let statuses = try await prefetch()
            #expect(statuses[server.url(names[1])] == "fetched", "\(statuses)")
            #expect(statuses[server.url(names[0])] == "cached" && statuses[server.url(names[2])] == "cached")
            #expect(try Data(contentsOf: try await path(names[1])) == bytes)
            #expect(try await prefetch().values.allSatisfy { $0 == "cached" })
        }

        @Test("A verified prefetch fetches changed files again")
        func verify() async throws {
            _ = try await prefetch()
            let file = try await path(names[2])
            let reference = kf.home.path("reference")
            #expect(try await Tool.run("cp", "-p", file.path, reference.path).status == 0)
            var bytes = try Data(contentsOf: file)
            bytes[bytes.count / 2] ^= 0xff
            try FileManager.default.removeItem(at: file)
            try bytes.write(to: file)
            #expect(try await Tool.run("touch", "-r", reference.path, file.path).status == 0)
            #expect(try await prefetch().values.allSatisfy { $0 == "cached" }, "its size and time are what they were")
            let statuses = try await prefetch("--verify")
            #expect(statuses[server.url(names[2])] == "fetched", "\(statuses)")
            #expect(try Data(contentsOf: try await path(names[2])) == Data(contentsOf: reference))
        }
    }
}
