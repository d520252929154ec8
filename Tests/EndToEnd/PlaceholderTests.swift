import Foundation
import KFCore
import Support
import Testing

extension EndToEnd {
    @Suite("Placeholders")
    final class PlaceholderTests: ServedSuite {
        private func placeholders(_ result: CommandResult) throws -> [String?] {
            try result.outputLines.map { line in
                let object = try JSONSerialization.jsonObject(with: Data(line.utf8))
                return (object as? [String: Any])?["placeholder"] as? String
            }
        }

        @Test("A second run has the placeholder from the cache")
        func cached() async throws {
            let url = server.url("jpeg/progressive.jpg")
            let fetch = ["fetch", url, "--json", "--placeholder", "thumbhash", "-p", "resize:320x"]
            let first = try placeholders(try await kf.run(fetch))
            let value = try #require(first.first ?? nil)
            #expect((20...36).contains(value.count) && Data(base64Encoded: value) != nil, "\(value)")
            try await server.stop()
            #expect(try placeholders(try await kf.run(fetch + ["--offline"])) == first)
            let list = Data("\(url)\n".utf8)
            let prefetch = Array(fetch.dropFirst(2)) + ["--results", kf.home.path("rows.csv").path]
            let again = try await kf.run(["prefetch", "-"] + prefetch, input: list)
            #expect(try placeholders(again).first == first.first, "\(again)")
            #expect(String(decoding: try kf.contents("rows.csv"), as: UTF8.self).contains(value))
        }

        @Test("Each variant has its own, and no file of it is written")
        func variants() async throws {
            let url = server.url("png/rgba.png")
            let result = try await kf.run(
                "fetch", url, "--json", "--placeholder", "color", "--variant", "red=tint:red", "--variant",
                "blue=tint:#0000ff", "--output-dir", "out")
            #expect(try placeholders(result).prefix(2) == ["#ff0000", "#0000ff"], "\(result)")
            #expect(try FileManager.default.contentsOfDirectory(atPath: kf.home.path("out").path).count == 2)
            let list = Data("\(url)\n".utf8)
            let prefetch = try await kf.run(
                ["prefetch", "-", "--json", "--placeholder", "color", "--output-dir", "copies", "-p", "tint:red"],
                input: list)
            #expect(prefetch.status == 0)
            #expect(try placeholders(prefetch).first == "#ff0000", "\(prefetch)")
            #expect(try FileManager.default.contentsOfDirectory(atPath: kf.home.path("copies").path).count == 1)
        }
    }
}
