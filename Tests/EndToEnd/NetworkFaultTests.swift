import Foundation
import Support
import Testing

extension EndToEnd {
    /// Each fault of a server, beside a picture that is fine: the one is refused with its reason and leaves nothing
    /// behind, the other comes.
    @Suite("Network faults")
    final class NetworkFaultTests: CommandSuite {
        let picture = Data(FixturesDirectory.image("png/rgb.png"))

        @Test("A faulty body is refused beside a good image", arguments: NetworkFault.bodies)
        func body(fault: NetworkFault) async throws { try await check(fault) }

        @Test("A faulty head is refused beside a good image", arguments: NetworkFault.heads)
        func head(fault: NetworkFault) async throws { try await check(fault) }

        private func check(_ fault: NetworkFault) async throws {
            let bytes = [UInt8](picture)
            // A request over an old connection that ends without a word is made again by libcurl; here none is old.
            let server = try FaultServer { request in
                request.path == "/good.png"
                    ? [.reply(headers: ["Connection: close"], body: bytes), .close] : fault.steps(bytes)
            }
            let options = ["--retry", "2", "--retry-delay", "1ms"] + fault.options
            try await kf.expectRefusal(
                of: server.url("/bad"), beside: server.url("/good.png"), options, code: fault.code, says: fault.says)
            #expect(server.requests.count { $0.path == "/bad" } == fault.requests)
            // No encoding is asked for, whatever comes.
            #expect(server.requests.allSatisfy { $0.header("Accept-Encoding") == "identity" })
        }

        // MARK: Names and addresses

        @Test(
            "A host that cannot be reached has its own error",
            arguments: [
                ("nowhere.invalid", "could not resolve host nowhere.invalid"),
                ("127.0.0.1:1", "could not connect to 127.0.0.1:1: Connection refused"),
            ])
        func unreachable(host: String, words: String) async throws {
            let server = try FileServer()
            try await kf.expectRefusal(
                of: "http://\(host)/a.png", beside: server.url("png/rgb.png"), ["--retry", "0"], code: 2003, says: words
            )
        }

        @Test("A silent name server delays no other image", .enabled(if: PrivateNames.canListen))
        func silentNameServer() async throws {
            let names = try PrivateNames(hosts: [:], nameServer: .silent)
            let server = try FileServer()
            try await names.wrapping(kf).expectRefusal(
                of: "http://somewhere.test/a.png", beside: server.url("png/rgb.png"),
                ["--retry", "0", "--timeout", "500ms"], code: 2003, says: "the connection to somewhere.test timed out")
        }

        @Test(
            "A dead IPv6 address falls back to IPv4", .enabled(if: PrivateNames.isPossible),
            arguments: [true, false])
        func deadIPv6(refuses: Bool) async throws {
            let names = try PrivateNames(hosts: ["dual.test": ["::1", "127.0.0.1"]])
            let hole = refuses ? nil : try FullListener(address: "::1")
            let bytes = [UInt8](picture)
            let server = try FaultServer(port: hole?.port ?? 0) { _ in [.reply(body: bytes)] }
            let result = try await names.wrapping(kf).run(
                "fetch", "http://dual.test:\(server.port)/a.png", "-o", "-", "--retry", "0", "--timeout", "10s")
            #expect(result.standardOutput == picture, "\(result)")
        }

        @Test("A host in Unicode is one host in every locale", .enabled(if: PrivateNames.isPossible))
        func internationalName() async throws {
            let names = try PrivateNames(hosts: ["xn--bcher-kva.test": ["127.0.0.1"]])
            let bytes = [UInt8](picture)
            let server = try FaultServer { request in
                guard request.path == "/moved.png" else { return [.reply(body: bytes)] }
                let port = request.header("host")?.split(separator: ":").last ?? ""
                return [.reply("302 Found", headers: ["Location: http://bücher.test:\(port)/b.png"], body: [])]
            }
            var kf = try names.wrapping(kf)
            let place = "test:\(server.port)"
            try kf.home.write("list.txt", "http://bücher.\(place)/a.png\nhttp://xn--bcher-kva.\(place)/a.png\n")
            for locale in ["C", "C.UTF-8"] {
                kf.environment["LC_ALL"] = locale
                let list = try await kf.run("prefetch", "list.txt", "--json", "--force-refresh")
                let keys = try list.items().map(\.key)
                #expect(keys == Array(repeating: "http://xn--bcher-kva.\(place)/a.png", count: 2), "\(list)")
                let moved = try await kf.run("fetch", "http://Bücher.\(place)/moved.png", "-o", "-", "--force-refresh")
                #expect(moved.standardOutput == picture, "\(moved)")
            }
            let hosts = Set(server.requests.map { $0.header("host") })
            #expect(hosts == ["xn--bcher-kva.\(place)"])
            let removed = try await kf.run("cache", "clean", "--host", "BÜCHER.test")
            #expect(removed.status == 0)
            #expect(kf.cachedObjects().isEmpty)
            let refused = try await kf.run("fetch", "http://１２７.0.0.1:\(server.port)/a.png", "--deny-private")
            #expect(refused.errors.contains("which is not a public address"), "\(refused)")
        }

        @Test("A public name with a private address is refused", .enabled(if: PrivateNames.isPossible))
        func rebinding() async throws {
            let names = try PrivateNames(hosts: ["rebound.test": ["127.0.0.1"], "mapped.test": ["::ffff:127.0.0.1"]])
            let server = try FaultServer { _ in [.reply()] }
            for host in ["rebound.test", "mapped.test"] {
                let item = try await names.wrapping(kf).run(
                    "fetch", "http://\(host):\(server.port)/a.png", "--deny-private", "--json", "--retry", "0"
                ).items().first
                #expect(item?.error?.code == 2003)
                #expect(
                    item?.error?.message.contains("which is not a public address") == true,
                    "\(String(describing: item))")
            }
            #expect(server.accepted == 0)
            #expect(kf.cachedObjects().isEmpty)
        }
    }
}
