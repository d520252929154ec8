import Foundation
import Support
import Testing

extension EndToEnd {
    @Suite("Waiting for the lock")
    struct HeldLockTests {
        let kf: KFCommand
        let image: Data
        let server: FileServer
        /// In the cache.
        let hit: String

        init() async throws {
            kf = try KFCommand()
            image = try FixturesDirectory.named("png/rgb.png").data
            server = try FileServer()
            hit = server.url("png/grey.png")
            let stored = try await kf.run("fetch", hit)
            try #require(stored.status == 0, "\(stored)")
        }

        private func url(_ index: Int) -> String { server.url("png/rgb.png?\(index)") }

        private func list(_ count: Int) throws {
            try kf.home.write("list.txt", ([hit] + (0..<count).map(url)).map { $0 + "\n" }.joined())
        }

        @Test("Twelve fetches under a held lock deliver without storing")
        func deliver() async throws {
            let lock = try HeldLock(kf)
            let running = try (0..<12).map { try kf.start(["fetch", url($0), "-o", "-"]) }
            for command in running {
                let result = try await command.wait(timeout: .seconds(40))
                #expect(result.status == 3 && result.standardOutput == image, "\(result)")
                #expect(result.errors.contains("the cache is locked") && result.errors.contains("[3016]"), "\(result)")
                #expect(result.errors.contains("another process"), "\(result)")
                #expect(result.wall >= .seconds(5) && result.wall < .seconds(20), "\(result)")
            }
            lock.release()
            let after = try await kf.run("fetch", url(0))
            #expect(after.status == 0 && after.errors == "", "\(after)")
        }

        @Test("A hit is served at once under a held lock")
        func hits() async throws {
            let lock = try HeldLock(kf)
            defer { lock.release() }
            let result = try await kf.run("fetch", hit, "--timeout", "60s")
            #expect(result.status == 0 && result.errors == "" && result.wall < .seconds(4), "\(result)")
        }

        @Test(
            "Time limits bound the wait for the lock",
            arguments: [["--timeout", "500ms"], ["--max-time", "500ms"], ["--deadline", "700ms"]])
        func options(bound: [String]) async throws {
            let lock = try HeldLock(kf)
            defer { lock.release() }
            let result = try await kf.run(["fetch", url(1), "-o", "-"] + bound)
            #expect(result.status == 3 && result.standardOutput == image, "\(result)")
            #expect(result.wall < .milliseconds(4500), "\(result)")
        }

        /// Lets the lock's holder commit for so long, or until the command gives up.
        private func commit(_ lock: HeldLock, for span: Duration, beside running: RunningCommand) throws {
            let start = ContinuousClock.now
            var number: Int64 = 1000
            while start.duration(to: .now) < span, running.errorsSoFar.isEmpty {
                number += 1
                try lock.commit(number)
            }
        }

        @Test("A fetch waits for a process that commits")
        func working() async throws {
            let lock = try HeldLock(kf)
            let running = try kf.start(["fetch", url(1), "-o", "-", "--timeout", "1s"])
            try commit(lock, for: .milliseconds(1500), beside: running)
            lock.release()
            let result = try await running.wait(timeout: .seconds(20))
            #expect(result.status == 0 && result.standardOutput == image, "\(result)")
            #expect(result.errors == "" && result.wall >= .milliseconds(1400), "\(result)")
            #expect(try await kf.run("fetch", url(1), "--only-from-cache").status == 0)
        }

        @Test("The option --max-time bounds the wait for a busy process")
        func workingTooLong() async throws {
            let lock = try HeldLock(kf)
            defer { lock.release() }
            let running = try kf.start(["fetch", url(1), "-o", "-", "--max-time", "400ms"])
            try commit(lock, for: .seconds(20), beside: running)
            let result = try await running.wait(timeout: .seconds(20))
            #expect(result.status == 3 && result.standardOutput == image, "\(result)")
            #expect(result.errors.contains("[3016]") && result.wall < .milliseconds(4500), "\(result)")
        }

        @Test("A signal ends the wait for the lock", arguments: [SIGINT, SIGTERM])
        func signals(number: Int32) async throws {
            let lock = try HeldLock(kf)
            defer { lock.release() }
            for arguments in [["fetch", url(1), "-o", "-"], ["prefetch", "list.txt"]] {
                try list(3)
                let before = try await server.requests().count
                let running = try kf.start(arguments)
                #expect(try await eventually { try await server.requests().count > before })
                let start = ContinuousClock.now
                running.signal(number)
                let result = try await running.wait(timeout: .seconds(20))
                #expect(result.status == 128 + number, "\(result)")
                #expect(start.duration(to: .now) < .seconds(4), "\(result)")
            }
        }

        @Test("A prefetch stores its images once the lock is free")
        func prefetch() async throws {
            try list(150)
            let lock = try HeldLock(kf)
            let running = try kf.start(["prefetch", "list.txt", "--timeout", "1s", "--json"])
            #expect(await eventually { running.outputSoFar.contains("\"cached\"") })
            // Longer than the bound, so that images were given up once.
            try await Task.sleep(for: .milliseconds(1500))
            lock.release()
            let result = try await running.wait(timeout: .seconds(50))
            #expect(result.status == 0, "\(result)")
            #expect(try result.items().filter { $0.status == "fetched" }.count == 150)
            let again = try await kf.run("prefetch", "list.txt", "--only-from-cache", "--json")
            #expect(try again.status == 0 && again.items().allSatisfy { $0.status == "cached" }, "\(again)")
        }

        @Test("A prefetch under a held lock ends with status 3")
        func prefetchFails() async throws {
            try list(10)
            let lock = try HeldLock(kf)
            defer { lock.release() }
            let result = try await kf.run(
                "prefetch", "list.txt", "--timeout", "500ms", "--failures", "failed.txt", "--json")
            #expect(result.status == 3 && result.wall < .seconds(20), "\(result)")
            let items = try result.items()
            #expect(items.filter { $0.error?.code == 3016 }.count == 10, "\(result)")
            #expect(items.filter { $0.status == "cached" }.count == 1, "\(result)")
            let failed = try kf.text("failed.txt")
            #expect(failed.split(separator: "\n").count == 10)
        }

        @Test("A deadline ends a prefetch that waits for the lock")
        func prefetchDeadline() async throws {
            try list(10)
            let lock = try HeldLock(kf)
            defer { lock.release() }
            let result = try await kf.run("prefetch", "list.txt", "--deadline", "1s")
            #expect([3, 4].contains(result.status) && result.wall < .seconds(5), "\(result)")
        }

        @Test(
            "Commands that change the cache give up after five seconds",
            arguments: [["rm", "HIT", "OTHER"], ["clean", "--all", "--yes"], ["stat", "--reset"]])
        func commands(words: [String]) async throws {
            let lock = try HeldLock(kf)
            defer { lock.release() }
            let words = words.map { $0 == "HIT" ? hit : $0 == "OTHER" ? url(0) : $0 }
            let result = try await kf.run(["cache"] + words)
            #expect(result.status == 3 && result.errors.contains("the cache is locked"), "\(result)")
            #expect(result.wall >= .seconds(5) && result.wall < .seconds(15), "\(result)")
        }

        @Test("Verifying gives up when it needs the lock")
        func verify() async throws {
            for name in kf.cachedObjects() { unlink(kf.cacheDirectory.path + "/" + name) }
            let lock = try HeldLock(kf)
            defer { lock.release() }
            for arguments in [["cache", "verify"], ["cache", "verify", "--repair"]] {
                let result = try await kf.run(arguments)
                #expect(result.status == 3 && result.errors.contains("the cache is locked"), "\(result)")
            }
        }

        @Test("During an index repair fetch delivers, and prefetch refuses")
        func users() async throws {
            try list(3)
            let lock = try HeldLock(kf, .users)
            let fetch = try await kf.run("fetch", url(0), "-o", "-", "--timeout", "1s")
            #expect(fetch.status == 3 && fetch.standardOutput == image, "\(fetch)")
            let prefetch = try await kf.run("prefetch", "list.txt", "--timeout", "1s")
            #expect(prefetch.status == 3 && prefetch.errors.contains("the cache is locked"), "\(prefetch)")
            lock.release()
            #expect(try await kf.run("prefetch", "list.txt").status == 0)
        }

        @Test("A stopped process that holds the lock is named")
        func stopped() async throws {
            let many = (0..<3000).map { server.url("png/one-pixel.png?\($0)") + "\n" }.joined()
            let neighbour = try kf.start(["prefetch", "-"], input: Data(many.utf8))
            defer { neighbour.signal(SIGKILL) }
            let deadline = ContinuousClock.now + .seconds(60)
            // Stops it until it stands still with the lock. For a moment around that, its number is not in the file.
            var result: CommandResult?
            while result?.errors.contains("stopped") != true {
                try #require(
                    ContinuousClock.now < deadline, "it is never stopped with the lock: \(String(describing: result))")
                neighbour.signal(SIGCONT)
                #expect(try await eventually { try HeldLock.isHeld(kf) })
                try await neighbour.stop()
                if try HeldLock.isHeld(kf) { result = try await kf.run("fetch", url(0), "-o", "-") }
            }
            let number = try #require(neighbour.processNumber)
            let refused = try #require(result)
            #expect(refused.status == 3 && refused.standardOutput == image, "\(refused)")
            #expect(refused.errors.contains("process \(number) (kf, stopped)"), "\(refused)")
            #expect(try await kf.run("fetch", hit).status == 0)
            neighbour.signal(SIGCONT)
            #expect(try await neighbour.wait().status == 0)
        }
    }
}
