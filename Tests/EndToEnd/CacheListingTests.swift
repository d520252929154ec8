import Foundation
import Support
import Testing

extension EndToEnd {
    @Suite("Cache listing")
    final class CacheListingTests: ServedSuite {
        private func fill() async throws {
            let names = ["png/grey.png", "png/rgb.png?token=secret", "jpeg/grey.jpg"]
            let result = try await kf.run(["fetch"] + names.map(server.url))
            try #require(result.status == 0, "\(result)")
            _ = try await kf.run("fetch", server.url("png/grey.png"), "-p", "resize:20x20")
        }

        @Test("A listing shows each entry once and hides queries")
        func list() async throws {
            try await fill()
            let result = try await kf.run("cache", "ls")
            #expect(result.status == 0 && result.outputLines.count == 4, "\(result)")
            let columns = result.outputLines.map { $0.range(of: "http")?.lowerBound.utf16Offset(in: $0) }
            #expect(Set(columns).count == 1, "\(result)")
            #expect(!result.output.contains("secret") && result.output.contains("rgb.png?…"), "\(result)")
            #expect(result.outputLines.contains { $0.hasSuffix("png/grey.png@resize:20x20,none") }, "\(result)")
            #expect(try await kf.run("cache", "ls", "--long").output.contains("rgb.png?token=secret"))
            #expect(try await kf.run("cache", "ls", "-v").output.contains("rgb.png?token=secret"))
        }

        @Test("A listing can be sorted, limited and selected")
        func select() async throws {
            try await fill()
            let objects = try await kf.run("cache", "ls", "--json", "--sort", "size").objects()
            let sizes = objects.compactMap { $0["bytes"] as? Int }
            #expect(sizes.count == 4 && sizes == sizes.sorted(by: >))
            let reversed = try await kf.run("cache", "ls", "--json", "--sort", "size", "--reverse", "--limit", "1")
            #expect(try reversed.objects().first?["bytes"] as? Int == sizes.last)
            #expect(try await kf.run("cache", "ls", "*/jpeg/*").outputLines.count == 1)
            #expect(try await kf.run("cache", "ls", server.url("png/grey.png*")).outputLines.count == 2)
            #expect(try await kf.run("cache", "ls", "--host", "127.0.0.1").outputLines.count == 4)
            #expect(try await kf.run("cache", "ls", "--host", "example.com").outputLines.isEmpty)
            let nothing = try await kf.run("cache", "ls", "*/webp/*")
            #expect(nothing.status == 1 && nothing.output.isEmpty, "\(nothing)")
            #expect(try await kf.run("cache", "ls", "--sort", "colour").status == 2)
        }

        @Test("The command path prints the file of an image or variant")
        func path() async throws {
            try await fill()
            let original = try await kf.run("cache", "path", server.url("png/grey.png"))
            #expect(original.status == 0, "\(original)")
            let path = try #require(original.outputLines.first)
            #expect(try Data(contentsOf: URL(fileURLWithPath: path)) == FixturesDirectory.named("png/grey.png").data)
            let variant = try await kf.run("cache", "path", server.url("png/grey.png"), "-p", "resize:20x20")
            #expect(variant.status == 0 && variant.output != original.output, "\(variant)")
            let missing = try await kf.run("cache", "path", server.url("png/grey.png"), "-p", "resize:21x20")
            #expect(missing.status == 1 && missing.output.isEmpty && missing.errors.contains("[3006]"), "\(missing)")
        }

        @Test("The command explain shows the headers of a conditional request")
        func conditional() async throws {
            _ = try await kf.run("fetch", server.url("png/grey.png"), "--expire", "1ms")
            let said = try await kf.run("cache", "explain", server.url("png/grey.png"))
            #expect(said.status == 0 && said.output.contains("revalidates the image with the origin"), "\(said)")
            #expect(said.output.contains("request header If-None-Match: "), "\(said)")
            let stale = try await kf.run(
                "cache", "explain", server.url("png/grey.png"), "--only-from-cache", "--stale-if-error", "1d", "-q")
            #expect(stale.output == "stale\n", "\(stale)")
            let done = try await kf.run("fetch", "--json", server.url("png/grey.png")).objects()
            #expect(done.first?["status"] as? String == "revalidated")
        }
    }
}
