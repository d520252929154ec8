import Foundation
import Support
import Testing

extension EndToEnd {
    @Suite("Local sources")
    final class SourceTests: CommandSuite {
        @Test("Paths, file URLs and data URIs are read")
        func path() async throws {
            let data = try FixturesDirectory.named("gif/one-pixel.gif").data
            let file = try kf.home.write("some picture.gif", data)
            let percent = data.map { String(format: "%%%02x", $0) }.joined()
            for source in [
                "some picture.gif", "./some picture.gif", file.path, file.absoluteString,
                "data:image/gif;base64,\(data.base64EncodedString())", "data:,\(percent)",
            ] {
                let result = try await kf.run("fetch", source, "-o", "-")
                #expect(result.status == 0 && result.standardOutput == data, "\(result)")
            }
        }

        @Test("Standard input is read, from a file or a pipe")
        func standardInput() async throws {
            let fixture = try FixturesDirectory.named("jpeg/landscape-420.jpg")
            let fromFile = try await kf.run("fetch", "-", "-o", "-", input: fixture.data)
            #expect(try fromFile.status == 0 && fromFile.standardOutput == fixture.data, "\(fromFile)")
            let fromPipe = try await kf.shell("cat \"$2\" | \"$1\" fetch - -p resize:80x60", fixture.url.path)
            #expect(fromPipe.status == 0 && fromPipe.outputLines.count == 1, "\(fromPipe)")
            let raster = try await Raster(jpeg: Data(contentsOf: URL(fileURLWithPath: fromPipe.printedPath)))
            #expect(raster.width == 80 && raster.height == 60)
        }

        @Test("A changed file is another image")
        func changedFile() async throws {
            let first = try FixturesDirectory.named("png/rgb.png").data
            let second = try FixturesDirectory.named("png/grey.png").data
            try kf.home.write("picture.png", first)
            _ = try await kf.run("fetch", "picture.png")
            try kf.home.write("picture.png", second)
            let result = try await kf.run("fetch", "picture.png", "-o", "-")
            #expect(result.status == 0 && result.standardOutput == second, "\(result)")
        }

        @Test("Devices are refused, and a huge file fails alone")
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

        @Test("A folder whose files are not known is a failure", arguments: ["locked", "listed", "deep"])
        func lostFolders(kind: String) async throws {
            let picture = try FixturesDirectory.named("png/grey.png").data
            let levels = kind == "deep" ? 65 : 1
            let lost = "pics/" + Array(repeating: kind, count: levels).joined(separator: "/")
            for name in ["pics/a.png", "\(lost)/b.png", "pics/z.png"] { try kf.home.write(name, picture) }
            let mode: mode_t = kind == "locked" ? 0 : kind == "listed" ? 0o444 : 0o755
            #expect(chmod(kf.home.url.path, 0o777) == 0 && chmod(kf.home.path(lost).path, mode) == 0)
            defer { chmod(kf.home.path(lost).path, 0o755) }
            // Root reads any folder.
            let user = ["--reuid", "65534", "--regid", "65534", "--clear-groups"]
            let arguments = ["fetch", "pics", "--json", "--store", "none", "-P", "out", "--create-dirs"]
            let result =
                geteuid() == 0
                ? try await kf.run(arguments, under: "setpriv", user) : try await kf.run(arguments)
            #expect(result.status == 1, "\(result)")
            let items = try result.items().sorted { $0.source < $1.source }
            #expect(items.map(\.source) == ["pics/a.png", lost, "pics/z.png"], "\(result)")
            #expect(items.map(\.status) == ["fetched", "failed", "fetched"], "\(result)")
            let reason = kind == "deep" ? "more than 64 folders deep" : "cannot read the directory: Permission denied"
            #expect(items.count == 3 && items[1].error?.message == reason, "\(result)")
        }

        @Test("A local source that is not an image is refused")
        func badFiles() async throws {
            expectRefusal(try await kf.run("fetch", "missing.png"), kf, says: "missing.png", "no such file")
            try kf.home.write("folder.png/inside", "x")
            expectRefusal(try await kf.run("fetch", "folder.png"), kf, says: "folder.png", "directory")
            try kf.home.write("note.png", FixturesDirectory.broken("text.jpg"))
            expectRefusal(try await kf.run("fetch", "note.png"), kf, says: "note.png")
            try kf.home.write("empty.png", Data())
            expectRefusal(try await kf.run("fetch", "empty.png"), kf, says: "empty.png", "it is empty")
            for uri in ["data:image/png;base64,@@@@", "data:image/png"] {
                expectRefusal(try await kf.run("fetch", uri), kf, says: "data:")
            }
            expectRefusal(try await kf.run("fetch", "-", input: Data()), kf, says: "standard input", "it is empty")
            expectRefusal(try await kf.run("fetch", "-", input: Data("hello\n".utf8)), kf)
        }
    }
}
