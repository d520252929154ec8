import Foundation
import Support
import Synchronization
import Testing

/// Copies of a source's files, which are asked before it.
@Suite("Mirrors", .bounded, .ownThread) struct MirrorTests {
    private let kf: KFCommand
    private let source: FaultServer
    private let mirror: FaultServer
    private let pictures = Pictures()

    /// What the mirror has; nil for a missing image.
    private final class Pictures: Sendable {
        private let name = Mutex<String?>("grey")

        var mirrored: String? {
            get { name.withLock { $0 } }
            set { name.withLock { $0 = newValue } }
        }
    }

    init() throws {
        kf = try KFCommand()
        let plain = try FixturesDirectory.bytes("png/grey.png")
        let colored = try FixturesDirectory.bytes("png/rgb.png")
        source = try FaultServer { _ in [.reply(headers: ["ETag: \"source\""], body: plain)] }
        mirror = try FaultServer { [pictures] request in
            guard let name = pictures.mirrored else { return [.reply("404 Not Found", body: [])] }
            if request.header("If-None-Match") == "\"\(name)\"" { return [.head("HTTP/1.1 304 Not Modified")] }
            return [.reply(headers: ["ETag: \"\(name)\""], body: name == "grey" ? plain : colored)]
        }
    }

    private var option: String { "--mirror=\(source.url("/"))=\(mirror.url("/copies"))" }

    private func fetch(_ path: String, _ options: String...) async throws -> CommandResult {
        try await kf.run(["fetch", source.url(path), "--retry", "0", "--json"] + options)
    }

    @Test("A mirror is asked first, and the key stays that of the source")
    func first() async throws {
        let item = try await fetch("/a/cat.png?w=1", option, "--lock", "images.lock").item()
        #expect(item.status == "fetched" && item.key == source.url("/a/cat.png?w=1"), "\(item)")
        #expect(item.mirror == mirror.url("/copies/a/cat.png?w=1"), "\(item)")
        #expect(mirror.requests.map(\.path) == ["/copies/a/cat.png?w=1"] && source.requests.isEmpty)
        #expect(try await fetch("/a/cat.png?w=1").item().status == "disk")
        let lock = String(decoding: try kf.contents("images.lock"), as: UTF8.self)
        #expect(lock.contains("\n\(source.url("/a/cat.png?w=1")) sha256-"), "\(lock)")
    }

    @Test("The source is asked for what a mirror lacks, which only -v tells")
    func missing() async throws {
        pictures.mirrored = nil
        let result = try await fetch("/a.png", option)
        let item = try result.item()
        #expect(item.status == "fetched" && item.mirror == nil && item.attempts == 2, "\(item)")
        #expect(result.errors.isEmpty && source.requests.count == 1, "\(result)")
        let told = try await fetch("/b.png", option, "-v")
        #expect(told.errors.contains("the mirror \(mirror.url("/copies/b.png")): "), "\(told)")
        #expect(try await fetch("/a.png", "--negative-ttl", "1h").item().status == "disk")
    }

    @Test("A mirror that lies is found out, and its source brings the image")
    func lying() async throws {
        #expect(try await fetch("/a.png", "--lock", "images.lock").status == 0)
        _ = try await kf.run("cache", "clean", "--all", "--yes")
        pictures.mirrored = "rgb"
        let result = try await fetch("/a.png", option, "--lock", "images.lock", "--frozen", "-o", "a.png")
        #expect(result.status == 0 && result.errors.contains("so that its source is asked"), "\(result)")
        #expect(try kf.contents("a.png") == FixturesDirectory.named("png/grey.png").data)
        #expect(try await fetch("/a.png", "-o", "b.png").status == 0)
        #expect(try kf.contents("b.png") == FixturesDirectory.named("png/grey.png").data, "nothing of it is cached")
    }

    @Test("Several mirrors are asked in their order, and then the source")
    func several() async throws {
        let dead = "--mirror=\(source.url("/"))=http://127.0.0.1:9/"
        let result = try await fetch("/a.png", dead, option)
        #expect(try result.item().mirror == mirror.url("/copies/a.png"), "\(result)")
        #expect(result.errors.contains("kf: warning: the mirror http://127.0.0.1:9/a.png: "), "\(result)")
        pictures.mirrored = nil
        let urls = (1...30).map { source.url("/\($0).png") + "\n" }.joined()
        let list = try await kf.run(
            ["prefetch", "-", dead, option, "--retry", "0", "-P", "out"], input: Data(urls.utf8))
        #expect(list.status == 0 && TemporaryDirectory.files(in: kf.home.path("out")).count == 30, "\(list)")
        #expect(list.errors.split(separator: "\n").count < 25, "\(list.errors)")
    }

    @Test("Retries ask the mirrors again")
    func retries() async throws {
        let failures = Mutex(1)
        let body = try FixturesDirectory.bytes("png/grey.png")
        let busy = try FaultServer { [failures] _ in
            let fails = failures.withLock { left in
                defer { left = max(0, left - 1) }
                return left > 0
            }
            return [fails ? .reply("503 Service Unavailable", body: []) : .reply(body: body)]
        }
        let result = try await kf.run(
            "fetch", "http://127.0.0.1:9/a.png", "--mirror", "http://127.0.0.1:9/=\(busy.url("/"))", "--retry", "1",
            "--retry-delay", "0.01s")
        #expect(result.status == 0 && busy.requests.count == 2, "\(result)")
    }

    @Test("A mirror gets no secrets of the source, and its own user info")
    func secrets() async throws {
        let url = source.url("/a.png?w=1&sig=secret").replacing("http://", with: "http://ann:secret@")
        let place = mirror.url("/").replacing("http://", with: "http://bob:s3same@")
        let result = try await kf.run(
            "fetch", url, "-u", "ann:secret", "-H", "X-Api-Key: secret", "-H", "Accept: image/png", "--key-ignore",
            "sig", "--mirror", "\(source.url("/"))=\(place)", "--json")
        #expect(result.status == 0 && source.requests.isEmpty, "\(result)")
        let request = try #require(mirror.requests.first)
        #expect(request.path == "/a.png?w=1" && !"\(request)".contains("secret"), "\(request)")
        #expect(request.header("Accept") == "image/png")
        #expect(request.header("Authorization") == "Basic \(Data("bob:s3same".utf8).base64EncodedString())")
        #expect(!result.output.contains("s3same") && !result.errors.contains("s3same"), "\(result)")
        let config = try await kf.with(["KF_MIRROR": "\(source.url("/"))=\(place)"]).run("config")
        #expect(config.output.contains("mirror") && !config.output.contains("s3same"), "\(config)")
    }

    @Test("Validators stay with the place that gave them")
    func validators() async throws {
        #expect(try await fetch("/a.png").item().status == "fetched")
        pictures.mirrored = "rgb"
        #expect(try await fetch("/a.png", option, "--revalidate").item().status == "fetched")
        #expect(mirror.requests.last?.header("If-None-Match") == nil, "the ETag of the source stays there")
        #expect(try await fetch("/a.png", option, "--revalidate").item().status == "revalidated")
        #expect(mirror.requests.last?.header("If-None-Match") == "\"rgb\"")
        let direct = try await fetch("/a.png", "--revalidate").item()
        #expect(direct.status == "fetched" && source.requests.last?.header("If-None-Match") == nil, "\(direct)")
        let small = try await fetch("/b.png", option, "-p", "resize:2x").item()
        #expect(small.mirror == mirror.url("/copies/b.png"), "\(small)")
        _ = try await fetch("/b.png", "--revalidate", "-p", "resize:2x")
        #expect(source.requests.last?.header("If-None-Match") == nil, "nor does one of the mirror go to the source")
    }

    @Test("A mirror covers whole components of paths")
    func boundaries() async throws {
        let photos = "--mirror=\(source.url("/photos"))=\(mirror.url("/copies/"))"
        for (path, target) in [
            ("/photos/a.png", "/copies/a.png"), ("/photos?a", "/copies?a"), ("/photos2/a.png", nil), ("/a.png", nil),
        ] as [(String, String?)] {
            let item = try await fetch(path, photos).item()
            #expect(item.mirror == target.map { mirror.url($0) }, "\(path) \(item)")
        }
    }

    @Test(
        "A path that leaves the mirror's prefix is asked of its source",
        arguments: [
            "/../i/40.png", "/pub/../secret/d.png", "/pub/%2e%2e/secret/d.png", "/pub/%2E./secret/d.png",
            "/pub/..%2fsecret/d.png", "/pub/..%5csecret/d.png", "/pub/..\\secret/d.png", "/pub/a/../../secret/d.png",
            "/pub/%252e%252e/secret/d.png", "/pub/..;x/secret/d.png", "/pub//../secret/d.png", "/pub/./../secret/d.png",
        ])
    func leaving(_ path: String) async throws {
        let from = path.hasPrefix("/pub") ? "/pub" : "/"
        for place in ["/copies", "/copies/", "/pub"] {
            let place = mirror.url(place, user: "bob:word")
            let result = try await fetch(path, "--mirror", "\(source.url(from))=\(place)", "--force-refresh")
            let item = try result.item()
            #expect(item.mirror == nil && item.key == source.url(path), "\(item)")
        }
        #expect(mirror.requests.isEmpty && source.requests.count == 3)
    }

    @Test(
        "A path that stays within the mirror's prefix is asked of the mirror",
        arguments: ["/pub/a/../b.png", "/pub/a%2e%2e.png", "/pub/...", "/pub/a.png?x=/../../b", "/pub/100%25.png"])
    func staying(_ path: String) async throws {
        let item = try await fetch(path, "--mirror", "\(source.url("/pub"))=\(mirror.url("/copies"))").item()
        #expect(item.mirror == mirror.url("/copies" + path.dropFirst(4)), "\(item)")
    }

    @Test(
        "What is not a pair of URLs is a usage error",
        arguments: [
            "http://a.example/", "=http://a.example/", "http://a.example/=", "ftp://a.example=http://b.example",
            "http://a.example/?x=http://b.example", "http://a.example=http://b.example/?u=", "http://a=http://b/#c",
            "http://u:secret@a.example/=http://b.example/", "a=b",
        ])
    func usage(_ text: String) async throws {
        let result = try await fetch("/a.png", "--mirror", text)
        #expect(result.status == 2 && !result.errors.contains("secret") && source.requests.isEmpty, "\(result)")
    }
}
