import Foundation
import Support
import Testing

extension EndToEnd {
    /// Threads and memory that the system does not give. A data segment of 20 MB has room for two stacks.
    @Suite("Few threads and little memory")
    final class ShortageTests: CommandSuite {
        private let image = FixturesDirectory.image("png/one-pixel.png")

        @Test(
            "A run without threads ends with status 3",
            arguments: ["fetch", "prefetch", "cache stat"])
        func threads(command: String) async throws {
            let server = try FaultServer { [image] _ in [.reply(body: image)] }
            try kf.home.write("list", server.url("/a.png"))
            let operand = ["fetch": [server.url("/a.png")], "prefetch": ["list", "--deadline", "1s"]][command] ?? []
            let start = ContinuousClock.now
            let words = command.split(separator: " ").map(String.init)
            let result = try await kf.run(words + operand, under: "prlimit", "--data=\(20 << 20)")
            #expect(result.status == 3 && result.errorLines.count == 1, "\(result)")
            #expect(result.errors.contains("cannot start a thread"), "\(result)")
            #expect(start.duration(to: .now) < .seconds(10))
        }

        @Test("The limit on processes ends a run with status 3")
        func processes() async throws {
            let result = try await withoutProcesses().wait()
            #expect(result.status == 3 && result.errors.contains("cannot start a thread"), "\(result)")
            #expect(result.errors.contains("ulimit -u"))
        }

        /// Fetches under a limit of one process.
        private func withoutProcesses() throws -> RunningCommand {
            // Root has no such limit.
            let user = ["--reuid", "65534", "--regid", "65534", "--clear-groups"]
            let prefix = geteuid() == 0 ? ["setpriv"] + user : []
            let binary = try kf.openToAll().binary.path
            let words = prefix + ["prlimit", "--nproc=1", binary, "fetch", "http://127.0.0.1:1/a.png"]
            return try RunningCommand(
                words[0], Array(words.dropFirst()), environment: kf.environment, directory: kf.home.url)
        }

        @Test("A hit needs no thread and little memory")
        func hit() async throws {
            let server = try FaultServer { [image] _ in [.reply(body: image)] }
            #expect(try await kf.run("fetch", server.url("/a.png")).status == 0)
            let result = try await kf.run(["fetch", server.url("/a.png")], under: "prlimit", "--data=\(20 << 20)")
            #expect(result.status == 0 && result.errors.isEmpty, "\(result)")
        }

        @Test("A signal ends a run that cannot start threads", arguments: [SIGINT, SIGTERM])
        func signal(number: Int32) async throws {
            let run = try withoutProcesses()
            let process = try #require(run.processNumber)
            // From then on the signal waits for a thread.
            let isBlocked = await eventually {
                let status = (try? String(contentsOfFile: "/proc/\(process)/status", encoding: .utf8)) ?? ""
                let line = status.split(separator: "\n").first { $0.hasPrefix("SigBlk:") } ?? ""
                let mask = UInt64(line.dropFirst(7).drop(while: \.isWhitespace), radix: 16) ?? 0
                return mask & 1 << UInt64(number - 1) != 0
            }
            #expect(isBlocked)
            run.signal(number)
            #expect(try await run.wait().status == 128 + number)
        }

        @Test("Too little address space is an error")
        func addresses() async throws {
            let server = try FaultServer { [image] _ in [.reply(body: image)] }
            let refused = try await kf.run(["fetch", server.url("/a.png")], under: "prlimit", "--as=\(90 << 20)")
            #expect(refused.status == 3 && refused.errors.contains("ulimit -v"), "\(refused)")
            // Threads share one arena: with one each, libcurl finds no room for its libraries.
            for size in [200, 400] {
                let taken = try await kf.run(
                    ["fetch", server.url("/\(size).png")], under: "prlimit", "--as=\(size << 20)")
                #expect(taken.status == 0, "\(taken)")
            }
        }
    }
}
