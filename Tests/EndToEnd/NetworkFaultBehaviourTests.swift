import Foundation
import Support
import Synchronization
import Testing

extension EndToEnd {
    /// What a server says beside an image, and what `kf` makes of it.
    @Suite("Server behaviour")
    final class NetworkFaultBehaviourTests: CommandSuite {
        let picture = FixturesDirectory.image("png/grey.png")

        private func items(_ arguments: String...) async throws -> [ItemReport] {
            try await kf.run(["fetch", "--json"] + arguments).items()
        }

        @Test("Slow servers time out and delay no other image")
        func slowOnes() async throws {
            let server = try FaultServer { [picture] request in
                switch request.path {
                case "/drip":
                    [.head("HTTP/1.1 200 OK", "Content-Length: 9000"), .drip(picture, every: .milliseconds(20))]
                case "/burst":
                    [
                        .head("HTTP/1.1 200 OK", "Content-Length: 900000"), .send(.init(repeating: 1, count: 9000)),
                        .hold,
                    ]
                case "/silence": [.hold]
                default: [.reply(body: picture)]
                }
            }
            let slow = ["/drip", "/burst", "/silence"].map { server.url($0) }
            let good = (0..<20).map { server.url("/\($0).png") }
            // A prefetch reports each one as it ends.
            let result = try await kf.run(
                "prefetch", "--json", "--retry", "0", "--timeout", "1500ms", "--max-per-host", "64", "-",
                input: Data((slow + good).joined(separator: "\n").utf8))
            let items = try result.items()
            // By the order in which they end: the slow ones were first to start.
            #expect(items.prefix(good.count).allSatisfy { $0.status == "fetched" }, "\(result)")
            #expect(Set(items.suffix(slow.count).map(\.source)) == Set(slow), "\(result)")
            for item in items.suffix(slow.count) { #expect(item.error?.message.contains("less than 1 KiB") == true) }
        }

        @Test(
            "The bytes decide the format, not the Content-Type", arguments: ["text/html", "image/gif", "", "x/y; z=\""])
        func contentType(type: String) async throws {
            let server = try FaultServer { [picture] _ in [.reply(headers: ["Content-Type: \(type)"], body: picture)] }
            let item = try await items(server.url("/picture")).first
            #expect(item?.status == "fetched" && item?.format == "png")
            #expect(kf.cachedObjects().allSatisfy { $0.hasSuffix(".png") })
        }

        @Test("A request is unconditional when the cached file is gone")
        func conditionWithoutEntry() async throws {
            let server = try FaultServer { [picture] request in
                request.header("If-None-Match") == nil
                    ? [.reply(headers: ["ETag: \"1\""], body: picture)]
                    : [.head("HTTP/1.1 304 Not Modified", "ETag: \"1\"")]
            }
            #expect(try await items(server.url("/a.png"), "--expire", "1ms").first?.status == "fetched")
            #expect(try await items(server.url("/a.png"), "--expire", "1ms").first?.status == "revalidated")
            let object = try #require(kf.cachedObjects().first)
            try FileManager.default.removeItem(at: kf.cacheDirectory.appendingPathComponent(object))
            #expect(try await items(server.url("/a.png")).first?.status == "fetched")
            #expect(server.requests.map { $0.header("If-None-Match") != nil } == [false, true, false])
        }

        @Test("A Retry-After applies to the whole host", arguments: [429, 503])
        func retryAfter(status: Int) async throws {
            let times = Mutex<[(path: String, time: ContinuousClock.Instant)]>([])
            let server = try FaultServer { [picture] request in
                let isFirst = times.withLock { times in
                    times.append((request.path, .now))
                    return times.count == 1
                }
                return isFirst ? [.reply("\(status) Wait", headers: ["Retry-After: 1"])] : [.reply(body: picture)]
            }
            let result = try await kf.run(
                "fetch", "-j", "1", "--retry", "1", "--retry-delay", "1ms", server.url("/a.png"), server.url("/b.png"))
            #expect(result.status == 0, "\(result)")
            let asked = times.withLock { $0 }
            #expect(asked.count == 3)
            // A little less, because the server's clock here starts when it has sent nothing yet.
            for (_, time) in asked.dropFirst() { #expect(asked[0].time.duration(to: time) >= .milliseconds(990)) }
        }

        @Test("Passwords are never stored, and queries are never printed")
        func secrets() async throws {
            let server = try FaultServer { [picture] request in
                request.path.hasPrefix("/good") ? [.reply(body: picture)] : [.reply("404 Not Found")]
            }
            let authority = "me:hunter2@127.0.0.1:\(server.port)"
            let result = try await kf.run(
                "fetch", "--output-dir", "out", "http://\(authority)/good.png?token=tttt",
                "http://\(authority)/bad.png?token=tttt")
            #expect(result.status == 1, "\(result)")
            #expect(server.requests.allSatisfy { $0.header("Authorization") == "Basic bWU6aHVudGVyMg==" })
            #expect(!result.output.contains("hunter2") && !result.errors.contains("hunter2"), "\(result)")
            #expect(!result.errors.contains("tttt"), "\(result)")
            #expect(kf.home.files().allSatisfy { !$0.contains("tttt") && !$0.contains("hunter2") })
            for name in kf.home.files() {
                let bytes = try kf.contents(name)
                #expect(bytes.range(of: Data("hunter2".utf8)) == nil, "\(name) holds the password")
            }
        }

        @Test("Overlong lifetimes and no-store are obeyed")
        func cacheControl() async throws {
            let server = try FaultServer { [picture] request in
                switch request.path {
                case "/long.png": [.reply(headers: ["Cache-Control: max-age=99999999999999999999999"], body: picture)]
                default: [.reply(headers: ["Cache-Control: no-store"], body: picture)]
                }
            }
            for (path, second) in [("/long.png", "disk"), ("/none.png", "fetched")] {
                for way in ["fetched", second] {
                    let item = try await items(server.url(path), "--cache-policy", "http", "-o", "out.png").first
                    #expect(item?.status == way, "\(path)")
                }
            }
        }

        @Test("Proxies of the environment apply except under --deny-private")
        func environmentProxies() async throws {
            let proxy = try FaultServer { [picture] request in
                request.path.hasPrefix("http://locked.test/")
                    ? [.reply("407 Proxy Authentication Required")] : [.reply(body: picture)]
            }
            let server = try FaultServer { [picture] _ in [.reply(body: picture)] }
            var kf = kf
            kf.environment["http_proxy"] = proxy.url()
            kf.environment["no_proxy"] = "127.0.0.1"
            #expect(try await kf.run("fetch", "http://origin.test/a.png").status == 0)
            #expect(try await kf.run("fetch", server.url("/a.png")).status == 0)
            #expect(proxy.requests.map(\.path) == ["http://origin.test/a.png"])
            #expect(server.requests.count == 1)
            let locked = try await kf.run("fetch", "http://locked.test/a.png", "--json").items().first
            #expect(locked?.error?.code == 2002 && locked?.httpStatus == 407)
            let denied = try await kf.run("fetch", "http://origin.test/b.png", "--deny-private", "--json").items().first
            #expect(denied?.error?.message.contains("the environment names a proxy (http_proxy)") == true)
            #expect(proxy.requests.count == 2)
        }
    }
}
