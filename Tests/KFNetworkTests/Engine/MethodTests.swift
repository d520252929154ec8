import KFNetwork
import Support
import Testing

@Suite("Request methods", .bounded, .engines)
struct MethodTests {
    @Test("A HEAD response has no body") func head() async throws {
        let server = try FaultServer { _ in [.head("HTTP/1.1 200 OK", "Content-Length: 999999999", "ETag: \"e\"")] }
        let engine = Engines.make()
        for _ in 0..<3 {
            let fetched = await fetch(server.url("/a"), engine: engine) {
                $0.method = .head
                $0.options.maxBytes = 10
            }
            #expect(fetched.head?.headers["ETag"] == "\"e\"", "\(fetched.result)")
            #expect(fetched.head?.headers["Content-Length"] == "999999999")
            #expect(fetched.sink.heads.count == 1)
            #expect(fetched.sink.byteCount == 0)
        }
        #expect(server.requests.map(\.method) == ["HEAD", "HEAD", "HEAD"])
        #expect(server.accepted == 1)
    }

    @Test("A HEAD of a chunked or encoded resource is empty") func encodedHead() async throws {
        for field in ["Transfer-Encoding: chunked", "Content-Encoding: gzip", "X: y"] {
            let fetched = try await fetch(from: .head("HTTP/1.1 200 OK", field)) { $0.method = .head }
            #expect(fetched.head?.status == 200, "\(fetched.result)")
            #expect(fetched.sink.byteCount == 0)
        }
    }

    @Test("A body after a HEAD reaches no other response") func strayBody() async throws {
        let server = try FaultServer { request in
            request.method == "HEAD" ? [.reply(body: Array("HTTP/1.1 200 OK\r\n\r\nwrong".utf8))] : [.reply()]
        }
        let engine = Engines.make()
        for _ in 0..<5 {
            _ = await fetch(server.url(), engine: engine) { $0.method = .head }
            #expect(await fetch(server.url(), engine: engine).body == "hello")
        }
    }

    @Test("A refused HEAD keeps its connection", arguments: [301, 403, 404])
    func refusedHead(_ status: Int) async throws {
        let server = try FaultServer { _ in
            [.head("HTTP/1.1 \(status) No", "x-amz-bucket-region: eu-west-1", "Location: /b", "Content-Length: 300")]
        }
        let engine = Engines.make()
        for _ in 0..<3 {
            let fetched = await fetch(server.url(), engine: engine) {
                $0.method = .head
                $0.options.maxRedirects = 0
            }
            let head = try #require(fetched.refusedHead, "\(fetched.result)")
            #expect(head.status == status)
            #expect(head.headers["x-amz-bucket-region"] == "eu-west-1")
        }
        #expect(server.accepted == 1)
    }

    @Test("A collection is created with MKCOL") func collection() async throws {
        let server = try FaultServer { request in
            request.index == 0
                ? [.reply("201 Created", body: [])] : [.reply("405 Method Not Allowed", headers: ["Allow: GET"])]
        }
        let engine = Engines.make()
        func make() async -> Fetched {
            await fetch(server.url("/a/"), engine: engine) {
                $0.method = .makeCollection
                $0.options.acceptedStatus = [201]
            }
        }
        #expect(await make().head?.status == 201)
        let head = try #require(await make().refusedHead)
        #expect(head.status == 405)
        #expect(head.headers["Allow"] == "GET")
        #expect(server.requests.map(\.method) == ["MKCOL", "MKCOL"])
        #expect(server.requests.allSatisfy { $0.header("Content-Length") == nil })
    }

    /// One handle and one connection serve all of them.
    @Test("Different methods share one connection") func alternating() async throws {
        let server = try UploadServer { exchange in
            exchange.receive()
            switch exchange.request.method {
            case "GET": exchange.reply("200 OK", body: "hello")
            case "HEAD": exchange.send("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n")
            default: exchange.reply()
            }
        }
        let engine = Engines.make()
        var options = TransferOptions()
        options.acceptedStatus = [200, 201]
        options.proxy = ""
        let terms = TransferTerms(options)
        let methods: [TransferMethod] = [.get, .put, .head, .makeCollection]
        var names: [String] = []
        for (index, (first, second)) in methods.flatMap({ first in methods.map { (first, $0) } }).enumerated() {
            for method in [first, second] {
                let fetched = await fetch(server.url(), engine: engine) {
                    $0.terms = terms
                    $0.method = method
                    $0.headers = [("X-Index", "\(index)")]
                    $0.body = method == .put ? .bytes(Array("body \(index)".utf8)) : nil
                }
                #expect(fetched.body == (method == .get ? "hello" : ""), "\(fetched.result)")
                #expect(fetched.error == nil)
                names.append(["GET", "PUT", "HEAD", "MKCOL"][methods.firstIndex(of: method)!])
            }
        }
        let uploads = server.uploads
        #expect(uploads.map(\.request.method) == names)
        for (place, upload) in uploads.enumerated() {
            #expect(upload.request.header("X-Index") == "\(place / 2)")
            let body = upload.request.method == "PUT" ? "body \(place / 2)" : nil
            #expect(upload.request.header("Content-Length") == body.map { "\($0.utf8.count)" })
            #expect(String(decoding: upload.body, as: UTF8.self) == body ?? "")
            #expect(upload.request.header("Expect") == nil || upload.request.method == "PUT")
        }
        #expect(server.accepted == 1)
    }

    /// The server answers the first request of each connection and closes before the next, so that a restart comes
    /// between methods.
    @Test("Different methods survive lost connections") func lostConnections() async throws {
        let server = try UploadServer { exchange in
            exchange.receive()
            exchange.request.index == 0 ? exchange.reply("200 OK", body: "x") : exchange.close()
        }
        let engine = Engines.make()
        for index in 0..<20 {
            let fetched = await fetch(server.url(), engine: engine) {
                $0.method = index % 2 == 0 ? .put : .get
                $0.body = index % 2 == 0 ? .bytes([UInt8(index)]) : nil
            }
            #expect(fetched.body == "x", "\(fetched.result)")
        }
    }

    @Test("A signed request does not follow redirects") func signedRedirect() async throws {
        let server = try FaultServer { _ in [.reply("301 Moved", headers: ["Location: /b", "x-amz-bucket-region: r"])] }
        let fetched = await fetch(server.url()) {
            $0.signing = AWSSigning(accessKey: "a", secretKey: "s", sessionToken: nil, region: "us-east-1")
        }
        let head = try #require(fetched.refusedHead, "\(fetched.result)")
        #expect(head.status == 301)
        #expect(head.headers["x-amz-bucket-region"] == "r")
        #expect(server.requests.count == 1)
    }
}
