import Foundation
import Support
import Testing

extension EndToEnd {
    @Suite("Equal images")
    struct EqualImageTests {
        let kf: KFCommand
        let image: Data
        let server: FileServer

        init() async throws {
            kf = try KFCommand()
            image = try FixturesDirectory.named("png/rgb.png").data
            server = try FileServer()
        }

        private func url(_ index: Int) -> String { server.url("png/rgb.png?\(index)") }

        private func object() throws -> String {
            let objects = kf.cachedObjects()
            try #require(objects.count == 1, "\(objects)")
            return kf.cacheDirectory.path + "/" + objects[0]
        }

        /// Damages the file in the middle of its pixels; its size and its time stay.
        private func damage() throws {
            let path = try object()
            var status = stat()
            try #require(stat(path, &status) == 0 && chmod(path, 0o644) == 0)
            let file = open(path, O_WRONLY)
            try #require(file >= 0)
            defer { close(file) }
            let zeros = [UInt8](repeating: 0, count: 32)
            try #require(pwrite(file, zeros, 32, off_t(image.count / 2)) == 32)
            try #require(futimens(file, [status.st_atim, status.st_mtim]) == 0)
        }

        private func expectHealed() async throws {
            #expect(try Data(contentsOf: URL(filePath: object())) == image)
            let verified = try await kf.run("cache", "verify")
            #expect(verified.status == 0, "\(verified)")
        }

        /// The calls of a command on images and on temporary files.
        private func traced(_ calls: String, _ arguments: [String], input: String = "") async throws -> [Substring] {
            try await kf.calls(calls, of: arguments, input: input).filter {
                $0.contains("/v1/objects") || $0.contains("/v1/tmp/")
            }
        }

        @Test(
            "An image is written once for many URLs",
            .enabled("strace cannot trace here") { await SystemCalls.areTraceable() })
        func calls() async throws {
            let urls = (0..<200).map { server.url("png/grey.png?\($0)") }
            _ = try await kf.run("fetch", urls[0])
            let written = try await traced("renameat,write", ["prefetch", "-"], input: urls.joined(separator: "\n"))
            #expect(written.isEmpty, "\(written.prefix(4))")
            let summary = try await kf.run("cache", "stat", "--json")
            #expect(summary.output.contains("\"entries\":200") && kf.cachedObjects().count == 1, "\(summary)")
        }

        @Test(
            "With --fsync an image written by another process becomes durable",
            .enabled("strace cannot trace here") { await SystemCalls.areTraceable() })
        func durable() async throws {
            _ = try await kf.run("fetch", url(0))
            let object = try object()
            let synced = try await traced("fsync", ["fetch", url(1), "--fsync"])
            #expect(synced.contains { $0.contains(object) }, "\(synced)")
            #expect(try await traced("fsync", ["fetch", url(2)]) == [])
        }

        @Test("A forced refresh heals a file that other URLs share")
        func forced() async throws {
            for index in 0..<2 { _ = try await kf.run("fetch", url(index)) }
            try damage()
            #expect(try await kf.run("fetch", url(0), "-o", "-").standardOutput != image)
            #expect(try await kf.run("fetch", url(1), "--force-refresh").status == 0)
            try await expectHealed()
        }

        @Test("A verified fetch heals a file that other URLs share")
        func verified() async throws {
            for index in 0..<2 { _ = try await kf.run("fetch", url(index)) }
            try damage()
            let result = try await kf.run("fetch", url(1), "--verify", "-o", "-")
            #expect(result.status == 0 && result.standardOutput == image, "\(result)")
            try await expectHealed()
        }

        @Test("Processing heals an undecodable file that other URLs share")
        func undecodable() async throws {
            for index in 0..<2 { _ = try await kf.run("fetch", url(index)) }
            try damage()
            let result = try await kf.run("fetch", url(1), "-p", "resize:8x8")
            #expect(result.status == 0, "\(result)")
            let stored = kf.cachedObjects().map { kf.cacheDirectory.path + "/" + $0 }
            #expect(try stored.contains { try Data(contentsOf: URL(filePath: $0)) == image }, "\(stored)")
            #expect(try await kf.run("cache", "verify").status == 0)
        }
    }
}
