import Foundation
import Support
import Testing

extension EndToEnd {
    @Suite("Writing copies")
    struct OutputTests {
        let kf: KFCommand
        let server: FileServer

        init() throws {
            kf = try KFCommand()
            server = try FileServer()
        }

        @Test("-o FILE holds the image byte for byte, the first time and from the cache")
        func file() async throws {
            let fixture = try FixturesDirectory.named("jpeg/grey.jpg")
            for name in ["first.jpg", "second.jpg"] {
                let result = try await kf.run("fetch", server.url(fixture.name), "-o", name)
                #expect(result.status == 0, "\(result)")
                #expect(try Data(contentsOf: kf.home.path(name)) == fixture.data)
            }
            #expect(try await server.requests().count == 1)
        }

        @Test("-o FILE replaces a file that is there")
        func replace() async throws {
            try kf.home.write("out.png", "old, and longer than nothing")
            let result = try await kf.run("fetch", server.url("png/one-pixel.png"), "-o", "out.png")
            #expect(result.status == 0, "\(result)")
            #expect(
                try Data(contentsOf: kf.home.path("out.png")) == FixturesDirectory.named("png/one-pixel.png").data)
        }

        @Test("a copy can be changed without hurting the cache")
        func independent() async throws {
            let fixture = try FixturesDirectory.named("png/grey.png")
            _ = try await kf.run("fetch", server.url(fixture.name), "-o", "out.png")
            let handle = try FileHandle(forWritingTo: kf.home.path("out.png"))
            try handle.write(contentsOf: Data("damage".utf8))
            try handle.close()
            let again = try await kf.run("fetch", "--json", server.url(fixture.name), "-o", "again.png")
            #expect(try again.item().status == "disk", "\(again)")
            #expect(try Data(contentsOf: kf.home.path("again.png")) == fixture.data)
        }

        @Test("-o - writes the image and nothing else to standard output")
        func standardOutput() async throws {
            let fixture = try FixturesDirectory.named("webp/lossy.webp")
            let result = try await kf.run("fetch", server.url(fixture.name), "-o", "-")
            #expect(try result.status == 0 && result.standardOutput == fixture.data, "\(result)")
        }

        @Test("a reader that leaves early is no error")
        func brokenPipe() async throws {
            let script = """
                "$1" fetch "$2" -o - | head -c 10 >/dev/null
                echo "${PIPESTATUS[0]}"
                """
            _ = try await kf.run("fetch", server.url("jpeg/landscape-420.jpg"))
            let result = try await RunningCommand(
                "/bin/bash", ["-c", script, "bash", kf.binary.path, server.url("jpeg/landscape-420.jpg")],
                environment: kf.environment
            ).wait()
            #expect(result.errors == "", "\(result)")
        }

        @Test("--output-dir names each copy after its source and a hash")
        func outputDirectory() async throws {
            let names = ["jpeg/grey.jpg", "png/grey.png", "gif/animated.gif"]
            let result = try await kf.run(["fetch", "--output-dir", "copies"] + names.map(server.url))
            #expect(result.status == 0, "\(result)")
            let copies = TemporaryDirectory.files(in: kf.home.path("copies"))
            try #require(copies.count == 3, "\(copies)")
            for name in names {
                let file = URL(fileURLWithPath: name)
                let stem = file.deletingPathExtension().lastPathComponent
                let pattern = try Regex("^\(stem)-[0-9a-f]{12}\\.\(file.pathExtension)$")
                let copy = try #require(copies.first { $0.wholeMatch(of: pattern) != nil }, "\(name) in \(copies)")
                #expect(
                    try Data(contentsOf: kf.home.path("copies/" + copy)) == FixturesDirectory.named(name).data)
            }
        }

        @Test("-o FILE alone does not convert, and warns when name and bytes disagree")
        func nameDisagrees() async throws {
            let fixture = try FixturesDirectory.named("png/grey.png")
            let result = try await kf.run("fetch", server.url(fixture.name), "-o", "out.jpg")
            #expect(result.status == 0, "\(result)")
            #expect(try Data(contentsOf: kf.home.path("out.jpg")) == fixture.data)
            #expect(
                result.errors.contains("out.jpg") && result.errors.localizedCaseInsensitiveContains("png"), "\(result)")
        }

        @Test("-o FILE with several sources is a mistake in the command")
        func severalSources() async throws {
            let result = try await kf.run(
                "fetch", server.url("png/grey.png"), server.url("png/rgb.png"), "-o", "out.png")
            #expect(result.status == 2, "\(result)")
            #expect(result.errors.contains("--output-dir"), "\(result)")
            #expect(try await server.requests().isEmpty)
        }

        @Test("--json and the image cannot both go to standard output")
        func jsonAndImage() async throws {
            let result = try await kf.run("fetch", "--json", server.url("png/grey.png"), "-o", "-")
            #expect(result.status == 2 && result.standardOutput.isEmpty, "\(result)")
        }
    }
}
