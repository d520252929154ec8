import Foundation
import Support
import Testing

extension EndToEnd {
    /// The system calls of merges, pushes, pulls and cleanings, one after the other, kill the process or fail.
    @Suite(
        "Kills of merges, pushes, pulls and cleanings",
        .enabled("strace cannot trace here") { await SystemCalls.areTraceable() })
    struct SpreadKillTests {
        @Test(
            "A merge that was spoilt is repeated, and whole", arguments: ["signal=KILL", "error=ENOSPC", "error=EIO"])
        func merge(fault: String) async throws {
            let kf = try KFCommand(in: .disk)
            let images = try ["png/grey.png", "png/rgb.png"].map { try FixturesDirectory.named($0).url.path }
            let other = kf.home.path("other").path
            let fill = ["fetch", "-q", "--cache-dir", other] + images + ["-p", "resize:9x", "--tag", "site"]
            #expect(try await kf.run(fill).status == 0)
            let merge = ["cache", "merge", other]
            let calls = try await SystemCalls.made(by: kf, merge, all: false)
            var hits = 0
            for call in calls {
                try? FileManager.default.removeItem(at: kf.cacheDirectory)
                let (result, isHit) = try await SystemCalls.run(kf, merge, call, fault)
                if isHit || result.status == 128 + SIGKILL { hits += 1 }
                let again = try await kf.run(merge)
                try #require(again.status == 0, "\(call): \(again)")
                let tagged = try await kf.run("cache", "ls", "--json", "--tag", "site").objects()
                try #require(tagged.count == 4, "\(call): \(tagged)")
                try #require(try await kf.run("cache", "verify", "-q").status == 0, "\(call)")
            }
            #expect(hits * 2 >= calls.count && calls.count > 10, "only \(hits) of \(calls.count)")
        }

        @Test("A push that was spoilt is repeated, and whole", arguments: ["signal=KILL", "error=ENOSPC", "error=EIO"])
        func push(fault: String) async throws {
            let fleet = try RemoteFleet(images: 2)
            let kf = try fleet.machine()
            // The remote is where changes are watched.
            let (own, root) = (kf.home.path("own").path, kf.cacheDirectory)
            fleet.expectAll(try await fleet.prefetch(by: kf, "--cache-dir", own))
            let push = ["cache", "push", "--cache-dir", own, "--remote", "file://\(root.path)"]
            let calls = try await SystemCalls.made(by: kf, push, all: false)
            var hits = 0
            for call in calls {
                try? FileManager.default.removeItem(at: root)
                let (result, isHit) = try await SystemCalls.run(kf, push, call, fault)
                if isHit || result.status == 128 + SIGKILL { hits += 1 }
                let again = try await kf.run(push)
                try #require(again.status == 0, "\(call): \(again)")
                // Temporary files of the killed process may be left.
                for name in TemporaryDirectory.files(in: root) where !name.contains("/.") && name.contains("/cas/") {
                    let bytes = try [UInt8](Data(contentsOf: root.appendingPathComponent(name)))
                    try #require(name.hasSuffix(PlainSHA256.hex(PlainSHA256.hash(bytes))), "\(call): \(name)")
                }
            }
            let outcome = try await fleet.prefetch(by: fleet.machine(), "--remote", "file://\(root.path)")
            #expect(outcome.asked == 0, "\(outcome.result)")
            #expect(hits * 2 >= calls.count && calls.count > 5, "only \(hits) of \(calls.count)")
        }

        @Test("A pull that was spoilt is repeated, and whole", arguments: ["signal=KILL", "error=ENOSPC", "error=EIO"])
        func pull(fault: String) async throws {
            let fleet = try RemoteFleet(images: 2)
            let kf = try fleet.machine()
            let (own, remote) = (kf.home.path("own").path, "file://\(kf.home.path("remote").path)")
            fleet.expectAll(try await fleet.prefetch(by: kf, "--cache-dir", own, "--remote", remote, "--remote-write"))
            try kf.home.write("list.txt", "\(fleet.url(0))\n\(fleet.url(1))\n")
            let pull = ["cache", "pull", kf.home.path("list.txt").path, "--remote", remote]
            let calls = try await SystemCalls.made(by: kf, pull, all: false)
            var hits = 0
            for call in calls {
                try? FileManager.default.removeItem(at: kf.cacheDirectory)
                let (result, isHit) = try await SystemCalls.run(kf, pull, call, fault)
                if isHit || result.status == 128 + SIGKILL { hits += 1 }
                let again = try await kf.run(pull)
                try #require(again.status == 0, "\(call): \(again)")
                let outcome = try await fleet.prefetch(by: kf, "--offline")
                fleet.expectAll(outcome)
                try #require(outcome.asked == 0, "\(call): \(outcome.result)")
                try #require(try await kf.run("cache", "verify", "-q").status == 0, "\(call)")
            }
            #expect(hits * 2 >= calls.count && calls.count > 10, "only \(hits) of \(calls.count)")
        }
    }
}
