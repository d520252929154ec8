import Foundation
import Support
import Synchronization
import Testing

extension EndToEnd {
    @Suite("Prefetch control")
    struct PrefetchControlTests {
        let kf: KFCommand

        init() throws { kf = try .withoutRetries() }

        private let png = FixturesDirectory.image("png/one-pixel.png")

        private func write(_ urls: [String]) throws {
            try kf.home.write("list.txt", urls.map { $0 + "\n" }.joined())
        }

        @Test("A maximum of failures stops the run early")
        func maxFailures() async throws {
            let server = try FileServer()
            try write((0..<2000).map { server.url("none\($0).png") } + [server.url("png/grey.png")])
            let result = try await kf.run("prefetch", "list.txt", "--max-failures", "3", "--failures", "f", "-j", "2")
            #expect(result.status == 4 && result.errors.contains("--max-failures"), "\(result)")
            let asked = try await server.requests().count
            #expect(asked >= 3 && asked < 300, "\(asked) requests")
            // What failed, and what was not tried: all of it.
            let failed = try kf.text("f").split(separator: "\n")
            #expect(failed.count == 2001 && Set(failed).count == 2001)
            let counts = try #require(result.errors.firstMatch(of: /([0-9]+) failed, ([0-9]+) not tried/))
            #expect(Int(counts.1).map { $0 >= 3 && $0 <= asked } == true, "\(result)")
            #expect(result.errors.contains("stopped early by --max-failures: \(counts.1) failed"), "\(result)")
            #expect((Int(counts.1) ?? 0) + (Int(counts.2) ?? 0) == 2001, "\(result)")
            let all = try await kf.run("prefetch", "list.txt", "--max-failures", "2001", "-q")
            #expect(all.status == 1, "\(all)")
        }

        @Test("A run whose reader leaves names what is left", arguments: ["prefetch", "fetch"])
        func closed(command: String) async throws {
            let server = try FaultServer { [png] _ in [.reply(body: png)] }
            let urls = (0..<3000).map { server.url("/\($0).png") }
            try write(urls)
            let list = "prefetch list.txt --failures left.txt --grace 0"
            let run = command == "prefetch" ? list : "fetch $(cat list.txt)"
            let result = try await kf.shell("\"$1\" \(run) -j 2 -P out | head -n 1; echo ${PIPESTATUS[0]}")
            #expect(result.outputLines.last == "4", "\(result)")
            #expect(
                result.errors.contains("kf: stopped early: the reader of standard output has closed it"), "\(result)")
            guard command == "prefetch" else { return }
            let counts = try #require(result.errors.firstMatch(of: /([0-9]+) not tried/), "\(result)")
            let left = try kf.text("left.txt").split(separator: "\n").count
            #expect(left > 0 && Int(counts.1) == left, "\(result)")
            // The list of what is left completes the run.
            let rest = try await kf.run("prefetch", "left.txt", "-P", "out", "-q")
            #expect(rest.status == 0 && TemporaryDirectory.files(in: kf.home.path("out")).count == 3000, "\(rest)")
        }

        @Test("A maximum failure rate counts after a hundred items")
        func percentage() async throws {
            let server = try FileServer()
            let good = (0..<99).map { server.url("png/one-pixel.png?\($0)") }
            try write(good.prefix(50) + (0..<50).map { server.url("none\($0).png") })
            let few = try await kf.run("prefetch", "list.txt", "--max-failures", "50%", "-q")
            #expect(few.status == 1, "\(few)")
            try write((0..<3000).map { server.url("none\($0).png") })
            let many = try await kf.run("prefetch", "list.txt", "--max-failures", "50%", "-q", "-j", "2")
            #expect(many.status == 4, "\(many)")
            #expect(try await server.requests().count < 3000, "a busy machine starts more before it counts")
        }

        @Test("A deadline stops new downloads and keeps those in flight")
        func deadline() async throws {
            // Each takes about a second and a half; two at once.
            let server = try FileServer(configuration: [FileServer.slowing("/jpeg/", bytesPerSecond: 60_000)])
            let urls = (0..<40).map { server.url("jpeg/landscape-420.jpg?\($0)") }
            try write(urls)
            let result = try await kf.run("prefetch", "list.txt", "-j", "2", "--deadline", "1s", "--json")
            #expect(result.status == 4 && result.errors.contains("deadline"), "\(result)")
            let kept = try result.items().filter { $0.status == "fetched" }.count
            let asked = try await server.requests()
            #expect(kept >= 2 && kept < 20 && asked.count == kept && asked.allSatisfy { $0.status == 200 }, "\(result)")
            let rest = try result.items().filter { $0.status == "not_tried" && $0.error == nil && $0.attempts == 0 }
            #expect(rest.count == 40 - kept, "\(result)")
            #expect(try result.objects().last?["not_tried"] as? Int == 40 - kept, "\(result)")
            let fetch = try await kf.run(["fetch", "-j", "2", "--deadline", "1s"] + urls.suffix(20))
            #expect(fetch.status == 4 && fetch.outputLines.count < 20, "\(fetch)")
            let left = 20 - fetch.outputLines.count
            #expect(fetch.errors.contains("\(left) of 20 sources cancelled or not tried"), "\(fetch)")
            #expect(!fetch.outputLines.isEmpty)
        }

        @Test("A download is cancelled after the deadline and its grace")
        func cutOff() async throws {
            let server = try FaultServer { _ in
                // Never slow enough for --timeout itself.
                [.head("HTTP/1.1 200 OK", "Content-Length: 9000000")]
                    + (0..<400).flatMap { _ in
                        [.send([UInt8](repeating: 1, count: 4096)), FaultStep.pause(.milliseconds(50))]
                    }
            }
            try write([server.url("/a.png")])
            let result = try await kf.run(
                "prefetch", "list.txt", "--deadline", "1s", "--grace", "500ms", "--failures", "f",
                timeout: .seconds(20))
            #expect(result.status == 4 && result.errors.contains("0 failed, 1 cancelled, in"), "\(result)")
            #expect(try kf.text("f") == server.url("/a.png") + "\n")
            #expect(result.wall < .seconds(15))
        }

        @Test("Rate and connections per host are limited")
        func rate() async throws {
            let counts = Mutex<(now: Int, most: Int)>((0, 0))
            let server = try FaultServer { [png] _ in
                counts.withLock { counts in
                    counts.now += 1
                    counts.most = max(counts.most, counts.now)
                }
                usleep(30_000)
                counts.withLock { $0.now -= 1 }
                return [.reply(headers: ["Connection: keep-alive"], body: png)]
            }
            try write((0..<30).map { server.url("/\($0).png") })
            let result = try await kf.run("prefetch", "list.txt", "--rate", "20/s", "-q")
            #expect(result.status == 0, "\(result)")
            #expect(server.requests.count == 30)
            // 30 starts at 20 a second take 29 spans of 50 ms. On a loaded machine the first request can be seen late, so that
            // the span between the requests says less than the time of the run.
            #expect(result.wall >= .milliseconds(1400), "\(result)")
            counts.withLock { $0 = (0, 0) }
            try write((30..<90).map { server.url("/\($0).png") })
            let few = try await kf.run("prefetch", "list.txt", "--max-per-host", "3", "-q")
            #expect(few.status == 0 && counts.withLock { $0.most } <= 3, "\(few)")
        }

        @Test("Killed prefetches request few images twice")
        func killed() async throws {
            let server = try FileServer()
            let count = 5000
            try write((0..<count).map { server.url("png/one-pixel.png?\($0)") })
            var runs = 0
            var status: Int32 = 128 + SIGKILL
            while status == 128 + SIGKILL, runs < 8 {
                let run = try kf.start(["prefetch", "-q", "list.txt"])
                let before = try await server.requests().count
                if runs < 5 {
                    #expect(try await eventually { try await server.requests().count >= before + count / 8 })
                    run.signal(SIGKILL)
                }
                status = try await run.wait().status
                runs += 1
            }
            #expect(status == 0 && runs >= 3, "\(runs) runs, the last ended with \(status)")
            let asked = try await server.requests().map(\.path)
            #expect(Set(asked).count == count)
            // In flight: 8 transfers to the host, and at most 512 bodies that are being checked, stored and committed.
            let lost = asked.count - count
            #expect(lost <= (runs - 1) * (8 + 512), "\(lost) were asked for again after \(runs - 1) kills")
            #expect(try await Judge.integrity(of: kf.cacheDirectory) == "ok")
            let again = try await kf.run("prefetch", "list.txt", "--only-from-cache", "-q")
            #expect(again.status == 0, "\(again)")
        }

        @Test("A prefetch answers each line before the next")
        func worker() async throws {
            let server = try FileServer()
            let run = try kf.converse(["prefetch", "-", "--json"])
            for index in 0..<20 {
                let line = index % 4 == 3 ? "no url" : server.url("png/one-pixel.png?\(index % 5)")
                #expect(run.writeLine(line))
                let answer = try #require(run.readLine(), "\(run.errorsSoFar)")
                #expect(answer.contains("\"line\":\(index + 1),") && answer.contains(line), "\(answer)")
            }
            run.endInput()
            #expect(run.readLine()?.contains("\"summary\":true") == true)
            #expect(run.readLine() == nil)
            #expect(try await run.wait().status == 1)
            #expect(try await server.requests().count == 5)
        }

        @Test("Bad hosts do not delay good hosts")
        func fiveHosts() async throws {
            let order = Mutex<[String]>([])
            let refused = Mutex<[ContinuousClock.Instant]>([])
            func good(_ name: String) throws -> FaultServer {
                try FaultServer { [png] _ in
                    order.withLock { $0.append(name) }
                    return [.reply(body: png)]
                }
            }
            let servers = [try good("a"), try good("b")]
            let slow = try FaultServer { [png] _ in
                order.withLock { $0.append("slow") }
                return [.pause(.seconds(1)), .reply(body: png)]
            }
            let busy = try FaultServer { [png] _ in
                order.withLock { $0.append("busy") }
                let isFirst = refused.withLock { times in
                    times.append(.now)
                    return times.count <= 8
                }
                return isFirst
                    ? [.reply("429 Too Many Requests", headers: ["Retry-After: 2"], body: [])]
                    : [.reply(body: png)]
            }
            let down = try FaultServer(port: FaultServer.lastingPort()) { _ in [.close] }
            let downURL = { (index: Int) in down.url("/\(index).png") }
            down.stop()
            // The worst order: all of the bad ones first.
            try write(
                (0..<300).map(downURL) + (0..<40).map { slow.url("/\($0).png") }
                    + (0..<40).map { busy.url("/\($0).png") }
                    + servers.flatMap { server in (0..<400).map { server.url("/\($0).png") } })
            let result = try await kf.run("prefetch", "list.txt", "--retry", "1", "-q")
            #expect(result.status == 1, "\(result.errorLines.suffix(5))")
            #expect(kf.cachedObjects().count == 1)
            let seen = order.withLock { $0 }
            for (name, server) in zip(["a", "b"], servers) {
                #expect(server.requests.count == 400)
                // Done long before the slow one, whose forty take five seconds.
                let last = try #require(seen.lastIndex(of: name))
                let slowBefore = seen[..<last].count { $0 == "slow" }
                #expect(slowBefore < 40, "\(slowBefore) of the slow host's came before the last of \(name)")
            }
            #expect(slow.requests.count == 40)
        }
    }
}
