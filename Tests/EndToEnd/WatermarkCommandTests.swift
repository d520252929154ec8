import Foundation
import Support
import Testing

extension EndToEnd {
    @Suite("Watermarks of the command")
    final class WatermarkCommandTests: CommandSuite {
        private let picture = FixturesDirectory.path("jpeg/landscape-420.jpg")

        @Test("The content of the overlay is part of the cache key")
        func content() async throws {
            let logo = kf.home.path("logo.png")
            func copy(_ fixture: String) throws {
                try Data(contentsOf: URL(fileURLWithPath: FixturesDirectory.path(fixture))).write(to: logo)
            }
            try copy("png/rgba.png")
            let chain = ["fetch", picture, "-p", "watermark:\(logo.path),scale=0.2", "--json"]
            let first = try await kf.run(chain).item()
            #expect(try await kf.run(chain).item().status == "disk")
            try copy("webp/alpha-lossy.webp")
            let second = try await kf.run(chain).item()
            #expect(second.status != "disk" && second.sha256 != first.sha256)
            try copy("png/rgba.png")
            #expect(try await kf.run(chain).item().sha256 == first.sha256)
            // Another name of the same bytes is the same image.
            let elsewhere = FixturesDirectory.path("png/rgba.png")
            let other = try await kf.run("fetch", picture, "-p", "watermark:\(elsewhere),scale=0.2", "--json").item()
            #expect(other.status == "disk" && other.path == first.path)
        }

        @Test("A watermark of a URL is refused where requests are not allowed")
        func refused() async throws {
            let server = try FileServer()
            let url = server.url("png/rgba.png")
            let offline = try await kf.run("fetch", picture, "-p", "watermark:\(url)", "--offline")
            #expect(offline.status != 0 && offline.errors.contains("watermark"), "\(offline)")
            let list = try await kf.run(
                ["prefetch", "-", "--input-format", "csv", "--process-column", "how", "--allow-local"],
                input: Data("url,how\n\(picture),watermark:\(picture)\n".utf8))
            #expect(list.status != 0 && list.errors.contains("not for a list"), "\(list)")
            #expect(try await server.requests().isEmpty)
        }

        @Test("A missing overlay is reported for each source")
        func missing() async throws {
            let result = try await kf.run("fetch", picture, picture, "-p", "watermark:nowhere.png")
            #expect(result.status == 1 && result.errorLines.count == 2, "\(result)")
            #expect(result.errorLines.allSatisfy { $0.contains(": watermark nowhere.png: No such file") }, "\(result)")
        }

        @Test("Variants and prefetch have watermarks as well")
        func variants() async throws {
            let server = try FileServer()
            let logo = FixturesDirectory.path("png/rgba.png")
            let url = server.url("jpeg/progressive.jpg")
            let options = ["--variant", "a=resize:200x100,cover|>watermark:\(logo),scale=0.3"]
            let prefetch = try await kf.run(["prefetch", "-"] + options, input: Data("\(url)\n".utf8))
            #expect(prefetch.status == 0, "\(prefetch)")
            let item = try await kf.run(["fetch", url, "--json"] + options).item()
            #expect(item.status == "disk" && item.width == 200 && item.height == 100)
        }
    }
}
