import Foundation
import Support
import Testing

extension EndToEnd {
    /// The lines of the article for a directory, which a remote's users see as misses only. `make remotes` tries those of
    /// rclone.
    @Suite("Looking after a remote")
    struct RemoteCareTests {
        private static func lines() throws -> String {
            let article = PackageRoot.url.appending(path: "Sources/KFCore/KFCore.docc/Remotes.md")
            let text = try String(contentsOf: article, encoding: .utf8)
            let section = try #require(text.components(separatedBy: "### Looking after a remote\n").dropFirst().first)
            return try #require(section.components(separatedBy: "```sh\n").dropFirst().first)
                .components(separatedBy: "```")[0]
        }

        @Test("The article's lines for a directory cost misses only", arguments: [RemoteKind.file, .nginx, .apache])
        func directory(kind: RemoteKind) async throws {
            guard await RemoteKind.installed.value.contains(kind) else { return }
            let (fleet, remote) = (try RemoteFleet(images: 12), try kind.start())
            fleet.expectAll(try await fleet.prefetch(by: fleet.machine(), "--remote", remote.url, "--remote-write"))
            let base = remote.root.appendingPathComponent("base/kf1")
            func age(_ path: String, days: Int) {
                let time = timespec(tv_sec: Int(Date.now.timeIntervalSince1970) - days * 86_400, tv_nsec: 0)
                #expect(utimensat(AT_FDCWD, base.appendingPathComponent(path).path, [time, time], 0) == 0)
            }
            let objects = (0..<12).map { number in
                let name = PlainSHA256.hex(PlainSHA256.hash(fleet.picture(number)))
                return "cas/\(name.prefix(2))/\(name)"
            }
            // Three are unused for long, four are beyond the size, and one is wrong.
            for number in 0..<3 { age(objects[number], days: 100) }
            for number in 3..<7 { age(objects[number], days: 10) }
            try Data(fleet.picture(11).reversed()).write(to: base.appendingPathComponent(objects[11]))
            let entries = remote.files("ac").reduce(0) { size, name in
                size + ((try? Data(contentsOf: base.appendingPathComponent("ac/\(name)")).count) ?? 0)
            }
            let limit = entries + (7..<12).map { fleet.picture($0).count }.reduce(0, +)
            let script = try Self.lines().replacing("/srv/kf", with: remote.root.appendingPathComponent("base").path)
                .replacing("200e9", with: "\(limit)")
            let result = try await Tool.run("bash", "-euc", script)
            #expect(result.status == 0 && result.errors.isEmpty, "\(result)")
            #expect(Set(remote.files("cas").map { "cas/\($0)" }) == Set(objects[7..<11]), "\(result)")
            #expect(remote.files("ac").count == 12)

            let writer = try await fleet.prefetch(by: fleet.machine(), "--remote", remote.url, "--remote-write")
            fleet.expectAll(writer)
            #expect(writer.ways == ["remote": 4, "fetched": 8], "\(writer.result)")
            try await remote.expectWhole()
            let reader = try await fleet.prefetch(by: fleet.machine(), "--remote", remote.url)
            #expect(reader.asked == 0 && reader.ways == ["remote": 12], "\(reader.result)")
        }

        @Test("Half a remote that is deleted while machines use it costs misses only")
        func meanwhile() async throws {
            let (fleet, remote) = (try RemoteFleet(images: 60), try RemoteKind.file.start())
            let base = remote.root.appendingPathComponent("base").path
            try FileManager.default.createDirectory(atPath: base, withIntermediateDirectories: true)
            let deleting = try RunningCommand(
                "bash", ["-c", "while [ -d '\(base)' ]; do find '\(base)' -type f -name '*[02468ace]' -delete; done"],
                environment: Tool.environment)
            for _ in 0..<3 {
                fleet.expectAll(try await fleet.prefetch(by: fleet.machine(), "--remote", remote.url, "--remote-write"))
            }
            deleting.signal(SIGKILL, group: true)
            _ = try await deleting.wait()
            try await remote.expectWhole()
        }
    }
}
