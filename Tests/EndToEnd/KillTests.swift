import Foundation
import Support
import Testing

extension EndToEnd {
    /// The system calls of a store, one after the other, kill the process or fail. `KF_EVERY_CALL=1` takes all of them,
    /// where otherwise of many writes to one file some do.
    @Suite(
        "Kills and failing calls",
        .enabled("strace cannot trace here") { await SystemCalls.areTraceable() })
    struct KillTests {
        enum Start: String, CaseIterable {
            case missing, filled
        }

        let kf: KFCommand
        let image: Data
        let store: [String]

        init() throws {
            kf = try KFCommand(in: .disk)
            let fixture = try FixturesDirectory.named("png/rgb.png")
            image = try fixture.data
            store = ["fetch", fixture.url.path, "-o", "-"]
        }

        /// What the cache is before each store.
        private func prepare(_ start: Start) async throws {
            if FileManager.default.fileExists(atPath: kf.cacheDirectory.path) {
                try FileManager.default.removeItem(at: kf.cacheDirectory)
            }
            guard start == .filled else { return }
            let template = kf.home.path("template")
            if !FileManager.default.fileExists(atPath: template.path) {
                let other = try FixturesDirectory.named("png/grey.png").url.path
                #expect(try await kf.run("fetch", other).status == 0)
                try FileManager.default.moveItem(at: kf.cacheDirectory, to: template)
            }
            try FileManager.default.copyItem(at: template, to: kf.cacheDirectory)
        }

        private func calls(_ start: Start) async throws -> [SystemCalls.Call] {
            try await prepare(start)
            let all = ProcessInfo.processInfo.environment["KF_EVERY_CALL"] == "1"
            let calls = try await SystemCalls.made(by: kf, store, all: all)
            // A store writes a file, moves it, and writes the index's log.
            try #require(Set(calls.map(\.name)).isSuperset(of: ["write", "pwrite64", "renameat", "openat"]))
            return calls
        }

        /// The next fetch works, and what is wrong with the cache is at most a file too many.
        private func expectWhole(_ start: Start, _ call: SystemCalls.Call) async throws {
            let again = try await kf.run(store)
            try #require(again.status == 0 && again.standardOutput == image && again.errors == "", "\(call): \(again)")
            let verdict = try await kf.run("cache", "verify", "--json")
            let entries = try verdict.objects().last?["entries"] as? Int
            try #require(entries == (start == .filled ? 2 : 1), "\(call): \(verdict)")
            let kinds = verdict.outputLines.compactMap { line in
                line.firstMatch(of: /"kind":"([a-z_]+)"/).map { String($0.1) }
            }
            try #require(verdict.status == 0 && Set(kinds).isSubset(of: ["orphan", "leftover"]), "\(call): \(verdict)")
        }

        /// Threads share the work as it comes, and so a call may be another one's next time.
        private func expectMost(_ hits: Int, of calls: [SystemCalls.Call]) {
            #expect(hits * 2 >= calls.count, "only \(hits) of \(calls.count) were there to be spoilt")
        }

        @Test("After a kill at any system call the next fetch works", arguments: Start.allCases)
        func killed(start: Start) async throws {
            let calls = try await calls(start)
            var kills = 0
            for call in calls {
                try await prepare(start)
                let (result, _) = try await SystemCalls.run(kf, store, call, "signal=KILL")
                if result.status == 128 + SIGKILL {
                    kills += 1
                } else {
                    try #require(result.status == 0 && result.standardOutput == image, "\(call): \(result)")
                }
                try await expectWhole(start, call)
                let clean = try await kf.run("cache", "clean", "--all", "--yes")
                try #require(clean.status == 0 && kf.cachedObjects() == [], "\(call): \(clean)")
            }
            expectMost(kills, of: calls)
        }

        @Test(
            "A failing system call never damages the cache",
            arguments: zip(["ENOSPC", "EIO", "EDQUOT"], [Start.missing, .filled, .filled]))
        func failed(error: String, start: Start) async throws {
            let calls = try await calls(start)
            var failures = 0
            for call in calls {
                try await prepare(start)
                let (result, isHit) = try await SystemCalls.run(kf, store, call, "error=\(error)")
                if isHit {
                    failures += 1
                    let isDelivered = result.standardOutput == image
                    try #require(isDelivered || result.standardOutput.isEmpty, "\(call): \(result)")
                    // What does not matter for this image (the reserve, a sweep) may fail unseen.
                    let isSaid = result.status == 3 && result.errors.hasPrefix("kf: ")
                    try #require(isSaid || result.status == 0 && isDelivered, "\(call): \(result)")
                }
                try await expectWhole(start, call)
            }
            expectMost(failures, of: calls)
        }

        @Test("A failed fsync publishes no file")
        func unsynchronized() async throws {
            try await prepare(.filled)
            let objects = kf.cachedObjects()
            let result = try await SystemCalls.run(
                kf, store + ["--fsync"], .init(name: "fsync", path: nil, number: 1), "error=EIO")
            #expect(result.isHit && result.result.status == 3 && result.result.standardOutput == image)
            #expect(kf.cachedObjects() == objects)
            #expect(kf.leftovers() == [])
        }

        @Test("An interrupted system call is repeated")
        func interrupted() async throws {
            for call in try await calls(.filled) where ["write", "pwrite64"].contains(call.name) {
                try await prepare(.filled)
                let (result, isHit) = try await SystemCalls.run(kf, store, call, "error=EINTR")
                if isHit { try #require(result.status == 0 && result.standardOutput == image, "\(call): \(result)") }
                try await expectWhole(.filled, call)
            }
        }
    }
}
