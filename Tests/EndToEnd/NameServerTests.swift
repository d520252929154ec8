import Foundation
import Support
import Testing

extension EndToEnd {
    @Suite("Name servers", .enabled(if: PrivateNames.canListen, "needs a mount namespace and port 53"))
    struct NameServerTests {
        private let kf: KFCommand
        private let names: PrivateNames
        private let server: FaultServer

        init() throws {
            names = try PrivateNames(hosts: [:], nameServer: .scripted)
            kf = try names.wrapping(KFCommand())
            let png = try FixturesDirectory.bytes("png/one-pixel.png")
            server = try FaultServer(address: "0.0.0.0") { _ in [.reply(body: png)] }
        }

        private func url(_ host: String, _ number: Int = 0) -> String {
            "http://\(host):\(server.port)/\(host)-\(number).png"
        }

        private func prefetch(_ urls: [String], _ options: String...) async throws -> CommandResult {
            try kf.home.write("list.txt", urls.map { $0 + "\n" }.joined())
            return try await kf.run(["prefetch", "list.txt", "--json"] + options)
        }

        @Test("Each host of a long list is looked up once")
        func once() async throws {
            let hosts = (0..<400).map { "host\($0).test" }
            let result = try await prefetch((0..<3).flatMap { number in hosts.map { url($0, number) } })
            #expect(result.status == 0, "\(result.errors)")
            #expect(server.requests.count == 1200)
            // A name is known for 50 s; a machine that is busy for longer looks it up again.
            let most = 1 + Int(clamping: result.wall / .seconds(50))
            let lookups = try names.lookups()
            #expect(Set(lookups.keys) == Set(hosts))
            #expect(lookups.values.allSatisfy { $0 <= most }, "\(lookups.filter { $0.value > most })")
        }

        @Test("An unknown host fails quickly and delays no other image")
        func unknown() async throws {
            let urls = (0..<500).map { url("nx.test", $0) } + (0..<20).map { url("there.test", $0) }
            let result = try await prefetch(urls, "--retry", "1")
            let items = try result.items()
            #expect(result.status == 1)
            #expect(items.filter { $0.status == "fetched" }.count == 20)
            let failed = items.filter { $0.status == "failed" }
            #expect(failed.count == 500)
            #expect(failed.allSatisfy { $0.error?.code == 2003 && $0.attempts == 2 })
            #expect(failed.allSatisfy { $0.error?.message.contains("could not resolve host nx.test") == true })
            // The failure counts for 0.5 s, then 1 s, 2 s …
            let most = 2 + Int(clamping: log2(1 + 2 * (result.wall / .seconds(1))))
            #expect(try names.lookups()["nx.test"] ?? 0 <= most)
            #expect(try names.lookups()["there.test"] == 1)
        }

        @Test("A transient failure of a name server loses no image")
        func transient() async throws {
            let result = try await prefetch((0..<300).map { url("flaky1-a.test", $0) })
            #expect(result.status == 0, "\(result.errors)")
            #expect(server.requests.count == 300)
            #expect(try names.lookups()["flaky1-a.test"] == 2)
        }

        @Test("Slow lookups do not block other hosts")
        func slow() async throws {
            let slow = (0..<4).map { url("slow8000-\($0).test") }
            let result = try await prefetch(slow + (0..<30).map { url("127.0.0.1", $0) }, "-j", "4")
            #expect(result.status == 0, "\(result.errors)")
            let hosts = server.requests.map { $0.header("Host")?.hasPrefix("slow") == true }
            // A machine that takes 8 s for the thirty images says nothing about their order.
            #expect(
                hosts == Array(repeating: false, count: 30) + Array(repeating: true, count: 4)
                    || result.wall > .seconds(14))
            #expect(try names.lookups().values.allSatisfy { $0 == 1 })
        }
    }
}
