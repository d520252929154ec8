import Foundation
import Support
import Testing

extension EndToEnd {
    @Suite("Sources that need no server")
    struct SourceTests {
        let kf: KFCommand

        init() throws { kf = try KFCommand() }

        @Test("a path, relative or absolute")
        func path() async throws {
            let fixture = try FixturesDirectory.named("png/rgb.png")
            try kf.home.write("some picture.png", fixture.data)
            for source in ["some picture.png", "./some picture.png", kf.home.path("some picture.png").path] {
                let result = try await kf.run("fetch", source, "-o", "-")
                #expect(try result.status == 0 && result.standardOutput == fixture.data, "\(result)")
            }
        }

        @Test("a file: URL")
        func fileURL() async throws {
            let fixture = try FixturesDirectory.named("png/rgb.png")
            let file = try kf.home.write("some picture.png", fixture.data)
            let result = try await kf.run("fetch", file.absoluteString, "-o", "-")
            #expect(try result.status == 0 && result.standardOutput == fixture.data, "\(result)")
        }

        @Test("a data: URI, base64 or percent-encoded")
        func dataURI() async throws {
            let fixture = try FixturesDirectory.named("gif/one-pixel.gif")
            let data = try fixture.data
            let percent = data.map { String(format: "%%%02x", $0) }.joined()
            for source in ["data:image/gif;base64,\(data.base64EncodedString())", "data:,\(percent)"] {
                let result = try await kf.run("fetch", source, "-o", "-")
                #expect(result.status == 0 && result.standardOutput == data, "\(result)")
            }
        }

        @Test("standard input, from a file or a pipe")
        func standardInput() async throws {
            let fixture = try FixturesDirectory.named("jpeg/landscape-420.jpg")
            let fromFile = try await kf.run("fetch", "-", "-o", "-", input: fixture.data)
            #expect(try fromFile.status == 0 && fromFile.standardOutput == fixture.data, "\(fromFile)")
            let fromPipe = try await RunningCommand(
                "/bin/sh",
                ["-c", "cat \"$1\" | \"$2\" fetch - -p resize:80x60", "sh", fixture.url.path, kf.binary.path],
                environment: kf.environment
            ).wait()
            #expect(fromPipe.status == 0 && fromPipe.outputLines.count == 1, "\(fromPipe)")
            let raster = try await Raster(jpeg: Data(contentsOf: URL(fileURLWithPath: fromPipe.printedPath)))
            #expect(raster.width == 80 && raster.height == 60)
        }

        @Test("a file that changed is another image")
        func changedFile() async throws {
            let first = try FixturesDirectory.named("png/rgb.png").data
            let second = try FixturesDirectory.named("png/grey.png").data
            try kf.home.write("picture.png", first)
            _ = try await kf.run("fetch", "picture.png")
            try kf.home.write("picture.png", second)
            let result = try await kf.run("fetch", "picture.png", "-o", "-")
            #expect(result.status == 0 && result.standardOutput == second, "\(result)")
        }

        @Test("a processed local file is a hit the second time")
        func processedFile() async throws {
            try kf.home.write("picture.jpg", FixturesDirectory.named("jpeg/landscape-420.jpg").data)
            let first = try await kf.run("fetch", "--json", "picture.jpg", "-p", "resize:50x50").item()
            let second = try await kf.run("fetch", "--json", "picture.jpg", "-p", "resize:50x50").item()
            #expect(second.status == "disk" && first.sha256 == second.sha256)
        }

        @Test("a file of terabytes fails alone, and what is no regular file is refused")
        func endlessFiles() async throws {
            #expect(mkfifo(kf.home.path("pipe.png").path, 0o600) == 0)
            for name in ["pipe.png", "/dev/zero"] {
                expectRefusal(try await kf.run("fetch", name), kf, says: name, "not a regular file")
                #expect(try await kf.run("fetch", name, "--key", "k").status == 1)
            }
            let huge = try kf.home.write("many/b.png", "")
            #expect(truncate(huge.path, 1 << 43) == 0)
            expectRefusal(try await kf.run("cache", "put", "many/b.png", "--key", "b"), kf, says: "b.png", "too large")
            for name in ["a", "c"] {
                try kf.home.write("many/\(name).png", FixturesDirectory.named("png/grey.png").data)
            }
            let many = try await kf.run("fetch", "many")
            #expect(many.status == 1 && many.output.split(separator: "\n").count == 2, "\(many)")
            #expect(many.errors.contains("many/b.png: File too large"), "\(many)")
        }

        @Test("a file that is not there, a directory, or no image")
        func badFiles() async throws {
            expectRefusal(try await kf.run("fetch", "missing.png"), kf, says: "missing.png", "no such file")
            try kf.home.write("folder.png/inside", "x")
            expectRefusal(try await kf.run("fetch", "folder.png"), kf, says: "folder.png", "directory")
            try kf.home.write("note.png", FixturesDirectory.broken("text.jpg"))
            expectRefusal(try await kf.run("fetch", "note.png"), kf, says: "note.png")
            try kf.home.write("empty.png", Data())
            expectRefusal(try await kf.run("fetch", "empty.png"), kf, says: "empty.png", "it is empty")
        }

        @Test("nothing on standard input, or no image")
        func badInput() async throws {
            expectRefusal(try await kf.run("fetch", "-", input: Data()), kf, says: "standard input", "it is empty")
            expectRefusal(try await kf.run("fetch", "-", input: Data("hello\n".utf8)), kf)
        }

        @Test("a data: URI that is none")
        func badDataURI() async throws {
            expectRefusal(try await kf.run("fetch", "data:image/png;base64,@@@@"), kf, says: "data:")
            expectRefusal(try await kf.run("fetch", "data:image/png"), kf, says: "data:")
        }
    }
}
