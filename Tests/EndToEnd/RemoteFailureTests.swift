import Foundation
import Support
import Testing

/// One row of the table of failures: what the remote does, to readers or to a writer.
struct RemoteFailure: Sendable, CustomTestStringConvertible {
    let name: String
    let faults: [RemoteFault]
    /// A piece of the one warning; nil when nothing is said.
    var says: String?

    init(_ name: String, says: String? = nil, _ faults: RemoteFault...) {
        self.name = name
        self.says = says
        self.faults = faults
    }

    var testDescription: String { name }

    /// An entry or an object that is not what it should be: a miss, counted, one warning.
    static let lies: [RemoteFailure] =
        [
            ("a page", .page), ("cut JSON", .cutJSON), ("nothing", .nothing), ("another key's entry", .another),
            ("a wrong length", .otherLength), ("more than an entry", .longer),
        ].map { RemoteFailure("entry: \($0)", says: "entry", .init(.lie($1), to: "GET", at: "/ac/")) }
        + [
            ("a wrong byte", .otherLastByte), ("too long", .longer), ("too short", .shorter), ("nothing", .nothing),
            ("another object", .another), ("a page", .page),
        ].map { RemoteFailure("object: \($0)", says: "object", .init(.lie($1), to: "GET", at: "/cas/")) }
        + [
            RemoteFailure("an entry of 1 GB", says: "entry", .init(.zeros(1 << 30), to: "GET", at: "/ac/")),
            RemoteFailure("an object of 1 GB", says: "object", .init(.zeros(1 << 30), to: "GET", at: "/cas/")),
        ]

    /// Failures that may pass: misses, and a rest after three in a row.
    static let transient: [RemoteFailure] = [
        RemoteFailure("500", .init(.status(500), to: "GET")), RemoteFailure("502", .init(.status(502), to: "GET")),
        RemoteFailure("503", .init(.status(503), to: "GET")),
        RemoteFailure("closes without an answer", .init(.close, to: "GET")),
        RemoteFailure("a reset", .init(.reset, to: "GET")),
        RemoteFailure("an object that breaks off", .init(.truncate(after: 100), to: "GET", at: "/cas/")),
    ]

    /// Standstills: the same, and their time is bounded.
    static let standing: [RemoteFailure] = [
        RemoteFailure("never answers", .init(.silence, to: "GET")),
        RemoteFailure("stops after the head", .init(.stall(after: 0), to: "GET")),
        RemoteFailure("stops in the middle of an object", .init(.stall(after: 100), to: "GET", at: "/cas/")),
    ]

    static let refusals: [RemoteFailure] = [401, 403].map {
        RemoteFailure("\($0) on GET", says: "\($0)", .init(.status($0), to: "GET"))
    }

    /// No more writing in this run.
    static let unwritable: [RemoteFailure] = [403, 405, 501, 507].map {
        RemoteFailure("\($0) on PUT", says: "\($0)", .init(.status($0), to: "PUT"))
    }
}

extension EndToEnd {
    @Suite("Failing remotes")
    struct RemoteFailureTests {
        // MARK: Reading

        @Test("A 404 from a remote is a silent miss")
        func empty() async throws {
            let fleet = try RemoteFleet()
            let remote = try RemoteFaultServer()
            let outcome = try await fleet.read(remote)
            #expect(outcome.remote == .init(misses: fleet.count) && outcome.asked == fleet.count, "\(outcome)")
            #expect(outcome.warnings.isEmpty && remote.requests("PUT", "MKCOL").isEmpty)
            #expect(remote.requests.count == fleet.count)
        }

        @Test("A corrupt remote entry is a miss with one warning", arguments: RemoteFailure.lies)
        func lies(failure: RemoteFailure) async throws {
            let fleet = try RemoteFleet()
            let remote = try RemoteFaultServer()
            try await fleet.warm(remote)
            let small = try await fleet.read(remote)
            remote.misbehave(failure.faults)
            let outcome = try await fleet.read(remote)
            // Each lie about another's entry or object is told by the first of them truly.
            #expect(outcome.remote.hits <= 1 && outcome.asked >= fleet.count - 1, "\(outcome)")
            #expect(outcome.remote.hits + outcome.asked == fleet.count, "\(outcome)")
            #expect(outcome.warnings.count == 1, "\(outcome.result)")
            #expect(outcome.result.growth(over: small.result) < 64 << 20)
        }

        @Test("A writer replaces corrupt objects in a remote", arguments: [true, false])
        func overwritten(isWriting: Bool) async throws {
            let fleet = try RemoteFleet()
            let remote = try RemoteFaultServer()
            try await fleet.warm(remote)
            let right = remote.tree.files
            var tree = remote.tree
            for name in right.keys.filter({ $0.contains("/cas/") }) { tree.files[name]?[100] ^= 1 }
            remote.tree = tree
            let options = ["--remote", remote.url("/base")] + (isWriting ? ["--remote-write"] : [])
            let outcome = try await fleet.prefetch(by: fleet.machine(), options)
            fleet.expectAll(outcome)
            #expect(outcome.remote.hits == 0 && outcome.asked == fleet.count)
            let objects = remote.tree.files.filter { $0.key.contains("/cas/") }
            #expect((objects == right.filter { $0.key.contains("/cas/") }) == isWriting)
            let next = try await fleet.read(remote)
            #expect(next.remote.hits == (isWriting ? fleet.count : 0))
        }

        @Test(
            "After three failures in a row the remote rests",
            arguments: RemoteFailure.transient)
        func transient(failure: RemoteFailure) async throws {
            let fleet = try RemoteFleet(images: 200)
            let remote = try RemoteFaultServer()
            try await fleet.warm(remote)
            remote.misbehave(failure.faults)
            let before = remote.requests.count
            let outcome = try await fleet.read(remote)
            #expect(outcome.remote.hits == 0 && outcome.asked == fleet.count, "\(outcome.remote)")
            #expect(outcome.remote.errors >= 3 && outcome.warnings.count == 1, "\(outcome.result.errors)")
            // Those in flight when the third fails are let end. Objects are asked for when all entries have come.
            let isAboutObjects = failure.faults.contains { $0.part == "/cas/" }
            #expect(isAboutObjects || remote.requests.count - before < 150)
        }

        @Test("A stalled remote costs a bounded time", arguments: RemoteFailure.standing)
        func standing(failure: RemoteFailure) async throws {
            let fleet = try RemoteFleet(images: 50)
            let remote = try RemoteFaultServer()
            try await fleet.warm(remote)
            let without = try await fleet.prefetch(by: fleet.machine(), [])
            remote.misbehave(failure.faults)
            let outcome = try await fleet.read(remote)
            #expect(outcome.remote.hits == 0 && outcome.asked == fleet.count, "\(outcome.remote)")
            #expect(outcome.result.wall < without.result.wall * 3 + .seconds(12), "\(outcome.result.wall)")
        }

        enum Dead: String, CaseIterable { case neverAccepts, refuses, hasNoName }

        /// The address of a remote that cannot be reached, and what must live as long as it.
        private func deadRemote(_ kind: Dead) throws -> (url: String, listener: FullListener?) {
            switch kind {
            case .neverAccepts:
                let listener = try FullListener()
                return (listener.url + "base", listener)
            case .refuses: return ("http://127.0.0.1:\(try FaultServer.lastingPort())/base", nil)
            case .hasNoName: return ("http://nowhere.invalid/base", nil)
            }
        }

        @Test("A dead remote costs at most three seconds", arguments: Dead.allCases)
        func dead(kind: Dead) async throws {
            let fleet = try RemoteFleet(images: 200)
            let without = try await fleet.prefetch(by: fleet.machine(), [])
            let (url, listener) = try deadRemote(kind)
            let outcome = try await fleet.prefetch(by: fleet.machine(), "--remote", url, "--remote-write")
            fleet.expectAll(outcome)
            #expect(outcome.remote.hits == 0 && outcome.asked == fleet.count)
            // Twice the time of the run without it, for a machine whose load changes meanwhile.
            #expect(outcome.result.wall < without.result.wall * 2 + .seconds(3), "\(outcome.result.wall)")
            #expect(outcome.warnings.count == 1, "\(outcome.result.errors)")
            withExtendedLifetime(listener) {}
        }

        @Test("A remote that denies reading is not asked again", arguments: RemoteFailure.refusals)
        func refusals(failure: RemoteFailure) async throws {
            let fleet = try RemoteFleet(images: 200)
            let remote = try RemoteFaultServer(failure.faults)
            let options = ["--remote", remote.url("/base")]
            let outcome = try await fleet.prefetch(by: fleet.machine(), options)
            fleet.expectAll(outcome)
            #expect(
                outcome.warnings.count == 1 && outcome.warnings[0].contains(failure.says ?? ""), "\(outcome.result)")
            #expect(remote.requests.count < 150)
            let writing = try await fleet.prefetch(by: fleet.machine(), options + ["--remote-write"])
            fleet.expectAll(writing)
            #expect(writing.remote.uploaded == 0)
        }

        @Test("A required remote that refuses ends the run")
        func required() async throws {
            let fleet = try RemoteFleet()
            let remote = try RemoteFaultServer()
            let options = ["--remote", remote.url("/base"), "--remote-required"]
            #expect(try await fleet.prefetch(by: fleet.machine(), options).result.status == 0)
            for status in [401, 403] {
                remote.misbehave(.init(.status(status), to: "GET"))
                let outcome = try await fleet.prefetch(by: fleet.machine(), options)
                #expect(outcome.result.status == 3 && outcome.result.errors.contains("\(status)"), "\(outcome.result)")
            }
            for kind in Dead.allCases {
                let (url, listener) = try deadRemote(kind)
                let outcome = try await fleet.prefetch(by: fleet.machine(), "--remote", url, "--remote-required")
                #expect(outcome.result.status == 3, "\(outcome.result)")
                withExtendedLifetime(listener) {}
            }
        }

        // MARK: Writing

        @Test("A remote that denies writing is still read", arguments: RemoteFailure.unwritable)
        func unwritable(failure: RemoteFailure) async throws {
            let fleet = try RemoteFleet(images: 200)
            let remote = try RemoteFaultServer(failure.faults)
            let outcome = try await fleet.write(remote)
            #expect(outcome.remote.uploaded == 0 && outcome.remote.dropped == fleet.count, "\(outcome.remote)")
            let place = " at \(remote.url("/base"))/kf1/cas/"
            let warnings = outcome.warnings.filter { $0.contains(failure.says ?? "") && $0.contains(place) }
            #expect(warnings.count == 1 && outcome.warnings.count == 1, "\(outcome.result)")
            #expect(remote.requests("GET").count == fleet.count)
            #expect(remote.requests("PUT").count < 100)
        }

        @Test("A full remote keeps and serves its images")
        func full() async throws {
            // More than are uploaded at once: their entries are stored before the objects of others fill it.
            let fleet = try RemoteFleet(images: 120)
            let remote = try RemoteFaultServer(.init(.full(bytes: fleet.picture(0).count * 90)))
            let outcome = try await fleet.write(remote)
            #expect((1..<fleet.count).contains(outcome.remote.uploaded), "\(outcome.remote)")
            #expect(outcome.remote.dropped > 0, "\(outcome.remote)")
            let next = try await fleet.read(remote)
            #expect(next.remote.hits > 0 && next.remote.errors == 0 && next.warnings.isEmpty, "\(next.result)")
            #expect(next.remote.hits + next.asked == fleet.count)
        }

        @Test("Missing parents are created, and the upload is repeated", arguments: [404, 409])
        func parents(status: Int) async throws {
            let fleet = try RemoteFleet(images: 30)
            let remote = try RemoteFaultServer(missingParent: .isRefused(status: status))
            try await fleet.warm(remote)
            // At most the four directories above each of the two files of an image.
            let made = remote.requests("MKCOL")
            #expect((4...2 * 4 * fleet.count).contains(made.count), "\(made.count) MKCOL")
            let next = try await fleet.read(remote)
            #expect(next.remote.hits == fleet.count && next.asked == 0)
        }

        @Test("A parent that cannot be created does not end the run")
        func noParents() async throws {
            let fleet = try RemoteFleet()
            let remote = try RemoteFaultServer(.init(.status(403), to: "MKCOL"), missingParent: .isRefused(status: 409))
            let outcome = try await fleet.write(remote)
            #expect(outcome.remote.uploaded == 0 && remote.tree.files.isEmpty)
        }

        @Test("A 412 means that the object is there")
        func there() async throws {
            let fleet = try RemoteFleet()
            let remote = try RemoteFaultServer()
            try await fleet.warm(remote)
            remote.tree.files = remote.tree.files.filter { $0.key.contains("/cas/") }
            let before = remote.tree.files
            let outcome = try await fleet.write(remote)
            #expect(outcome.remote.uploaded == fleet.count && outcome.remote.dropped == 0, "\(outcome.remote)")
            #expect(outcome.warnings.isEmpty)
            #expect(remote.requests("PUT", at: "/cas/").allSatisfy { $0.header("If-None-Match") == "*" })
            #expect(remote.tree.files.filter { $0.key.contains("/cas/") } == before)
        }

        @Test("A locked upload is repeated", arguments: [423, 409, 429])
        func locked(status: Int) async throws {
            let fleet = try RemoteFleet(images: 40)
            let remote = try RemoteFaultServer(
                .init(.status(status), to: "PUT", at: "/cas/", times: 3),
                .init(.status(status), to: "PUT", at: "/ac/", times: 2))
            let outcome = try await fleet.write(remote)
            #expect(outcome.remote.uploaded == fleet.count && outcome.remote.dropped == 0, "\(outcome.remote)")
            // After a 409, the folders are made first, and the request is repeated with them.
            #expect((outcome.remote.retried > 0 || status == 409) && outcome.remote.errors == 0, "\(outcome.remote)")
        }

        @Test("Two writers of one list leave a complete remote")
        func twoWriters() async throws {
            let fleet = try RemoteFleet(images: 200)
            let remote = try RemoteFaultServer(.init(.status(423), to: "PUT", times: 60))
            let options = ["--remote", remote.url("/base"), "--remote-write"]
            async let first = fleet.prefetch(by: fleet.machine(), options)
            async let second = fleet.prefetch(by: fleet.machine(), options)
            for outcome in try await [first, second] {
                fleet.expectAll(outcome)
                #expect(outcome.remote.dropped == 0 && outcome.remote.errors == 0, "\(outcome.remote)")
            }
            #expect(remote.tree.files.keys.count { $0.hasPrefix("/base/kf1/ac/") } == fleet.count)
            #expect(remote.tree.files.keys.count { $0.hasPrefix("/base/kf1/cas/") } == fleet.count)
        }

        @Test("The wait for uploads is limited, and dropped images are listed")
        func waiting() async throws {
            let fleet = try RemoteFleet(images: 150)
            let remote = try RemoteFaultServer(.init(.delay(.milliseconds(100)), to: "PUT"))
            let files = try TemporaryDirectory()
            let list = files.path("dropped.txt").path
            let options = ["--remote", remote.url("/base"), "--remote-write", "--remote-dropped", list]
            let short = try await fleet.prefetch(by: fleet.machine(), options + ["--remote-wait", "0"])
            fleet.expectAll(short)
            #expect(short.remote.dropped > 0 && short.remote.dropped + short.remote.uploaded == fleet.count)
            let lines = try String(contentsOfFile: list, encoding: .utf8).split(separator: "\n")
            #expect(Set(lines).count == short.remote.dropped)
            let known = Set((0..<fleet.count).map { fleet.url($0) })
            #expect(lines.allSatisfy { known.contains(String($0)) })
            let mode = try FileManager.default.attributesOfItem(atPath: list)[.posixPermissions] as? Int
            #expect(mode == 0o600)
            let required = try await fleet.prefetch(
                by: fleet.machine(), options + ["--remote-wait=1ms", "--remote-required", "--force-refresh"])
            #expect(required.result.status == 3, "\(required.result)")
            let all = try await fleet.prefetch(
                by: fleet.machine(), options + ["--remote-wait", "all", "--force-refresh"])
            fleet.expectAll(all)
            #expect(all.remote.uploaded == fleet.count && all.remote.dropped == 0)
            #expect(try Data(contentsOf: URL(fileURLWithPath: list)).isEmpty)
        }

        @Test("The progress shows the uploads that remain")
        func progress() async throws {
            let fleet = try RemoteFleet(images: 100)
            let remote = try RemoteFaultServer(.init(.delay(.milliseconds(150)), to: "PUT"))
            var kf = try fleet.machine()
            kf.environment["KF_PROGRESS_INTERVAL"] = "100ms"
            let outcome = try await fleet.prefetch(by: kf, "--remote", remote.url("/base"), "--remote-write")
            fleet.expectAll(outcome)
            #expect(
                outcome.result.errorLines.contains { $0.contains(/^kf: uploading \d+ of 100$/) }, "\(outcome.result)")
        }

        @Test("Uploads pause until Retry-After while reading goes on", arguments: [429, 503])
        func later(status: Int) async throws {
            let fleet = try RemoteFleet(images: 200)
            let remote = try RemoteFaultServer(.init(.status(status, headers: ["Retry-After: 60"]), to: "PUT"))
            let outcome = try await fleet.write(remote)
            #expect(outcome.remote.uploaded == 0 && outcome.remote.dropped == fleet.count, "\(outcome.remote)")
            #expect(remote.requests("GET").count == fleet.count && remote.requests("PUT").count < 100)
            #expect(outcome.result.wall < .seconds(40))
        }

        @Test(
            "A failed upload does not fail the run",
            arguments: [
                RemoteFailure("413, at once", .init(.statusAtOnce(413), to: "PUT")),
                RemoteFailure("500", .init(.status(500), to: "PUT")), RemoteFailure("reset", .init(.reset, to: "PUT")),
                RemoteFailure("silence", .init(.silence, to: "PUT")), RemoteFailure("close", .init(.close, to: "PUT")),
            ])
        func failedUploads(failure: RemoteFailure) async throws {
            let fleet = try RemoteFleet()
            let remote = try RemoteFaultServer(failure.faults)
            let outcome = try await fleet.write(remote)
            #expect(outcome.remote.uploaded == 0 && outcome.remote.dropped == fleet.count, "\(outcome.remote)")
            // The queue is drained for at most 30 s.
            #expect(outcome.result.wall < .seconds(45), "\(outcome.result.wall)")
        }

        @Test(
            "Slow uploads are completed",
            arguments: [
                RemoteFailure("a late answer", .init(.delay(.milliseconds(300)), to: "PUT")),
                RemoteFailure("a slow reader", .init(.takeSlowly(bytesPerSecond: 100_000), to: "PUT")),
            ])
        func slowUploads(failure: RemoteFailure) async throws {
            let fleet = try RemoteFleet(images: 20)
            let remote = try RemoteFaultServer(failure.faults)
            try await fleet.warm(remote)
        }
    }
}
