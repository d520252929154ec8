import Foundation
import Support
import Testing

extension EndToEnd {
    @Suite("Processors")
    final class ProcessorTests: CommandSuite {
        private var picture: String { FixturesDirectory.path("png/rgba.png") }

        @Test(
            "Each processor gives a new picture of the promised size",
            arguments: [
                ("resize:40x20", 40, 20), ("resize:40x,fit", 40, 40), ("resize:40x20,cover", 40, 20),
                ("resize:40x20,cover,anchor=attention", 40, 20), ("crop:50x30,anchor=entropy", 50, 30),
                ("trim:255|>pad:170x160,tomato", 170, 160), ("downsample:40x20", 40, 40),
                ("crop:50x30,anchor=top-left", 50, 30), ("pad:200x170,#123", 200, 170), ("rotate:90", 160, 160),
                ("flip:h", 160, 160), ("flip:v", 160, 160), ("blur:3", 160, 160), ("sharpen:1.5", 160, 160),
                ("round-corner:20", 160, 160), ("round-corner:0.5w,corners=tl,size=80x60", 80, 60),
                ("border:5,#f00", 160, 160), ("overlay:#0f0", 160, 160), ("tint:#0000ff80", 160, 160),
                ("color:brightness=0.2,contrast=1.3", 160, 160), ("black-white", 160, 160), ("grayscale", 160, 160),
                ("blend:multiply,background=#0af", 160, 160), ("blend:xor,alpha=0.5,background=#00aaff80", 160, 160),
            ])
        func works(_ spec: String, _ width: Int, _ height: Int) async throws {
            let plain = try await kf.run("fetch", picture, "--json").item()
            let made = try await kf.run("fetch", picture, "-p", spec, "--json").item()
            #expect(made.width == width && made.height == height)
            #expect(made.sha256 != plain.sha256)
            // The identifier in the key is text that gives the same again.
            let again = try await kf.run("fetch", picture, "-p", spec, "--json").item()
            #expect(again.status == "disk" && again.path == made.path)
        }

        @Test(
            "A wrong argument of a processor is a usage error",
            arguments: [
                ("rezise:10x10", "resize"), ("resize:0x0", "resize"), ("resize:axb", "320x240"), ("blur:-1", "blur"),
                ("blur:nan", "blur"),
                ("rotate:45", "90"), ("flip:x", "h"), ("round-corner:10,corners=middle", "corner"),
                ("blend:multipy", "multiply"), ("overlay:rod", "colo"), ("border:0", "width"), ("crop:10", "crop"),
                ("resize:99999999999x1", "resize"), ("sharpen:", "sharpen"), ("color:ev=inf", "ev"),
            ])
        func refused(_ spec: String, _ word: String) async throws {
            let result = try await kf.run("fetch", picture, "-p", spec)
            #expect(result.status == 2 && result.errorLines.count == 1, "\(result)")
            #expect(result.errors.contains(word), "\(result)")
        }

        @Test(
            "Resize and crop give the promised size",
            arguments: [
                ("resize:320x240,fit", 320, 240), ("resize:320x320,fit", 320, 240), ("resize:100x300,fit", 100, 75),
                ("resize:50x50", 50, 50), ("resize:50x50,fill", 67, 50), ("resize:400x", 400, 300),
                ("resize:x120", 160, 120), ("resize:1x1", 1, 1), ("crop:200x100", 200, 100),
                ("crop:64x64,anchor=0x0", 64, 64), ("crop:64x64,anchor=bottom-right", 64, 64),
                ("crop:5000x100", 1600, 100),
            ])
        func size(spec: String, width: Int, height: Int) async throws {
            let source = FixturesDirectory.path("jpeg/landscape-420.jpg")
            let raster = try await Raster(jpeg: kf.run("fetch", source, "-o", "-", "-p", spec).standardOutput)
            #expect(raster.width == width && raster.height == height, "\(raster.width)x\(raster.height)")
        }

        @Test("Every still image can be resized and written as PNG")
        func everyFixture() async throws {
            let open = ["png/rgba.png", "webp/alpha-lossy.webp", "gif/transparent.gif", "png/palette-transparent.png"]
            for fixture in FixturesDirectory.all where fixture.frames == 1 {
                let result = try await kf.run(
                    "fetch", fixture.url.path, "-o", "-", "-p", "resize:64x48,fit", "-f", "png")
                let header = try PNGHeader(result.standardOutput)
                let expected = Judge.fit(fixture.width, fixture.height, into: (64, 48))
                #expect(
                    header.width == expected.width && header.height == expected.height, "\(fixture) became \(header)")
                #expect(
                    header.hasAlpha || header.colourType == 3 || !open.contains(fixture.name), "\(fixture): \(header)")
            }
        }

        @Test("A processed image of a prefetch is a hit for fetch")
        func prefetched() async throws {
            let server = try FileServer()
            let url = server.url("jpeg/progressive.jpg")
            let options = ["-p", "downsample:200x200", "-p", "round-corner:0.1w"]
            let prefetch = try await kf.run(["prefetch", "-"] + options, input: Data("\(url)\n".utf8))
            #expect(prefetch.status == 0, "\(prefetch)")
            try await server.stop()
            let chain = "downsample:200x200|>round-corner:0.1w"
            let item = try await kf.run("fetch", url, "--json", "-p", chain).item()
            #expect(item.status == "disk" && item.format == "png" && item.width == 200)
        }
    }
}
