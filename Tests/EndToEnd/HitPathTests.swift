import Foundation
import Support
import Testing

extension EndToEnd {
    @Suite("Hits")
    struct HitPathTests {
        private func traced(_ kf: KFCommand, _ arguments: [String]) async throws -> [Substring] {
            try await kf.calls("openat,open,socket,connect", of: arguments).filter { !$0.contains("ENOENT") }
        }

        @Test(
            "A hit loads no libcurl and opens no socket",
            .enabled("strace cannot trace here") { await SystemCalls.areTraceable() })
        func noCurl() async throws {
            let kf = try KFCommand()
            let server = try FileServer()
            let url = server.url("png/rgb.png")
            let miss = try await traced(kf, ["fetch", url])
            #expect(miss.contains { $0.contains("libcurl") }, "the check itself no longer works")
            let hit = try await traced(kf, ["fetch", url])
            #expect(!hit.contains { $0.contains("libcurl") || $0.contains("libssl") }, "\(hit)")
            #expect(!hit.contains { $0.contains("socket(") || $0.contains("connect(") }, "\(hit)")
            #expect(hit.contains { $0.contains("index.sqlite") }, "\(hit)")
        }

        @Test(
            "A hit opens the index and looks up in one read transaction each",
            .enabled("strace cannot trace here") { await SystemCalls.areTraceable() })
        func transactions() async throws {
            let kf = try KFCommand()
            let server = try FileServer()
            let url = server.url("png/rgb.png")
            #expect(try await kf.run("fetch", url).status == 0)
            // SQLite locks one of the bytes 123 to 127 of its shared memory for each.
            let locks = try await kf.calls("fcntl", of: ["fetch", url]).filter { call in
                call.contains("-shm") && call.contains(/F_RDLCK.*l_start=12[3-7]/)
            }
            #expect(locks.count == 2, "\(locks)")
        }

        @Test(
            "The runtime looks for nothing beside the program, nor at its memory",
            .enabled("not the release binary") { ProcessInfo.processInfo.environment["KF_BINARY"] != nil },
            .enabled("strace cannot trace here") { await SystemCalls.areTraceable() })
        func start() async throws {
            let kf = try KFCommand()
            let calls = try await kf.calls("all", of: ["--version"])
            #expect(calls.contains { $0.contains("libc.so") }, "the check itself no longer works")
            #expect(!calls.contains { $0.contains("swift-backtrace") || $0.contains("/proc/self/maps") }, "\(calls)")
        }
    }
}
