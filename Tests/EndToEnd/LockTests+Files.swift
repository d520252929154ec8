import Foundation
import Support
import Synchronization
import Testing

/// What becomes of the file.
extension EndToEnd.LockTests {
    @Test("A lock is not overwritten, and has no part in keys and shards")
    func refused() async throws {
        _ = try await prefetch("-q")
        let written = try lock
        for options in [
            ["--failures", "images.lock"], ["--results", "./images.lock"], ["--key-column", "1"],
            ["--shards", "out"], ["--remote-dropped", "images.lock", "--remote", "file://\(kf.home.path("r").path)"],
            ["--remote-dropped", kf.home.path("images.lock").path],
        ] {
            let run = try await kf.run(["prefetch", "list.txt", "--lock", "images.lock"] + options)
            #expect(run.status == 2, "\(options): \(run)")
            #expect(try lock == written)
        }
        let before = server.requests.count
        for (output, path) in [
            ("images.lock", "images.lock"), ("./images.lock", "images.lock"), ("./new.lock", "new.lock"),
        ] {
            let run = try await kf.run("fetch", server.url("/c.png"), "--lock", path, "-o", output, "-f", "keep")
            #expect(
                run.status == 2 && run.errors.contains("--output and --lock name the same file, \(output)"), "\(run)")
        }
        #expect(mkfifo(kf.home.path("fifo").path, 0o600) == 0)
        for path in ["missing/images.lock", "/dev/null", ".", "fifo"] {
            for options in [[], ["--frozen"]] {
                let run = try await kf.run(["fetch", server.url("/c.png"), "--lock", path] + options)
                #expect(run.status == 2, "\(path): \(run)")
            }
        }
        for command in [["cache", "verify", "--lock"], ["cache", "clean", "--keep-lock"]] {
            #expect(try await kf.run(command + ["fifo"]).errors.contains("it is a FIFO"))
        }
        #expect(try lock == written && server.requests.count == before)
        #expect(!FileManager.default.fileExists(atPath: kf.home.path("new.lock").path))
    }

    @Test("Sixteen processes that write one lock lose no line")
    func sixteen() async throws {
        for part in 0..<16 {
            let urls = (0..<20).map { server.url("/many/\(part)-\($0).png") + "\n" }.joined()
            try kf.home.write("part\(part).txt", urls)
        }
        let kf = kf
        try await withThrowingTaskGroup(of: CommandResult.self) { group in
            for part in 0..<16 {
                group.addTask {
                    try await kf.run("prefetch", "part\(part).txt", "--lock", "images.lock", "-q")
                }
            }
            for try await result in group { #expect(result.status == 0, "\(result)") }
        }
        let lines = try lock.split(separator: "\n")
        #expect(lines.count == 321 && lines.dropFirst().elementsEqual(lines.dropFirst().sorted()))
    }

    @Test(
        "A kill at any call on the lock leaves the old or the new one",
        .enabled("strace cannot trace here") { await SystemCalls.areTraceable() })
    func kills() async throws {
        let many = (0..<40).map { server.url("/many/\($0).png") + "\n" }.joined()
        try kf.home.write("many.txt", many)
        let whole = try await kf.run("prefetch", "many.txt", "--lock", "whole.lock", "-q")
        #expect(whole.status == 0, "\(whole)")
        let new = String(decoding: try kf.contents("whole.lock"), as: UTF8.self)
        let old = "# kf images.lock 1\n# ours\n"
        let expected = [old, new.replacingOccurrences(of: "lock 1\n", with: "lock 1\n# ours\n")]
        let (lock, log) = (kf.home.path("images.lock").path, kf.home.path("log").path)
        var killed: [String] = []
        for call in ["rename", "renameat", "renameat2", "openat", "write", "pwrite64", "ftruncate"] {
            for number in 1... {
                try kf.home.write("images.lock", old)
                // strace does not look at the second path of a rename; all images are cached, so that nothing else is renamed.
                let filter = call.hasPrefix("rename") ? [] : ["-P", lock]
                let injection = ["-e", "trace=?\(call)", "-e", "inject=?\(call):signal=KILL:when=\(number)"]
                let command = [kf.binary.path, "prefetch", "many.txt", "--lock", lock, "-q"]
                let run = try await RunningCommand(
                    "strace", ["-f", "-qq", "-o", log] + filter + injection + command,
                    environment: kf.environment, directory: kf.home.url
                ).wait()
                let seen = String(decoding: try kf.contents("images.lock"), as: UTF8.self)
                #expect(expected.contains(seen), "killed at \(call) \(number): \(seen.prefix(200))")
                if run.status == 0 {
                    #expect(seen == expected[1])
                    break
                }
                try #require(run.status == 128 + SIGKILL && number < 20, "\(run)")
                killed.append(call)
            }
        }
        // Of those that write, the one that puts the new file into place.
        #expect(killed.contains { $0.hasPrefix("rename") }, "\(killed)")
    }

    @Test("The URLs of a lock lack user info and the parameters that keys ignore")
    func names() async throws {
        pictures["/a.png?v=1&token=x"] = "grey"
        let url = server.url("/a.png?v=1&token=x").replacingOccurrences(of: "http://", with: "http://u:p@")
        try kf.home.write("list.txt", url)
        let run = try await prefetch("--key-ignore", "token")
        #expect(run.status == 0, "\(run)")
        #expect(
            try lock == "# kf images.lock 1\n# without query parameters: token\n" + line("/a.png?v=1", "grey"))
        let other = try await prefetch()
        #expect(other.status == 2 && other.errors.contains("query parameters"), "\(other)")
    }

    @Test("An alternative is not locked under the URL of its source")
    func alternativeIsNotLocked() async throws {
        pictures["/b.png"] = nil
        let options = ["--alternative", server.url("/c.png")]
        let outage = try await prefetch(options[0], options[1])
        #expect(
            outage.status == 0 && outage.errors.contains("1 new, 0 changed, 0 as locked, 1 not locked"), "\(outage)")
        #expect(try lock == "# kf images.lock 1\n" + line("/a.png", "grey"))
        let counts = try await prefetch(options[0], options[1], "--json").objects().last?["lock"] as? [String: Int]
        #expect(counts == ["new": 0, "changed": 0, "as_locked": 1, "dropped": 0, "not_locked": 1])
        let fetched = try await kf.run(["fetch", server.url("/b.png"), "--lock", "images.lock"] + options)
        #expect(fetched.status == 0 && fetched.errors.contains("1 not locked"), "\(fetched)")

        pictures["/b.png"] = "rgb"
        let back = try await prefetch(options[0], options[1], "--retry-failed")
        #expect(back.status == 0 && back.errors.contains("1 new, 0 changed, 1 as locked"), "\(back)")
        let whole = try "# kf images.lock 1\n" + line("/a.png", "grey") + line("/b.png", "rgb")
        #expect(try lock == whole)
        pictures["/b.png"] = nil
        let update = try await prefetch(options[0], options[1], "--update-lock", "--prune-lock")
        #expect(update.status == 0 && update.errors.contains("1 as locked, 1 not locked"), "\(update)")
        #expect(try lock == whole)
    }

    @Test("A stale image replaces no hash")
    func staleIsNotLocked() async throws {
        let body = try FixturesDirectory.bytes("png/rgb.png")
        let isUp = Atomic(true)
        let origin = try FaultServer { _ in
            isUp.load(ordering: .relaxed)
                ? [.reply(headers: ["ETag: \"1\""], body: body)] : [.reply("503 Service Unavailable", body: [])]
        }
        let url = origin.url("/b.png")
        try kf.home.write("list.txt", url)
        _ = try await kf.run("prefetch", "list.txt")
        let written = try "# kf images.lock 1\n\(url) \(hash("rgba")) 1\n"
        try kf.home.write("images.lock", written)
        isUp.store(false, ordering: .relaxed)
        let run = try await prefetch("--update-lock", "--stale-if-error", "1d")
        #expect(run.status == 0 && run.errors.contains("0 as locked, 1 not locked"), "\(run)")
        #expect(try lock == written)
    }

    @Test(
        "A list that is empty or damaged prunes nothing",
        arguments: [
            "", "# https://example.com/a.png\n", "\(FixturesDirectory.path("png/grey.png"))\n", "a\nhttp://h:no/\n",
        ])
    func pruned(list: String) async throws {
        _ = try await prefetch()
        let written = try lock
        try kf.home.write("list.txt", list.replacingOccurrences(of: "a\n", with: server.url("/a.png") + "\n"))
        let run = try await prefetch("--prune-lock", "--allow-local", "--allow-failures")
        #expect(run.errors.contains("kf: --prune-lock: nothing is dropped: "), "\(run)")
        // Wrong usage ends before the first row.
        let isEmpty = list.split(separator: "\n").allSatisfy { $0.hasPrefix("#") }
        #expect(try run.status == (isEmpty ? 2 : 3) && lock == written, "\(run)")
    }

    @Test("A fetch without a URL prunes nothing, and does nothing")
    func prunedByFetch() async throws {
        _ = try await prefetch()
        let (written, picture) = (try lock, FixturesDirectory.path("png/grey.png"))
        for sources in [["http://h:no/"], [picture], ["-"]] {
            let input = try FixturesDirectory.named("png/grey.png").data
            let words = ["fetch"] + sources + ["--lock", "images.lock", "--prune-lock", "--json"]
            let run = try await kf.run(words, input: input)
            #expect(try run.status == 2 && run.output.isEmpty && lock == written, "\(run)")
        }
        let words = ["fetch", server.url("/a.png"), "http://h:no/", "--lock", "images.lock", "--prune-lock"]
        let one = try await kf.run(words)
        #expect(try one.status == 3 && lock == written, "\(one)")
    }

    @Test("Only the command line prunes")
    func pruningIsChosen() async throws {
        _ = try await prefetch()
        let written = try lock
        try kf.home.write("list.txt", server.url("/a.png"))
        let variable = try await kf.with(["KF_PRUNE_LOCK": "1"]).run("prefetch", "list.txt", "--lock", "images.lock")
        #expect(variable.status == 2 && variable.errors.contains("works on the command line only"), "\(variable)")
        try kf.home.write(".config/kf/config", "prune-lock = 1\n")
        let file = try await kf.run("prefetch", "list.txt", "--lock", "images.lock")
        #expect(file.status == 2, "\(file)")
        #expect(try lock == written)
    }

    @Test("Of two runs that lock other bytes, the later one has a mismatch")
    func race() async throws {
        let goOn = DispatchSemaphore(value: 0)
        let bytes = try ["rgb", "rgba"].map { try FixturesDirectory.bytes("png/\($0).png") }
        let first: [FaultStep] = [.call { goOn.wait() }, .reply(body: bytes[0])]
        let origin = try FaultServer.answering(first: first) { _ in [.reply(body: bytes[1])] }
        let url = origin.url("/b.png")
        try kf.home.write("list.txt", url)
        let slow = try kf.start(["prefetch", "list.txt", "--lock", "images.lock", "--cache-dir", "other"])
        #expect(await eventually { origin.requests.count == 1 }, "it has read the lock")
        let quick = try await prefetch()
        goOn.signal()
        #expect(quick.status == 0 && quick.errors.contains("1 new"), "\(quick)")
        let late = try await slow.wait()
        #expect(late.status == 1 && late.errors.contains("0 new, 1 changed, 0 as locked"), "\(late)")
        let message = try "kf: \(url): expected \(hash("rgba")), got \(hash("rgb")), "
        #expect(late.errors.contains(message) && late.errors.contains("[2011]"), "\(late)")
        #expect(try lock == "# kf images.lock 1\n\(url) \(hash("rgba")) \(bytes[1].count)\n")
    }

    @Test("A pull replaces no hash on the word of a remote")
    func pull() async throws {
        _ = try await prefetch()
        let written = try lock
        let remote = ["--remote", "file://\(kf.home.path("remote").path)"]
        for kf in [kf.with(["KF_UPDATE_LOCK": "1"]), kf] {
            let option = kf.environment["KF_UPDATE_LOCK"] == nil ? ["--update-lock"] : []
            let run = try await kf.run(["cache", "pull", "list.txt", "--lock", "images.lock"] + option + remote)
            #expect(run.status == 2 && run.errors.contains("--update-lock"), "\(run)")
        }
        #expect(try lock == written)
    }

    @Test(
        "No image takes the place of one with a hash", arguments: ["--hash", "--lock", "--hash-column"], [true, false])
    func standIn(option: String, isGone: Bool) async throws {
        try kf.home.write("images.lock", "# kf images.lock 1\n" + line("/b.png", "grey"))
        try kf.home.write("list.csv", "url,hash\n\(server.url("/b.png")),\(hash("grey"))\n")
        if isGone { pictures["/b.png"] = nil }
        let value = ["--hash": try hash("grey"), "--lock": "images.lock", "--hash-column": "hash"][option] ?? ""
        let options = [option, value, "--on-failure", server.url("/c.png"), "--retry", "0", "-f", "keep"]
        let list = try await kf.run(["prefetch", "list.csv", "-P", "copies"] + options)
        #expect(list.status == 1 && list.errors.contains(isGone ? "[2002]" : "[2011]"), "\(list)")
        if option != "--hash-column" {
            let run = try await kf.run(["fetch", server.url("/b.png"), "-o", "copies/out.png"] + options)
            #expect(run.status == 1, "\(run)")
        }
        #expect(TemporaryDirectory.files(in: kf.home.path("copies")).isEmpty)
    }

    @Test("An image takes the place of one that the lock does not have yet")
    func standInOfNew() async throws {
        pictures["/b.png"] = nil
        let run = try await prefetch("--on-failure", server.url("/c.png"), "-P", "copies", "--retry", "0", "--json")
        #expect(run.status == 1, "\(run)")
        #expect(try kf.contents("copies/b.png") == FixturesDirectory.named("png/rgba.png").data)
        #expect(try run.objects().last?["written"] as? Int == 2, "\(run)")
        #expect(try !lock.contains("/b.png"))
    }
}
