import Foundation
import Support
import Testing

extension EndToEnd {
    @Suite("Output formats")
    final class FormatTests: CommandSuite {
        private func fetch(_ name: String, _ options: String...) async throws -> (item: ItemReport, data: Data) {
            let source = FixturesDirectory.path(name)
            let result = try await kf.run(["fetch", source, "--json"] + options)
            try #require(result.status == 0, "\(result)")
            let item = try result.item()
            return (item, try Data(contentsOf: URL(fileURLWithPath: #require(item.path))))
        }

        /// The durations of an animated WebP's frames in milliseconds.
        private func webpDurations(_ bytes: [UInt8]) -> [Int] {
            var durations: [Int] = []
            var position = 12
            while position + 8 <= bytes.count {
                let length = (0..<4).reduce(0) { $0 | Int(bytes[position + 4 + $1]) << (8 * $1) }
                if bytes[position..<position + 4].elementsEqual("ANMF".utf8) {
                    durations.append((0..<3).reduce(0) { $0 | Int(bytes[position + 20 + $1]) << (8 * $1) })
                }
                position += 8 + length + length % 2
            }
            return durations
        }

        private func contains(_ data: Data, _ text: String) -> Bool { data.range(of: Data(text.utf8)) != nil }

        /// The animated PNG has 12 frames: one of 200 ms, then of 1/60 s, 2/60 s and so on.
        @Test(
            "An animation stays one in formats that can hold it",
            arguments: [
                ("gif", "keep", "gif", 12), ("gif", "gif", "gif", 12), ("gif", "webp", "webp", 12),
                ("gif", "png", "png", 1), ("gif", "jpeg", "jpeg", 1), ("png", "gif", "gif", 12),
                ("png", "webp", "webp", 12), ("png", "keep", "png", 1), ("png", "jpeg", "jpeg", 1),
            ])
        func animation(_ source: String, _ format: String, _ result: String, _ frames: Int) async throws {
            let name = "\(source)/animated.\(source)"
            let (item, data) = try await fetch(name, "-p", "resize:60x", "-f", format, "--background", "#fff")
            #expect(item.format == result && item.frames == frames && item.width == 60 && item.height == 45)
            let file = try await kf.run("fetch", try #require(item.path), "--json", "--force-refresh").item()
            #expect(file.frames == frames)
            // Untouched it is what it was.
            let whole = try await fetch(name)
            #expect(try whole.data == FixturesDirectory.named(name).data && whole.item.frames == 12)
            guard source == "png", result == "webp" else { return }
            let durations = webpDurations([UInt8](data))
            let expected = [200] + (1...11).map { $0 * 1000 / 60 }
            #expect(durations.count == 12)
            #expect(zip(durations, expected).allSatisfy { abs($0 - $1) <= 1 }, "\(durations)")
        }

        @Test("A single frame has a cache key of its own")
        func firstFrame() async throws {
            let whole = try await fetch("webp/animated.webp")
            #expect(whole.item.frames == 8)
            let one = try await fetch("webp/animated.webp", "--first-frame")
            #expect(one.item.frames == 1 && one.item.format == "webp" && one.item.path != whole.item.path)
            #expect(try await fetch("webp/animated.webp").item.frames == 8)
        }

        @Test("A colour profile is kept, or converted to sRGB")
        func profile() async throws {
            let carried = try await fetch("jpeg/icc-wide-gamut.jpg", "-p", "resize:100x")
            #expect(contains(carried.data, "ICC_PROFILE"))
            let converted = try await fetch("jpeg/icc-wide-gamut.jpg", "-p", "resize:100x", "--srgb")
            #expect(!contains(converted.data, "ICC_PROFILE"))
            let difference = try await Raster(jpeg: carried.data).difference(Raster(jpeg: converted.data))
            #expect(difference > 1, "wide green is another green in sRGB")
        }

        @Test("Metadata is dropped, or kept with the right orientation")
        func metadata() async throws {
            let dropped = try await fetch("jpeg/orientation-6.jpg", "-p", "resize:60x")
            #expect(!contains(dropped.data, "Exif") && dropped.item.width == 60 && dropped.item.height == 40)
            let kept = try await fetch("jpeg/orientation-6.jpg", "-p", "resize:60x", "--keep-metadata")
            #expect(contains(kept.data, "Exif"))
            let copy = kf.home.path("kept.jpg")
            try kept.data.write(to: copy)
            let again = try await kf.run("fetch", copy.path, "-p", "resize:30x", "--json").item()
            #expect(again.width == 30 && again.height == 20, "the kept orientation turned it once more")
        }

        @Test("Stripping keeps the pixels of a copy")
        func stripped() async throws {
            let plain = try await fetch("jpeg/orientation-6.jpg", "-f", "jpeg")
            #expect(try plain.data == FixturesDirectory.named("jpeg/orientation-6.jpg").data, "a copy keeps its bytes")
            let copy = try await fetch("jpeg/orientation-6.jpg", "--strip-metadata")
            #expect(
                copy.data.count <= plain.data.count && copy.item.format == "jpeg" && copy.item.path != plain.item.path)
            try copy.data.write(to: kf.home.path("copy.jpg"))
            var turned: [Data] = []
            for path in [FixturesDirectory.path("jpeg/orientation-6.jpg"), "copy.jpg"] {
                turned.append(try await kf.run("fetch", path, "-p", "rotate:90", "-f", "png", "-o", "-").standardOutput)
            }
            #expect(turned[0] == turned[1] && !turned[0].isEmpty)
            let resized = try await fetch("jpeg/orientation-6.jpg", "--strip-metadata", "-p", "resize:20x")
            #expect(!contains(resized.data, "Exif"))
            let both = try await kf.run("fetch", "x.jpg", "--strip-metadata", "--keep-metadata")
            #expect(both.status == 2, "\(both)")
        }

        @Test("Stripping keeps the frames of an animated PNG, without a warning")
        func strippedAnimation() async throws {
            let path = FixturesDirectory.path("png/animated.png")
            let frames = try await kf.run("fetch", path, "--json").item().frames
            #expect(frames ?? 0 > 1)
            for arguments in [["--strip-metadata"], ["--strip-metadata", "-o", "a.png"]] {
                let run = try await kf.run(["fetch", path, "--json"] + arguments)
                #expect(try run.item().frames == frames && run.output.contains("\"warnings\":[]"), "\(run)")
            }
            let resized = try await kf.run("fetch", path, "--json", "-p", "resize:20x")
            #expect(
                try resized.item().frames == 1 && resized.output.contains("only the first is in the PNG"), "\(resized)")
        }

        @Test("A higher quality makes larger files", arguments: ["jpeg", "webp"])
        func quality(_ format: String) async throws {
            let default85 = try await fetch("png/rgb.png", "-f", format).data
            var sizes: [Int] = []
            for quality in ["20", "60", "95"] {
                sizes.append(try await fetch("png/rgb.png", "-f", format, "--quality", quality).data.count)
            }
            #expect(sizes[0] * 2 < sizes[2] && sizes == sizes.sorted() && Set(sizes).count == 3, "\(sizes)")
            #expect(try await fetch("png/rgb.png", "-f", format, "--quality", "85").data == default85)
        }

        @Test("Each format can have its own quality")
        func qualities() async throws {
            let picture = FixturesDirectory.path("png/rgb.png")
            let formats = ["-f", "jpeg", "-f", "webp"]
            _ = try await kf.run(["fetch", picture, "-P", "own", "--quality", "webp=20,jpeg=95"] + formats)
            for (ending, quality) in [("jpg", "95"), ("webp", "20")] {
                _ = try await kf.run(["fetch", picture, "-P", "one", "--quality", quality] + formats)
                #expect(try kf.contents("own/rgb.\(ending)") == kf.contents("one/rgb.\(ending)"))
            }
            let jpeg = FixturesDirectory.path("jpeg/grey.jpg")
            let kept = try await kf.run("fetch", jpeg, "-p", "resize:50%", "--quality", "50,webp=20", "--json").item()
            let plain = try await kf.run("fetch", jpeg, "-p", "resize:50%", "--quality", "50", "--json").item()
            #expect(kept.sha256 == plain.sha256 && kept.width == 320)
            for wrong in ["png=80", "webp", "webp=0", "80,90", ""] {
                #expect(try await kf.run("fetch", jpeg, "--quality", wrong).status == 2, "\(wrong)")
            }
        }

        @Test("A resize that shrinks never enlarges")
        func shrink() async throws {
            let sizes: [(String, Int, Int)] = [
                ("resize:100x,shrink", 100, 67), ("resize:9000x,shrink", 640, 427), ("resize:50%", 320, 214),
                ("resize:200%,shrink", 640, 427), ("resize:9000x100,shrink", 640, 100), ("downsample:25%", 160, 107),
                ("resize:9000x9000,fit,shrink", 640, 427), ("resize:300x300,fill,shrink", 450, 300),
            ]
            for (chain, width, height) in sizes {
                let item = try await fetch("jpeg/grey.jpg", "-p", chain).item
                #expect(item.width == width && item.height == height, "\(chain): \(item)")
            }
            for wrong in ["resize:100x,shrink=1", "resize:shrink", "resize:0%", "resize:1001%", "crop:50%"] {
                #expect(try await kf.run("fetch", "x.png", "-p", wrong).status == 2, "\(wrong)")
            }
        }

        @Test("A lossless JPEG is refused")
        func lossless() async throws {
            let refused = try await kf.run("fetch", "x.png", "-p", "encode:jpeg,lossless=1")
            #expect(refused.status == 2 && refused.errors.contains("JPEG is never lossless"), "\(refused)")
            let picture = FixturesDirectory.path("png/rgb.png")
            let turned = ["-p", "rotate:180", "-f", "png", "-o", "-"]
            let plain = try await kf.run(["fetch", picture] + turned).standardOutput
            _ = try await kf.run("fetch", picture, "-p", "encode:webp,lossless=1", "-o", "kept.webp")
            let kept = try await kf.run(["fetch", "kept.webp"] + turned).standardOutput
            #expect(plain == kept && !kept.isEmpty)
        }

        @Test("Pixel limits refuse an image or decode it smaller")
        func limits() async throws {
            let source = FixturesDirectory.path("jpeg/progressive.jpg")
            let refused = try await kf.run("fetch", source, "--max-pixels", "100000")
            #expect(refused.status == 1 && refused.errors.contains("[2009]"), "\(refused)")
            #expect(kf.cachedObjects().isEmpty)
            let small = try await fetch("jpeg/progressive.jpg", "--scale-down", "500k", "-f", "png")
            let width = try #require(small.item.width)
            let height = try #require(small.item.height)
            #expect(width < 1024 && width * height * 3 <= 500 << 10)
        }

        @Test("One failure of several formats is told once", arguments: ["fetch", "prefetch"])
        func failsOnce(command: String) async throws {
            let source = FixturesDirectory.path("png/rgb.png")
            try kf.home.write("list", source)
            try kf.home.write("gone", "missing.png")
            func run(_ list: String, _ source: String) async throws -> [String] {
                let words = command == "fetch" ? ["fetch", source] : ["prefetch", list, "--allow-local"]
                // A WebP has at most 16383 pixels a side.
                let formats = ["-p", "resize:17000x2", "-f", "webp", "-f", "png", "-P", "out"]
                return try await kf.run(words + formats).errorLines.filter { !$0.contains("fetched") }
            }
            let place = command == "fetch" ? "" : "line 1: "
            let one = try await run("list", source)
            #expect(one.count == 1 && one[0].hasPrefix("kf: \(place)\(source) (webp): "), "\(one)")
            let all = try await run("gone", "missing.png")
            #expect(all == ["kf: \(place)missing.png: No such file or directory [5003]"])
        }

        @Test("Background and speed make no image again whose format has no use for them")
        func unused() async throws {
            let source = FixturesDirectory.path("png/rgb.png")
            let formats = ["-f", "webp", "-f", "gif", "-f", "jpeg", "-f", "png", "-P", "out", "--json"]
            _ = try await kf.run(["fetch", source] + formats)
            let speed = try await kf.run(["fetch", source, "--speed", "9"] + formats).items()
            #expect(speed.map(\.status) == ["disk", "disk", "disk", "disk"], "\(speed)")
            let background = try await kf.run(["fetch", source, "--background", "#f00"] + formats).items()
            #expect(background.map(\.status) == ["disk", "derived", "derived", "disk"], "\(background)")
        }

        @Test("A transparent image needs a background in JPEG")
        func background() async throws {
            let source = FixturesDirectory.path("png/rgba.png")
            let refused = try await kf.run("fetch", source, "-f", "jpeg")
            #expect(refused.status == 1 && refused.errors.contains("[4001]"), "\(refused)")
            let red = try await Raster(jpeg: fetch("png/rgba.png", "-f", "jpeg", "--background", "#f00").data)
            let blue = try await Raster(jpeg: fetch("png/rgba.png", "-f", "jpeg", "--background", "#00f").data)
            #expect(try red.difference(blue) > 1)
        }
    }
}
