import Foundation
import Support
import Testing

extension EndToEnd {
    @Suite("Pushed caches")
    struct PushCommandTests {
        private func push(_ kf: KFCommand, _ url: String, _ options: String...) async throws -> [String: Any] {
            let result = try await kf.run(["cache", "push", "--json", "--remote", url] + options)
            return try #require(try result.objects().last, "\(result)")
        }

        @Test("A push brings what the remote lacks, once", arguments: await RemoteKind.installed.value)
        func pushed(kind: RemoteKind) async throws {
            let fleet = try RemoteFleet(images: 12)
            let remote = try kind.start()
            let first = try fleet.machine(remote.environment)
            let chain = ["-p", "resize:9x"]
            fleet.expectAll(try await fleet.prefetch(by: first))
            _ = try await first.run(["prefetch", "-"] + chain, input: Data("\(fleet.url(0))\n".utf8))
            let pushed = try await push(first, remote.url)
            #expect(pushed["uploaded"] as? Int == 13 && pushed["failed"] as? Int == 0, "\(pushed)")
            try await remote.expectWhole()
            let again = try await push(first, remote.url)
            #expect(again["uploaded"] as? Int == 0 && again["present"] as? Int == 13, "\(again)")
            let (second, asked) = (try fleet.machine(remote.environment), fleet.origin.requests.count)
            let list = Data(((0..<12).map { fleet.url($0) + "\n" } + [fleet.url(99)]).joined().utf8)
            let pulled = try await second.run(["cache", "pull", "-", "--json", "--remote", remote.url], input: list)
            #expect(pulled.status == 1 && fleet.origin.requests.count == asked, "\(pulled)")
            let items = try pulled.items()
            #expect(items.count { $0.status == "remote" } == 12 && items.count { $0.error?.code == 3006 } == 1)
            let third = try fleet.machine(remote.environment)
            let made = try await third.run(
                ["cache", "pull", "-", "--json", "--remote", remote.url] + chain,
                input: Data("\(fleet.url(0))\n".utf8))
            #expect(try made.items().map(\.status) == ["remote"], "\(made)")
            #expect(try await second.run("cache", "pull", "-").errors.contains("needs a --remote"))
        }

        @Test("A dry run uploads nothing, and a selection only its own")
        func selected() async throws {
            let fleet = try RemoteFleet(images: 3)
            let kf = try fleet.machine()
            fleet.expectAll(try await fleet.prefetch(by: kf, "--tag", "site"))
            let remote = try TemporaryDirectory()
            let url = "file://\(remote.url.path)"
            let dry = try await kf.run("cache", "push", "--remote", url, "--dry-run", fleet.url(0))
            #expect(dry.output == "\(fleet.url(0))\n" && dry.errors.contains("1 to upload"), "\(dry)")
            #expect(remote.files().isEmpty)
            let missing = try await push(kf, "\(url)/new", "--dry-run")
            #expect(missing["uploaded"] as? Int == 3 && missing["failed"] as? Int == 0, "\(missing)")
            #expect(!FileManager.default.fileExists(atPath: remote.path("new").path))
            #expect(try await push(kf, url, fleet.url(0))["uploaded"] as? Int == 1)
            #expect(try await push(kf, url, "--tag", "site")["uploaded"] as? Int == 2)
            #expect(try await kf.run("cache", "push", "--tag", "none", "--remote", url).status == 1)
            #expect(try await kf.run("cache", "push").errors.contains("needs a --remote"))
        }

        @Test("A revalidated image renews what has expired in the remote")
        func renewed() async throws {
            let image = try FixturesDirectory.bytes("png/grey.png")
            let origin = try FaultServer { request in
                if request.header("If-None-Match") != nil { return [.head("HTTP/1.1 304 Not Modified")] }
                return [.reply(headers: ["ETag: \"1\""], body: image)]
            }
            let (kf, remote) = (try KFCommand(), try RemoteKind.file.start())
            let url = origin.url("/a.png")
            _ = try await kf.run("fetch", url, "--expire", "1s", "--extend", "none")
            #expect(try await push(kf, remote.url)["uploaded"] as? Int == 1)
            #expect(try await eventually { try await kf.run("cache", "ls", "--expired", "-q").outputLines.count == 1 })
            // As long as it is expired here as well, there is nothing to renew.
            #expect(try await push(kf, remote.url)["present"] as? Int == 1)
            _ = try await kf.run("fetch", url, "--expire", "10d")
            #expect(try await push(kf, remote.url)["uploaded"] as? Int == 1)
            #expect(try await push(kf, remote.url)["present"] as? Int == 1)
            let reader = try await KFCommand().run("fetch", url, "--json", "--remote", remote.url)
            #expect(try reader.items().map(\.status) == ["remote"], "\(reader)")
        }

        @Test("A push says of each image what became of it, and why")
        func outcomes() async throws {
            let image = try FixturesDirectory.bytes("png/grey.png")
            let origin = try FaultServer { request in
                [.reply(headers: request.path == "/own.png" ? ["Cache-Control: private"] : [], body: image)]
            }
            let (kf, remote) = (try KFCommand(), try RemoteKind.file.start())
            _ = try await kf.run("fetch", origin.url("/own.png"), origin.url("/open.png"))
            try kf.home.write("list.txt", ["own", "open", "other"].map { origin.url("/\($0).png\n") }.joined())
            let words = ["cache", "push", "--remote", remote.url, "--keep-list", "list.txt"]
            let dry = try await kf.run(words + ["--dry-run", "--json"]).objects()
            #expect(Set(dry.compactMap { $0["status"] as? String }) == ["would_be_uploaded", "skipped"], "\(dry)")
            #expect(dry.last?["dry_run"] as? Bool == true && dry.last?["not_cached"] as? Int == 1, "\(dry)")
            let pushed = try await kf.run(words + ["-v"])
            #expect(
                pushed.errors.contains("own.png: not shared: its response says Cache-Control: private"), "\(pushed)")
            #expect(pushed.errors.contains("1 of the list not cached") && pushed.status == 0, "\(pushed)")
            let rows = try await kf.run(words + ["-v", "--json"]).objects()
            #expect(Set(rows.compactMap { $0["status"] as? String }) == ["present", "skipped"], "\(rows)")
        }

        @Test("A remote that fails ends a push and a pull with status 3")
        func failing() async throws {
            let fleet = try RemoteFleet(images: 4)
            let kf = try fleet.machine()
            fleet.expectAll(try await fleet.prefetch(by: kf))
            let refusing = try RemoteFaultServer(.init(.status(401)))
            let missing = "file://\(kf.home.path("a/b").path)"
            for url in [refusing.url("/base"), missing] {
                for quiet in [[], ["-q"]] {
                    let pushed = try await kf.run(["cache", "push", "--remote", url] + quiet)
                    #expect(pushed.status == 3 && pushed.errors.contains("[3017]"), "\(pushed)")
                }
                let pulled = try await fleet.machine().run(
                    ["cache", "pull", "-", "--remote", url], input: Data("\(fleet.url(0))\n".utf8))
                #expect(pulled.status == 3 && pulled.errors.contains("[3017]"), "\(pulled)")
            }
            let none = try await kf.run("cache", "push", "--json", "--cache-dir", "nowhere", "--remote", missing)
            #expect(none.status == 1 && none.errors.contains("no cache yet"), "\(none)")
            #expect(try none.objects().last?["exit_status"] as? Int == 1)
        }

        @Test("A damaged file is not pushed")
        func damaged() async throws {
            let fleet = try RemoteFleet(images: 3)
            let (kf, remote) = (try fleet.machine(), try RemoteKind.file.start())
            let fetched = try await fleet.prefetch(by: kf)
            let path = try #require(fetched.items.first?.path)
            #expect(chmod(path, 0o644) == 0)
            try Data(repeating: 7, count: fleet.picture(0).count).write(to: URL(fileURLWithPath: path))
            let result = try await kf.run("cache", "push", "--json", "--remote", remote.url)
            let summary = try #require(try result.objects().last)
            #expect(
                result.status == 1 && summary["failed"] as? Int == 1 && summary["uploaded"] as? Int == 2, "\(result)")
            #expect(result.errors.contains("is damaged, and not uploaded"), "\(result)")
            try await remote.expectWhole()
        }

        @Test("Two pushes at once, and two pulls, bring every image")
        func twoAtOnce() async throws {
            let fleet = try RemoteFleet(images: 60)
            let (kf, remote) = (try fleet.machine(), try RemoteKind.file.start())
            fleet.expectAll(try await fleet.prefetch(by: kf))
            let list = Data((0..<60).map { fleet.url($0) + "\n" }.joined().utf8)
            let (asked, reader) = (fleet.origin.requests.count, try fleet.machine())
            for (command, machine) in [(["push"], kf), (["pull", "-"], reader)] {
                let both = try (0..<2).map { _ in
                    try machine.start(["cache"] + command + ["--json", "--remote", remote.url], input: list)
                }
                for running in both {
                    let result = try await running.wait()
                    #expect(result.status == 0, "\(result)")
                }
                try await remote.expectWhole()
            }
            #expect(remote.files("ac").count == 60 && remote.files("cas").count == 60)
            let outcome = try await fleet.prefetch(by: reader, "--offline")
            fleet.expectAll(outcome)
            #expect(fleet.origin.requests.count == asked)
        }

        @Test("A push of a list or a lock sends only its images")
        func listed() async throws {
            let fleet = try RemoteFleet(images: 5)
            let kf = try fleet.machine()
            fleet.expectAll(try await fleet.prefetch(by: kf))
            try kf.home.write("list.txt", "\(fleet.url(0))\n\(fleet.url(1))?x\n")
            try kf.home.write("table.csv", "picture,n\n\(fleet.url(2)),1\n")
            try kf.home.write("none.txt", "\(fleet.url(77))\n")
            let locked = try await kf.run(
                ["prefetch", "-", "--lock", "images.lock"], input: Data("\(fleet.url(3))\n".utf8))
            #expect(locked.status == 0, "\(locked)")
            let remote = try TemporaryDirectory()
            let url = "file://\(remote.url.path)"
            #expect(try await push(kf, url, "--keep-list", "list.txt")["uploaded"] as? Int == 1)
            let two = try await push(kf, url, "--keep-list", "table.csv", "--url-column", "picture", fleet.url(4))
            #expect(two["uploaded"] as? Int == 2, "\(two)")
            #expect(try await push(kf, url, "--lock", "images.lock")["uploaded"] as? Int == 1)
            for (option, file, status) in [
                ("--keep-list", "none.txt", 1), ("--keep-list", "missing.txt", 2), ("--lock", "list.txt", 2),
            ] {
                let result = try await kf.run("cache", "push", "--remote", url, option, file)
                #expect(result.status == status && result.errors.contains(option), "\(result)")
            }
            #expect(remote.files().count { $0.contains("/cas/") } == 4)
        }

        @Test("A pull takes expired images, with validator or without, for --offline")
        func expired() async throws {
            let image = try FixturesDirectory.bytes("png/grey.png")
            let origin = try FaultServer { request in
                if request.header("If-None-Match") != nil { return [.head("HTTP/1.1 304 Not Modified")] }
                let validator = request.path == "/tagged" ? ["ETag: \"1\""] : []
                return [.reply(headers: validator, body: image + Array(request.path.utf8))]
            }
            let remote = try TemporaryDirectory()
            let url = "file://\(remote.url.path)"
            let list = Data("\(origin.url("/tagged"))\n\(origin.url("/bare"))\n".utf8)
            let writer = try KFCommand()
            let fill = ["prefetch", "-", "--remote", url, "--remote-write", "--expire", "1s", "--extend", "none"]
            #expect(try await writer.run(fill, input: list).status == 0)
            let reader = try KFCommand()
            let pull = ["cache", "pull", "-", "--json", "--remote", url]
            // Until the entries have expired, the images are pulled as fresh ones.
            let isExpired = try await eventually {
                try await writer.run("cache", "ls", "--expired", "-q").outputLines.count == 2
            }
            #expect(isExpired)
            let pulled = try await reader.run(pull, input: list)
            #expect(try pulled.items().map(\.status) == ["remote", "remote"], "\(pulled)")
            #expect(try pulled.objects().last?["from_remote"] as? Int == 2, "\(pulled)")
            #expect(try await reader.run("cache", "ls", "--expired", "-q").outputLines.count == 2)
            let asked = origin.requests.count
            let offline = try await reader.run(["prefetch", "-", "--offline", "--json"], input: list)
            #expect(offline.status == 0 && origin.requests.count == asked, "\(offline)")
            // A reader that asks the origin confirms the one, and fetches the other.
            let read = try await KFCommand().run(["prefetch", "-", "--json", "--remote", url], input: list)
            #expect(try read.items().map(\.status).sorted() == ["fetched", "revalidated"], "\(read)")
        }

        @Test("What is private stays: users' images, local ones, no-store")
        func privacy() async throws {
            let image = try FixturesDirectory.bytes("png/grey.png")
            let origin = try FaultServer { request in
                let rule = request.path == "/stored.png" ? ["Cache-Control: no-store"] : []
                return [.reply(headers: rule, body: image)]
            }
            let kf = try KFCommand()
            try kf.home.write("local.png", Data(image))
            _ = try await kf.run("fetch", "local.png", origin.url("/stored.png"))
            _ = try await kf.run("fetch", origin.url("/mine.png"), "-H", "Cookie: id=7")
            for (key, user) in [("-u", "ann:pass"), ("-H", "Cookie: id=7")] {
                _ = try await kf.run("fetch", origin.url("/named.png"), "--key", "picture \(key)", key, user)
            }
            _ = try await kf.run("fetch", origin.url("/open.png"), "--key", "open")
            let remote = try TemporaryDirectory()
            let pushed = try await push(kf, "file://\(remote.url.path)")
            #expect(pushed["uploaded"] as? Int == 1 && pushed["skipped"] as? Int == 5, "\(pushed)")
            #expect(remote.files().count == 2)
        }

        @Test("What killed writers lost, a push brings: no request to the origin")
        func killedWriters() async throws {
            let fleet = try RemoteFleet(images: 80)
            let remote = try TemporaryDirectory()
            let url = "file://\(remote.url.path)"
            let kf = try fleet.machine()
            let list = Data((0..<fleet.count).map { fleet.url($0) + "\n" }.joined().utf8)
            for count in [1, 8, 15, 22, 30, 37, 45, 52, 60] {
                let writers = try (0..<8).map { part in
                    try kf.start(
                        ["prefetch", "-", "--remote", url, "--remote-write", "--shard", "\(part)/8"], input: list)
                }
                _ = await eventually { remote.files().count >= count }
                writers[count % 8].signal(SIGKILL)
                for writer in writers { _ = try await writer.wait() }
            }
            fleet.expectAll(try await fleet.prefetch(by: kf))
            for count in [90, 120] {
                let running = try kf.start(["cache", "push", "--remote", url])
                _ = await eventually { running.errorsSoFar.contains("uploaded") || remote.files().count >= count }
                running.signal(SIGKILL)
                _ = try await running.wait()
            }
            #expect(try await push(kf, url)["failed"] as? Int == 0)
            let outcome = try await fleet.prefetch(by: fleet.machine(), "--remote", url)
            fleet.expectAll(outcome)
            #expect(outcome.asked == 0, "\(outcome.result)")
        }
    }
}
