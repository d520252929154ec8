import Foundation
import Support
import Testing

extension EndToEnd {
    @Suite("Single flight")
    final class SingleFlightTests: CommandSuite {
        let image = Data(FixturesDirectory.image("png/rgb.png"))

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

        @Test("Six processes follow one redirect together", arguments: ["", "another origin"])
        func redirected(place: String) async throws {
            let bytes = [UInt8](image)
            let other = try FaultServer { _ in [.pause(.milliseconds(500)), .reply(body: bytes)] }
            let server = try FaultServer { request in
                guard request.path == "/go.png" else { return [.pause(.milliseconds(500)), .reply(body: bytes)] }
                let target = place.isEmpty ? "/slow.png" : other.url("/slow.png")
                return [.reply("302 Found", headers: ["Location: \(target)"], body: [])]
            }
            try await expectImage(start(6, server.url("/go.png")))
            #expect(server.requests.filter { $0.path == "/go.png" }.count == 1)
            #expect(server.requests.count + other.requests.count == 2)
        }

        @Test("Six processes ask once for what brings no image", arguments: ["/gone.png", "/small.png"])
        func withoutImage(path: String) async throws {
            let bytes = [UInt8](image)
            let server = try FaultServer { request in
                [
                    .pause(.milliseconds(500)),
                    request.path == "/gone.png" ? .reply("404 Not Found") : .reply(body: bytes),
                ]
            }
            let list = Data(server.url(path).utf8)
            let commands = try (0..<6).map { _ in
                try kf.start(["prefetch", "-", "-q", "--min-size", "9999x", "--retry", "0"], input: list)
            }
            for command in commands {
                let result = try await command.wait()
                #expect(result.status == (path == "/gone.png" ? 1 : 0), "\(result)")
            }
            #expect(server.requests.count == 1)
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
