import Foundation
import Support
import Testing

extension EndToEnd {
    /// `cache verify --remote` and `cache clean --remote` on servers that can list.
    @Suite("Cleaned remotes")
    struct RemoteCleaningTests {
        static let kinds: [RemoteKind] = [.file, .s3, .s3WithToken, .apache, .apacheWithPassword]

        /// A remote with the images of a fleet, and the machine that wrote them.
        private func filled(
            _ kind: RemoteKind, images: Int = 8
        ) async throws -> (fleet: RemoteFleet, remote: RunningRemote, kf: KFCommand)? {
            guard await RemoteKind.installed.value.contains(kind) else { return nil }
            let (fleet, remote) = (try RemoteFleet(images: images), try kind.start())
            let kf = try fleet.machine(remote.environment)
            fleet.expectAll(try await fleet.prefetch(by: kf, "--remote", remote.url, "--remote-write"))
            return (fleet, remote, kf)
        }

        private func base(_ remote: RunningRemote) -> URL { remote.root.appendingPathComponent("base/kf1") }

        /// The path of the entry of an image, and that of its object, below `kf1`.
        private func places(_ fleet: RemoteFleet, _ number: Int, _ remote: RunningRemote) throws -> (String, String) {
            let object = PlainSHA256.hex(PlainSHA256.hash(fleet.picture(number)))
            let entry = try #require(
                try remote.files("ac").first {
                    try String(contentsOf: base(remote).appendingPathComponent("ac/\($0)"), encoding: .utf8)
                        .contains(object)
                })
            return ("ac/\(entry)", "cas/\(object.prefix(2))/\(object)")
        }

        private func write(_ bytes: [UInt8], _ path: String, _ remote: RunningRemote) throws {
            let file = base(remote).appendingPathComponent(path)
            try FileManager.default.createDirectory(
                at: file.deletingLastPathComponent(), withIntermediateDirectories: true)
            try Data(bytes).write(to: file)
        }

        /// Sets the time of the last use.
        private func age(_ path: String, hours: Double, _ remote: RunningRemote) throws {
            let time = Date.now.timeIntervalSince1970 - hours * 3600
            let times = Array(repeating: timespec(tv_sec: Int(time), tv_nsec: 0), count: 2)
            #expect(utimensat(AT_FDCWD, base(remote).appendingPathComponent(path).path, times, 0) == 0)
        }

        private func command(
            _ kf: KFCommand, _ words: String..., at remote: RunningRemote
        ) async throws -> (result: CommandResult, lines: [[String: Any]]) {
            let result = try await kf.run(["cache"] + words + ["--remote", remote.url, "--json"])
            return (result, try result.objects())
        }

        @Test("Damage of a remote is found, and deleted on request", arguments: kinds)
        func damage(kind: RemoteKind) async throws {
            guard let (fleet, remote, kf) = try await filled(kind) else { return }
            #expect(try await command(kf, "verify", at: remote).result.status == 0)
            let images = try (0..<8).map { try places(fleet, $0, remote) }
            // Other bytes of the same length, a missing and a longer object, and an entry that is none.
            try write(fleet.picture(0).reversed(), images[0].1, remote)
            try FileManager.default.removeItem(at: base(remote).appendingPathComponent(images[1].1))
            try write(fleet.picture(2) + [0], images[2].1, remote)
            try write(Array("{}".utf8), images[3].0, remote)
            try age(images[3].1, hours: 2, remote)
            let stray = fleet.picture(99)
            let strayName = PlainSHA256.hex(PlainSHA256.hash(stray))
            try write(stray, "cas/\(strayName.prefix(2))/\(strayName)", remote)
            try write(Array("mine".utf8), "cas/\(strayName.prefix(2))/notes.txt", remote)
            try write(Array("mine".utf8), "tmp/kf-upload-0123456789abcdef", remote)
            let before = TemporaryDirectory.files(in: base(remote))

            let (checked, findings) = try await command(kf, "verify", at: remote)
            #expect(checked.status == 1, "\(checked)")
            #expect(TemporaryDirectory.files(in: base(remote)) == before)
            let kinds = Dictionary(grouping: findings.compactMap { $0["kind"] as? String }) { $0 }.mapValues(\.count)
            #expect(
                kinds == ["wrong_content": 3, "missing_file": 1, "wrong_size": 1, "orphan": 1], "\(checked)")

            let (mended, repairs) = try await command(kf, "verify", "--delete", at: remote)
            #expect(
                mended.status == 0 && repairs.dropLast().allSatisfy { $0["repaired"] as? Bool == true }, "\(mended)")
            let after = TemporaryDirectory.files(in: base(remote))
            #expect(after.count { $0.hasPrefix("ac/") } == 4)
            let wrong = repairs.first { ($0["path"] as? String)?.hasSuffix(images[0].1) == true }
            #expect((wrong?["entries"] as? [String])?.first?.hasSuffix(images[0].0) == true, "\(mended)")
            // The object without an entry is too young to go, and other files are not kf's.
            #expect(after.contains { $0.hasSuffix(strayName) } && after.contains { $0.hasSuffix("notes.txt") })
            #expect(after.contains("tmp/kf-upload-0123456789abcdef"))
            #expect(try await command(kf, "verify", at: remote).result.status == 0)

            let reader = try fleet.machine(remote.environment)
            let outcome = try await fleet.prefetch(by: reader, "--remote", remote.url, "--remote-write")
            fleet.expectAll(outcome)
            #expect(outcome.remote.hits == 4 && outcome.remote.uploaded == 4 && outcome.remote.errors == 0)
            #expect(try await command(kf, "verify", at: remote).result.status == 0)
        }

        @Test("Unused images of a remote go, the least recently used first", arguments: kinds)
        func unused(kind: RemoteKind) async throws {
            guard let (fleet, remote, kf) = try await filled(kind) else { return }
            let images = try (0..<8).map { try places(fleet, $0, remote) }
            for (number, image) in images.enumerated() { try age(image.0, hours: Double(24 * (8 - number)), remote) }
            let before = TemporaryDirectory.files(in: base(remote))
            let (dry, named) = try await command(kf, "clean", "--unused-for", "132h", "--dry-run", at: remote)
            #expect(dry.status == 0 && TemporaryDirectory.files(in: base(remote)) == before)
            #expect(named.last?["removed"] as? Int == 3, "\(dry)")
            let locations = named.dropLast().compactMap { $0["location"] as? String }
            #expect(
                Set(locations.compactMap { $0.split(separator: "/").last.map(String.init) })
                    == Set(images[..<3].compactMap { $0.0.split(separator: "/").last.map(String.init) }), "\(dry)")

            let (_, lines) = try await command(kf, "clean", "--unused-for", "132h", at: remote)
            #expect(lines.last?["removed"] as? Int == 3 && lines.count == 1)
            func left() throws -> [Int] {
                let files = TemporaryDirectory.files(in: base(remote))
                return images.indices.filter { files.contains(images[$0].0) && files.contains(images[$0].1) }
            }
            #expect(try left() == [3, 4, 5, 6, 7])
            #expect(TemporaryDirectory.files(in: base(remote)).count == 10)
            let sizes = try images[6...].flatMap { [$0.0, $0.1] }.map {
                try Data(contentsOf: base(remote).appendingPathComponent($0)).count
            }
            let limit = sizes.reduce(0, +)
            let (evicted, _) = try await command(kf, "clean", "--max-size", "\(limit)", at: remote)
            #expect(try left() == [6, 7] && evicted.status == 0, "\(evicted)")
            #expect(TemporaryDirectory.files(in: base(remote)).count == 4)
            #expect(try await command(kf, "verify", at: remote).lines.last?["clean"] as? Bool == true)
        }

        @Test("Checks and cleanings are no uses of a directory's images")
        func accessTimes() async throws {
            guard let (fleet, remote, kf) = try await filled(.file, images: 2) else { return }
            let images = try (0..<2).map { try places(fleet, $0, remote) }
            for (entry, object) in images {
                try age(entry, hours: 100, remote)
                try age(object, hours: 100, remote)
            }
            for words in [["verify"], ["clean", "--unused-for", "200h"]] {
                #expect(try await kf.run(["cache"] + words + ["--remote", remote.url]).status == 0)
            }
            let read = try await fleet.machine().run("fetch", fleet.url(0), "--remote", remote.url)
            #expect(read.status == 0)
            // The file system may note no reads at all.
            let noted = try FileManager.default.attributesOfItem(atPath: base(remote).path)[.systemNumber] != nil
            let (_, lines) = try await command(kf, "clean", "--unused-for", "99h", at: remote)
            let removed = try #require(lines.last?["removed"] as? Int)
            #expect(noted && (1...2).contains(removed), "\(lines)")
            #expect(!TemporaryDirectory.files(in: base(remote)).contains(images[1].0))
        }

        @Test("A remote that has lost a folder keeps the other one", arguments: kinds)
        func lostFolders(kind: RemoteKind) async throws {
            guard let (_, remote, kf) = try await filled(kind, images: 70) else { return }
            for object in remote.files("cas") { try age("cas/\(object)", hours: 50, remote) }
            let (away, elsewhere) = (remote.root.appendingPathComponent("away"), base(remote))
            func move(_ name: String, from: URL, to: URL) throws {
                try FileManager.default.createDirectory(at: to, withIntermediateDirectories: true)
                try FileManager.default.moveItem(
                    at: from.appendingPathComponent(name), to: to.appendingPathComponent(name))
            }
            for lost in ["ac", "cas"] {
                try move(lost, from: elsewhere, to: away)
                for words in [["verify", "--delete"], ["clean", "--unused-for", "1h"]] {
                    let (result, lines) = try await command(
                        kf, words[0], words[1], words.count > 2 ? words[2] : "--json", at: remote)
                    #expect(result.status == 3 && result.errors.contains("nothing is deleted"), "\(result)")
                    #expect(lines.last?["exit_status"] as? Int == 3, "\(result)")
                    #expect(remote.files("ac").count + remote.files("cas").count == 70)
                }
                #expect(try await command(kf, "verify", at: remote).lines.last?["found"] as? Int == 70)
                try move(lost, from: away, to: elsewhere)
            }
        }

        @Test("A directory that cannot be listed whole loses nothing")
        func incompleteDirectories() async throws {
            guard let (_, remote, kf) = try await filled(.file, images: 4) else { return }
            for object in remote.files("cas") { try age("cas/\(object)", hours: 50, remote) }
            let folder = base(remote).appendingPathComponent(
                "ac/\(try #require(remote.files("ac").first).prefix(2))")
            let elsewhere = remote.root.appendingPathComponent("elsewhere")
            try FileManager.default.moveItem(at: folder, to: elsewhere)
            for put in ["link", "file"] {
                if put == "link" {
                    try FileManager.default.createSymbolicLink(at: folder, withDestinationURL: elsewhere)
                } else {
                    try Data().write(to: folder)
                }
                let result = try await kf.run("cache", "verify", "--delete", "--remote", remote.url)
                #expect(result.status == 3 && result.errors.contains("cannot be listed"), "\(result)")
                try FileManager.default.removeItem(at: folder)
            }
            #expect(remote.files("cas").count == 4)
        }

        @Test("Images that share an object lose it with the last of them")
        func shared() async throws {
            let image = try FixturesDirectory.bytes("png/grey.png")
            let origin = try FaultServer { _ in [.reply(body: image)] }
            let (kf, remote) = (try KFCommand(), try RemoteKind.file.start())
            for path in ["/a", "/b"] {
                let fetch = ["fetch", "-q", origin.url(path), "--remote", remote.url, "--remote-write"]
                #expect(try await kf.run(fetch).status == 0)
            }
            let entries = remote.files("ac")
            #expect(entries.count == 2 && remote.files("cas").count == 1)
            for (entry, hours) in zip(entries, [50.0, 10]) { try age("ac/\(entry)", hours: hours, remote) }
            for (span, left) in [("20h", 1), ("5h", 0)] {
                _ = try await command(kf, "clean", "--unused-for", span, at: remote)
                #expect(remote.files("ac").count == left && remote.files("cas").count == left)
            }
        }

        @Test("An entry that cannot be read stops a cleaning")
        func unreadableEntry() async throws {
            guard geteuid() == 0, let (fleet, remote, kf) = try await filled(.file, images: 3) else { return }
            for number in 0..<3 {
                let (entry, object) = try places(fleet, number, remote)
                try age(entry, hours: 50, remote)
                try age(object, hours: 50, remote)
            }
            // A second entry of the first object.
            let (entry, _) = try places(fleet, 0, remote)
            let text = try String(contentsOf: base(remote).appendingPathComponent(entry), encoding: .utf8)
            let other = String(repeating: "a", count: 64)
            try write(
                Array(text.replacing(/"name":"[0-9a-f]{64}"/, with: "\"name\":\"\(other)\"").utf8), "ac/aa/\(other)",
                remote)
            #expect(try await Tool.run("chown", "-R", "4001:4001", remote.root.path).status == 0)
            let shut = base(remote).appendingPathComponent("ac/aa/\(other)").path
            #expect(chown(shut, 4002, 4002) == 0 && chmod(shut, 0o600) == 0 && chmod(kf.home.url.path, 0o777) == 0)
            let before = TemporaryDirectory.files(in: base(remote))
            let result = try await kf.run(
                ["cache", "clean", "--unused-for", "1h", "--json", "--remote", remote.url],
                under: "setpriv", "--reuid", "4001", "--regid", "4001", "--clear-groups")
            #expect(result.status == 1 && result.errors.contains("1 entry could not be read"), "\(result)")
            #expect(try result.objects().last?["failed"] as? Int == 1)
            #expect(TemporaryDirectory.files(in: base(remote)) == before)
        }

        @Test("Options that do not fit together are refused")
        func usage() async throws {
            let kf = try KFCommand()
            let url = "file://\(kf.home.url.path)"
            for (words, text) in [
                (["verify", "--delete"], "--delete needs a --remote"),
                (["verify", "--remote", url, "--remote", url], "takes one --remote"),
                (["verify", "--remote", url, "--repair"], "exclude each other"),
                (["verify", "--remote", url, "--host", "h"], "exclude each other"),
                (["verify", "--remote", url, "http://h/a"], "takes no arguments"),
                (["clean", "--remote", url], "takes --unused-for or --max-size"),
                (["clean", "--remote", url, "--max-size", "0"], "takes --unused-for or --max-size"),
                (["clean", "--remote", url, "--unused-for", "1d", "http://h/a"], "and no arguments"),
                (["clean", "--remote", url, "--all", "--yes"], "exclude each other"),
                (["clean", "--remote", url, "--keep-list", "x", "--unused-for", "1d"], "exclude each other"),
                (["clean", "--remote", "file:///a/%2e%2e%2fb", "--unused-for", "1d"], "must not hold"),
                (["clean", "--remote", "file:///a%00b", "--unused-for", "1d"], "must not hold"),
            ] {
                let result = try await kf.run(["cache"] + words)
                #expect(result.status == 2 && result.errors.contains(text), "\(result)")
            }
        }
    }
}
