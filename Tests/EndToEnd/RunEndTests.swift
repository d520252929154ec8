import Foundation
import Support
import Testing

extension EndToEnd {
    @Suite("Ends of runs")
    struct RunEndTests {
        let kf: KFCommand

        init() throws { kf = try .withoutRetries() }

        private let png = FixturesDirectory.image("png/one-pixel.png")

        /// A server that answers only when the gate is open. A host gets two requests at once until it has answered.
        private func gated(_ gate: Gate) throws -> FaultServer {
            try FaultServer { [png] _ in
                gate.wait()
                return [.reply(body: png)]
            }
        }

        private func lines(_ name: String) throws -> [Substring] {
            try kf.text(name).split(separator: "\n")
        }

        @Test(
            "A signal finishes downloads, and the failures file has the rest",
            arguments: [SIGINT, SIGTERM])
        func signal(number: Int32) async throws {
            let gate = Gate()
            defer { gate.open() }
            let server = try gated(gate)
            let urls = (0..<60).map { server.url("/\($0).png") }
            try kf.home.write("list.txt", urls.map { $0 + "\n" }.joined())
            let run = try kf.start(["prefetch", "list.txt", "--failures", "f", "--json", "--grace", "60s"])
            #expect(await eventually { server.requests.count == 2 })
            // As `timeout` does: to the process, and to its group.
            run.signal(number)
            run.signal(number, group: true)
            let says =
                number == SIGINT
                ? "kf: finishing 2 downloads within 60 s; press Ctrl-C again to stop now\n"
                : "kf: terminated, finishing 2 downloads within 60 s; a second SIGTERM stops now\n"
            #expect(await eventually { run.errorsSoFar == says }, "\(run.errorsSoFar)")
            gate.open()
            let result = try await run.wait(timeout: .seconds(40))
            #expect(result.status == 128 + number && result.errors == says, "\(result)")
            let statuses = try result.items().map(\.status)
            #expect(statuses.count { $0 == "fetched" } == 2 && statuses.count { $0 == "not_tried" } == 58, "\(result)")
            let summary = try #require(try result.objects().last)
            #expect(summary["not_tried"] as? Int == 58 && summary["failed"] as? Int == 0, "\(result)")
            #expect(summary["cancelled"] as? Int == 0 && summary["incomplete_lists"] as? Int == 0, "\(result)")
            #expect(try lines("f").count == 58 && server.requests.count == 2 && kf.leftovers() == [])
            let rest = try await kf.run("prefetch", "f")
            #expect(rest.status == 0 && rest.errors.contains("58 fetched"), "\(rest)")
            let all = try await kf.run("prefetch", "list.txt")
            #expect(all.errors.contains("0 fetched (0 B), 60 cached"), "\(all)")
        }

        @Test("A signal ends a run whose output is blocked")
        func blocked() async throws {
            let server = try FaultServer { [png] _ in [.reply(body: png)] }
            try kf.home.write("list.txt", server.url("/a.png") + "\n")
            try FileManager.default.createDirectory(at: kf.home.path("out"), withIntermediateDirectories: false)
            #expect(mkfifo(kf.home.path("out/a.png").path, 0o600) == 0)
            let run = try kf.start(["prefetch", "list.txt", "-P", "out", "--grace", "1s"])
            #expect(await eventually { server.requests.count == 1 })
            run.signal(SIGTERM)
            let result = try await run.wait(timeout: .seconds(40))
            #expect(result.status == 143 && kf.leftovers() == [], "\(result)")
        }

        @Test("A second signal cancels the running downloads", arguments: [SIGTERM, SIGINT])
        func secondSignal(second: Int32) async throws {
            let gate = Gate()
            defer { gate.open() }
            let server = try gated(gate)
            let urls = (0..<20).map { server.url("/\($0).png") }
            try kf.home.write("list.txt", urls.map { $0 + "\n" }.joined())
            let run = try kf.start(["prefetch", "list.txt", "--failures", "f", "--json", "--grace", "60s"])
            #expect(await eventually { server.requests.count == 2 })
            run.signal(SIGINT)
            #expect(await eventually { run.errorsSoFar.contains("press Ctrl-C again") })
            // The other signal counts at once. The same one counts after a moment: a wrapper may send it twice.
            let hurry = Task {
                while !Task.isCancelled {
                    run.signal(second)
                    try await Task.sleep(for: .milliseconds(20))
                }
            }
            let result = try await run.wait(timeout: .seconds(40))
            hurry.cancel()
            #expect(result.status == 130, "\(result)")
            let statuses = try result.items().map(\.status)
            // What waited for a connection may be told after the second signal.
            let cancelled = statuses.count { $0 == "cancelled" }
            #expect(cancelled >= 2 && cancelled + statuses.count { $0 == "not_tried" } == 20, "\(result)")
            #expect(try result.objects().last?["cancelled"] as? Int == cancelled, "\(result)")
            #expect(try lines("f").count == 20 && kf.leftovers() == [])
        }

        @Test(
            "Downloads are cut off after the grace, and resumed later",
            arguments: [nil, ["--deadline", "2s"], ["--max-failures", "1"]] as [[String]?])
        func grace(ending: [String]?) async throws {
            let body = try ResumeTests.large()
            let server = try FaultServer { request in
                if request.path == "/none" { return [.reply("404 Not Found")] }
                if request.start > 0 { return [.rest(body, of: request, "ETag: \"1\"")] }
                return FaultStep.cut(body, at: 1_000_000, "ETag: \"1\"", then: .hold)
            }
            let list = [server.url("/a.png"), server.url("/none")].map { $0 + "\n" }.joined()
            try kf.home.write("list.txt", list)
            let run = try kf.start(
                ["prefetch", "list.txt", "--json", "--timeout", "60s", "--grace", "500ms"] + (ending ?? []))
            #expect(await eventually { server.requests.count == 2 })
            if ending == nil { run.signal(SIGTERM) }
            let result = try await run.wait(timeout: .seconds(40))
            #expect(result.status == (ending == nil ? 143 : 4), "\(result)")
            #expect(try result.items().map(\.status).sorted() == ["cancelled", "failed"], "\(result)")
            #expect(kf.leftovers().allSatisfy { !$0.contains("/tmp/") })
            let again = try await kf.run("fetch", server.url("/a.png"), "-o", "a.png")
            #expect(try again.status == 0 && kf.contents("a.png") == Data(body), "\(again)")
            #expect(server.requests.last?.header("Range") != nil)
        }

        @Test(
            "A signal while a run is prepared ends it with its accounts",
            arguments: ["prefetch", "fetch"], [["-p", "watermark:"], ["-P", "out", "--on-failure"]])
        func prepared(command: String, option: [String]) async throws {
            let gate = Gate()
            defer { gate.open() }
            let server = try gated(gate)
            let urls = (0..<3).map { server.url("/\($0).png") }
            try kf.home.write("list.txt", urls.map { $0 + "\n" }.joined())
            let overlay = server.url("/overlay.png")
            let options = option[0] == "-p" ? ["-p", option[1] + overlay] : option + [overlay]
            let run = try kf.start([command, "--json"] + options + (command == "fetch" ? urls : ["list.txt"]))
            #expect(await eventually { server.requests.count == 1 })
            run.signal(SIGTERM)
            let result = try await run.wait(timeout: .seconds(30))
            #expect(result.status == 143 && server.requests.count == 1, "\(result)")
            let statuses = try result.items().map(\.status)
            #expect(statuses.count == 3 && Set(statuses).isSubset(of: ["cancelled", "not_tried"]), "\(result)")
            #expect(try result.objects().last?["exit_status"] as? Int == 143, "\(result)")
            #expect(kf.leftovers() == [])
        }

        @Test("After a signal a long list is still counted")
        func longList() async throws {
            let gate = Gate()
            defer { gate.open() }
            let server = try gated(gate)
            let count = 40_000
            try kf.home.write("list.txt", (0..<count).map { server.url("/\($0).png\n") }.joined())
            let run = try kf.start(["prefetch", "list.txt", "--failures", "f", "--grace", "60s"])
            #expect(await eventually { server.requests.count == 2 })
            run.signal(SIGINT)
            #expect(await eventually { run.errorsSoFar.contains("finishing 2 downloads") })
            gate.open()
            let result = try await run.wait(timeout: .seconds(60))
            #expect(result.status == 130, "\(result)")
            #expect(result.errors.contains("2 fetched"), "\(result)")
            #expect(result.errors.contains(" 0 failed, \(count - 2) not tried, in "), "\(result)")
            #expect(try lines("f").count == count - 2)
            let small = try await kf.run("prefetch", "-", input: Data("\(server.url("/a.png"))\n".utf8))
            #expect(result.growth(over: small) < 48 << 20, "\(result.peakMemory >> 20) MiB")
        }

        @Test("After a signal an endless pipe is not read on")
        func pipe() async throws {
            let server = try FaultServer { [png] _ in [.reply(body: png)] }
            let run = try kf.converse(["prefetch", "-"])
            #expect(run.writeLine(server.url("/a.png")))
            #expect(await eventually { server.requests.count == 1 })
            run.signal(SIGINT)
            let result = try await run.wait(timeout: .seconds(40))
            #expect(result.status == 130, "\(result)")
            #expect(result.errorLines.last?.hasSuffix("; 1 list was not read to the end") == true, "\(result)")
        }

        @Test("A signal or deadline ends the wait for a FIFO", arguments: [true, false])
        func fifo(bySignal: Bool) async throws {
            let files = try TemporaryDirectory()
            let list = files.path("list").path
            try #require(mkfifo(list, 0o600) == 0)
            let run = try kf.converse(["prefetch", list] + (bySignal ? [] : ["--deadline", "200ms"]))
            // A writer can open a FIFO without waiting once a reader has it open.
            var writer: Int32 = -1
            if bySignal {
                #expect(
                    await eventually {
                        writer = open(list, O_WRONLY | O_NONBLOCK)
                        return writer >= 0
                    })
                run.signal(SIGTERM)
            }
            let result = try await run.wait(timeout: .seconds(20))
            #expect(result.status == (bySignal ? 143 : 4), "\(result)")
            if writer >= 0 { close(writer) }
        }

        @Test(
            "A signal ends a fetch and keeps its partial download",
            arguments: [(1, SIGTERM), (3, SIGINT)])
        func fetch(count: Int, signal: Int32) async throws {
            let body = try ResumeTests.large()
            let server = try FaultServer { request in
                if request.start > 0 { return [.rest(body, of: request, "ETag: \"1\"")] }
                return FaultStep.cut(body, at: 1_000_000, "ETag: \"1\"", then: .hold)
            }
            let urls = (0..<count).map { server.url("/\($0).png") }
            let run = try kf.start(["fetch", "--json", "-j", "2", "--timeout", "60s"] + urls)
            // As many as may run at once have arrived so far that they can be continued.
            #expect(
                await eventually {
                    kf.leftovers().count { name in
                        let path = kf.cacheDirectory.appendingPathComponent(name).path
                        let size = try? FileManager.default.attributesOfItem(atPath: path)[.size] as? Int
                        return size ?? 0 >= 500_000
                    } == min(count, 2)
                })
            let start = ContinuousClock.now
            run.signal(signal)
            // The server says nothing more; without the signal it would take --timeout.
            let result = try await run.wait(timeout: .seconds(40))
            #expect(result.status == 128 + signal && start.duration(to: .now) < .seconds(30), "\(result)")
            #expect(kf.leftovers().allSatisfy { !$0.contains("/tmp/") })
            let statuses = try result.items().map(\.status)
            #expect(
                statuses.count == count && statuses.prefix(min(count, 2)).allSatisfy { $0 == "cancelled" }, "\(result)")
            #expect(statuses.dropFirst(2).allSatisfy { $0 == "not_tried" || $0 == "cancelled" }, "\(result)")
            // Any two of three may have been first.
            let first = try #require(server.requests.first?.path)
            let again = try await kf.run("fetch", server.url(first), "-o", "a.png")
            #expect(try again.status == 0 && kf.contents("a.png") == Data(body), "\(again)")
            #expect(server.requests.last?.header("Range") != nil)
        }
    }
}

/// A gate that threads wait at, 40 s at most.
final class Gate: Sendable {
    private let opened = DispatchSemaphore(value: 0)

    func open() { opened.signal() }

    func wait() {
        // Each lets the next one through.
        if opened.wait(timeout: .now() + 40) == .success { opened.signal() }
    }
}
