import Foundation
import Support
import Synchronization
import Testing

extension EndToEnd {
    @Suite("Many processes that miss one image")
    struct SingleFlightTests {
        let kf: KFCommand
        let image: Data

        init() throws {
            kf = try KFCommand()
            image = try FixturesDirectory.named("png/rgb.png").data
        }

        private func start(_ count: Int, _ url: String) throws -> [RunningCommand] {
            try (0..<count).map { _ in try kf.start(["fetch", url, "-o", "-"]) }
        }

        private func expectImage(_ commands: [RunningCommand]) async throws {
            for command in commands {
                let result = try await command.wait()
                #expect(result.status == 0 && result.standardOutput == image && result.errors == "", "\(result)")
            }
        }

        @Test("Twenty processes and one slow address: one request")
        func together() async throws {
            let bytes = [UInt8](image)
            let server = try FaultServer { _ in [.pause(.milliseconds(500)), .reply(body: bytes)] }
            try await expectImage(start(20, server.url("/slow.png")))
            #expect(server.requests.count == 1)
            #expect(kf.cachedObjects().count == 1)
            #expect(kf.leftovers() == [])
        }

        @Test("The one that makes the request is killed in the middle: the others make one more")
        func killed() async throws {
            let bytes = [UInt8](image)
            let requests = RequestCounter()
            let server = try FaultServer { _ in
                guard requests.next() == 1 else { return [.pause(.milliseconds(200)), .reply(body: bytes)] }
                let head = "HTTP/1.1 200 OK\r\nContent-Length: \(bytes.count)\r\n\r\n"
                return [.text(head), .send(Array(bytes.prefix(bytes.count / 2))), .hold]
            }
            let first = try kf.start(["fetch", server.url("/slow.png"), "-o", "-"])
            let deadline = ContinuousClock.now + .seconds(20)
            // Who makes a request has the right to it.
            while server.requests.isEmpty {
                try #require(ContinuousClock.now < deadline, "the first does not begin")
                try await Task.sleep(for: .milliseconds(2))
            }
            let others = try start(19, server.url("/slow.png"))
            // As soon as one of them is ready it waits; those that come later find the image.
            try await Task.sleep(for: .milliseconds(300))
            #expect(server.requests.count == 1)
            first.signal(SIGKILL)
            #expect(try await first.wait().status == 128 + SIGKILL)
            try await expectImage(others)
            #expect(server.requests.count == 2)
            #expect(kf.cachedObjects().count == 1)
        }
    }
}

/// Numbers requests from 1.
private final class RequestCounter: Sendable {
    private let count = Mutex(0)

    func next() -> Int {
        count.withLock { count in
            count += 1
            return count
        }
    }
}
