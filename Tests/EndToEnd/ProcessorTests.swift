import Foundation
import Support
import Testing

extension EndToEnd {
    @Suite("Every processor, from the command line")
    struct ProcessorTests {
        let kf: KFCommand

        init() throws { kf = try KFCommand() }

        private var picture: String { FixturesDirectory.url.appendingPathComponent("png/rgba.png").path }

        @Test(
            "It gives a picture of the size that it promises, and another one than it was given",
            arguments: [
                ("resize:40x20", 40, 20), ("resize:40x,fit", 40, 40), ("downsample:40x20", 40, 40),
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
            "A wrong argument is a usage error that says what is allowed",
            arguments: [
                ("rezise:10x10", "resize"), ("resize:0x0", "resize"), ("blur:-1", "blur"), ("blur:nan", "blur"),
                ("rotate:45", "90"), ("flip:x", "h"), ("round-corner:10,corners=middle", "corner"),
                ("blend:multipy", "multiply"), ("overlay:red", "colo"), ("border:0", "width"), ("crop:10", "crop"),
                ("resize:99999999999x1", "resize"), ("sharpen:", "sharpen"), ("color:ev=inf", "ev"),
            ])
        func refused(_ spec: String, _ word: String) async throws {
            let result = try await kf.run("fetch", picture, "-p", spec)
            #expect(result.status == 2 && result.errorLines.count == 1, "\(result)")
            #expect(result.errors.contains(word), "\(result)")
        }

        @Test("prefetch stores what is processed; fetch then finds it")
        func prefetched() async throws {
            let server = try FileServer()
            let url = server.url("jpeg/progressive.jpg")
            let options = ["-p", "downsample:200x200", "-p", "round-corner:0.1w"]
            let prefetch = try await kf.run(["prefetch", "-"] + options, input: Data("\(url)\n".utf8))
            #expect(prefetch.status == 0, "\(prefetch)")
            try await server.stop()
            let item = try await kf.run(["fetch", url, "--json"] + options).item()
            #expect(item.status == "disk" && item.format == "png" && item.width == 200)
        }
    }
}
