import Foundation
import Support
import Testing

extension EndToEnd {
    @Suite("Single flight")
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

        @Test("Twenty processes make one request for one image")
        func together() async throws {
            let bytes = [UInt8](image)
            let server = try FaultServer { _ in [.pause(.milliseconds(500)), .reply(body: bytes)] }
            try await expectImage(start(20, server.url("/slow.png")))
            #expect(server.requests.count == 1)
            #expect(kf.cachedObjects().count == 1)
            #expect(kf.leftovers() == [])
        }

        @Test("After a kill the waiting processes make one more request")
        func killed() async throws {
            let bytes = [UInt8](image)
            let server = try FaultServer.answering(first: FaultStep.cut(bytes, at: bytes.count / 2, then: .hold)) { _ in
                [.pause(.milliseconds(200)), .reply(body: bytes)]
            }
            let first = try kf.start(["fetch", server.url("/slow.png"), "-o", "-"])
            // Who makes a request has the right to it.
            #expect(await eventually { !server.requests.isEmpty })
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
