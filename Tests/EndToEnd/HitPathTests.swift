import Foundation
import Support
import Testing

extension EndToEnd {
    @Suite("What a hit touches")
    struct HitPathTests {
        /// Containers may forbid tracing.
        static func canTrace() async -> Bool {
            guard Tool.isInstalled("strace") else { return false }
            return (try? await Tool.run("strace", "-o", "/dev/null", "true").status) == 0
        }

        private func traced(_ kf: KFCommand, _ arguments: [String]) async throws -> [String] {
            let log = kf.home.path("trace")
            let result = try await RunningCommand(
                "strace", ["-f", "-e", "trace=openat,open,socket,connect", "-o", log.path, kf.binary.path] + arguments,
                environment: kf.environment, directory: kf.home.url
            ).wait()
            try #require(result.status == 0, "\(result)")
            return try String(contentsOf: log, encoding: .utf8).split(separator: "\n").map(String.init)
                .filter { !$0.contains("ENOENT") }
        }

        @Test(
            "a hit loads no libcurl and opens no socket; a miss does",
            .enabled("strace cannot trace here") { await canTrace() })
        func noCurl() async throws {
            let kf = try KFCommand()
            let server = try FileServer()
            let url = server.url("png/rgb.png")
            let miss = try await traced(kf, ["fetch", url])
            #expect(miss.contains { $0.contains("libcurl") }, "the check itself no longer works")
            let hit = try await traced(kf, ["fetch", url])
            #expect(!hit.contains { $0.contains("libcurl") || $0.contains("libssl") }, "\(hit)")
            #expect(!hit.contains { $0.contains("socket(") || $0.contains("connect(") }, "\(hit)")
            #expect(hit.contains { $0.contains("index.sqlite") }, "\(hit)")
        }
    }
}
