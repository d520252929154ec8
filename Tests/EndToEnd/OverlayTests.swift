import Foundation
import Support
import Synchronization
import Testing

extension EndToEnd {
    @Suite("Overlays that are retrieved")
    struct OverlayTests {
        private let kf: KFCommand
        private let server: FaultServer
        /// The picture that is served as the overlay; nil answers 404.
        private let overlay: Overlay

        private final class Overlay: Sendable {
            private let name = Mutex<String?>("rgba")

            var picture: String? {
                get { name.withLock { $0 } }
                set { name.withLock { $0 = newValue } }
            }
        }

        init() throws {
            kf = try KFCommand.withoutRetries()
            let overlay = Overlay()
            server = try FaultServer { request in
                guard request.path == "/logo.png" else {
                    return [.reply(body: (try? FixturesDirectory.bytes("jpeg/landscape-420.jpg")) ?? [])]
                }
                guard let name = overlay.picture, let bytes = try? FixturesDirectory.bytes("png/\(name).png") else {
                    return [.reply("404 Not Found", body: [])]
                }
                return [.reply(headers: ["X-Robots-Tag: noai"], body: bytes)]
            }
            self.overlay = overlay
            try kf.home.write("list.txt", ["/a.jpg", "/b.jpg"].map { server.url($0) + "\n" }.joined())
        }

        private var chain: [String] { ["-p", "watermark:\(server.url("/logo.png")),scale=0.2"] }

        private func prefetch(_ options: String...) async throws -> CommandResult {
            try await kf.run(["prefetch", "list.txt"] + chain + options)
        }

        private func requests(of path: String) -> Int { server.requests.count { $0.path == path } }

        @Test("A stale overlay is revalidated although its images are cached", arguments: ["fetch", "prefetch"])
        func stale(command: String) async throws {
            #expect(try await prefetch().status == 0)
            let logo = server.url("/logo.png")
            #expect(try await kf.run("fetch", logo, "--force-refresh", "--expire", "1ms").status == 0)
            overlay.picture = "grey"
            let words = [command, command == "fetch" ? server.url("/a.jpg") : "list.txt"]
            let before = requests(of: "/logo.png")
            let options = ["--stale-while-revalidate", "7d", "--json"]
            let first = try await kf.run(words + chain + options)
            #expect(first.status == 0 && requests(of: "/logo.png") == before + 1, "\(first)")
            let second = try await kf.run(words + chain + options)
            #expect(requests(of: "/logo.png") == before + 1)
            let statuses = try second.items().map(\.status)
            #expect(statuses.allSatisfy { $0 == (command == "fetch" ? "derived" : "cached") }, "\(second)")
            #expect(kf.leftovers() == [])
        }

        @Test("A deadline also ends the retrieval of overlays and stand-ins", arguments: ["fetch", "prefetch"])
        func deadline(command: String) async throws {
            let silent = try FaultServer { _ in [.hold] }
            let sources = [command, command == "fetch" ? server.url("/a.jpg") : "list.txt", "--output-dir", "out"]
            let (logo, image) = ("watermark:\(silent.url("/logo.png"))", silent.url("/none.png"))
            for option in [["-p", logo], ["--on-failure", image]] {
                let run = try await kf.run(sources + option + ["--deadline", "500ms", "--timeout", "20s"])
                #expect(run.status == 4 && run.wall < .seconds(10), "\(run)")
            }
            #expect(requests(of: "/a.jpg") == 0)
        }

        @Test("A failing overlay is a failure of each source that needs it")
        func fails() async throws {
            overlay.picture = nil
            try kf.home.write("failed.txt", "old\n")
            let run = try await prefetch("--failures", "failed.txt", "--results", "rows.csv", "--retry-failed")
            #expect(run.status == 1 && run.errors.contains("0 fetched (0 B), 0 cached, 2 failed"), "\(run)")
            let (source, logo) = (server.url("/a.jpg"), server.url("/logo.png"))
            #expect(run.errors.contains("kf: line 1: \(source): watermark \(logo): response 404"), "\(run)")
            #expect(try kf.text("failed.txt") == kf.text("list.txt"))
            let rows = try kf.text("rows.csv").split(separator: "\n")
            #expect(rows.count == 3 && rows.dropFirst().allSatisfy { $0.contains("failed") }, "\(rows)")
            #expect(requests(of: "/a.jpg") == 0 && requests(of: "/logo.png") == 1)
            let items = try await prefetch("--json").items()
            #expect(items.count == 2 && items.allSatisfy { $0.error?.code == 2002 && $0.key != nil }, "\(items)")
            #expect(items.allSatisfy { $0.error?.message.hasPrefix("watermark ") == true }, "\(items)")
            let fetch = try await kf.run(["fetch", server.url("/a.jpg"), "--json"] + chain)
            #expect(try fetch.status == 1 && fetch.item().error?.code == 2002, "\(fetch)")
        }

        @Test("A failing overlay leaves the variants without it alone")
        func variants() async throws {
            overlay.picture = nil
            let run = try await kf.run(
                "fetch", server.url("/a.jpg"), "--variant", "marked=\(chain[1])", "--variant", "small=resize:8x",
                "--json")
            let items = try run.items()
            #expect(run.status == 1 && items.map(\.status) == ["failed", "fetched"], "\(run)")
            #expect(items.allSatisfy { $0.key == server.url("/a.jpg") })
        }

        @Test("A stand-in takes the place of an image whose overlay fails")
        func standIn() async throws {
            overlay.picture = nil
            let run = try await kf.run(
                ["fetch", server.url("/a.jpg"), "-o", "x.png", "--on-failure", FixturesDirectory.path("png/grey.png")]
                    + chain)
            #expect(run.status == 1 && FileManager.default.fileExists(atPath: kf.home.path("x.png").path), "\(run)")
        }

        @Test("Filters and opt-outs judge the sources and not the overlay")
        func filters() async throws {
            let run = try await prefetch("--min-size", "100x100", "--respect-opt-out")
            #expect(run.status == 0 && run.errors.contains("2 fetched"), "\(run)")
        }

        @Test("A dry run foretells a request for an overlay that is not cached")
        func dryRun() async throws {
            let run = try await prefetch("--dry-run", "--json")
            let objects = try run.objects()
            #expect(run.status == 0 && server.requests.isEmpty, "\(run)")
            #expect(objects.map { $0["status"] as? String } == ["missing", "missing", nil], "\(run)")
            #expect(objects.map { $0["next"] as? String } == ["request", "request", nil], "\(run)")
            #expect(try await prefetch("--dry-run", "--check").status == 1)
            #expect(try await prefetch().status == 0)
            #expect(try await prefetch("--dry-run", "--check").errors.contains("2 hits"))
            let path = try await kf.run(["cache", "path", server.url("/a.jpg")] + chain)
            #expect(path.status == 0 && path.outputLines.count == 1, "\(path)")
        }

        @Test("A run that may not write requests an overlay, as its dry run says")
        func readOnly() async throws {
            _ = try await kf.run("prefetch", "list.txt")
            let asked = server.requests.count
            let dry = try await prefetch("--read-only", "--dry-run", "--json")
            #expect(try dry.objects().map { $0["next"] as? String } == ["request", "request", nil], "\(dry)")
            let run = try await prefetch("--read-only", "--json", "-P", "out", "--create-dirs")
            #expect(try run.items().map(\.status) == ["derived", "derived"], "\(run)")
            #expect(server.requests.count == asked + 1)
            #expect(try await prefetch("--read-only").status == 3)
        }

        @Test(
            "A local overlay is read without a network, and in a dry run",
            arguments: ["--offline", "--only-from-cache"])
        func local(option: String) async throws {
            let local = ["-p", "watermark:\(FixturesDirectory.path("png/rgba.png"))"]
            #expect(try await kf.run(["prefetch", "list.txt"] + local).status == 0)
            let asked = server.requests.count
            for options in [[option], [option, "-P", "out"], ["--dry-run", "--check"]] {
                let run = try await kf.run(["prefetch", "list.txt"] + local + options)
                #expect(run.status == 0, "\(run)")
                #expect(run.errors.contains(options == ["--dry-run", "--check"] ? "2 hits" : "2 cached"), "\(run)")
            }
            let path = try await kf.run(["cache", "path", server.url("/a.jpg")] + local)
            #expect(path.status == 0 && path.outputLines.count == 1, "\(path)")
            #expect(server.requests.count == asked)
        }

        @Test("A local stand-in is read without a network")
        func localStandIn() async throws {
            let words = ["fetch", server.url("/a.jpg"), "--offline", "-o", "x.png", "--on-failure"]
            let run = try await kf.run(words + [FixturesDirectory.path("png/grey.png")])
            #expect(run.status == 1 && server.requests.isEmpty, "\(run)")
            #expect(FileManager.default.fileExists(atPath: kf.home.path("x.png").path))
        }

        @Test("An overlay is locked like a source")
        func locked() async throws {
            let first = try await prefetch("--lock", "images.lock")
            #expect(first.errors.contains("3 new, 0 changed, 0 as locked"), "\(first)")
            let lock = try kf.text("images.lock")
            #expect(lock.contains("\(server.url("/logo.png")) sha256-"))
            #expect(try await prefetch("--lock", "images.lock", "--frozen").errors.contains("3 as locked"))
            overlay.picture = "grey"
            _ = try await kf.run("cache", "clean", "--all", "--yes")
            let changed = try await prefetch("--lock", "images.lock", "--frozen")
            #expect(changed.status == 1 && changed.errors.contains("[2011]"), "\(changed)")
            #expect(requests(of: "/a.jpg") == 1)
            let rows = lock.split(separator: "\n").filter { !$0.contains("/logo.png") }
            try kf.home.write("images.lock", rows.map { $0 + "\n" }.joined())
            let unlocked = try await prefetch("--lock", "images.lock", "--frozen")
            #expect(unlocked.status == 1 && unlocked.errors.contains("[1009]"), "\(unlocked)")
        }

        @Test(
            "An image is uploaded only to a remote that has its overlay",
            arguments: [(nil, true), ("user:pw", false), ("file", false)])
        func uploaded(user: String?, isShared: Bool) async throws {
            let remote = try RemoteFaultServer([])
            let file = FixturesDirectory.path("png/rgba.png")
            let name =
                user == "file"
                ? file : server.url("/logo.png").replacing("http://", with: user.map { "http://\($0)@" } ?? "http://")
            let options = ["-p", "watermark:\(name),scale=0.2", "--remote", remote.url("/base"), "--remote-write"]
            let run = try await kf.run(["prefetch", "list.txt"] + options)
            #expect(run.status == 0 && run.errors.contains("does not have; such images") == !isShared, "\(run)")
            // The original that both sources have and, with a public overlay, that and the image.
            let objects = remote.tree.files.keys.filter { $0.contains("/cas/") }
            #expect(objects.count == (isShared ? 3 : 1), "\(objects)")
            let push = try await kf.run("cache", "push", "--remote", remote.url("/base"))
            #expect(push.status == 0)
            #expect(remote.tree.files.keys.count { $0.contains("/cas/") } == objects.count, "\(push)")
        }
    }
}
