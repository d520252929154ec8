import Foundation
import Support
import Testing

extension EndToEnd {
    @Suite("Delivered damage")
    final class DamageWarningTests: CommandSuite {
        private func file(_ name: String, _ bytes: some Collection<UInt8>) throws -> String {
            let path = kf.home.path(name)
            try Data(bytes).write(to: path)
            return path.path
        }

        private func fixture(_ path: String) throws -> Data {
            try Data(contentsOf: FixturesDirectory.url.appendingPathComponent(path))
        }

        /// The `warnings` of the run's only item.
        private func warnings(_ arguments: String...) async throws -> [String]? {
            let result = try await kf.run(["fetch", "--json"] + arguments)
            #expect(result.status == 0, "\(result)")
            return try result.objects().first?["warnings"] as? [String]
        }

        @Test("A GIF or PNG without its end is delivered with a warning")
        func endMarks() async throws {
            let gif = try file("a.gif", fixture("gif/animated.gif").dropLast())
            #expect(try await warnings(gif) == ["the GIF has no end marker; all its pixels are present"])
            #expect(try await warnings(gif) == [], "it is said when the image arrives")
            let png = try file("a.png", fixture("png/rgb.png").dropLast(12))
            let result = try await kf.run("fetch", png, "-v")
            #expect(result.status == 0, "\(result)")
            #expect(
                result.errors.contains("kf: warning: \(png): the PNG has no end marker; all its pixels are present"),
                "\(result)")
            #expect(try await kf.run("fetch", png, "--force-refresh").errors == "", "only -v says so")
        }

        @Test("A body without a length is whole only with its end mark")
        func undelimited() async throws {
            // The graphic control of the second frame follows the first frame; IEND has 12 bytes.
            let gif = try [UInt8](fixture("gif/animated.gif"))
            let frames = gif.indices.filter { gif[$0...].starts(with: [0x21, 0xF9, 4]) }
            let bodies = try [
                "/a.gif": Array(gif[..<frames[1]]), "/b.gif": gif.dropLast(),
                "/c.png": [UInt8](fixture("png/rgb.png").dropLast(12)),
            ]
            for framing in ["", "Content-Length", "Transfer-Encoding: chunked"] {
                let server = try FaultServer { request in
                    let body = bodies[request.path] ?? []
                    let chunks = NetworkFault.chunk(body) + NetworkFault.chunk([])
                    let line = framing == "Content-Length" ? "Content-Length: \(body.count)" : framing
                    return [
                        .raw(
                            ["HTTP/1.1 200 OK", "Connection: close"] + (line.isEmpty ? [] : [line]),
                            framing.hasSuffix("chunked") ? chunks : body), .close,
                    ]
                }
                for path in bodies.keys {
                    let result = try await kf.run("fetch", server.url(path), "-v")
                    let says = framing.isEmpty ? "is truncated [2008]" : "has no end marker; all its pixels are present"
                    #expect(result.errors.contains(says), "\(framing) \(path): \(result)")
                    #expect(result.status == (framing.isEmpty ? 1 : 0))
                    let cached = try await kf.run("cache", "path", server.url(path))
                    #expect(cached.status == (framing.isEmpty ? 1 : 0), "\(cached)")
                    guard framing.isEmpty else { continue }
                    let half = try await kf.run("fetch", server.url(path), "--lenient", "-o", "x")
                    #expect(half.status == 0 && half.errors.contains("is truncated; what is missing"), "\(half)")
                    #expect(try await kf.run("cache", "path", server.url(path)).status == 1)
                }
            }
        }

        @Test("A GIF with a stray byte is stored up to there", arguments: ["structure", "full"])
        func strayByte(_ check: String) async throws {
            let gif = try file("a.gif", fixture("gif/animated.gif").dropLast() + [0x47] + fixture("gif/still.gif"))
            let ends = ["the GIF goes on with bytes that are no block; only the frames before them are used"]
            #expect(try await warnings(gif, "--check", check) == ends)
            #expect(try await warnings(gif, "-p", "resize:20x", "-f", "webp") == ends)
            let said = try await kf.run("fetch", gif, "--force-refresh")
            #expect(said.status == 0 && said.errors.contains(ends[0]), "\(said)")
        }

        @Test("Damage is tolerated where the user says so, and not cached")
        func lenient() async throws {
            let cut = try file("cut.jpg", fixture("jpeg/landscape-420.jpg").dropLast(4000))
            let strict = try await kf.run("fetch", cut, "-o", "x.jpg")
            #expect(strict.status == 1 && strict.errors.contains("[2008]"), "\(strict)")
            for options in [
                [], ["-p", "resize:20x"], ["--variant", "s=resize:20x"], ["--check", "full"],
                ["-p", "resize:20x", "-f", "png", "--strip-metadata"],
            ] {
                let arguments = ["fetch", cut, "--lenient", "-P", "out"] + options
                let result = try await kf.run(arguments)
                #expect(result.status == 0, "\(result)")
                let said =
                    "cut.jpg\(options.contains("--variant") ? " (s)" : ""): the JPEG is truncated; what is missing"
                #expect(result.errors.components(separatedBy: said).count == 2, "\(result)")
                #expect(try await kf.run(arguments + ["-q"]).errors == "")
            }
            #expect(try kf.contents("out/cut.jpg") == Data(contentsOf: URL(filePath: cut)))
            #expect(kf.cachedObjects() == [])
            let both = ["--variant", "s=resize:20x", "--variant", "l=resize:30x"]
            #expect(try await kf.run(["fetch", cut, "--lenient", "-P", "out"] + both).status == 0)
            #expect(kf.cachedObjects() == [])
            let listed = try await kf.run("prefetch", "-", "--allow-local", "--lenient", input: Data(cut.utf8))
            #expect(listed.status == 0 && kf.cachedObjects() == [], "\(listed)")
            #expect(try await kf.run("fetch", cut, "-o", "x.jpg").status == 1)
            let good = FixturesDirectory.path("jpeg/landscape-420.jpg")
            #expect(try await warnings(good, "--lenient", "-p", "resize:20x") == [])
            #expect(kf.cachedObjects().count == 2)
        }

        @Test("A lost animation of a PNG is reported")
        func animatedPNG() async throws {
            let source = try file("b.png", fixture("png/animated.png"))
            #expect(try await warnings(source) == [])
            let lost = [
                "the image is an animation of 12 frames; only the first is in the PNG (GIF, WebP and AVIF keep all)"
            ]
            #expect(try await warnings(source, "-p", "resize:20x") == lost)
            #expect(try await warnings(source, "-p", "resize:20x", "-f", "webp") == [])
            let other = try file("c.png", fixture("png/animated.png"))
            #expect(try await warnings(other, "--variant", "s=resize:21x") == lost)
            #expect(try await warnings(other, "--variant", "w=resize:20x|>encode:webp") == [])
        }

        @Test("A PNG with a damaged animation is a still image")
        func brokenAnimatedPNG() async throws {
            let bytes = try [UInt8](fixture("png/rgb.png"))
            let control = PNGChunk.bytes("acTL", [0, 0, 0, 3, 0, 0, 0, 0])
            let source = try file("b.png", bytes[..<33] + control + bytes[33...])
            let lost = ["the PNG's animation is damaged (no frame); only its default image is used"]
            #expect(try await warnings(source) == lost)
            #expect(try await warnings(source, "-p", "resize:20x", "-f", "webp") == lost)
            let other = try file("c.png", bytes[..<33] + control + bytes[33...])
            #expect(try await warnings(other, "--variant", "s=resize:20x") == lost)
        }

        @Test("The option --max-process-time limits processor time")
        func maxProcessTime() async throws {
            let source = FixturesDirectory.path("jpeg/progressive.jpg")
            let chain = ["fetch", source, "-p", "sharpen:100|>blur:9"]
            let refused = try await kf.run(chain + ["--max-process-time", "10ms"])
            #expect(refused.status == 1 && refused.errors.contains("[4001]"), "\(refused)")
            #expect(refused.errors.contains("longer than the limit of 0.01 seconds"), "\(refused)")
            for roomy in ["1m", "0"] {
                #expect(try await kf.run(chain + ["--max-process-time", roomy]).status == 0)
            }
        }

        @Test("The option --max-memory refuses what needs more")
        func maxMemory() async throws {
            let source = FixturesDirectory.path("jpeg/progressive.jpg")
            let refused = try await kf.run("fetch", source, "-p", "blur:3", "--max-memory", "1M")
            #expect(refused.status == 1 && refused.errors.contains("[4001]"), "\(refused)")
            #expect(refused.errors.contains("more than the limit of 1 MiB"), "\(refused)")
            for roomy in ["64M", "0"] {
                #expect(try await kf.run("fetch", source, "-p", "blur:3", "--max-memory", roomy).status == 0)
            }
        }
    }
}
