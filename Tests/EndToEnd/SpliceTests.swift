import Foundation
import Support
import Testing

extension EndToEnd {
    @Suite("Spliced downloads")
    struct SpliceTests {
        /// What a server says to the request for the rest of an image that has been replaced meanwhile.
        private struct Lie: CustomTestStringConvertible {
            let name: String
            /// Header lines of the 206; RANGE, REST and TOTAL stand for what would be true.
            var lines = ["ETag: \"1\"", "Content-Type: image/png", "Content-Range: RANGE"]
            var status = "206 Partial Content"

            var testDescription: String { name }

            static let all = [
                Lie(name: "another tag", lines: ["ETag: \"2\"", "Content-Type: image/png", "Content-Range: RANGE"]),
                Lie(name: "a weak tag", lines: ["ETag: W/\"1\"", "Content-Type: image/png", "Content-Range: RANGE"]),
                Lie(name: "no tag", lines: ["Content-Type: image/png", "Content-Range: RANGE"]),
                Lie(name: "two tags", lines: ["ETag: \"1\"", "ETag: \"2\"", "Content-Range: RANGE"]),
                Lie(name: "another type", lines: ["ETag: \"1\"", "Content-Type: image/jpeg", "Content-Range: RANGE"]),
                Lie(
                    name: "several parts",
                    lines: ["ETag: \"1\"", "Content-Type: multipart/byteranges; boundary=b", "Content-Range: RANGE"]),
                Lie(
                    name: "an encoding",
                    lines: ["ETag: \"1\"", "Content-Type: image/png", "Content-Encoding: gzip", "Content-Range: RANGE"]),
                Lie(name: "no range", lines: ["ETag: \"1\"", "Content-Type: image/png"]),
                Lie(name: "another start", lines: ["ETag: \"1\"", "Content-Range: bytes 1-REST/TOTAL"]),
                Lie(name: "another total", lines: ["ETag: \"1\"", "Content-Range: bytes 900000-REST/99999999"]),
                Lie(name: "nonsense", lines: ["ETag: \"1\"", "Content-Range: pages 1-2/3"]),
                Lie(name: "two lengths", lines: ["ETag: \"1\"", "Content-Range: RANGE", "Content-Length: 7"]),
                Lie(
                    name: "not satisfiable", lines: ["Content-Range: bytes */TOTAL"],
                    status: "416 Range Not Satisfiable"),
                Lie(name: "not modified", lines: ["ETag: \"1\""], status: "304 Not Modified"),
                Lie(name: "forbidden", lines: [], status: "403 Forbidden"),
                Lie(name: "an error", lines: [], status: "500 Internal Server Error"),
            ]

            func head(_ body: [UInt8], from start: Int) -> [UInt8] {
                let lines = ["HTTP/1.1 \(status)"] + lines + ["Content-Length: \(body.count - start)", "", ""]
                let text = lines.joined(separator: "\r\n")
                    .replacingOccurrences(of: "RANGE", with: "bytes \(start)-\(body.count - 1)/\(body.count)")
                    .replacingOccurrences(of: "REST", with: "\(body.count - 1)")
                    .replacingOccurrences(of: "TOTAL", with: "\(body.count)")
                return Array(text.utf8)
            }
        }

        private let kf: KFCommand
        private let body: [UInt8]
        private let other: [UInt8]

        init() throws {
            kf = try KFCommand()
            body = try ResumeTests.large()
            other = try ResumeTests.large(7)
        }

        private func fetch(_ server: FaultServer) async throws -> Data {
            let result = try await kf.run(
                "fetch", server.url("/a.png"), "--retry", "1", "--retry-delay", "1ms", "-o", "a.png")
            #expect(result.status == 0 && kf.leftovers().isEmpty, "\(result)")
            return try kf.contents("a.png")
        }

        @Test("A wrong answer for the rest restarts the download", arguments: Lie.all)
        private func lie(_ lie: Lie) async throws {
            let first = FaultStep.cut(body, "ETag: \"1\"", "Content-Type: image/png")
            let server = try FaultServer.answering(first: first) { [other] request in
                guard request.start > 0 else { return [.reply(headers: ["ETag: \"2\""], body: other)] }
                return [.send(lie.head(other, from: request.start) + other[request.start...]), .close]
            }
            #expect(try await fetch(server) == Data(other))
            #expect(server.requests.map { $0.header("Range") != nil } == [false, true, false])
            #expect(try await kf.run("cache", "verify").status == 0)
        }

        @Test("A damaged rest restarts the download")
        func damage() async throws {
            let server = try FaultServer.answering(first: FaultStep.cut(body, "ETag: \"1\"")) { [body] request in
                guard request.start > 0 else { return [.reply(headers: ["ETag: \"1\""], body: body)] }
                let spoilt = body[..<request.start] + [UInt8](repeating: 0, count: body.count - request.start)
                return [.rest(Array(spoilt), of: request, "ETag: \"1\"")]
            }
            #expect(try await fetch(server) == Data(body))
            #expect(server.requests.count == 3)
        }

        @Test("A redirect to another image restarts the download")
        func elsewhere() async throws {
            let redirect = [FaultStep.head("HTTP/1.1 302 Found", "Location: /old.png", "Content-Length: 0")]
            let server = try FaultServer.answering(first: redirect) { [body, other] request in
                switch request.path {
                case "/a.png": return [.head("HTTP/1.1 302 Found", "Location: /new.png", "Content-Length: 0")]
                case "/old.png": return FaultStep.cut(body, "ETag: \"1\"")
                default: return [request.start == 0 ? .reply(body: other) : .rest(other, of: request, "ETag: \"1\"")]
                }
            }
            #expect(try await fetch(server) == Data(other))
        }

        private static func httpDate(secondsAgo seconds: Int) -> String {
            let format = DateFormatter()
            format.locale = Locale(identifier: "en_US_POSIX")
            format.timeZone = TimeZone(identifier: "GMT")
            format.dateFormat = "EEE, dd MMM yyyy HH:mm:ss 'GMT'"
            return format.string(from: Date(timeIntervalSinceNow: -Double(seconds)))
        }

        @Test(
            "A weak validator does not resume a download",
            arguments: [
                ["Last-Modified: 30", "Date: 0"], ["Last-Modified: 3600"], ["Last-Modified: 3600", "Date: 3590"],
                ["ETag: W/\"1\""], ["ETag: W/\"1\"", "Last-Modified: 3600", "Date: 0"],
                ["Last-Modified: 0", "Date: -3600"],
            ])
        func weak(_ validators: [String]) async throws {
            let lines = validators.map { line in
                let words = line.split(separator: " ")
                guard let seconds = Int(words[1]) else { return line }
                return "\(words[0]) \(Self.httpDate(secondsAgo: seconds))"
            }
            let head = ["HTTP/1.1 200 OK"] + lines + ["Content-Length: \(body.count)"]
            let first = [FaultStep.raw(head, body[..<900_000]), .close]
            let server = try FaultServer.answering(first: first) { [body] _ in [.raw(head, body), .close] }
            #expect(try await fetch(server) == Data(body))
            #expect(server.requests.map { $0.header("Range") } == [nil, nil])
        }

        @Test("A strong date resumes an unchanged image only", arguments: [false, true])
        func date(isChanged: Bool) async throws {
            let (saved, later) = (Self.httpDate(secondsAgo: 7200), Self.httpDate(secondsAgo: 3600))
            let date = "Date: \(Self.httpDate(secondsAgo: 0))"
            let new = isChanged ? other : body
            let first = FaultStep.cut(body, "Last-Modified: \(saved)", date)
            let server = try FaultServer.answering(first: first) { request in
                let validator = "Last-Modified: \(isChanged ? later : saved)"
                let whole = FaultStep.reply(headers: [validator, date], body: new)
                return [request.start == 0 ? whole : .rest(new, of: request, validator, date)]
            }
            #expect(try await fetch(server) == Data(new))
            #expect(server.requests.count == (isChanged ? 3 : 2))
            #expect(server.requests[1].header("If-Range") == saved)
        }

        @Test("A zeroed tail is downloaded again")
        func powerLoss() async throws {
            let server = try FaultServer.answering(first: FaultStep.cut(body, "ETag: \"1\"")) { [body] request in
                [.rest(body, of: request, "ETag: \"1\"")]
            }
            #expect(try await kf.run("fetch", server.url("/a.png"), "--retry", "0").status == 1)
            let name = try #require(kf.leftovers().first { !$0.hasSuffix(".facts") })
            let file = try FileHandle(forWritingTo: kf.cacheDirectory.appendingPathComponent(name))
            try file.seek(toOffset: 700_000)
            try file.write(contentsOf: [UInt8](repeating: 0, count: 200_000))
            try file.close()
            #expect(try await kf.run("fetch", server.url("/a.png"), "-o", "a.png").status == 0)
            #expect(try kf.contents("a.png") == Data(body))
            #expect((256 << 10 + 1...700_000).contains(server.requests[1].start))
            #expect(kf.leftovers().isEmpty)
        }
    }
}
