import Foundation
import Support
import Synchronization
import Testing

extension EndToEnd {
    @Suite("Two images are never made into one")
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

        private static func breakOff(_ body: [UInt8], _ validators: String...) -> [FaultStep] {
            let lines =
                ["HTTP/1.1 200 OK"] + validators + ["Content-Type: image/png", "Content-Length: \(body.count)", "", ""]
            return [.send(Array(lines.joined(separator: "\r\n").utf8) + body[..<900_000]), .close]
        }

        private static func fetch(_ kf: KFCommand, _ url: String) async throws -> CommandResult {
            try await kf.run("fetch", url, "--retry", "1", "--retry-delay", "1ms", "-o", "a.png")
        }

        @Test("A server that lies about the rest: the image comes from the start", arguments: Lie.all)
        private func lie(_ lie: Lie) async throws {
            let kf = try KFCommand()
            let (old, new) = (try ResumeTests.large(), try ResumeTests.large(7))
            let count = Atomic(0)
            let server = try FaultServer { request in
                if count.add(1, ordering: .relaxed).oldValue == 0 { return Self.breakOff(old, "ETag: \"1\"") }
                guard let range = request.header("Range") else { return [.reply(headers: ["ETag: \"2\""], body: new)] }
                let start = Int(range.dropFirst(6).dropLast()) ?? 0
                return [.send(lie.head(new, from: start) + new[start...]), .close]
            }
            let result = try await Self.fetch(kf, server.url("/a.png"))
            #expect(result.status == 0, "\(result)")
            #expect(try Data(contentsOf: kf.home.path("a.png")) == Data(new))
            #expect(server.requests.map { $0.header("Range") != nil } == [false, true, false])
            #expect(kf.leftovers().isEmpty)
            #expect(try await kf.run("cache", "verify").status == 0)
        }

        @Test("Right headers before bytes that make no image: once more from the start")
        func damage() async throws {
            let kf = try KFCommand()
            let body = try ResumeTests.large()
            let count = Atomic(0)
            let server = try FaultServer { request in
                if count.add(1, ordering: .relaxed).oldValue == 0 { return Self.breakOff(body, "ETag: \"1\"") }
                guard let range = request.header("Range") else { return [.reply(headers: ["ETag: \"1\""], body: body)] }
                let start = Int(range.dropFirst(6).dropLast()) ?? 0
                let zeros = [UInt8](repeating: 0, count: body.count - start)
                let headers = ["ETag: \"1\"", "Content-Range: bytes \(start)-\(body.count - 1)/\(body.count)"]
                return [.reply("206 Partial Content", headers: headers, body: zeros)]
            }
            let result = try await Self.fetch(kf, server.url("/a.png"))
            #expect(result.status == 0, "\(result)")
            #expect(try Data(contentsOf: kf.home.path("a.png")) == Data(body))
            #expect(server.requests.count == 3)
            #expect(kf.leftovers().isEmpty)
        }

        @Test("A redirect that leads elsewhere the next time: from the start")
        func elsewhere() async throws {
            let kf = try KFCommand()
            let (old, new) = (try ResumeTests.large(), try ResumeTests.large(7))
            let count = Atomic(0)
            let server = try FaultServer { request in
                let number = count.add(1, ordering: .relaxed).oldValue
                switch request.path {
                case "/a.png":
                    let target = number == 0 ? "/old.png" : "/new.png"
                    return [.head("HTTP/1.1 302 Found", "Location: \(target)", "Content-Length: 0")]
                case "/old.png": return Self.breakOff(old, "ETag: \"1\"")
                default:
                    guard let range = request.header("Range") else { return [.reply(body: new)] }
                    let start = Int(range.dropFirst(6).dropLast()) ?? 0
                    let headers = ["ETag: \"1\"", "Content-Range: bytes \(start)-\(new.count - 1)/\(new.count)"]
                    return [.reply("206 Partial Content", headers: headers, body: Array(new[start...]))]
                }
            }
            let result = try await Self.fetch(kf, server.url("/a.png"))
            #expect(result.status == 0, "\(result)")
            #expect(try Data(contentsOf: kf.home.path("a.png")) == Data(new))
        }

        private static func httpDate(secondsAgo seconds: Int) -> String {
            let format = DateFormatter()
            format.locale = Locale(identifier: "en_US_POSIX")
            format.timeZone = TimeZone(identifier: "GMT")
            format.dateFormat = "EEE, dd MMM yyyy HH:mm:ss 'GMT'"
            return format.string(from: Date(timeIntervalSinceNow: -Double(seconds)))
        }

        @Test(
            "A weak date, or any date beside a weak tag, is no reason to ask for the rest",
            arguments: [
                ["Last-Modified: 30", "Date: 0"], ["Last-Modified: 3600"], ["Last-Modified: 3600", "Date: 3590"],
                ["ETag: W/\"1\"", "Last-Modified: 3600", "Date: 0"], ["Last-Modified: 0", "Date: -3600"],
            ])
        func weak(_ validators: [String]) async throws {
            let kf = try KFCommand()
            let body = try ResumeTests.large()
            let lines = validators.map { line in
                let words = line.split(separator: " ")
                guard let seconds = Int(words[1]) else { return line }
                return "\(words[0]) \(Self.httpDate(secondsAgo: seconds))"
            }
            let count = Atomic(0)
            let server = try FaultServer { _ in
                let isFirst = count.add(1, ordering: .relaxed).oldValue == 0
                let head = ["HTTP/1.1 200 OK"] + lines + ["Content-Length: \(body.count)", "", ""]
                let bytes = Array(head.joined(separator: "\r\n").utf8)
                return [.send(bytes + body[..<(isFirst ? 900_000 : body.count)]), .close]
            }
            #expect(try await Self.fetch(kf, server.url("/a.png")).status == 0)
            #expect(server.requests.map { $0.header("Range") } == [nil, nil])
        }

        @Test("A date that is old enough is one, as long as the rest has the same")
        func date() async throws {
            let (old, new) = (try ResumeTests.large(), try ResumeTests.large(7))
            let (saved, later) = (Self.httpDate(secondsAgo: 7200), Self.httpDate(secondsAgo: 3600))
            for isChanged in [false, true] {
                let kf = try KFCommand()
                let count = Atomic(0)
                let server = try FaultServer { request in
                    let date = "Date: \(Self.httpDate(secondsAgo: 0))"
                    if count.add(1, ordering: .relaxed).oldValue == 0 {
                        return Self.breakOff(old, "Last-Modified: \(saved)", date)
                    }
                    let body = isChanged ? new : old
                    let validator = "Last-Modified: \(isChanged ? later : saved)"
                    guard let range = request.header("Range") else {
                        return [.reply(headers: [validator, date], body: body)]
                    }
                    let start = Int(range.dropFirst(6).dropLast()) ?? 0
                    let headers = [validator, date, "Content-Range: bytes \(start)-\(body.count - 1)/\(body.count)"]
                    return [.reply("206 Partial Content", headers: headers, body: Array(body[start...]))]
                }
                #expect(try await Self.fetch(kf, server.url("/a.png")).status == 0)
                #expect(try Data(contentsOf: kf.home.path("a.png")) == Data(isChanged ? new : old))
                #expect(server.requests.count == (isChanged ? 3 : 2))
                #expect(server.requests[1].header("If-Range") == saved)
            }
        }

        @Test("A tail that a power loss has zeroed comes again")
        func powerLoss() async throws {
            let kf = try KFCommand()
            let body = try ResumeTests.large()
            let count = Atomic(0)
            let server = try FaultServer { request in
                if count.add(1, ordering: .relaxed).oldValue == 0 { return Self.breakOff(body, "ETag: \"1\"") }
                let start = Int(request.header("Range")?.dropFirst(6).dropLast() ?? "") ?? 0
                let headers = ["ETag: \"1\"", "Content-Range: bytes \(start)-\(body.count - 1)/\(body.count)"]
                return [.reply("206 Partial Content", headers: headers, body: Array(body[start...]))]
            }
            #expect(try await kf.run("fetch", server.url("/a.png"), "--retry", "0").status == 1)
            let name = try #require(kf.leftovers().first { !$0.hasSuffix(".facts") })
            let file = try FileHandle(forWritingTo: kf.cacheDirectory.appendingPathComponent(name))
            try file.seek(toOffset: 700_000)
            try file.write(contentsOf: [UInt8](repeating: 0, count: 200_000))
            try file.close()
            #expect(try await kf.run("fetch", server.url("/a.png"), "-o", "a.png").status == 0)
            #expect(try Data(contentsOf: kf.home.path("a.png")) == Data(body))
            let start = try #require(Int(server.requests[1].header("Range")?.dropFirst(6).dropLast() ?? ""))
            #expect(start > 256 << 10 && start <= 700_000)
            #expect(kf.leftovers().isEmpty)
        }
    }
}
