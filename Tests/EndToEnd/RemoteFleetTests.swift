import Foundation
import Support
import Testing

extension EndToEnd {
    /// Machines that share a remote, on real servers.
    @Suite("Machines that share a remote")
    struct RemoteFleetTests {
        @Test("The second machine makes no request to the origin", arguments: await RemoteKind.installed.value)
        func second(kind: RemoteKind) async throws {
            let fleet = try RemoteFleet(images: 30)
            let remote = try kind.start()
            let first = try await fleet.prefetch(
                by: fleet.machine(remote.environment), "--remote", remote.url, "--remote-write")
            fleet.expectAll(first)
            #expect(first.remote.uploaded > 0 && first.remote.dropped == 0 && first.warnings.isEmpty, "\(first.result)")
            #expect(first.asked == fleet.count && first.ways == ["fetched": fleet.count])
            #expect(remote.files("ac").count == fleet.count && remote.files("cas").count == fleet.count)
            try await remote.expectWhole()
            let second = try await fleet.prefetch(by: fleet.machine(remote.environment), "--remote", remote.url)
            fleet.expectAll(second)
            #expect(second.asked == 0 && second.ways == ["remote": fleet.count], "\(second.result)")
            let summary = try #require(try second.result.objects().last)
            let bytes = (0..<fleet.count).map { fleet.picture($0).count }.reduce(0, +)
            #expect(summary["from_remote"] as? Int == fleet.count && summary["remote_bytes"] as? Int == bytes)
            #expect(summary["fetched"] as? Int == 0 && summary["bytes"] as? Int == 0)
            #expect(second.remote == .init(hits: fleet.count) && second.warnings.isEmpty, "\(second.result)")
            // A writer that finds all there stores nothing again.
            let third = try await fleet.prefetch(
                by: fleet.machine(remote.environment), "--remote", remote.url, "--remote-write")
            fleet.expectAll(third)
            #expect(third.asked == 0 && third.remote == .init(hits: fleet.count), "\(third.result)")
        }

        @Test("A reader never writes to the remote", arguments: await RemoteKind.installed.value)
        func reader(kind: RemoteKind) async throws {
            let fleet = try RemoteFleet()
            let remote = try kind.start()
            // A directory that is missing is not an empty one: it may not be mounted.
            try FileManager.default.createDirectory(
                at: remote.root.appendingPathComponent("base"), withIntermediateDirectories: true)
            let outcome = try await fleet.prefetch(by: fleet.machine(remote.environment), "--remote", remote.url)
            fleet.expectAll(outcome)
            #expect(outcome.remote == .init(misses: fleet.count) && outcome.warnings.isEmpty, "\(outcome.result)")
            #expect(TemporaryDirectory.files(in: remote.root).isEmpty)
        }

        @Test("A killed writer leaves no corrupt object", arguments: await RemoteKind.programs.value)
        func killed(kind: RemoteKind) async throws {
            let fleet = try RemoteFleet(images: 100)
            let remote = try kind.start()
            let list = Data((0..<fleet.count).map { fleet.url($0) + "\n" }.joined().utf8)
            for count in [1, 10, 60, 120] {
                let running = try fleet.machine(remote.environment).start(
                    ["prefetch", "--remote", remote.url, "--remote-write", "-"], input: list)
                // A busy machine may drop uploads, so that the run ends before.
                _ = await eventually {
                    TemporaryDirectory.files(in: remote.root).count >= count
                        || running.errorsSoFar.contains("kf: remote:")
                }
                running.signal(SIGKILL)
                _ = try await running.wait()
                try await remote.expectWhole()
                let outcome = try await fleet.prefetch(by: fleet.machine(remote.environment), "--remote", remote.url)
                fleet.expectAll(outcome)
                // By their ways: the killed run's last requests may reach the origin late.
                #expect(outcome.remote.hits + outcome.ways["fetched", default: 0] == fleet.count, "\(outcome.ways)")
                #expect(outcome.remote.errors == 0)
                #expect(outcome.warnings.isEmpty, "\(outcome.result)")
            }
        }

        @Test("Sixteen writers of one list leave a complete remote", arguments: await RemoteKind.programs.value)
        func sixteen(kind: RemoteKind) async throws {
            let fleet = try RemoteFleet(images: 20)
            let remote = try kind.start()
            try await withThrowingTaskGroup(of: Void.self) { group in
                for _ in 0..<16 {
                    group.addTask {
                        let outcome = try await fleet.prefetch(
                            by: fleet.machine(remote.environment), "--remote", remote.url, "--remote-write")
                        fleet.expectAll(outcome)
                    }
                }
                try await group.waitForAll()
            }
            try await remote.expectWhole()
            // On a busy machine uploads may have been dropped; one more run stores the rest.
            _ = try await fleet.prefetch(
                by: fleet.machine(remote.environment), "--remote", remote.url, "--remote-write")
            #expect(remote.files("ac").count == fleet.count && remote.files("cas").count == fleet.count)
            let reader = try await fleet.prefetch(by: fleet.machine(remote.environment), "--remote", remote.url)
            fleet.expectAll(reader)
            #expect(reader.asked == 0 && reader.remote == .init(hits: fleet.count), "\(reader.result)")
        }

        @Test(
            "A required remote without its bucket ends the run",
            .enabled("Debian's python3-botocore is missing") { await S3Server.isInstalled })
        func missingBucket() async throws {
            let fleet = try RemoteFleet()
            let server = try S3Server()
            let machine = try fleet.machine(server.environment())
            for (bucket, status) in [("none", 3), (server.bucket, 0)] {
                let outcome = try await fleet.prefetch(
                    by: machine, "--remote", "s3://\(bucket)/team", "--remote-required")
                #expect(outcome.result.status == status, "\(outcome.result)")
                #expect(outcome.result.errors.contains("no such bucket (status 404)") == (status == 3))
            }
            let passedOver = try await fleet.prefetch(
                by: fleet.machine(server.environment()), "--remote", "s3://none/team")
            fleet.expectAll(passedOver)
            #expect(passedOver.warnings.count == 1 && passedOver.warnings[0].contains("no such bucket"))
        }
    }
}
