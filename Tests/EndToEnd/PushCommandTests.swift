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
            #expect(try await push(kf, url, fleet.url(0))["uploaded"] as? Int == 1)
            #expect(try await push(kf, url, "--tag", "site")["uploaded"] as? Int == 2)
            #expect(try await kf.run("cache", "push", "--tag", "none", "--remote", url).status == 1)
            #expect(try await kf.run("cache", "push").errors.contains("needs one --remote"))
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
            _ = try await kf.run("fetch", origin.url("/open.png"))
            let remote = try TemporaryDirectory()
            let pushed = try await push(kf, "file://\(remote.url.path)")
            #expect(pushed["uploaded"] as? Int == 1 && pushed["skipped"] as? Int == 3, "\(pushed)")
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
