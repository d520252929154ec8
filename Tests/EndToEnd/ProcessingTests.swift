import Foundation
import Support
import Testing

extension EndToEnd {
    @Suite("Processing")
    struct ProcessingTests {
        let kf: KFCommand
        let server: FileServer

        init() throws {
            kf = try KFCommand()
            server = try FileServer()
        }

        private func fetch(_ name: String, _ options: String...) async throws -> Data {
            let result = try await kf.run(["fetch", server.url(name), "-o", "-"] + options)
            try #require(result.status == 0, "\(result)")
            return result.standardOutput
        }

        @Test(
            "resize gives the promised size, as djpeg sees it",
            arguments: [
                ("resize:320x240,fit", 320, 240), ("resize:320x320,fit", 320, 240), ("resize:100x300,fit", 100, 75),
                ("resize:50x50", 50, 50), ("resize:50x50,fill", 67, 50), ("resize:400x", 400, 300),
                ("resize:x120", 160, 120), ("resize:1x1", 1, 1),
            ])
        func resize(spec: String, width: Int, height: Int) async throws {
            let raster = try await Raster(jpeg: fetch("jpeg/landscape-420.jpg", "-p", spec))
            #expect(raster.width == width && raster.height == height, "\(raster.width)x\(raster.height)")
        }

        @Test(
            "crop gives the promised size, and never more than there is",
            arguments: [
                ("crop:200x100", 200, 100), ("crop:64x64,anchor=0x0", 64, 64),
                ("crop:64x64,anchor=bottom-right", 64, 64),
                ("crop:5000x100", 1600, 100),
            ])
        func crop(spec: String, width: Int, height: Int) async throws {
            let raster = try await Raster(jpeg: fetch("jpeg/landscape-420.jpg", "-p", spec))
            #expect(raster.width == width && raster.height == height, "\(raster.width)x\(raster.height)")
        }

        @Test("crop takes the part that its anchor names")
        func cropAnchor() async throws {
            // The corners of the picture are red, green, blue and yellow.
            let corners = ["0x0": (224, 32, 32), "1x0": (32, 176, 64), "0x1": (32, 64, 224), "1x1": (240, 208, 32)]
            for (anchor, colour) in corners {
                let data = try await fetch(
                    "png/orientation-upright.png", "-p", "crop:16x16,anchor=\(anchor)", "-f", "jpeg", "--quality", "95")
                let raster = try await Raster(jpeg: data)
                try #require(raster.width == 16 && raster.height == 16 && raster.channels == 3)
                let middle = Array(raster.pixels[(8 * 16 + 8) * 3..<(8 * 16 + 8) * 3 + 3]).map(Int.init)
                let distance = abs(middle[0] - colour.0) + abs(middle[1] - colour.1) + abs(middle[2] - colour.2)
                #expect(distance < 20, "anchor \(anchor) gave \(middle)")
            }
        }

        @Test("blur keeps the size and smooths")
        func blur() async throws {
            let sharp = try await Raster(jpeg: FixturesDirectory.named("jpeg/landscape-444.jpg").data)
            let soft = try await Raster(jpeg: fetch("jpeg/landscape-444.jpg", "-p", "blur:5"))
            #expect(soft.width == sharp.width && soft.height == sharp.height)
            #expect(soft.roughness < sharp.roughness / 3, "\(sharp.roughness) → \(soft.roughness)")
        }

        @Test("processors work in the order in which they are given")
        func chain() async throws {
            let separate = try await fetch("jpeg/grey.jpg", "-p", "resize:100x100", "-p", "crop:60x40")
            let raster = try await Raster(jpeg: separate)
            #expect(raster.width == 60 && raster.height == 40)
            let joined = try await fetch("jpeg/grey.jpg", "-p", "resize:100x100|>crop:60x40")
            #expect(joined == separate)
        }

        @Test("every still fixture can be resized and written as PNG")
        func everyFixture() async throws {
            for fixture in FixturesDirectory.all where fixture.frames == 1 {
                let header = try await PNGHeader(fetch(fixture.name, "-p", "resize:64x48,fit", "-f", "png"))
                let expected = Judge.fit(fixture.width, fixture.height, into: (64, 48))
                #expect(
                    header.width == expected.width && header.height == expected.height,
                    "\(fixture) became \(header)")
            }
        }

        @Test("every EXIF orientation comes out upright")
        func orientation() async throws {
            let options = ["-p", "resize:120x80", "-f", "jpeg", "--quality", "95"]
            let names = (1...8).map { "jpeg/orientation-\($0).jpg" }
            let result = try await kf.run(["fetch", "--output-dir", "out"] + options + names.map(server.url))
            try #require(result.status == 0, "\(result)")
            let files = TemporaryDirectory.files(in: kf.home.path("out"))
            try #require(files.count == 8, "\(files)")
            let upright = try await fetch(
                "png/orientation-upright.png", "-p", "resize:120x80", "-f", "jpeg", "--quality", "95")
            let reference = try await Raster(jpeg: upright)
            for file in files {
                let raster = try await Raster(jpeg: Data(contentsOf: kf.home.path("out/" + file)))
                try #require(raster.width == 120 && raster.height == 80, "\(file)")
                #expect(try raster.difference(reference) < 4, "\(file)")
            }
        }

        @Test("-f converts without processing")
        func convert() async throws {
            let png = try await PNGHeader(fetch("jpeg/grey.jpg", "-f", "png"))
            #expect(png.width == 640 && png.height == 427 && !png.hasAlpha)
            let jpeg = try await Raster(jpeg: fetch("png/rgb.png", "-f", "jpeg"))
            #expect(jpeg.width == 512 && jpeg.height == 384)
        }

        @Test("-f keep, the default, keeps the original's format")
        func keep() async throws {
            _ = try await PNGHeader(fetch("png/rgb.png", "-p", "resize:64x64"))
            _ = try await Raster(jpeg: fetch("jpeg/cmyk.jpg", "-p", "resize:64x64", "-f", "keep"))
        }

        @Test("transparency survives processing")
        func alpha() async throws {
            for name in ["png/rgba.png", "webp/alpha-lossy.webp", "gif/transparent.gif", "png/palette-transparent.png"]
            {
                let header = try await PNGHeader(fetch(name, "-p", "resize:40x40", "-f", "png"))
                #expect(header.hasAlpha || header.colourType == 3, "\(name) became \(header)")
            }
        }

        @Test("a transparent image is not made a JPEG in silence")
        func alphaToJPEG() async throws {
            let result = try await kf.run("fetch", server.url("png/rgba.png"), "-f", "jpeg", "-o", "out.jpg")
            #expect(result.status == 1, "\(result)")
            #expect(result.errorLines.count == 1 && result.errors.contains("transparen"), "\(result)")
            #expect(access(kf.home.path("out.jpg").path, F_OK) != 0)
        }

        @Test("--quality trades size for looks")
        func quality() async throws {
            var sizes: [Int] = []
            for quality in ["20", "60", "95"] {
                sizes.append(try await fetch("png/rgb.png", "-f", "jpeg", "--quality", quality).count)
            }
            #expect(sizes[0] * 2 < sizes[1] && sizes[1] * 3 < sizes[2] * 2, "\(sizes)")
            let standard = try await fetch("png/rgb.png", "-f", "jpeg").count
            #expect(standard == (try await fetch("png/rgb.png", "-f", "jpeg", "--quality", "85").count))
        }

        @Test("what was processed once is a hit")
        func processedHit() async throws {
            let url = server.url("jpeg/landscape-420.jpg")
            let first = try await kf.run("fetch", "--json", url, "-p", "resize:320x240,fit").item()
            let second = try await kf.run("fetch", "--json", url, "-p", "resize:320x240,fit").item()
            #expect(first.status == "fetched" && second.status == "disk")
            #expect(first.sha256 == second.sha256 && first.width == 320 && second.width == 320)
            #expect(try await server.requests().count == 1)
        }

        @Test("the cached original is enough for another processing")
        func derived() async throws {
            let url = server.url("jpeg/landscape-420.jpg")
            _ = try await kf.run("fetch", url)
            let result = try await kf.run("fetch", "--json", "--only-from-cache", url, "-p", "resize:100x100")
            #expect(try result.item().status == "derived", "\(result)")
            #expect(try await server.requests().count == 1)
        }

        @Test("another format or quality is another entry")
        func formatIsIdentity() async throws {
            let png = try await fetch("jpeg/grey.jpg", "-p", "resize:64x64", "-f", "png")
            let jpeg = try await fetch("jpeg/grey.jpg", "-p", "resize:64x64", "-f", "jpeg")
            let small = try await fetch("jpeg/grey.jpg", "-p", "resize:64x64", "-f", "jpeg", "--quality", "10")
            _ = try PNGHeader(png)
            _ = try await Raster(jpeg: jpeg)
            #expect(small.count < jpeg.count)
        }

        @Test("the same work gives the same bytes in another cache")
        func deterministic() async throws {
            let one = try await fetch("jpeg/landscape-420.jpg", "-p", "resize:200x150,fit", "-p", "blur:3")
            let other = try KFCommand()
            let result = try await other.run(
                "fetch", server.url("jpeg/landscape-420.jpg"), "-p", "resize:200x150,fit", "-p", "blur:3", "-o", "-")
            #expect(result.status == 0 && result.standardOutput == one, "\(result)")
        }

        @Test(
            "a processor that makes no sense is a mistake in the command",
            arguments: [
                "resise:10x10", "resize:", "resize:0x0", "resize:axb", "crop:10", "blur:-1", "blur:much", "|>", "",
            ])
        func nonsense(spec: String) async throws {
            let result = try await kf.run("fetch", server.url("png/grey.png"), "-p", spec)
            #expect(result.status == 2, "\(result)")
            #expect(result.errors.hasPrefix("kf: "), "\(result)")
            #expect(result.standardOutput.isEmpty)
            #expect(try await server.requests().isEmpty)
        }
    }
}
